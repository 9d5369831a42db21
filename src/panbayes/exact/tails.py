"""How likely discrete Laplace noise is large: fractions that are certainly above the real probability.

Let P(Z = z) ∝ e^(−|z|/b) on the integers, b the ``scale``. With α = e^(−1/b) the law sums to (1 + α)/(1 − α), so that
for every t ≥ 1

    P(Z ≥ t) = α^t/(1 + α) = e^(−t/b)/(1 + e^(−1/b)).

It rises with b: the derivative by α is α^(t−1)·(t·(1 + α) − α)/(1 + α)² > 0. Whoever serves noise of a scale that is a
hair too large therefore bounds its tail by that of the largest scale it may have served.
"""

from __future__ import annotations

import math
from fractions import Fraction

from panbayes.exact.bounds import exp_bounds

__all__ = ["laplace_tail_above", "least_rare"]


def laplace_tail_above(scale: Fraction, at: int) -> Fraction:
    """Return a fraction that is certainly at least P(Z ≥ ``at``), ``at`` ≥ 1, and larger by less than 10⁻⁴⁰ of it.

    >>> 0 < laplace_tail_above(Fraction(10), 3) - Fraction(math.exp(-0.3) / (1 + math.exp(-0.1))) < 1e-15
    True
    """
    if at < 1:
        raise ValueError(f"the tail must begin at 1 or above, found {at}")
    return exp_bounds(-at / scale)[1] / (1 + exp_bounds(-1 / scale)[0])


def least_rare(scale: Fraction, chance: Fraction) -> int:
    """Return the least t ≥ 1 for which P(Z ≥ t) is certainly at most ``chance``.

    A first guess from floats is mended by exact comparisons, so that no rounding decides.

    >>> least_rare(Fraction(10), Fraction(1, 10**9)), least_rare(Fraction(10), Fraction(1, 2))
    (201, 1)
    """
    if chance <= 0:
        raise ValueError(f"a chance must be above 0, found {chance}")
    logarithm = math.log(chance.denominator) - math.log(chance.numerator)
    found = max(1, math.ceil(float(scale) * (logarithm - math.log1p(math.exp(-1 / float(scale))))))
    while laplace_tail_above(scale, found) > chance:
        found += 1
    while found > 1 and laplace_tail_above(scale, found - 1) <= chance:
        found -= 1
    return found
