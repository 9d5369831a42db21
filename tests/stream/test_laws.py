"""What every state law promises, and what each of them is known to be."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.stream.laws.dwork import dwork
from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.quantized import Array, quantize
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.laws.quantizer import lloyd_max
from panbayes.stream.laws.registry import DEFAULT_LAW, law_kind, law_kinds
from panbayes.stream.laws.state_law import COIN, MAX_SCORE, StateLaw
from tests.stream.law_cases import over_laws


def exp(epsilon: Fraction) -> Fraction:
    """e^ε to 60 digits by the standard library, independent of the bounds under test."""
    with decimal.localcontext(prec=60):
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


@over_laws(2, 3, 4, 7, 32)
@pytest.mark.parametrize("part", ["0.0005", "0.005", "0.05", "0.5", "1"])
def test_no_ratio_exceeds_epsilon(kind: LawKind, levels: int, part: str) -> None:
    epsilon = kind.largest_epsilon * Fraction(part)
    law = kind.law(epsilon, levels=levels)
    ratios = [Fraction(u, i) for i, u in zip(law.init, law.update, strict=True)]
    worst = max(max(ratio, 1 / ratio) for ratio in ratios)
    assert worst <= exp(epsilon)
    assert law.surely_within(epsilon)
    assert law.loss() == pytest.approx(math.log(worst), rel=1e-6, abs=1e-12)
    # The check has teeth: a little less than what the law loses is not enough.
    assert not law.surely_within(Fraction(law.loss()) * Fraction("0.999999"))
    assert (law.name, law.levels) == (kind.name, levels)


@pytest.mark.parametrize("levels", [2, 3, 4, 9])
def test_a_law_that_is_too_steep_is_cut_to_epsilon(levels: int) -> None:
    """Cutting into levels keeps the promise whatever the continuous law is, also where it loses three times ε."""

    def cdf(x: Array) -> Array:
        tail = np.exp(-1.5 * np.abs(x)) / 2
        return np.where(x < 0, tail, 1 - tail)

    law = quantize("steep", Fraction(1, 2), levels, cdf=cdf, support=(-30, 31))
    assert law.surely_within(Fraction(1, 2))
    assert law.loss() > 0.3


@pytest.mark.parametrize("kind", law_kinds().values(), ids=lambda kind: kind.name)
def test_a_law_is_named_and_has_limits(kind: LawKind) -> None:
    assert law_kind(kind.name) is kind
    assert kind.summary
    for epsilon in (Fraction(0), -Fraction(1), kind.largest_epsilon + Fraction(1, 10**9)):
        with pytest.raises(InputError, match=f"state epsilon: .* for {kind.name} it must be"):
            kind.law(epsilon)
    for levels in (1, kind.most_levels + 1):
        with pytest.raises(InputError, match=f"levels: found {levels}; {kind.name} has"):
            kind.law(kind.largest_epsilon, levels=levels)


def test_an_unknown_law_gets_the_nearest_name() -> None:
    assert DEFAULT_LAW in law_kinds()
    with pytest.raises(InputError, match=r"law: found 'optimal-bernouli'; did you mean \"optimal-bernoulli\"\?"):
        law_kind("optimal-bernouli")
    with pytest.raises(InputError, match=f"known: {', '.join(law_kinds())}"):
        law_kind("zzz")


@given(st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6))
def test_optimal_bernoulli_spends_all_of_epsilon_and_no_more(epsilon: Fraction) -> None:
    law = optimal_bernoulli(epsilon)
    assert law.surely_within(epsilon)
    # One coin less in the initial law would be too much: the rounding is the tightest.
    init, update = law.init[1] - 1, law.update[1] + 1
    if init >= 1:
        assert not StateLaw.binary("tighter", init=init, update=update).surely_within(epsilon)


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
    with pytest.raises(ValueError, match="add up"):
        StateLaw("short", (1, 1), (1, 1), (0, 1))
    with pytest.raises(ValueError, match="larger mean"):
        StateLaw("backwards", (1, COIN - 1), (COIN - 1, 1), (0, 1))
    assert StateLaw("high", (COIN - 1, 1), (1, COIN - 1), (0, MAX_SCORE)).scores[-1] == MAX_SCORE
    with pytest.raises(ValueError, match="at most 2"):
        StateLaw("higher", (COIN - 2, 1, 1), (1, 1, COIN - 2), (0, 1, MAX_SCORE + 1))


def test_the_size_of_a_state() -> None:
    assert [optimal_bernoulli(Fraction(1)).state_bytes(n) for n in (1, 64, 65, 10**9)] == [8, 8, 16, 125_000_000]
    assert [quantized_laplace(Fraction(1), levels=3).state_bytes(n) for n in (1, 8, 9, 10)] == [8, 8, 16, 16]
