from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.consortium.analyst.adaptive.estimation import estimate_marginals
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.ordered import moments_along

Floats = NDArray[np.float64]

LOGARITHMS = np.array([-2.0, -1.1, 0.0, 0.3, 0.9])
COUNTS = 40 * np.exp(LOGARITHMS)
PRIOR = np.array([0.3, 0.1, 0.25, 0.3, 0.05])
TRIED = [*product((0.1, 0.2, 0.4, 0.8, 1.6), (0.02, 0.1, 0.3)), (1.0, 1.0)]
"""Every τ and q, written out."""


def transitions(step: float, jump: float) -> Floats:
    """Write the law of a step as the module has it, from each point (row) to each (column)."""
    widths = np.gradient(LOGARITHMS)
    near = widths * np.exp(-np.abs(LOGARITHMS[:, None] - LOGARITHMS) / step)
    near /= near.sum(axis=1, keepdims=True)
    return np.asarray((1 - jump) * near + jump * PRIOR)


def by_all_ways(likelihood: Floats) -> tuple[Floats, Floats]:
    """Add up over every way through the grid, for every τ and q, from either end; where all may jump ends are alike."""
    values, points = likelihood.shape
    whole, firsts, seconds = 0.0, np.zeros(values), np.zeros(values)
    for (step, jump), order in product(TRIED, (range(values), range(values - 1, -1, -1))):
        if jump == 1.0 and values > 1 and order[0]:
            continue
        moves = transitions(step, jump)
        for way in product(range(points), repeat=values):
            chance = PRIOR[way[order[0]]] * likelihood[order[0], way[order[0]]]
            for before, value in pairwise(order):
                chance *= moves[way[before], way[value]] * likelihood[value, way[value]]
            if values == 1 and jump == 1.0:
                chance /= 2
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


def test_it_is_all_the_same_from_which_end_values_are_listed() -> None:
    likelihood = np.random.default_rng(6).random((9, LOGARITHMS.size)) ** 4
    forwards = moments_along(likelihood, PRIOR, LOGARITHMS, COUNTS)
    backwards = moments_along(likelihood[::-1], PRIOR, LOGARITHMS, COUNTS)
    for one, other in zip(forwards, backwards, strict=True):
        assert one == pytest.approx(other[::-1])


def lost(truth: Floats, *, ordered: bool, noise: float = 100.0, runs: int = 12) -> float:
    """Return the bits that ``noise`` of this deviation costs an attribute, in the mean of some runs."""
    rng, law, total = np.random.default_rng(3), NoiseLaw(True, ((noise, 1),)), float(truth.sum())
    found = 0.0
    for _ in range(runs):
        noisy = truth + rng.normal(scale=noise, size=truth.size)
        (estimate,) = estimate_marginals([noisy], [law], total, [truth.size if ordered else 0])
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


@pytest.mark.parametrize("noise", [100.0, 20_000.0])
def test_what_is_uniform_stays_so(noise: float) -> None:
    """Where nothing tells an attribute from the uniform law its order is not looked at."""
    even = np.full(20, 400.0)
    assert lost(even, ordered=True, noise=noise) == lost(even, ordered=False, noise=noise) < 0.005


UNEVEN = np.array([4_000.0, 900.0, 60.0, 40.0])


def estimated(noisy: Floats, in_order: int, beside: Floats = UNEVEN) -> tuple[Floats, Floats]:
    """Estimate an attribute beside one that is far from uniform: counts of 5,000 records, and their variances."""
    law = NoiseLaw(True, ((40.0, 1),))
    found, _ = estimate_marginals([noisy, beside], [law, law], 5_000.0, [in_order, 0])
    return found.distribution * 5_000, found.variance


@pytest.mark.parametrize(("size", "in_order", "matters"), [(2, 2, False), (3, 3, True), (4, 3, True), (4, 2, False)])
def test_an_order_counts_from_three_values_on_without_other_and_missing(
    size: int, in_order: int, *, matters: bool
) -> None:
    noisy = np.array([150.0, 120.0, 90.0, 70.0])[:size]
    along, alone = (estimated(noisy, number)[1] for number in (in_order, 0))
    assert np.array_equal(along, alone) != matters
    assert np.array_equal(along[in_order:], alone[in_order:])


def test_clear_counts_tell_of_their_neighbours_and_stay_themselves() -> None:
    """A count of 30 with noise of 40 is more likely large between large ones than between small ones."""
    high, low = np.array([2_400.0, 30.0, 2_570.0]), np.array([20.0, 30.0, 25.0, 2_500.0, 2_425.0])
    (among_high, variance), (among_low, _) = estimated(high, 3), estimated(low, 3)
    assert among_high[1] > 1.2 * among_low[1]
    assert among_high[[0, 2]] == pytest.approx(high[[0, 2]], rel=0.02)
    assert variance[[0, 2]] == pytest.approx(np.full(2, 40.0**2), rel=0.05)


def test_other_attributes_tell_an_ordered_one_how_rare_a_value_may_be() -> None:
    """The middle one of three rare values is held for rarer beside an attribute with many that are."""
    noisy = np.array([30.0, 20.0, 30.0, 2_500.0, 2_420.0])
    rare = np.concatenate([[4_990.0], np.full(30, 0.5)])
    assert estimated(noisy, 3, rare)[0][1] < 0.9 * estimated(noisy, 3, np.array([4_000.0, 600.0, 400.0]))[0][1]
