"""The joint loss of one look at counters and every released histogram of them.

**Setting.** As in :mod:`panbayes.stream.guarantee.loss`, but a user's entry starts at K modulo p, where K is 0 with the
odds Λ against each other number, and moves on by one at every visit (back by one when a visit is taken back). Adjacent
streams differ in any of this user's visits. The adversary sees the whole state at one time and R releases at any times
before or after. A release is the number of entries at each of the p values, each plus two-sided geometric noise of
scale σₖ of its own.

**Theorem.** The likelihood ratio of every observation under two adjacent streams is at most Λ·exp(2·Σₖ 1/σₖ), and some
pair of streams reaches it.

**Proof.** The others' entries do not depend on this user, so it is enough to bound the ratio for each value of theirs.
Let c be this user's visits up to the look and c' in the other stream. The entry seen is x with probability
P(K = x − c), resp. P(K = x − c'), whence a factor of at most Λ. Given x, nothing of the entry is random any more: at
release k it is x + dₖ, where dₖ counts the visits between look and release (negative before the look), resp. x + d'ₖ.
The two histograms differ by one in two places or not at all, and the triangle inequality gives the release a factor of
at most exp(2/σₖ). The noises are independent, so the factors multiply. Both are reached at once by "one visit before
the look" against "one visit after it", seen at x = 1 with a count above the one and below the other histogram. ∎

This is the theorem of the joint loss for point masses: given the look nothing is drawn again, so B(q, q') is taken
between two points whose histograms lie 2 apart. Two looks are not private here either: the difference of two entries is
the number of visits between them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from panbayes.exact.bounds import surely_at_most_exp
from panbayes.stream.laws.counter_law import CounterLaw

__all__ = ["HISTOGRAM_SENSITIVITY", "counter_loss", "counter_surely_meets"]

HISTOGRAM_SENSITIVITY: Final = 2
"""How far one user moves a histogram: out of one place and into another."""


def counter_loss(law: CounterLaw, rate: float) -> float:
    """The joint loss ln Λ + 2ρ, where ρ = ``rate`` is the sum of the releases' 1/σ.

    >>> from panbayes.stream.laws.counter_law import counter_law
    >>> round(counter_loss(counter_law(Fraction(1, 2), 8), 0.25), 6)
    1.0
    """
    return law.loss() + HISTOGRAM_SENSITIVITY * rate


def counter_surely_meets(law: CounterLaw, rate: Fraction, total: Fraction) -> bool:
    """Say whether Λ·e^(2ρ) ≤ e^``total``, by rational arithmetic: a yes is a proof.

    Noise that alone loses the total is refused at once, whatever a file says: its exponential might be endless.
    """
    rest = total - HISTOGRAM_SENSITIVITY * rate
    return rest > 0 and surely_at_most_exp(law.odds, rest)
