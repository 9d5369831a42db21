"""Moments of noise over holders: against exact sums over integers, and against what was drawn."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.planning.noise_moments import CellNoise, NoiseMoments
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Selection
from tests.planning.simulated import event_of, noise_of


def laws(event: DiscreteLaplace | DiscreteGaussian) -> dict[int, float]:
    """The law of one holder's noise, integer by integer."""
    reach = 60
    if isinstance(event, DiscreteLaplace):
        weights = {k: math.exp(-abs(k) / float(event.scale)) for k in range(-reach, reach + 1)}
    else:
        weights = {k: math.exp(-(k**2) / (2 * float(event.variance))) for k in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


@pytest.mark.parametrize("holders", [1, 2, 3])
@pytest.mark.parametrize("event", [DiscreteLaplace(Fraction(3, 2), 2), DiscreteGaussian(Fraction(4), 2)])
def test_moments_are_those_of_the_exact_law(event: DiscreteLaplace | DiscreteGaussian, holders: int) -> None:
    one = laws(event)
    law = {0: 1.0}
    for _ in range(holders):
        more: dict[int, float] = {}
        for (a, p), (b, q) in itertools.product(law.items(), one.items()):
            more[a + b] = more.get(a + b, 0.0) + p * q
        law = more
    found = NoiseMoments.of(event, holders=holders)
    for power, moment in ((2, found.second), (4, found.fourth), (6, found.sixth)):
        exact = math.fsum(p * k**power for k, p in law.items())
        assert moment == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("holders", [1, 2, 3, 7])
def test_the_sixth_moment_of_laplace_noise_is_the_corrected_one(holders: int) -> None:
    m, b = holders, 1.7
    found = NoiseMoments.laplace(b, holders=m)
    assert found.second == pytest.approx(2 * m * b**2)
    assert found.fourth == pytest.approx(12 * (m**2 + m) * b**4)
    assert found.sixth == pytest.approx(120 * (m**3 + 3 * m**2 + 2 * m) * b**6)
    published = 240 * (m**3 + 2 * m) * b**6
    assert (found.sixth == pytest.approx(published)) == (m <= 2)


def test_a_large_scale_is_nearly_continuous() -> None:
    found = NoiseMoments.of(DiscreteLaplace(Fraction(5000), 2), holders=3)
    assert found.fourth == pytest.approx(NoiseMoments.laplace(5000, holders=3).fourth, rel=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("count", [0, 10, 60])
@pytest.mark.parametrize("holders", [1, 3])
def test_clipped_counts_have_the_mean_and_variance_that_was_drawn(kind: str, count: int, holders: int) -> None:
    event = event_of(kind, 30.0)
    noise = CellNoise.of(event, holders=holders)
    drawn = np.array([noise_of(event, 200_000, 17 + holder) for holder in range(holders)])
    by_holder = np.maximum(drawn + count, 0).sum(axis=0)
    by_analyst = np.maximum((drawn + count).sum(axis=0), 0)
    whole = np.array([float(holders * count)])
    for (mean, variance), found in (
        (noise.clipped_by_holders(whole), by_holder),
        (noise.clipped_by_analyst(whole), by_analyst),
    ):
        assert float(mean[0]) == pytest.approx(found.mean(), rel=0.06, abs=0.5)
        assert float(variance[0]) == pytest.approx(found.var(), rel=0.1)
    assert noise.deviation == pytest.approx(drawn.sum(axis=0).std(), rel=0.02)


def test_no_holder_and_no_counts_are_refused() -> None:
    with pytest.raises(InputError, match="holders: found 0"):
        NoiseMoments.laplace(1, holders=0)
    with pytest.raises(InputError, match="holders: found 0"):
        CellNoise.of(DiscreteLaplace(Fraction(1), 2), holders=0)
    for of in (NoiseMoments.of, CellNoise.of):
        with pytest.raises(TypeError, match="adds no noise to counts"):
            of(Selection("exponential", Fraction(1)), holders=1)
