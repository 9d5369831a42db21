"""Gaussian noise and the exponential mechanism under zCDP: exact Rényi divergences, and the scale that ρ pays for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

from panbayes.dp.mechanisms import select
from panbayes.dp.simulated import SimulatedNoise
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.zcdp import ZeroConcentrated

ORDERS = (1.01, 1.5, 2.0, 5.0, 20.0, 100.0)


@given(st.integers(1, 50), st.fractions(Fraction(1, 10**9), 100, max_denominator=10**9))
def test_the_variance_pays_exactly(square: int, rho: Fraction) -> None:
    event = ZeroConcentrated(rho).tables_event(TableSensitivity(1, square))
    assert Fraction(square) / (2 * event.variance) == rho
    assert event.l2_squared == square


def divergence(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    """The Rényi divergence of this order."""
    return float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(2), Fraction(30)])
@pytest.mark.parametrize("shift", [1, 2])
def test_shifted_noise_is_zero_concentrated_at_rho_and_no_less(variance: Fraction, shift: int) -> None:
    """ρ = Δ²/(2σ²): the divergence of every order is at most ρα, and equals it (CKS 2020, Proposition 5)."""
    rho = Fraction(shift**2) / (2 * variance)
    event = ZeroConcentrated(rho).tables_event(TableSensitivity(shift, shift**2))
    assert event.variance == variance
    reach = math.ceil(60 * math.sqrt(variance)) + 20
    places = np.arange(-reach, reach + 1)
    spread = 2 * float(variance)
    whole = logsumexp(-(places**2) / spread)
    for order in (1.01, 1.5, 2.0, 5.0):
        # ln Σ p^α·q^(1−α), p around 0 and q around the shift, in logarithms: nothing over- or underflows.
        exponents = -(order * places**2 + (1 - order) * (places - shift) ** 2) / spread
        found = (logsumexp(exponents) - whole) / (order - 1)
        assert found <= float(rho) * order * (1 + 1e-9)
        assert found > 0.9 * float(rho) * order


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=6),
    st.fractions(Fraction(1, 20), 3, max_denominator=1000),
    st.sampled_from(ORDERS),
)
def test_the_exponential_mechanism_is_zero_concentrated(
    moves: list[tuple[float, float]], epsilon: Fraction, order: float
) -> None:
    """Scores that each move by at most 1: the divergence of every order is at most α·ε²/8, the ρ of the event."""
    rho = ZeroConcentrated(epsilon**2 / 8)
    event = rho.selection_event()
    assert (event.rule, event.epsilon_squared) == ("exponential", epsilon**2)
    before = np.array([score for score, _ in moves])
    after = before + np.array([move for _, move in moves])
    p, q = (np.exp(float(epsilon) * s / 2 - (float(epsilon) * s / 2).max()) for s in (before, after))
    found = divergence(p / p.sum(), q / q.sum(), order)
    assert found <= order * float(rho.rho) + 1e-9


def test_a_selection_has_the_scale_that_rho_pays_for() -> None:
    """Two scores 1 apart, Δ = 1, ρ = 1/8: ε = 1 and odds e^½. 20,000 draws, 5 sigmas; Δ doubled would show."""
    runs = 20_000
    noise, event = SimulatedNoise(1), ZeroConcentrated(Fraction(1, 8)).selection_event()
    scores = np.array([1.0, 0.0])
    times = sum(select(scores, sensitivity=Fraction(1), event=event, noise=noise) == 0 for _ in range(runs))

    def off(odds: float) -> float:
        chance = 1 / (1 + math.exp(-odds))
        return abs(times - runs * chance) / math.sqrt(runs * chance * (1 - chance))

    assert off(0.5) < 5
    for wrong in (0.7, 1.3):
        assert off(0.5 * wrong) > 5
