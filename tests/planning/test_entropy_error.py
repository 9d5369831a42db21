"""The entropy of noisy tables: formulas of panbayes.planning against simulation, and exact sums for tiny tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import multinomial

from panbayes.errors import InputError
from panbayes.planning.clipped_entropy import clipped_entropy_mean
from panbayes.planning.entropy_error import (
    central_moments,
    entropy,
    entropy_error,
    epsilon_of_bias,
    epsilon_of_error,
)
from panbayes.planning.noise_moments import NoiseMoments
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace
from tests.planning.simulated import FloatArray, close, event_of, minus_x_ln_x, noisy_tables, precise, second_order

SKEWED = np.array([0.4, 0.3, 0.2, 0.1])
GRID = [
    # n, M, the law, the noise of all holders in the least cell
    (1_000, 1, SKEWED, 0.14),
    (1_000, 5, SKEWED, 0.14),
    (10_000, 3, SKEWED, 0.1),
    (5_000, 3, np.full(20, 0.05), 0.12),
    (40_000, 10, np.full(25, 0.04), 0.14),
    (2_000, 2, np.array([0.85, 0.15]), 0.1),
    (200_000, 3, np.arange(1, 13) / 78, 0.08),
]
TIMES = 12_000


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(("records", "holders", "law", "part"), GRID)
def test_bias_and_squared_error_are_those_of_a_simulation(
    kind: str, records: int, holders: int, law: FloatArray, part: float
) -> None:
    event = event_of(kind, part * records * float(law.min()) / holders**0.5)
    tables = noisy_tables(law, records=records, event=event, holders=holders, times=TIMES, seed=records + holders)
    shares = tables / records
    # The first order has mean 0 and is most of the variance: without it the mean is had from fewer draws.
    plain = minus_x_ln_x(shares).sum(axis=1) - entropy(law)
    centred = plain + ((1 + np.log(law)) * (shares - law)).sum(axis=1)
    found = entropy_error(law, records=records, noise=NoiseMoments.of(event, holders=holders))
    assert found.holds
    assert precise(centred, within=0.12)
    assert close(found.bias, centred, within=0.12)
    assert close(found.chance + found.noise, centred, within=0.15)
    assert precise(plain**2, within=0.12)
    assert close(found.mean_squared, plain**2, within=0.12)
    assert found.deviation**2 == pytest.approx(found.mean_squared)


def test_noise_is_most_of_it_in_the_simulation() -> None:
    # Otherwise a simulation of the sum would not tell whether the term of the noise is right.
    shares = []
    for records, holders, law, part in GRID:
        noise = NoiseMoments.laplace(part * records * float(law.min()) / (2 * holders) ** 0.5, holders=holders)
        found = entropy_error(law, records=records, noise=noise)
        shares.append(found.noise / found.chance)
    assert sum(share > 0.5 for share in shares) >= 5


@pytest.mark.parametrize("holders", [1, 2, 3])
def test_central_moments_are_exact(holders: int) -> None:
    law, records, event = np.array([0.5, 0.3, 0.2]), 4, DiscreteLaplace(Fraction(4, 5), 2)
    noise = NoiseMoments.of(event, holders=holders)
    moments = {2: 0.0, 3: 0.0, 4: 0.0}
    for count in range(records + 1):
        chance = math.comb(records, count) * 0.3**count * 0.7 ** (records - count)
        away = count - records * 0.3
        # The noise is independent and symmetric, with moments that have a test of their own.
        moments[2] += chance * (away**2 + noise.second)
        moments[3] += chance * (away**3)
        moments[4] += chance * (away**4 + 6 * away**2 * noise.second + noise.fourth)
    found = central_moments(law, records=records, noise=noise)
    for power, values in zip((2, 3, 4), found, strict=True):
        assert float(values[1]) == pytest.approx(moments[power] / records**power, rel=1e-12)


def test_without_noise_it_is_the_empirical_entropy() -> None:
    nothing = NoiseMoments(0.0, 0.0, 0.0)
    found = entropy_error(SKEWED, records=5000, noise=nothing)
    variance = float((SKEWED * np.log(SKEWED) ** 2).sum()) - entropy(SKEWED) ** 2
    assert found.bias == pytest.approx(-3 / 10_000 + (1 - (1 / SKEWED).sum()) / (12 * 5000**2), rel=1e-6)
    assert found.mean_squared == pytest.approx(variance / 5000 + 15 / (4 * 5000**2), rel=1e-9)


@pytest.mark.parametrize("holders", [1, 2])
@pytest.mark.parametrize("event", [DiscreteLaplace(Fraction(1), 2), DiscreteGaussian(Fraction(2), 2)])
def test_the_clipped_mean_is_that_of_every_possible_table(
    event: DiscreteLaplace | DiscreteGaussian, holders: int
) -> None:
    law, records, reach = np.array([0.7, 0.3, 0.0]), 3, 45
    if isinstance(event, DiscreteLaplace):
        one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(event.scale))
    else:
        one = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(event.variance)))
    noise = one / one.sum()
    for _ in range(holders - 1):
        noise = np.convolve(noise, one / one.sum())
    places = np.arange(noise.size) - noise.size // 2
    exact = 0.0
    for counts in itertools.product(range(records + 1), repeat=2):
        if sum(counts) != records:
            continue
        chance = float(multinomial.pmf(counts, records, law[:2]))
        for count in (*counts, 0):
            exact += chance * float(noise @ minus_x_ln_x(np.maximum(count + places, 0) / records))
    found = clipped_entropy_mean(law, records=records, event=event, holders=holders)
    assert found == pytest.approx(exact, abs=1e-9)


def test_leading_terms_agree_with_the_exact_mean_where_they_hold_and_not_beyond() -> None:
    law, records, holders = SKEWED, 2_000, 3
    ratios = []
    for part in (0.05, 0.15, 1.5):
        event = event_of("laplace", part * records * float(law.min()) / holders**0.5)
        exact = clipped_entropy_mean(law, records=records, event=event, holders=holders) - entropy(law)
        found = entropy_error(law, records=records, noise=NoiseMoments.of(event, holders=holders))
        assert found.holds == (part < 0.2)
        ratios.append((found.chance + found.noise) / exact)
    assert ratios[0] == pytest.approx(1, abs=0.03)
    assert ratios[1] == pytest.approx(1, abs=0.1)
    assert abs(ratios[2] - 1) > 0.15


def test_thresholds_are_where_noise_and_chance_are_alike() -> None:
    moved, holders, records = 2 * math.comb(7, 2), 3, 40_000
    epsilon = epsilon_of_bias(SKEWED, records=records, moved=moved, holders=holders)
    found = entropy_error(SKEWED, records=records, noise=NoiseMoments.laplace(moved / epsilon, holders=holders))
    assert found.noise == pytest.approx(found.chance, rel=1e-9)
    epsilon = epsilon_of_error(SKEWED, records=records, moved=moved, holders=holders)
    noise = NoiseMoments.laplace(moved / epsilon, holders=holders)
    variance = float((SKEWED * np.log(SKEWED) ** 2).sum()) - entropy(SKEWED) ** 2
    assert noise.second * float(((1 + np.log(SKEWED)) ** 2).sum()) / records == pytest.approx(variance, rel=1e-9)
    uniform = np.full(4, 0.25)
    assert epsilon_of_error(uniform, records=records, moved=moved, holders=holders) == math.inf
    assert epsilon_of_bias(np.ones(1), records=records, moved=moved, holders=holders) == 0
    # As the thesis has it: √(M/(p_min·n)), for a uniform law of d cells √(M·d/n) but for a constant.
    more = epsilon_of_bias(uniform, records=4 * records, moved=moved, holders=4 * holders)
    assert more == pytest.approx(epsilon_of_bias(uniform, records=records, moved=moved, holders=holders))


@pytest.mark.parametrize("law", [[0.5, 0.6], [-0.1, 1.1], [], [math.nan, 1.0]])
def test_what_is_no_law_is_refused(law: list[float]) -> None:
    with pytest.raises(InputError, match="law: found no probabilities"):
        entropy_error(np.array(law), records=10, noise=NoiseMoments(0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="found no probabilities"):
        clipped_entropy_mean(np.array([0.5, 0.6]), records=10, event=DiscreteLaplace(Fraction(1), 2), holders=1)


def test_no_records_are_refused() -> None:
    with pytest.raises(InputError, match="records: found 0"):
        entropy_error(SKEWED, records=0, noise=NoiseMoments(0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="records: found 0"):
        clipped_entropy_mean(SKEWED, records=0, event=DiscreteLaplace(Fraction(1), 2), holders=1)


@pytest.mark.parametrize("scale", [3.0, 60.0])
def test_second_order_is_what_derivatives_and_the_covariance_give(scale: float) -> None:
    law, noise = np.array([0.4, 0.25, 0.2, 0.15]), NoiseMoments.laplace(scale, holders=3)
    bias, squared = second_order(lambda p: float(minus_x_ln_x(p).sum()), law, records=500.0, noise=noise)
    found = entropy_error(law, records=500, noise=noise)
    assert found.chance + found.noise == pytest.approx(bias, rel=1e-4)
    assert found.mean_squared == pytest.approx(squared, rel=1e-4)
