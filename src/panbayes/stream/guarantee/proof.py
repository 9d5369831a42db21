"""Which theorem bounds the loss of which law.

Entries that are redrawn: :mod:`panbayes.stream.guarantee.loss`.
Counters: :mod:`panbayes.stream.guarantee.counter_loss`.

**Thinned entries** lose no more than the bits they are made of. *Proof.* Give every moment of the stream a coin of its
own, drawn before the stream and independent of it, that decides whether an appearance at that moment counts. For each
outcome of all coins, the appearances that count in two adjacent streams are two histories of redraws of one entry, and
everything else is equal; so the theorem of the joint loss bounds the ratio of the likelihoods *given the coins* by e^E.
The coins have the same law in both streams, so the likelihoods are averages with equal weights, and the ratio of two
such averages is at most the largest ratio of their terms. ∎ Nobody sees the coins: they are drawn when an appearance
arrives, and overwritten. A release has one count for each panel, and a user moves only that of the own panel, so ρ is
the sum of the releases' 1/σ, as for one count.
"""

from __future__ import annotations

from fractions import Fraction

from panbayes.stream.guarantee.counter_loss import counter_loss, counter_surely_meets
from panbayes.stream.guarantee.loss import joint_loss, surely_meets
from panbayes.stream.laws.counter_law import CounterLaw
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.thinned_law import ThinnedLaw

__all__ = ["loss_of", "surely_keeps"]


def loss_of(law: Law, rate: float) -> float:
    """The joint loss of one look and all releases whose 1/σ add up to ``rate``, in floating point."""
    if isinstance(law, CounterLaw):
        return counter_loss(law, rate)
    return joint_loss(law.law if isinstance(law, ThinnedLaw) else law, rate)


def surely_keeps(law: Law, rate: Fraction, total: Fraction) -> bool:
    """Say whether the loss is at most ``total``, by rational arithmetic: a yes is a proof."""
    if isinstance(law, CounterLaw):
        return counter_surely_meets(law, rate, total)
    return surely_meets(law.law if isinstance(law, ThinnedLaw) else law, rate, total)
