"""Comparisons with e^x that cannot be wrong: rational bounds instead of rounded logarithms.

A likelihood ratio is a fraction and a privacy budget is a fraction; whether the ratio is at most e^budget is then a
question with an exact answer. :func:`exp_bounds` encloses e^x between two fractions by fixed-point arithmetic on
integers, every step rounded outwards.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

__all__ = ["exp_bounds", "surely_at_most_exp"]

_BITS: Final = 192
_ONE: Final = 1 << _BITS
_TERMS: Final = 40


def _ceil_div(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return fractions (low, high) with low ≤ e^x ≤ high, about 50 digits apart.

    x is halved k times until it is at most 1/2, the Taylor series is summed with every term rounded down (up), the
    remainder after n terms is at most twice the last term, and the sums are squared k times, rounded down (up).

    >>> low, high = exp_bounds(Fraction(1))
    >>> low < high and float(low) == float(high) == 2.718281828459045
    True
    """
    if x < 0:
        below, above = exp_bounds(-x)
        return 1 / above, 1 / below
    halvings = 0
    while x > Fraction(1 << halvings, 2):
        halvings += 1
    scaled = Fraction(x.numerator * _ONE, x.denominator << halvings)
    down, up = scaled.numerator // scaled.denominator, _ceil_div(scaled.numerator, scaled.denominator)
    low, high, term_low, term_high = _ONE, _ONE, _ONE, _ONE
    for n in range(1, _TERMS):
        term_low = term_low * down // (n * _ONE)
        term_high = _ceil_div(term_high * up, n * _ONE)
        low, high = low + term_low, high + term_high
    high += 2 * term_high
    for _ in range(halvings):
        low, high = low * low // _ONE, _ceil_div(high * high, _ONE)
    return Fraction(low, _ONE), Fraction(high, _ONE)


def surely_at_most_exp(ratio: Fraction, exponent: Fraction) -> bool:
    """Say whether ratio ≤ e^exponent is certain.

    >>> [surely_at_most_exp(Fraction(n, 100000), Fraction(1)) for n in (271828, 271829)]
    [True, False]
    """
    return ratio <= exp_bounds(exponent)[0]
