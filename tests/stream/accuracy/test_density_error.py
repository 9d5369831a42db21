from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from reproduction.published import PublishedDensityEstimator, UnsoundCalibrationWarning, published_law

from panbayes.stream.accuracy.density_bounds import Bounded, failure_bound, sample_size_bound
from panbayes.stream.accuracy.density_error import Design, geometric_variance, mse, worst_rmse
from panbayes.stream.accuracy.published_error import (
    Published,
    published_mse,
    published_mse_bound,
    truncated_gaussian_moments,
)
from panbayes.stream.accuracy.statistic_law import (
    confidence_interval,
    failure_probability,
    statistic_law,
    worst_failure,
)
from tests.effort import often

ESTIMATORS: list[Published] = ["dwork", "optimal-bernoulli", "quantized-laplace", "laplace", "truncated-gaussian"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_published_errors_against_simulation(estimator: Published) -> None:
    """1,000 runs: the variance of the squared error gives a relative standard error of about 4.5 %; 30 % is seen."""
    epsilon, universe, sample, present = 0.5, 400, 100, 250
    squared = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundCalibrationWarning)
        for seed in range(often(1000, 3000)):
            run = PublishedDensityEstimator(estimator, epsilon=epsilon, universe=universe, sample=sample, seed=seed)
            run.update(np.arange(present))
            squared.append((run.estimate() - present / universe) ** 2)
    density = present / universe
    # The formula has the sampling part of an infinite universe (binary) or none (continuous); put in the right one.
    sampling = density * (1 - density) / sample
    predicted = published_mse(estimator, epsilon=epsilon, sample=sample, density=density)
    predicted += sampling * (universe - sample) / (universe - 1)
    if estimator not in ("laplace", "truncated-gaussian"):
        predicted -= sampling
    assert np.mean(squared) == pytest.approx(predicted, rel=often(18, 10) / 100)


def test_the_published_estimator_warns() -> None:
    with pytest.warns(UnsoundCalibrationWarning, match="does not keep its claim"):
        PublishedDensityEstimator("dwork", epsilon=0.5, universe=10, sample=10, seed=1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_published_laws_have_the_stated_moments(estimator: Published) -> None:
    law = published_law(estimator, epsilon=0.4)
    uniform = (np.arange(200_000) + 0.5) / 200_000
    assert law.init(uniform).mean() == pytest.approx(law.mean_init, abs=1e-3)
    assert law.update(uniform).mean() == pytest.approx(law.mean_update, abs=1e-3)
    if estimator == "truncated-gaussian":
        assert law.init(uniform).var() == pytest.approx(truncated_gaussian_moments(0.4)[1], rel=1e-3)


def test_theorem_bounds() -> None:
    for epsilon, m in ((0.1, 100), (0.5, 1000)):
        assert published_mse_bound("dwork", epsilon=epsilon, sample=m) == pytest.approx(
            2 * (2 * m + 1) / (m * epsilon) ** 2
        )
        assert published_mse_bound("laplace", epsilon=epsilon, sample=m) == pytest.approx(
            2 * (m + 1) / (m * epsilon) ** 2
        )
        for name in ("dwork", "optimal-bernoulli", "quantized-laplace"):
            exact = max(
                published_mse(name, epsilon=epsilon, sample=m, density=d) for d in np.linspace(0, 1, 101).tolist()
            )
            assert 0.8 * published_mse_bound(name, epsilon=epsilon, sample=m) <= exact
            assert exact <= published_mse_bound(name, epsilon=epsilon, sample=m) * (1 + 1e-12)
    ranking = [published_mse(name, epsilon=0.5, sample=1000, density=0.6) for name in ESTIMATORS]
    assert ranking[1] < ranking[2] < ranking[3] < ranking[0]


@pytest.mark.parametrize("estimator", ["dwork", "optimal-bernoulli", "quantized-laplace", "laplace"])
def test_m_star_minimises_the_maximum_over_all_four_deltas(estimator: Bounded) -> None:
    epsilon, alpha, beta = 0.5, 0.1, 0.05
    found = sample_size_bound(estimator, epsilon=epsilon, alpha=alpha, beta=beta)

    def needed(d1: float, d2: float, d3: float, d4: float) -> float:
        kappa = {"dwork": epsilon**2 / 8, "laplace": epsilon**2 / 8}.get(estimator)
        if kappa is None:
            signal = np.tanh(epsilon / 2) if estimator == "optimal-bernoulli" else 1 - np.exp(-epsilon / 2)
            kappa = 2 * float(signal) ** 2
        return max(
            math.log(2 / (beta * d3)) / (2 * alpha**2 * (1 - d1) ** 2),
            math.log(2 / (beta * d4)) / (kappa * alpha**2 * d1**2 * (1 - d2) ** 2),
            math.log(1 / (beta * (1 - d3 - d4))) / (epsilon * alpha * d1 * d2),
        )

    assert needed(*found.deltas) <= found.sample + 1
    rng = np.random.default_rng(3)
    for _ in range(often(4_000, 20_000)):
        d = np.clip(np.array(found.deltas) + rng.normal(0, 0.05, 4) * rng.random(), 1e-6, 1 - 1e-6)
        if d[2] + d[3] < 1:
            assert needed(*d.tolist()) >= found.sample - 1.5
    bound = failure_bound(estimator, epsilon=epsilon, alpha=alpha, sample=found.sample)
    assert bound.beta <= beta < failure_bound(estimator, epsilon=epsilon, alpha=alpha, sample=found.sample * 0.99).beta


DESIGNS = [
    Design((0.6, 0.4), (0.3, 0.7), (0, 1), 40, None, 1.7),
    Design((0.6, 0.4), (0.3, 0.7), (0, 1), 40, 40, 1.7),
    Design((0.6, 0.4), (0.3, 0.7), (0, 1), 40, 100, 1.7),
    Design((0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0, 3, 7), 25, 80, 9.0),
]


def simulate(design: Design, density: float, trials: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if design.universe is None:
        present = rng.binomial(design.sample, density, trials)
    else:
        d = round(density * design.universe)
        present = rng.hypergeometric(d, design.universe - d, design.sample, trials)
    scores = np.array(design.scores)
    total = (
        rng.multinomial(present, design.update) @ scores
        + rng.multinomial(design.sample - present, design.init) @ scores
    )
    decay = -np.expm1(-1 / design.noise_scale)
    return np.asarray(total + rng.geometric(decay, trials) - rng.geometric(decay, trials))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_the_law_of_the_statistic(design: Design, density: float) -> None:
    first, law = statistic_law(design, density)
    values = first + np.arange(law.size)
    mean = float(law @ values)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(design.sample * (design.mean_init + density * design.signal), abs=1e-6)
    variance = float(law @ (values - mean) ** 2)
    assert variance == pytest.approx(
        design.statistic_variance(density) + geometric_variance(design.noise_scale), rel=1e-6
    )
    assert variance == pytest.approx(mse(design, density) * (design.sample * design.signal) ** 2, rel=1e-6)
    drawn = simulate(design, density, often(50_000, 200_000), seed=11)
    cumulative = np.cumsum(law)
    empirical = np.searchsorted(np.sort(drawn), values, side="right") / drawn.size
    # Kolmogorov distance of n draws: 1.97/√n is passed by chance once in 1,200.
    assert np.max(np.abs(empirical - cumulative)) < 1.97 / drawn.size**0.5


@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover(design: Design) -> None:
    """Exactly: add up the law of the statistic over the intervals that hold the density."""
    for density in (0.0, 0.25, 0.5, 1.0):
        first, law = statistic_law(design, density)
        cumulative = np.cumsum(law)
        low, high = np.searchsorted(cumulative, [1e-4, 1 - 1e-4])
        covered = 1.0
        for index in range(int(low), int(high) + 1):
            left, right = confidence_interval(design, statistic=first + index, confidence=0.9)
            if not left <= density <= right:
                covered -= float(law[index])
        assert covered >= 0.9 - 2e-4


def test_intervals_of_large_samples_still_cover() -> None:
    """Where the law is too large to transform, the normal law with its error bound gives a slightly wider interval."""
    small = Design((0.73, 0.27), (0.27, 0.73), (0, 1), 60_000, 120_000, 10.0)
    large = Design((0.73, 0.27), (0.27, 0.73), (0, 1), 300_000, 600_000, 10.0)
    for design in (small, large):
        statistic = round(design.sample * (design.mean_init + 0.4 * design.signal))
        low, high = confidence_interval(design, statistic=statistic, confidence=0.95)
        half = 1.96 * mse(design, 0.4) ** 0.5
        assert low < 0.4 < high
        assert (high - low) / 2 == pytest.approx(half, rel=0.1)
        assert (high - low) / 2 > half * 0.99


@pytest.mark.parametrize("design", DESIGNS)
def test_the_worst_density_is_found(design: Design) -> None:
    steps = design.universe or 2000
    everywhere = max(failure_probability(design, alpha=0.21, density=k / steps) for k in range(steps + 1))
    found = worst_failure(design, alpha=0.21)
    assert everywhere * 0.97 <= found <= everywhere * (1 + 1e-6) or design.universe is None
    assert worst_rmse(design) ** 2 >= max(mse(design, k / 50) for k in range(51)) * (1 - 1e-9)
