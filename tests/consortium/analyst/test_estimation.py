"""Estimates that know their noise: against brute force, against plain clipping, and at the ends."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.analyst.adaptive.division import Division, Grant
from panbayes.consortium.analyst.adaptive.estimation import (
    Estimate,
    estimate_given_model,
    estimate_marginal,
    update_by_groups,
)
from panbayes.consortium.analyst.adaptive.forest import Forest
from panbayes.consortium.analyst.adaptive.grouping import group, grouped, groups_within
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import turns
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.losses import CLASSES
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

LAPLACE = NoiseLaw(False, ((200.0, 1),))
GAUSS = NoiseLaw(True, ((150.0, 2),))


@pytest.mark.parametrize(
    "parts", [((3.0, 1),), ((3.0, 3),), ((3.0, 2), (8.0, 1)), ((1.0, 100),)], ids=["one", "three", "two kinds", "many"]
)
def test_the_density_of_a_sum_is_that_of_many_draws(parts: tuple[tuple[float, int], ...]) -> None:
    """A histogram of 400,000 draws agrees with the density to 5 % wherever it is not thin."""
    law = NoiseLaw(False, parts)
    rng = np.random.default_rng(0)
    drawn = sum(rng.laplace(scale=scale, size=(times, 400_000)).sum(axis=0) for scale, times in parts)
    assert np.std(drawn) == pytest.approx(law.deviation, rel=0.02)
    edges = np.linspace(-3 * law.deviation, 3 * law.deviation, 25)
    seen = np.histogram(drawn, bins=edges)[0] / 400_000
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.exp(law.log_density(middle))
    fine = np.exp(law.log_density(np.linspace(-12, 12, 4001) * law.deviation)).sum() * 24 * law.deviation / 4000
    expected = density / fine * (edges[1] - edges[0])
    assert np.abs(seen - expected)[expected > 0.004] == pytest.approx(0, abs=0.05 * float(expected.max()))


def loss(truth: NDArray[np.float64], estimate: NDArray[np.float64]) -> float:
    """How many bits an estimate costs."""
    p = truth / truth.sum()
    seen = p > 0
    return float((p[seen] * np.log2(p[seen] / estimate[seen])).sum())


@pytest.mark.parametrize("law", [LAPLACE, GAUSS])
def test_a_skewed_table_is_estimated_better_than_by_clipping(law: NoiseLaw) -> None:
    """Forty values, most of them rare: at most half the bits lost by clipping at zero and adding one."""
    truth = np.concatenate([[30_000.0, 9_000.0, 3_000.0], np.full(37, 20.0)])
    rng = np.random.default_rng(1)
    mine, clipped = [], []
    for _ in range(20):
        noise = rng.normal(scale=law.deviation, size=truth.size)
        noisy = truth + noise
        mine.append(loss(truth, estimate_marginal(noisy, law, truth.sum(), ordered=False).distribution))
        plain = np.maximum(noisy, 0) + 1
        clipped.append(loss(truth, plain / plain.sum()))
    assert np.mean(mine) < 0.5 * np.mean(clipped)


def test_ordered_values_help_each_other_and_a_peak_stays() -> None:
    places = np.arange(80)
    truth = 900 * np.exp(-0.5 * ((places - 30) / 12) ** 2)
    truth[0] = 9_000
    rng = np.random.default_rng(2)
    smooth, plain = [], []
    for _ in range(10):
        noisy = truth + rng.laplace(scale=200.0, size=truth.size)
        smooth.append(estimate_marginal(noisy, LAPLACE, truth.sum(), ordered=True).distribution)
        plain.append(estimate_marginal(noisy, LAPLACE, truth.sum(), ordered=False).distribution)
    assert np.mean([loss(truth, s) for s in smooth]) < 0.6 * np.mean([loss(truth, s) for s in plain])
    assert np.mean([s[0] for s in smooth]) * truth.sum() == pytest.approx(9_000, rel=0.1)


def test_without_noise_the_estimate_is_the_table() -> None:
    counts = np.array([5_000.0, 40.0, 0.0, 7.0])
    law = NoiseLaw(True, ((1e-3, 1),))
    found = estimate_marginal(counts, law, counts.sum(), ordered=False).distribution * counts.sum()
    assert found == pytest.approx(np.maximum(counts, 0.5), abs=0.6)
    assert estimate_given_model(counts, np.full(4, 1262.0), law)[[0, 1, 3]] == pytest.approx(counts[[0, 1, 3]])


@pytest.mark.parametrize("law", [NoiseLaw(False, ((1e6, 1),)), NoiseLaw(True, ((1e6, 1),))])
def test_where_the_noise_wins_what_was_expected_stays(law: NoiseLaw) -> None:
    expected = np.array([[100.0, 300.0], [50.0, 550.0]])
    rng = np.random.default_rng(3)
    found = estimate_given_model(expected + rng.normal(scale=1e6, size=(2, 2)), expected, law)
    ratios = found / expected
    assert ratios.max() / ratios.min() < 1.05


@pytest.mark.parametrize("noisy", [np.zeros(5), np.full(5, -1e9), np.array([1e9, 0, 0, 0, 0]), np.array([-1e12])])
def test_estimates_are_distributions_whatever_comes(noisy: NDArray[np.float64]) -> None:
    for law in (LAPLACE, GAUSS, NoiseLaw(False, ((30.0, 7), (2.0, 7)))):
        for total in (1.0, 5_000.0):
            found = estimate_marginal(noisy, law, total, ordered=True)
            assert np.all(found.distribution > 0)
            assert found.distribution.sum() == pytest.approx(1)
            assert np.all(estimate_given_model(noisy, np.full(noisy.size, total / noisy.size), law) > 0)


def test_a_precise_margin_corrects_an_uncertain_estimate_and_not_the_other_way_round() -> None:
    known = Estimate(np.array([0.5, 0.2, 0.3]), np.full(3, 1e4))
    groups = np.array([0, 1, 1])
    measured = np.array([300.0, 700.0])
    sharp = update_by_groups(known, groups, measured, 1.0, 1_000.0)
    assert grouped(sharp.distribution, groups, 0) == pytest.approx([0.3, 0.7], abs=0.01)
    assert np.all(sharp.variance <= known.variance)
    vague = update_by_groups(known, groups, measured, 1e6, 1_000.0)
    assert vague.distribution == pytest.approx(known.distribution, abs=0.01)


def test_groups_cover_all_values_and_even_shares_are_kept() -> None:
    rng = np.random.default_rng(4)
    for size in (2, 3, 17, 118):
        share = rng.dirichlet(np.full(size, 0.3))
        for count in (2, 5, 12):
            for ordered in (True, False):
                found = group(share, count, ordered=ordered)
                assert set(found.tolist()) == set(range(int(found.max()) + 1))
                assert found.max() + 1 <= max(count, 1)
                assert not ordered or np.all(np.diff(found) >= 0)
    assert math.prod(groups_within((100, 100, 100), 60)) <= 60


def test_a_forest_expects_what_its_network_says() -> None:
    """Joint distributions by messages equal exact inference in the same network."""
    rng = np.random.default_rng(5)
    sizes = (3, 4, 2, 5)
    schema = Schema("s", tuple(Attribute(f"x{i}", categories=tuple("abcde"[:k])) for i, k in enumerate(sizes)))
    singles = [rng.dirichlet(np.ones(k)) for k in sizes]
    joints = {
        (a, b): (np.arange(sizes[a]), np.arange(sizes[b]), rng.uniform(0.2, 3, size=(sizes[a], sizes[b])))
        for a, b in ((0, 1), (1, 2))
    }
    forest = Forest.of(singles, joints)
    pairs = [(x, () if (p := forest.parents[x]) is None else (p,)) for x in forest.order]
    network = Network(schema, Structure.of(pairs), forest.tables)
    own = forest.engine.posteriors({})
    groups = np.array([0, 1, 0])
    found = forest.engine.joints(0, groups)
    for x in range(1, 4):
        exact = network.posterior(["x0", f"x{x}"]).probabilities
        assert found[x] == pytest.approx(grouped(exact, groups, 0))
    assert found[0].sum(axis=0) == pytest.approx(own[0])


def test_turns_and_divisions_are_public_and_sum_up() -> None:
    assert turns({"a": 10.0, "b": 10.0, "c": 10.0}, 2) == [("a", 1), ("b", 1)]
    assert sum(times for _, times in turns({"a": 1.0, "b": 77.0, "c": 30.0}, 42)) == 42
    moved = TableSensitivity.of(adjacency="replace", max_records=1)
    for nothing in CLASSES.values():
        for amount in ("1/10000", "1/100", "1", "50"):
            grant = Grant(nothing.with_amount(Fraction(amount)), moved)
            division = Division.of(grant, (2,) * 30, total=1e4, holders=2)
            assert division.singles + division.pairs + division.triples == Fraction(199, 200)
            assert 0 <= division.pair_picks <= 29
            assert 0 <= division.triple_picks <= 30
