from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from panbayes.dp.noise import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.guarantee.laws import Family
from panbayes.stream.state.coins import seeded_coins


@pytest.mark.parametrize(
    ("family", "levels", "sample"),
    [
        ("optimal-bernoulli", 2, None),
        ("optimal-bernoulli", 2, 300),
        ("dwork", 2, None),
        ("quantized-laplace", 2, None),
        ("quantized-laplace", 4, 60),
        ("quantized-gaussian", 3, None),
    ],
)
def test_errors_and_intervals_hold(family: Family, levels: int, sample: int | None) -> None:
    """Whole runs: the error is as predicted, the interval covers as often as it says."""
    size, present, runs = 1000, 300, 120 if levels == 2 else 12
    squared, covered, predicted = [], 0, 0.0
    for seed in range(runs):
        estimator = DensityEstimator(
            size,
            epsilon=1,
            sample=sample,
            state=family,
            levels=levels,
            state_epsilon="0.49",
            noise=SimulatedNoise(seed),
            coins=seeded_coins(seed),
        )
        estimator.update(np.random.default_rng(seed).permutation(np.repeat(np.arange(present), 2)))
        answer = estimator.estimate()
        squared.append((answer.unbiased - present / size) ** 2)
        covered += answer.low <= present / size <= answer.high
        predicted = answer.rmse
        assert not answer.private
    # The root of a mean of n squares has a relative standard error of 1/√(2n); 4 are allowed: 26 % for two levels.
    assert math.sqrt(np.mean(squared)) == pytest.approx(predicted, rel=4 / math.sqrt(2 * runs))
    # At coverage 0.95, fewer than 104 of 120 or 8 of 12 happens once in 30,000.
    assert covered >= (104 if levels == 2 else 8)


def test_deletions_take_users_out_again() -> None:
    with DensityEstimator(100_000, epsilon=10) as estimator:
        estimator.update(np.arange(60_000))
        estimator.remove(np.arange(20_000))
        answer = estimator.estimate()
    assert answer.density == pytest.approx(0.4, abs=0.01)
    assert answer.low <= 0.4 <= answer.high
    assert answer.private


def test_releases_are_counted_and_repeated() -> None:
    with DensityEstimator(1000, epsilon=1, releases=3) as estimator:
        assert estimator.last() is None
        answers = [estimator.estimate() for _ in range(3)]
        assert [a.releases_left for a in answers] == [2, 1, 0]
        assert all(a.fresh for a in answers)
        assert len({a.statistic for a in answers}) > 1
        estimator.update(range(1000))
        for _ in range(3):
            again = estimator.estimate(confidence=0.5)
            assert (again.statistic, again.fresh, again.releases_left) == (answers[-1].statistic, False, 0)
            assert again.high - again.low < answers[-1].high - answers[-1].low
        last = estimator.last()
        assert last is not None
        assert last.statistic == answers[-1].statistic


def test_more_releases_cost_accuracy_not_privacy() -> None:
    one, ten = (DensityEstimator(10_000, epsilon=1, releases=r).configuration.calibration for r in (1, 10))
    assert ten.loss() <= 1
    assert one.loss() <= 1
    assert ten.noise_scale > 2 * one.noise_scale


def test_bad_arguments() -> None:
    for epsilon, releases, sample in ((0, 1, None), ("x", 1, None), (1, 0, None), (1, 1, 0), (1, 1, 11)):
        with pytest.raises(InputError):
            DensityEstimator(10, epsilon=epsilon, releases=releases, sample=sample)
    with DensityEstimator(10, epsilon=1) as estimator, pytest.raises(InputError, match="confidence"):
        estimator.estimate(confidence=1)


def test_the_same_seeds_give_the_same_bytes() -> None:
    def run() -> tuple[int, Fraction]:
        e = DensityEstimator(500, epsilon=1, noise=SimulatedNoise(1), coins=seeded_coins(1))
        e.update(["1", "2", "nobody", "3"])
        answer = e.estimate()
        return answer.statistic, answer.epsilon

    assert run() == run()
