"""Which values of an unknown domain are frequent, at (ε, δ): those whose noisy count of people reaches a threshold.

Nobody has a list of the values, so a value can be named only because somebody has it. Under pure ε that is impossible:
let a value v be released with probability p > 0 from a table in which one person has it. Without that person v cannot
be released at all, since nothing in the table says it, and p ≤ e^ε·0 fails for every ε. So there is a δ, the chance
that a value of one person alone is named.

**The mechanism.** Each person counts for at most k distinct values (``values``). For every value v that occurs, let
c(v) ≥ 1 be how many people have it and Z(v) independent discrete Laplace noise of scale b. Released are exactly the
pairs (v, c(v) + Z(v)) with c(v) + Z(v) ≥ T. What does not occur is never released.

**Claim.** Let one person move c by at most Δ = ``l1`` in L1 (k under add-remove, 2k under replace), b = Δ/ε, and let
τ = P(1 + Z ≥ T) satisfy

    k·τ ≤ δ   and   τ ≤ 1 − e^(−1/b).

Then the release is (ε, δ)-differentially private.

*Proof.* Let D and D' be neighbours. Let A be the values that occur in D and not in D', A' those that occur in D' and
not in D, O those in both. Values of A are the differing person's in D, and theirs alone, so |A| ≤ k and each has c = 1;
likewise A'. Every value of A and of A' takes 1 of the L1 distance, so the counts of O are at most Δ − |A| − |A'| apart.
Releases of different values are independent. For any set S of releases, S₀ those of them that name no value of A and
none of A':

1. P_D(S) ≤ P_D(S₀) + P_D(some value of A is named) ≤ P_D(S₀) + |A|·τ ≤ P_D(S₀) + δ, since D cannot name values of A'.
2. P_D(S₀) ≤ P_D(O's part lies in S₀) ≤ e^((Δ − |A| − |A'|)/b)·P_D'(O's part lies in S₀): noise of scale b on counts at
   that distance, and what is left of it by the threshold is a function of it.
3. P_D'(S₀) = P_D'(O's part lies in S₀)·(1 − τ)^|A'|, by independence, and (1 − τ)^(−|A'|) ≤ e^(|A'|/b) by the second
   condition.

Together P_D(S) ≤ e^((Δ − |A|)/b)·P_D'(S₀) + δ ≤ e^ε·P_D'(S) + δ. ∎

With k new values at once 1 − (1 − τ)^k, which is nearly k·τ, is the chance that something is released that cannot be
without that person: no smaller T would do.

**What is served.** Noise sources may serve a scale b* up to one part in 2³⁰ above b (:mod:`panbayes.dp.noise`). The
proof holds with b* in the place of b, since Δ/b* ≤ ε, if both conditions hold at b*; and τ and e^(−1/b*) both rise with
b*, so both are checked at the largest b* there may be.

**Noise is drawn in blocks of one size.** How many values occur is private, and a noise source may choose its sampler,
and with the sampler the scale b* that it serves, by how many numbers it is asked for. Counts of two scales on the two
sides of a pair of neighbours would differ by an unbounded ratio. So every request to the source is for :data:`BLOCK`
numbers, and b* does not depend on how many requests there are.

**What hidden values leave.** Released pairs are sorted by their noisy count and then by their text: order, size and
content depend on what is released alone. How long it takes, and how much memory, grow with the number of records and of
distinct values; that is for whoever is on the holder's machine (SECURITY.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.mechanisms import noisy_counts
from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.exact.bounds import exp_bounds
from panbayes.exact.tails import least_rare
from panbayes.privacy.events import DiscreteLaplace

__all__ = ["BLOCK", "SERVED", "frequency_threshold", "frequent_values"]

BLOCK: Final = 2**17
"""Numbers that one request to the noise source is for."""

SERVED: Final = 1 + Fraction(1, 2**30)
"""The scale that is served is at most so many times the one that is asked for."""


def frequency_threshold(event: DiscreteLaplace, *, delta: Fraction, values: int) -> int:
    """Return the least T at which values that reach it may be named; see the module for both conditions.

    ``values`` is k, the most distinct values one person counts for; ``event`` has the scale b and Δ.

    >>> frequency_threshold(DiscreteLaplace(Fraction(10), 1), delta=Fraction(1, 10**9), values=1)
    202
    """
    if delta <= 0:
        raise InputError(
            "delta",
            found="found 0: under pure ε no value of an unknown domain can be named, because it could be a value of "
            "one person alone, and without that person it could never be",
            remedy="give a delta such as 1e-9, or a public list of values",
        )
    if values < 1 or event.l1 < values:
        raise ValueError(f"one person has at least one value, and moves as many counts; found {values}")
    scale = event.scale * SERVED
    return 1 + least_rare(scale, min(delta / values, 1 - exp_bounds(-1 / scale)[1]))


def frequent_values(
    values: Sequence[str], counts: NDArray[np.int64], *, event: DiscreteLaplace, threshold: int, noise: Noise
) -> tuple[tuple[str, int], ...]:
    """Return the ``values`` whose noisy counts reach the ``threshold``, the most frequent first, equals by their text.

    ``counts`` says how many people have each, 1 or more; what nobody has must not be there.
    """
    if len(values) != counts.size or len(set(values)) != len(values) or (counts < 1).any():
        raise ValueError("every value that occurs must come once, with its count")
    kept: list[tuple[str, int]] = []
    for begin in range(0, counts.size, BLOCK):
        block = counts[begin : begin + BLOCK]
        padded = np.zeros(BLOCK, dtype=np.int64)
        padded[: block.size] = block
        noisy = noisy_counts(padded, event=event, noise=noise)[: block.size]
        kept += [(values[begin + place], int(noisy[place])) for place in np.flatnonzero(noisy >= threshold).tolist()]
    return tuple(sorted(kept, key=lambda pair: (-pair[1], pair[0])))
