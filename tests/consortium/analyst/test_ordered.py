from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.consortium.analyst.adaptive.estimation import estimate_marginals
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.ordered import JUMPS, STEPS, moments_along

Floats = NDArray[np.float64]

LOGARITHMS = np.array([-2.0, -1.1, 0.0, 0.3, 0.9])
COUNTS = 40 * np.exp(LOGARITHMS)
PRIOR = np.array([0.3, 0.1, 0.25, 0.3, 0.05])


def transitions(step: float, jump: float) -> Floats:
    """Write the law of a step as the module has it, from each point (row) to each (column)."""
    widths = np.gradient(LOGARITHMS)
    near = widths * np.exp(-np.abs(LOGARITHMS[:, None] - LOGARITHMS) / step)
    near /= near.sum(axis=1, keepdims=True)
    return np.asarray((1 - jump) * near + jump * PRIOR)


def by_all_ways(likelihood: Floats) -> tuple[Floats, Floats]:
    """Add up over every way through the grid, for every τ and q."""
    values, points = likelihood.shape
    whole, firsts, seconds = 0.0, np.zeros(values), np.zeros(values)
    for step, jump in [*product(STEPS, JUMPS), (1.0, 1.0)]:
        moves = transitions(step, jump)
        for way in product(range(points), repeat=values):
            chance = PRIOR[way[0]] * likelihood[0, way[0]]
            for value in range(1, values):
                chance *= moves[way[value - 1], way[value]] * likelihood[value, way[value]]
            whole += chance
            firsts += chance * COUNTS[list(way)]
            seconds += chance * COUNTS[list(way)] ** 2
    mean = firsts / whole
    return mean, seconds / whole - mean**2


@pytest.mark.parametrize("values", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_both_passes_give_what_all_ways_through_the_grid_add_up_to(values: int, seed: int) -> None:
    likelihood = np.random.default_rng(seed).random((values, LOGARITHMS.size)) ** 3
    mean, variance = moments_along(likelihood, PRIOR, LOGARITHMS, COUNTS)
    true_mean, true_variance = by_all_ways(likelihood)
    assert mean == pytest.approx(true_mean, rel=1e-10)
    assert variance == pytest.approx(true_variance, rel=1e-9)


def test_rows_may_be_scaled() -> None:
    likelihood = np.random.default_rng(5).random((6, LOGARITHMS.size))
    scaled = likelihood * np.array([1.0, 1e-9, 5.0, 1.0, 1e6, 2.0])[:, None]
    for one, other in zip(
        moments_along(likelihood, PRIOR, LOGARITHMS, COUNTS),
        moments_along(scaled, PRIOR, LOGARITHMS, COUNTS),
        strict=True,
    ):
        assert one == pytest.approx(other)


def test_clear_counts_stay_where_they_are_however_unlike_their_neighbours() -> None:
    """Every second value is as frequent as can be, the others as rare; the likelihood leaves one point of the grid."""
    places = np.tile([0, 4], 300)
    mean, variance = moments_along(np.eye(5)[places], PRIOR, LOGARITHMS, COUNTS)
    assert mean == pytest.approx(COUNTS[places])
    assert variance == pytest.approx(np.zeros(600), abs=1e-6)


def lost(truth: Floats, *, ordered: bool, runs: int = 12) -> float:
    """Return the bits that noise of deviation 100 costs an attribute, in the mean of some runs."""
    rng, law, total = np.random.default_rng(3), NoiseLaw(True, ((100.0, 1),)), float(truth.sum())
    found = 0.0
    for _ in range(runs):
        noisy = truth + rng.normal(scale=100.0, size=truth.size)
        (estimate,) = estimate_marginals([noisy], [law], total, [ordered])
        found += float((truth / total * np.log2(truth / total / estimate.distribution)).sum()) / runs
    return found


@pytest.mark.parametrize(
    ("truth", "most"),
    [
        (20 + 800 * np.exp(-0.5 * ((np.arange(60) - 20) / 9) ** 2), 0.5),  # a hill
        (9_000 * 0.75 ** np.arange(30.0) + 1, 0.5),  # a fall
        (np.where(np.arange(40) < 25, 300.0, 4.0), 0.6),  # a cliff
        (np.random.default_rng(1).permutation(9_000 * 0.75 ** np.arange(30.0) + 1), 1.1),  # codes
    ],
)
def test_an_order_helps_where_there_is_one_and_does_no_harm_where_there_is_none(truth: Floats, most: float) -> None:
    assert lost(truth, ordered=True) < most * lost(truth, ordered=False)


def test_what_is_uniform_stays_so() -> None:
    """A tenth of what noise costs counts that are taken as they are."""
    values, each = 20, 400.0
    as_they_are = values * (values - 1) * 100.0**2 / (2 * np.log(2) * (values * each) ** 2)
    assert lost(np.full(values, each), ordered=True) < 0.1 * as_they_are
