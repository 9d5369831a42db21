"""How far a computed score can be from the real number it stands for: proven bounds, from public facts only.

Selection by the exponential mechanism is private if its sensitivity covers the scores *as computed*. If each computed
score is within E of the true one, and the true one has sensitivity Δ, the computed one has sensitivity at most Δ + 2E.
This module states E; the scores (:mod:`panbayes.bayesnet.learning.scores`) are computed as it says, the sensitivities
(:mod:`panbayes.dp.sensitivity`) are padded by it.

Let u = 2⁻⁵³ be the unit roundoff of a double. What is assumed: IEEE arithmetic, and a natural logarithm within
:data:`LOG_ULPS` units in the last place (1 ulp ≤ 2u relative).

**Mutual information.** With counts c and n records, n·Î = Σ f(joint) − Σ f(child) − Σ f(parents) + f(n), where
f(c) = c·ln c. Each f(c) is rounded to a whole number of units of 2⁻ˢ, s = :func:`information_bits`, and the sums are
sums of integers: exact, whatever their order. The errors are

- of each f(c): relative at most η = (1 + 2·LOG_ULPS·u)(1 + u) − 1 < 10u from the logarithm and the product (scaling by
  a power of two is exact), then half a unit from rounding. f(0) and f(1) are exactly 0;
- of the four sums, each at most n·ln n: relative errors add up to at most 4·η·n·ln n, and half a unit for each count
  that is neither 0 nor 1: at most n/2 counts of each sum are, and no more than the table has cells;
- of the final conversion and division: relative at most (1 + u)² − 1 < 3u of a value below ln n + 1.

**R** is a ratio of integers p/n² with p ≤ n² < 2⁶²: the two conversions and the division err by less than 4u·R ≤ 4u.
**F** is a ratio of integers below 2³³, which doubles hold: one division, at most u.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

__all__ = [
    "LOG_ULPS",
    "MAX_RECORDS",
    "UNIT_ROUNDOFF",
    "RoundingError",
    "f_error",
    "information_bits",
    "information_error",
    "r_error",
    "round_up",
]

MAX_RECORDS: Final = 2**31 - 1
"""More records than this are refused: counts are 32-bit integers, and products of two counts fit in 64 bits."""

UNIT_ROUNDOFF: Final = 2.0**-53
LOG_ULPS: Final = 4
"""Largest error assumed of a logarithm, in units in the last place; a test measures it."""

MAX_BITS: Final = 52


class RoundingError(Protocol):
    """Bounds the error E of a computed score by public facts; one function of this module for every score."""

    def __call__(self, *, records: int, child: int, parents: int) -> float:
        """Return E for ``child`` values and ``parents`` values of all parents jointly, among ``records`` records."""


def information_bits(records: int) -> int:
    """Return s, so that sums of c·ln c over ``records`` records, in units of 2⁻ˢ, stay below 2⁶².

    n·ln n < 2^e gives s = 61 − e, at most 52: the largest sum has n·ln n·2ˢ < 2⁶¹, to which rounding adds less.

    >>> information_bits(71_518), information_bits(2**31 - 1)
    (41, 25)
    """
    if records < 2:
        return MAX_BITS
    exponent = math.frexp(round_up(records * math.log(records)))[1]
    return min(MAX_BITS, 61 - exponent)


def information_error(*, records: int, child: int, parents: int) -> float:
    """Return E for the mutual information of ``child`` and ``parents`` values among ``records`` records.

    E = 43u·(ln n + 1) + t·2⁻ˢ⁻¹/n, where t counts the summands that are rounded to a unit (see the module).
    """
    if records < 2:
        return 0.0
    half = records // 2
    terms = min(child * parents, half) + min(child, half) + min(parents, half) + 1
    unit = math.ldexp(1.0, -information_bits(records) - 1)
    return round_up(43 * UNIT_ROUNDOFF * (math.log(records) + 1) + terms * unit / records)


def r_error(**_: int) -> float:
    """Return E for the score R, whatever the table."""
    return 4 * UNIT_ROUNDOFF


def f_error(**_: int) -> float:
    """Return E for the score F, whatever the table."""
    return UNIT_ROUNDOFF


def round_up(value: float) -> float:
    """Return a double above the real number that ``value`` was computed for, in a few dozen operations at most.

    For sums and products of non-negative numbers and logarithms within :data:`LOG_ULPS`: each operation errs by 8u at
    most, and the margin is 2⁸u.

    >>> round_up(1.0) > 1.0
    True
    """
    return value * (1 + 2.0**-45)
