"""Bounds on exponentials, logarithms, roots and floats that cannot be wrong: integers, rounded outwards at every step.

A likelihood ratio is a fraction and an ε is a fraction; whether the ratio is at most e^ε is then a question with an
exact answer. Each function here returns a number that is certainly on the stated side of the real one.

=========================== ==============================================
:func:`exp_bounds`          fractions below and above e^x
:func:`surely_at_most_exp`  whether ratio ≤ e^x is certain
:func:`log_above`           a fraction not below ln(ratio)
:func:`root_above`          √value where it is rational, else a fraction above
:func:`float_above`         the smallest float not below a fraction
=========================== ==============================================

How far floating-point *scores* err is another question: :mod:`panbayes.exact.score_rounding`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

__all__ = ["exp_bounds", "float_above", "log_above", "root_above", "surely_at_most_exp"]

_BITS: Final = 192
_TERMS: Final = 40


def _ceil_div(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def exp_bounds(x: Fraction, *, bits: int = _BITS) -> tuple[Fraction, Fraction]:
    """Return fractions (low, high) with low ≤ e^x ≤ high, computed with so many ``bits``; by default about 50 digits.

    x is halved k times until it is at most 1/2, the Taylor series is summed with every term rounded down (up), the
    remainder after n terms is at most twice the last term, and the sums are squared k times, rounded down (up).

    >>> low, high = exp_bounds(Fraction(1))
    >>> low < high and float(low) == float(high) == 2.718281828459045
    True
    """
    if x < 0:
        below, above = exp_bounds(-x, bits=bits)
        return 1 / above, 1 / below
    one, halvings = 1 << bits, 0
    while x > Fraction(1 << halvings, 2):
        halvings += 1
    scaled = Fraction(x.numerator * one, x.denominator << halvings)
    down, up = scaled.numerator // scaled.denominator, _ceil_div(scaled.numerator, scaled.denominator)
    low, high, term_low, term_high = one, one, one, one
    for n in range(1, max(_TERMS, bits // 4)):
        term_low = term_low * down // (n * one)
        term_high = _ceil_div(term_high * up, n * one)
        low, high = low + term_low, high + term_high
    high += 2 * term_high
    for _ in range(halvings):
        low, high = low * low // one, _ceil_div(high * high, one)
    return Fraction(low, one), Fraction(high, one)


def surely_at_most_exp(ratio: Fraction, exponent: Fraction) -> bool:
    """Say whether ratio ≤ e^exponent is certain.

    >>> [surely_at_most_exp(Fraction(n, 100000), Fraction(1)) for n in (271828, 271829)]
    [True, False]
    """
    return ratio <= exp_bounds(exponent)[0]


def log_above(ratio: Fraction, *, digits: int = 12) -> Fraction:
    """Return a multiple of 10^−``digits`` that is certainly at least ln ``ratio``, for ``ratio`` ≥ 1.

    A candidate from floats is raised until e to its power certainly reaches ``ratio``.

    >>> log_above(Fraction(3)) > math.log(3) > float(log_above(Fraction(3))) - 2e-12
    True
    """
    if ratio < 1:
        raise ValueError(f"the ratio must be at least 1, found {ratio}")
    unit = 10**digits
    near = math.log1p(ratio - 1) if ratio < 2 else math.log(ratio.numerator) - math.log(ratio.denominator)
    x = max(0, math.floor(near * unit) - 1)
    while not surely_at_most_exp(ratio, Fraction(x, unit)):
        x += 1
    return Fraction(x, unit)


def root_above(value: Fraction) -> Fraction:
    """Return √``value`` where it is rational, else a fraction above it by less than one part in 2⁴⁰.

    >>> root_above(Fraction(1, 4)), round(float(root_above(Fraction(2))), 9)
    (Fraction(1, 2), 1.414213562)
    """
    exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if exact**2 == value:
        return exact
    # √(p/q) = √(p·q)/q; enough binary places are put before the integer root is taken.
    product = value.numerator * value.denominator
    places = max(0, 50 - product.bit_length() // 2)
    root = math.isqrt(product << (2 * places)) + 1
    return Fraction(root, value.denominator << places)


def float_above(value: Fraction) -> float:
    """Return the smallest float that is not below ``value``.

    >>> float_above(Fraction(1, 4)), float_above(Fraction(1, 3)) > Fraction(1, 3)
    (0.25, True)
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
