"""Bounds that cannot be wrong, against decimal arithmetic of 60 digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.exact.bounds import exp_bounds, float_above, log_above, root_above, surely_at_most_exp


@given(st.fractions(min_value=-30, max_value=30, max_denominator=10**6))
def test_exp_is_enclosed(x: Fraction) -> None:
    low, high = exp_bounds(x)
    with localcontext() as context:
        context.prec = 60
        exact = Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())
    assert low <= exact * (1 + Fraction(1, 10**50))
    assert exact <= high * (1 + Fraction(1, 10**50))
    assert high - low <= exact / 10**40


@given(st.fractions(1, 10**6) | st.fractions(1, Fraction(101, 100), max_denominator=10**15))
def test_logarithms_are_bounded_from_above_and_closely(ratio: Fraction) -> None:
    bound = log_above(ratio)
    with localcontext() as context:
        context.prec = 60
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        excess = Decimal(bound.numerator) / Decimal(bound.denominator) - exact
    assert 0 <= excess <= Decimal("1.1e-12")
    assert surely_at_most_exp(ratio, bound)


def test_logarithms_at_the_ends() -> None:
    assert log_above(Fraction(1)) == 0
    assert float(log_above(Fraction(2) ** 1000)) == pytest.approx(1000 * math.log(2), abs=2e-12)
    with pytest.raises(ValueError, match="at least 1"):
        log_above(Fraction(1, 2))


@given(st.fractions(Fraction(1, 10**12), 10**12, max_denominator=10**12))
def test_roots_are_above_and_close(value: Fraction) -> None:
    root = root_above(value)
    assert value <= root**2 <= value * (1 + Fraction(1, 2**38))


@given(st.fractions(Fraction(1, 2**20), 2**31))
def test_floats_are_above_and_next_to_it(value: Fraction) -> None:
    assert 0 <= Fraction(float_above(value)) - value <= value / 2**52
