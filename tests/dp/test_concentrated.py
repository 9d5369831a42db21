"""Discrete Gaussian noise and the exponential mechanism under zCDP: laws, scales and exact Rényi divergences."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from panbayes.dp import opendp_bridge
from panbayes.dp.mechanisms import (
    MAX_COUNT,
    discrete_gaussian,
    discrete_gaussian_variance,
    select_concentrated,
)
from panbayes.dp.noise import Noise, SecureNoise, SimulatedNoise
from panbayes.errors import InputError

ORDERS = (1.01, 1.5, 2.0, 5.0, 20.0, 100.0)


def law(variance: float, reach: int) -> NDArray[np.float64]:
    """The discrete Gaussian on −reach … reach."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    return np.asarray(weights / weights.sum())


def fits(drawn: NDArray[np.int64], variance: float) -> float:
    """The p-value of a χ² test against the law, cells of expectation below 10 put together."""
    reach = math.ceil(5 * math.sqrt(variance)) + 2
    expected = drawn.size * law(variance, reach)
    observed = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    rare = expected < 10
    pooled = np.append(expected[~rare], expected[rare].sum() + 1e-9)
    seen = np.append(observed[~rare], observed[rare].sum())
    statistic = ((seen - pooled) ** 2 / pooled)[pooled > 1].sum()
    return float(stats.chi2.sf(statistic, (pooled > 1).sum() - 1))


@pytest.mark.parametrize("noise", [SecureNoise(), SimulatedNoise(3)], ids=["secure", "simulated"])
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(7), Fraction(400)])
def test_the_law_is_right_and_others_are_told_apart(noise: Noise, variance: Fraction) -> None:
    """χ² on 20,000 draws: a right law fails with probability 1e-9, a scale off by 30 % passes with less."""
    drawn = noise.discrete_gaussian(20_000, variance=variance)
    assert fits(drawn, float(variance)) > 1e-9
    assert fits(drawn, float(variance) * 1.3**2) < 1e-9
    assert fits(drawn, float(variance) / 1.3**2) < 1e-9


@given(st.integers(1, 50), st.fractions(Fraction(1, 10**9), 100, max_denominator=10**9))
def test_the_variance_pays_exactly(square: int, rho: Fraction) -> None:
    assert Fraction(square) / (2 * discrete_gaussian_variance(square=square, rho=rho)) == rho


@pytest.mark.parametrize("rho", [Fraction(1, 3), Fraction(14_973, 10**6), Fraction(1, 10**7), Fraction(17)])
@pytest.mark.parametrize("square", [1, 2, 86])
def test_opendp_never_reports_more_than_the_charge(rho: Fraction, square: int) -> None:
    sigma = opendp_bridge.padded_deviation(discrete_gaussian_variance(square=square, rho=rho))
    assert Fraction(sigma) ** 2 >= Fraction(square) / (2 * rho)
    if math.isqrt(square) ** 2 == square:
        assert Fraction(opendp_bridge.discrete_gaussian_map(math.isqrt(square), scale=sigma)) <= rho


def divergence(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    """The Rényi divergence of this order."""
    return float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))


@pytest.mark.parametrize("variance", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("shift", [1, 2])
def test_shifted_noise_is_zero_concentrated_at_rho_and_no_less(variance: float, shift: int) -> None:
    """ρ = Δ²/(2σ²): the divergence of every order is at most ρα, and equals it (CKS 2020, Proposition 5)."""
    reach = math.ceil(60 * math.sqrt(variance)) + 20
    places = np.arange(-reach, reach + 1)
    rho = shift**2 / (2 * variance)
    whole = logsumexp(-(places**2) / (2 * variance))
    for order in (1.01, 1.5, 2.0, 5.0):
        # ln Σ p^α·q^(1−α), p around 0 and q around the shift, in logarithms: nothing over- or underflows.
        exponents = -(order * places**2 + (1 - order) * (places - shift) ** 2) / (2 * variance)
        found = (logsumexp(exponents) - whole) / (order - 1)
        assert found <= rho * order * (1 + 1e-9)
        assert found > 0.9 * rho * order


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=6),
    st.floats(0.05, 3),
    st.sampled_from(ORDERS),
)
def test_the_exponential_mechanism_is_zero_concentrated(
    moves: list[tuple[float, float]], epsilon: float, order: float
) -> None:
    """Scores that each move by at most 1: the divergence of every order is at most α·ε²/8."""
    before = np.array([score for score, _ in moves])
    after = before + np.array([move for _, move in moves])
    p, q = (np.exp(epsilon * s / 2 - (epsilon * s / 2).max()) for s in (before, after))
    found = divergence(p / p.sum(), q / q.sum(), order)
    assert found <= order * epsilon**2 / 8 + 1e-9


def test_a_selection_has_the_scale_that_rho_pays_for() -> None:
    """Two scores 1 apart, Δ = 1, ρ = 1/8: ε = 1 and odds e^½. 20,000 draws, 5 sigmas; Δ doubled would show."""
    runs = 20_000
    noise = SimulatedNoise(1)
    times = sum(
        select_concentrated(np.array([1.0, 0.0]), sensitivity=Fraction(1), rho=Fraction(1, 8), noise=noise) == 0
        for _ in range(runs)
    )
    chance = 1 / (1 + math.exp(-0.5))
    assert abs(times - runs * chance) < 5 * math.sqrt(runs * chance * (1 - chance))


def test_ends_of_the_range() -> None:
    counts = np.array([2**63 - 1, -(2**63), 5], dtype=np.int64)
    noisy = discrete_gaussian(counts, square=1, rho=Fraction(100), noise=SimulatedNoise(0))
    assert noisy[:2].tolist() == [MAX_COUNT, -MAX_COUNT]
    with pytest.raises(InputError, match="deviations"):
        discrete_gaussian_variance(square=1, rho=Fraction(1, 10**30))
    with pytest.raises(ValueError, match="deviation"):
        SecureNoise().discrete_gaussian(1, variance=Fraction(2**80))
    assert SecureNoise().discrete_gaussian(0, variance=Fraction(1)).size == 0
