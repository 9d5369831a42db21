from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.stream.guarantee.laws import COIN, Family, StateLaw, dwork, law_of, optimal_bernoulli, quantized_laplace
from panbayes.stream.guarantee.quantizer import lloyd_max


@given(st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6))
def test_optimal_bernoulli_spends_all_of_epsilon_and_no_more(epsilon: Fraction) -> None:
    law = optimal_bernoulli(epsilon)
    assert law.surely_within(epsilon)
    # One coin less in the initial law would be too much: the rounding is the tightest.
    init, update = law.init[1] - 1, law.update[1] + 1
    if init >= 1:
        tighter = StateLaw("tighter", (COIN - init, init), (COIN - update, update), (0, 1))
        assert not tighter.surely_within(epsilon)


@pytest.mark.parametrize("family", ["optimal-bernoulli", "quantized-laplace", "quantized-gaussian", "dwork"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "2", "12"])
@pytest.mark.parametrize("levels", [2, 3, 4, 7, 32])
def test_no_ratio_exceeds_epsilon(family: Family, epsilon: str, levels: int) -> None:
    value = Fraction(epsilon)
    if (family in ("optimal-bernoulli", "dwork") and levels != 2) or (family == "dwork" and value > Fraction(1, 2)):
        with pytest.raises(InputError):
            law_of(family, value, levels=levels)
        return
    law = law_of(family, value, levels=levels)
    assert law.surely_within(value)
    assert law.levels == levels


def test_probabilities_of_the_thesis() -> None:
    for epsilon in (0.1, 0.5):
        law = quantized_laplace(Fraction(str(epsilon)))
        assert law.init[1] / COIN == pytest.approx(math.exp(-epsilon / 2) / 2, abs=1e-5)
        law = dwork(Fraction(str(epsilon)))
        assert law.init[1] == COIN // 2
        assert law.update[1] / COIN == pytest.approx(0.5 + epsilon / 4)
        law = optimal_bernoulli(Fraction(str(epsilon)))
        assert law.update[1] / COIN == pytest.approx((1 + math.tanh(epsilon / 2)) / 2)


def test_lloyd_max_finds_known_quantizers() -> None:
    # Uniform on [0, 1]: equal cells. Standard normal, 4 levels: boundaries 0 and ±0.9816, points ±0.4528, ±1.510.
    boundaries, points = lloyd_max(lambda x: np.clip(x, 0, 1), levels=5, support=(0, 1))
    np.testing.assert_allclose(boundaries, [0.2, 0.4, 0.6, 0.8], atol=1e-6)
    np.testing.assert_allclose(points, [0.1, 0.3, 0.5, 0.7, 0.9], atol=1e-6)
    normal = np.vectorize(lambda x: (1 + math.erf(x / math.sqrt(2))) / 2)
    boundaries, points = lloyd_max(normal, levels=4, support=(-9, 9))
    np.testing.assert_allclose(boundaries, [-0.9816, 0, 0.9816], atol=2e-4)
    np.testing.assert_allclose(points, [-1.510, -0.4528, 0.4528, 1.510], atol=5e-4)


def test_bad_laws_are_refused() -> None:
    for centre in (Fraction(4, 5), Fraction(0)):
        with pytest.raises(InputError, match="centre"):
            optimal_bernoulli(Fraction(1), centre=centre)
    for epsilon in (Fraction(0), Fraction(21)):
        with pytest.raises(InputError, match="state epsilon"):
            optimal_bernoulli(epsilon)
    with pytest.raises(InputError, match="levels"):
        quantized_laplace(Fraction(1), levels=33)
    with pytest.raises(ValueError, match="add up"):
        StateLaw("short", (1, 1), (1, 1), (0, 1))
    with pytest.raises(ValueError, match="larger mean"):
        StateLaw("backwards", (1, COIN - 1), (COIN - 1, 1), (0, 1))
