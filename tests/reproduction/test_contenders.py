"""The theory of every estimator, published and sound, beside simulations that know nothing of it."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reproduction.budget_use import published_loss, state_loss, use_rows
from reproduction.contenders import BINARY, ESTIMATORS, contenders, published, sound, sound_calibration
from reproduction.experiments.sample_size import needed_sample
from reproduction.published import (
    PublishedDensityEstimator,
    PublishedLaw,
    UnsoundCalibrationWarning,
    published_law,
    published_rate,
)
from reproduction.stream_trials import UNIVERSE, errors_of, expected_density, present_users, zipf_users

from panbayes.dp.simulated import SimulatedNoise
from panbayes.stream.accuracy.density_bounds import Bounded
from panbayes.stream.accuracy.published_error import Published
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.laws.registry import law_kind
from panbayes.stream.state.coins import seeded_coins
from tests.stream.enumeration import exact_loss

USERS, SAMPLE, PRESENT = 400, 100, 250


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_published_theory_against_whole_streams(estimator: Published) -> None:
    """2,000 runs give mean squares a relative standard error of 4 %, probabilities one of at most 0.011.

    The sample is so small that a third of the error comes from the output.
    """
    density, stream, sample, users = 0.625, np.tile(np.arange(25), 2), 10, 40
    one = published(estimator, epsilon=0.5, sample=sample, universe=users)
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundCalibrationWarning)
        for seed in range(2000):
            run = PublishedDensityEstimator(estimator, epsilon=0.5, universe=users, sample=sample, seed=seed)
            run.update(stream)
            errors.append(run.estimate() - density)
    found = np.array(errors)
    assert np.mean(found**2) == pytest.approx(one.mse(density), rel=0.2)
    alpha = 1.2 * math.sqrt(one.mse(density))
    assert np.mean(np.abs(found) >= alpha) == pytest.approx(one.failure(alpha, density), abs=0.05)


@pytest.mark.parametrize("kind", ["published", "sound"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_trials_have_the_errors_of_the_theory(estimator: Published, kind: str) -> None:
    """As above, with the shortcut of one draw an entry; a signal that is off by 30 % moves the mean by far more."""
    made = published if kind == "published" else sound
    one = made(estimator, epsilon=0.4, sample=SAMPLE, universe=USERS)
    generator = np.random.default_rng(list(estimator.encode()))
    counts = generator.hypergeometric(PRESENT, USERS - PRESENT, SAMPLE, 3000)
    errors = np.array([one.estimate(int(count), generator) for count in counts]) - PRESENT / USERS
    expected = one.mse(PRESENT / USERS)
    assert np.mean(errors**2) == pytest.approx(expected, rel=0.16)
    assert abs(errors.mean()) < 5 * math.sqrt(expected / errors.size)
    alpha = 1.5 * math.sqrt(expected)
    assert np.mean(np.abs(errors) >= alpha) == pytest.approx(one.failure(alpha, PRESENT / USERS), abs=0.04)


def test_sound_trials_are_those_of_the_real_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 runs of the estimator that people use: a relative standard error of 7 %. Estimates are cut to [0, 1].

    Coins, noise and samples are seeded.
    """
    monkeypatch.setattr(os, "urandom", np.random.default_rng(1).bytes)
    estimator: Published = "optimal-bernoulli"
    users, sample = 200, 100
    calibration = sound_calibration(estimator, epsilon=0.6, sample=sample, universe=users)
    squares = []
    for seed in range(400):
        with DensityEstimator(
            users,
            epsilon="1.2",
            sample=sample,
            law=estimator,
            state_epsilon=calibration.state_epsilon,
            noise=SimulatedNoise(seed),
            coins=seeded_coins(seed),
        ) as real:
            real.update(np.arange(users // 2))
            squares.append((real.estimate().density - 0.5) ** 2)
    one = sound(estimator, epsilon=0.6, sample=sample, universe=users)
    assert np.mean(squares) == pytest.approx(one.mse(0.5), rel=0.28)


def test_every_published_estimator_has_a_sound_one_of_the_same_total() -> None:
    for name in ESTIMATORS:
        calibration = sound_calibration(name, epsilon=0.15, sample=500, universe=None)
        assert calibration.loss() <= 0.3 == float(calibration.epsilon)
    compared = contenders(epsilon=0.15, sample=500, universe=1000)
    assert [(one.kind, one.estimator) for one in compared] == [
        (kind, name) for kind in ("published", "sound") for name in ESTIMATORS
    ]


@pytest.mark.parametrize("estimator", BINARY)
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_losses_by_brute_force(estimator: Published, epsilon: float) -> None:
    """Every history of one user, every bit, every output: what the table of the errata has."""
    law = law_kind(estimator).law(
        sound_calibration(estimator, epsilon=epsilon, sample=9, universe=None).epsilon / 2, levels=2
    )
    assert published_loss(estimator, epsilon) == pytest.approx(
        exact_loss(law, [1 / published_rate(law, epsilon=epsilon)]), rel=1e-6
    )
    assert published_loss(estimator, epsilon) > 2 * epsilon


def joint_ratio(
    estimator: Published, epsilon: float, seen: float, output: float, support: tuple[float, float]
) -> float:
    """The likelihood ratio of "only after" over "only before" the look, by an integral; both laws as densities."""
    law = published_law(estimator, epsilon=epsilon)
    rate = epsilon / (law.mean_update - law.mean_init)
    x = np.linspace(*support, 200_001)
    if estimator == "laplace":
        init, update = np.exp(-epsilon * np.abs(x)), np.exp(-epsilon * np.abs(x - 1))
        state = math.exp(epsilon * (abs(seen - 1) - abs(seen)))
    else:
        init, update = np.exp(-epsilon * x**2), np.exp(-epsilon * (1 - x) ** 2)
        state = math.exp(epsilon * ((1 - seen) ** 2 - seen**2))
    assert init.sum() == pytest.approx(update.sum(), rel=1e-3)
    after = float(np.exp(-rate * np.abs(output - x)) @ update / update.sum())
    return math.log(state * after) + rate * abs(output - seen)


def test_the_loss_of_truncated_gaussian_entries_is_attained() -> None:
    for epsilon in (0.1, 0.5):
        ratios = [
            joint_ratio("truncated-gaussian", epsilon, seen, output, (0.0, 1.0))
            for seen in (0.0, 0.3, 1.0)
            for output in (-1.0, 0.5, 1.0, 3.0)
        ]
        assert max(ratios) == pytest.approx(published_loss("truncated-gaussian", epsilon), rel=1e-3)


def test_the_loss_of_laplace_entries_grows_without_end() -> None:
    outputs = (10.0, 100.0, 1000.0)
    ratios = [joint_ratio("laplace", 0.5, 0.0, output, (-100.0, 1200.0)) for output in outputs]
    # The integral grows like the output, the loss like its logarithm: by ln 10 = 2.3 in the end.
    assert all(later > earlier + 1.5 for earlier, later in pairwise(ratios))
    assert published_loss("laplace", 0.5) == math.inf


def test_what_a_state_uses() -> None:
    for row in use_rows("dwork", (0.1, 0.5)):
        epsilon = float(row["epsilon"])
        assert row["state_loss"] == pytest.approx(-math.log(1 - epsilon / 2))
        assert row["claimed"] == 2 * epsilon >= float(row["sound_loss"]) > 2 * epsilon - 1e-5
        assert float(row["sound_state"]) < float(row["sound_loss"])
    assert state_loss(0.6, 0.3) == pytest.approx(math.log(2))


@pytest.mark.parametrize("stream", ["uniform", "zipf"])
def test_streams_have_their_density(stream: str) -> None:
    generator = np.random.default_rng(3)
    densities = [float(present_users(stream, generator).mean()) for _ in range(5)]
    assert np.mean(densities) == pytest.approx(expected_density(stream), abs=0.004)


def test_zipfs_users_are_found_as_a_bisection_finds_them() -> None:
    uniform = np.concatenate([np.random.default_rng(1).random(50_000), [0.0, 1 - 2**-53], np.arange(64) / 64])
    weights = 1 / np.arange(1, UNIVERSE + 1)
    cumulated = np.cumsum(weights / weights.sum())
    expected = np.minimum(np.searchsorted(cumulated, uniform, side="right"), UNIVERSE - 1)
    assert zipf_users(uniform).tolist() == expected.tolist()


def test_a_repetition_samples_without_replacement() -> None:
    """With everybody in the sample and neither coins nor noise, no error is left; with a tenth, that of sampling is."""
    certain = PublishedLaw(np.zeros_like, np.ones_like, 0.0, 1.0)

    def errors(sample: int) -> np.ndarray:
        noisy = published("optimal-bernoulli", epsilon=0.5, sample=sample, universe=UNIVERSE)
        one = replace(noisy, law=certain, noise=lambda _: 0.0)
        ((_, found),) = errors_of([one], stream="uniform", repetitions=400, seed=2)
        return found

    assert not errors(UNIVERSE).any()
    density = expected_density("uniform")
    assert np.mean(errors(UNIVERSE // 10) ** 2) == pytest.approx(density * (1 - density) / 10**4 * 0.9, rel=0.28)


@pytest.mark.parametrize("estimator", ["dwork", "optimal-bernoulli"])
def test_needed_samples_are_just_enough(estimator: Bounded) -> None:
    needed = needed_sample(estimator, epsilon=0.5, alpha=0.1, beta=0.1)
    worst = max(
        published(estimator, epsilon=0.5, sample=needed, universe=None).failure(0.1, density) for density in (0, 0.5, 1)
    )
    assert worst == pytest.approx(0.1, rel=0.04)
