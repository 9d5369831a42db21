"""Averages over structures against brute force over all of them, and what sketches of tables say against theory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bench.methods import Run, dealt, keep, kept, named, tabulated
from bench.sketches import COUNT_BYTES, estimates
from bench.substructure_average import averaged_tables, chances, dependences, laws_of, positive
from bench.tree_average import TreeAverage, log_tree_sum
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import logsumexp

from panbayes.bayesnet.inference.likelihood import log_probabilities
from panbayes.bayesnet.learning.parameters import fit_tables
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.analyst.pooled_counts import PooledCounts
from panbayes.tables.counting.count_tables import contingencies

SIZES = (2, 3, 2, 2)


def all_trees(vertices: int) -> Iterator[list[tuple[int, int]]]:
    """Every labelled tree once, from its Prüfer sequence."""
    for sequence in itertools.product(range(vertices), repeat=vertices - 2):
        degree = [1 + sequence.count(vertex) for vertex in range(vertices)]
        edges = []
        for vertex in sequence:
            leaf = degree.index(1)
            edges.append((min(leaf, vertex), max(leaf, vertex)))
            degree[leaf], degree[vertex] = 0, degree[vertex] - 1
        first, second = (vertex for vertex in range(vertices) if degree[vertex] == 1)
        yield [*edges, (first, second)]


def noisy_counts(seed: int, *, deviation: float, records: int = 3000) -> PooledCounts:
    """Counts of all triples of four attributes that hang together in a chain, with normal errors."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 2, records)]
    for size in SIZES[1:]:
        codes.append(np.where(rng.random(records) < 0.5, codes[-1] % size, rng.integers(0, size, records)))
    sets = list(itertools.combinations(range(4), 3))
    tables = contingencies(np.array(codes, dtype=np.uint8), SIZES, sets)
    known: dict[tuple[int, ...], NDArray[np.int64]] = {}
    for own in sets:
        known[own] = np.rint(tables[own] + rng.normal(0, deviation, tables[own].shape)).astype(np.int64)
    return PooledCounts(SIZES, float(records), known)


@pytest.mark.parametrize("vertices", [2, 3, 4, 5])
@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_the_sum_over_all_trees(vertices: int, spread: float) -> None:
    """Also with weights that no double could hold: e^±1000 and more."""
    weights = np.random.default_rng(vertices).normal(0, spread, (vertices, vertices))
    weights = weights + weights.T
    trees = list(all_trees(vertices)) if vertices > 2 else [[(0, 1)]]
    assert len(trees) == vertices ** (vertices - 2) == len({frozenset(tree) for tree in trees})
    every = [sum(weights[edge] for edge in tree) for tree in trees]
    assert log_tree_sum(weights) == pytest.approx(logsumexp(every), rel=1e-12, abs=1e-12)
    assert log_tree_sum(np.stack([weights, weights + 1]))[1] == pytest.approx(logsumexp(every) + vertices - 1)


@pytest.mark.parametrize("deviation", [1.0, 60.0, 600.0])
def test_the_average_of_all_trees_is_a_law_and_that_average(deviation: float) -> None:
    average = TreeAverage.of(noisy_counts(4, deviation=deviation), variance=lambda _: deviation**2)
    neighbours, apart = average.weights[0, 1], average.weights[0, 3]
    assert neighbours > apart + 20 or deviation > 10, "what hangs together weighs more"
    records = np.array(list(itertools.product(*map(range, SIZES)))).T
    found = average.log_prob(records)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-6)
    laws, weights = [], []
    for tree in all_trees(4):
        logarithm = np.sum([np.log(law)[records[a]] for a, law in enumerate(average.laws)], axis=0)
        logarithm += np.sum([average.ratios[i, j][records[i], records[j]] for i, j in tree], axis=0)
        laws.append(logarithm)
        weights.append(sum(average.weights[edge] for edge in tree))
    mixed = logsumexp(np.array(laws) + (weights - logsumexp(weights))[:, None], axis=0)
    assert found == pytest.approx(mixed, abs=1e-9)


STRUCTURE = Structure.of([(0, ()), (1, (0,)), (2, (0, 1)), (3, (2,))])


@pytest.mark.parametrize("deviation", [1.0, 60.0])
def test_averaged_tables_are_the_average_of_all_sub_structures(deviation: float) -> None:
    """Of all 2·4·2 choices of parents, each with its own law, by brute force."""
    counts = noisy_counts(7, deviation=deviation)

    def variance(_: tuple[int, ...]) -> float:
        return deviation**2

    laws = laws_of(counts, variance=variance)
    children = (1, 2, 3)
    own = {
        child: list(dependences(child, STRUCTURE.parents(child), counts, laws[child], variance=variance))
        for child in children
    }
    likely = dict(zip(children, chances([np.array([one.evidence for one in own[c]]) for c in children]), strict=True))
    records = np.array(list(itertools.product(*map(range, SIZES))), dtype=np.uint8).T
    total = np.zeros(records.shape[1])
    whole = 0.0
    for choice in itertools.product(*(range(len(own[child]) + 1) for child in children)):
        chance, tables = 1.0, [laws[0]]
        for child, chosen in zip(children, choice, strict=True):
            shape = [*(SIZES[p] for p in STRUCTURE.parents(child)), SIZES[child]]
            if chosen:
                strengths = likely[child].each[chosen - 1]
                chance *= float(strengths.sum())
                tables.append(np.broadcast_to(own[child][chosen - 1].table(strengths, laws[child]), shape))
            else:
                chance *= likely[child].none
                tables.append(np.broadcast_to(laws[child], shape))
        whole += chance
        total += chance * np.exp(log_probabilities(STRUCTURE, tuple(map(np.ascontiguousarray, tables)), records))
    assert whole == pytest.approx(1)
    averaged = averaged_tables(STRUCTURE, counts, variance=variance)
    assert np.exp(log_probabilities(STRUCTURE, averaged, records)) == pytest.approx(total, rel=1e-9)


def test_averages_know_when_counts_say_nothing_and_when_they_say_all() -> None:
    """Errors far above the records leave every attribute alone; none at all leave the tables as they were counted."""
    loud = averaged_tables(STRUCTURE, noisy_counts(1, deviation=1e5), variance=lambda _: 1e10)
    for child, table in enumerate(loud):
        assert np.abs(table - table.reshape(-1, SIZES[child]).mean(axis=0)).max() < 0.02
    counts = noisy_counts(1, deviation=0.0, records=30_000)
    quiet = averaged_tables(STRUCTURE, counts, variance=lambda _: 1e-6)
    for table, counted in zip(quiet, fit_tables(STRUCTURE, counts), strict=True):
        assert np.abs(table - counted).max() < 0.02


@pytest.mark.parametrize("value", [-1000.0, -30.0, 0.0, 5.0, 40.0, 5000.0])
def test_counts_that_cannot_be_negative(value: float) -> None:
    """The mean of an exponential law times a normal one, by integration."""
    deviation, mean = 10.0, 50.0

    def density(count: float) -> float:
        return math.exp(-((value - count) ** 2 - min(value, 0) ** 2) / (2 * deviation**2) - count / mean)

    top = max(value, 0.0) + 40 * deviation
    low = max(value - 40 * deviation, 0.0)
    points = [max(value, 0.0), deviation**2 / max(-value, 1.0)]
    weight, moment = (
        quad(function, low, top, points=points, limit=200)[0] for function in (density, lambda c: c * density(c))
    )
    found = positive(np.array([value]), variance=deviation**2, mean=mean)
    assert found[0] == pytest.approx(moment / weight, rel=2e-3)


def test_a_sketch_says_what_theory_says_of_it() -> None:
    """Unbiased, with the variance of the noise and Σ c²/w of other cells: never less than a table's noise alone."""
    counts = np.random.default_rng(2).integers(0, 6, 64)
    width, epsilon = 16, Fraction(1, 2)
    found: dict[str, list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]] = {}
    for seed in range(3000):
        for method, estimate in estimates(counts, epsilon, 64 // width, seed):
            found.setdefault(method, []).append(estimate)
    assert "whole table" not in found
    scale = math.exp(-1 / 4)
    noise = 2 * scale / (1 - scale) ** 2
    expected = noise + ((counts**2).sum() - counts**2) / width
    sketched = np.array(found["count sketch"])
    assert np.abs(sketched.mean(axis=0) - counts).max() < 5.5 * math.sqrt(expected.max() / 3000)
    assert sketched.var(axis=0).mean() == pytest.approx(expected.mean(), rel=0.05)
    projected = np.array(found["projection"])
    scale = math.exp(-1 / 64)
    expected = 2 * scale / (1 - scale) ** 2 / width + ((counts**2).sum() - counts**2) / width
    assert projected.var(axis=0).mean() == pytest.approx(expected.mean(), rel=0.05)
    held = [np.unique(estimate).size for estimate in found["largest cells"][:20]]
    assert max(held) <= width * COUNT_BYTES // 6 + 1, "so many cells fit, and one number for all others"


def test_runs_are_kept_and_tabulated(tmp_path: Path) -> None:
    runs = [Run("made", 3, "0.1", "one", seed, bits) for seed, bits in enumerate((5.0, 6.0))]
    assert kept(tmp_path / "runs.json") == []
    keep(tmp_path / "runs.json", runs)
    assert kept(tmp_path / "runs.json") == runs
    assert list(tabulated(runs))[-1] == "| made | 3 | one |  | 5.50 |  |  |  |  |"


def test_records_are_dealt_out_once() -> None:
    table = named("synthetic").training
    parts = dealt(table, 3)
    assert sum(part.records for part in parts.values()) == table.records == 40_000
    assert np.array_equal(parts["holder 1"].codes, table.codes[:, 1::3])
