"""The charge against OpenDP's own privacy map: never below it, for counts, under both classes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.dp.opendp_bridge import (
    discrete_gaussian_map,
    discrete_laplace_map,
    padded_deviation,
    padded_scale,
)
from panbayes.dp.sampler import MAX_SCALE, MIN_SCALE
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from tests.effort import often


@settings(derandomize=True, max_examples=often(60, 300), deadline=None)
@given(st.fractions(MIN_SCALE, MAX_SCALE))
def test_padded_scales_are_above_and_close(scale: Fraction) -> None:
    assert scale < Fraction(padded_scale(scale)) < scale * (1 + Fraction(1, 2**49))


@settings(derandomize=True, max_examples=often(60, 300), deadline=None)
@given(st.fractions(MIN_SCALE**2, MAX_SCALE**2))
def test_padded_deviations_are_above_and_close(variance: Fraction) -> None:
    assert variance < Fraction(padded_deviation(variance)) ** 2 < variance * (1 + Fraction(1, 2**46))


def test_the_charge_is_never_below_the_map_for_counts() -> None:
    # The trap: at the scale 2k itself the map exceeds 1/k for nearly every k. Then thousands of other pairs.
    pairs = [(2, Fraction(1, k)) for k in range(1, 1000)]
    naive = sum(Fraction(discrete_laplace_map(d, scale=float(d / e))) > e for d, e in pairs)
    assert naive > 900, "OpenDP no longer rounds up: the padding may be reconsidered"
    random = np.random.default_rng(3)
    for _ in range(2500):
        sensitivity = int(random.integers(1, 10 ** int(random.integers(1, 6))))
        digits = int(random.integers(1, 12))
        pairs.append((sensitivity, Fraction(int(random.integers(1, 3 * 10**digits)), 10**digits)))
        pairs.append((sensitivity, Fraction(1, int(random.integers(1, 10**6)))))
    tried = 0
    for sensitivity, epsilon in pairs:
        event = Pure(epsilon).tables_event(TableSensitivity(sensitivity, 1))
        if MIN_SCALE <= event.scale <= MAX_SCALE:
            tried += 1
            served = padded_scale(event.scale)
            assert sensitivity / Fraction(served) <= epsilon
            assert Fraction(discrete_laplace_map(sensitivity, scale=served)) <= epsilon
    assert tried > 4000


@pytest.mark.parametrize("rho", [Fraction(1, 3), Fraction(14_973, 10**6), Fraction(1, 10**7), Fraction(17)])
@pytest.mark.parametrize("square", [1, 2, 4, 86, 900])
def test_the_charge_is_never_below_the_map_for_counts_under_zcdp(rho: Fraction, square: int) -> None:
    event = ZeroConcentrated(rho).tables_event(TableSensitivity(1, square))
    sigma = padded_deviation(event.variance)
    assert square / (2 * Fraction(sigma) ** 2) <= rho
    if math.isqrt(square) ** 2 == square:
        assert Fraction(discrete_gaussian_map(math.isqrt(square), scale=sigma)) <= rho
