"""Structure search against the algorithm written out plainly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.bayesnet.counts import Counts, TableCounts
from panbayes.bayesnet.learning.bic import bic_gains
from panbayes.bayesnet.learning.families import Families, best
from panbayes.bayesnet.learning.scores.mutual_information import INFORMATION, mutual_information
from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.bayesnet.learning.scores.score import Score
from panbayes.bayesnet.learning.search import GreedySearch, chow_liu, greedy, penalised_greedy, run
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.errors import InputError
from tests.bayesnet.brute import FloatArray, plain_schema, random_network, seeds
from tests.effort import often


class Slow:
    """Counts with nothing but tables: noisy ones, if there is noise."""

    def __init__(self, exact: ExactCounts, noise: float = 0.0) -> None:
        self.sizes = exact.sizes
        self.total = exact.total
        self.exact = exact
        self.noise = noise
        self.asked: list[tuple[int, ...]] = []

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        self.asked.extend(sets)
        result = []
        for attributes, table in zip(sets, self.exact.tables(sets), strict=True):
            rng = np.random.default_rng(sorted(attributes))
            ordered = rng.normal(0, self.noise, [self.sizes[a] for a in sorted(attributes)])
            axes = [sorted(attributes).index(a) for a in attributes]
            result.append(table + ordered.transpose(axes))
        return result


def slow_greedy(counts: Counts, degree: int, first: int, *, penalised: bool = False) -> Structure:
    """The algorithm of the thesis, line by line; every candidate is scored anew in every round."""
    sizes = counts.sizes
    n = counts.total
    pairs: list[tuple[int, tuple[int, ...]]] = [(first, ())]
    while len(pairs) < len(sizes):
        placed = sorted(child for child, _ in pairs)
        lengths = range(degree + 1) if penalised else [min(degree, len(placed))]
        found: list[tuple[float, int, tuple[int, ...]]] = []
        for parents in (p for length in lengths for p in combinations(placed, length)):
            for child in (c for c in range(len(sizes)) if c not in placed):
                score = mutual_information(np.maximum(counts.tables([(child, *parents)])[0], 0))
                if penalised:
                    cells = (sizes[child] - 1) * (math.prod(sizes[p] for p in parents) - 1)
                    score -= math.log(max(n, 2)) / (2 * max(n, 2)) * cells
                found.append((score, child, parents))
        top = max(score for score, _, _ in found)
        # Ties are decided by the fast search's order; they are excluded from the comparison below.
        chosen = next((child, parents) for score, child, parents in found if score == top)
        pairs.append(chosen)
    return Structure.of(pairs)


def objective(structure: Structure, counts: Counts) -> float:
    return sum(
        mutual_information(counts.tables([(child, *parents)])[0]) for child, parents in structure.pairs if parents
    )


@settings(max_examples=often(8, 40), deadline=None)
@given(seeds, st.integers(1, 3))
def test_greedy_is_the_algorithm_of_the_thesis(seed: int, degree: int) -> None:
    table = random_network(seed, attributes=6, zeros=0).sample_table(400, seed)
    counts = ExactCounts(table)
    first = seed % 6
    found = greedy(counts, degree, first=first)
    assert found.pairs[0] == (first, ())
    assert [len(parents) for _, parents in found.pairs] == [min(degree, i) for i in range(6)]
    expected = slow_greedy(counts, degree, first)
    assert set(found.pairs) == set(expected.pairs) or _tied(found, expected, counts)


def _tied(found: Structure, expected: Structure, counts: Counts) -> bool:
    """Whether the two first differ where their scores are equal."""
    for (child, parents), (other, others) in zip(found.pairs, expected.pairs, strict=True):
        if (child, parents) != (other, others):
            left = mutual_information(counts.tables([(child, *parents)])[0])
            return left == mutual_information(counts.tables([(other, *others)])[0])
    return True


@settings(max_examples=often(6, 30), deadline=None)
@given(seeds, st.integers(0, 3))
def test_penalised_greedy_is_the_algorithm_written_out(seed: int, degree: int) -> None:
    table = random_network(seed, attributes=5, zeros=0).sample_table(300, seed)
    counts = ExactCounts(table)
    found = penalised_greedy(counts, degree, first=seed % 5)
    expected = slow_greedy(counts, degree, seed % 5, penalised=True)
    assert found.degree <= degree
    # No parents at all scores 0 for every child: such ties are placed in another order, with the same arrows.
    assert bic(found, counts) == pytest.approx(bic(expected, counts), abs=1e-9)


def bic(structure: Structure, counts: Counts) -> float:
    return float(sum(bic_gains(counts, [parents], [child])[0, 0] for child, parents in structure.pairs))


@settings(max_examples=often(8, 40), deadline=None)
@given(seeds)
def test_chow_liu_is_the_best_of_all_trees(seed: int) -> None:
    """All 125 trees on five attributes, by their Prüfer sequences."""
    table = random_network(seed, attributes=5, zeros=0).sample_table(300, seed)
    counts = ExactCounts(table)
    weights = {pair: mutual_information(counts.tables([pair])[0]) for pair in combinations(range(5), 2)}
    best_tree = max(sum(weights[edge] for edge in tree(code)) for code in product(range(5), repeat=3))
    for root in (0, 3):
        found = chow_liu(counts, root=root)
        assert found.pairs[0] == (root, ())
        assert found.degree == 1
        assert objective(found, counts) == pytest.approx(best_tree, abs=1e-12)


def tree(code: tuple[int, ...]) -> list[tuple[int, int]]:
    """Decode a Prüfer sequence."""
    degrees = [1 + code.count(v) for v in range(len(code) + 2)]
    edges = []
    for v in code:
        leaf = degrees.index(1)
        edges.append((min(leaf, v), max(leaf, v)))
        degrees[leaf] = 0
        degrees[v] -= 1
    a, b = (v for v, degree in enumerate(degrees) if degree == 1)
    return [*edges, (a, b)]


def test_finds_the_truth_in_many_records() -> None:
    network = random_network(8, degree=2, zeros=0, schema=plain_schema([3] * 6))
    counts = ExactCounts(network.sample_table(200_000, 1))
    found = penalised_greedy(counts, 2, first=network.structure.order[0])
    arrows = {frozenset(edge) for edge in found.edges}
    assert {frozenset(edge) for edge in network.structure.edges} <= arrows


@pytest.mark.parametrize("score", scores().values(), ids=lambda score: score.name)
def test_every_family_is_scored_once(score: Score) -> None:
    table = random_network(2, zeros=0, schema=plain_schema([2] * 7)).sample_table(200, 2)
    counts = Slow(ExactCounts(table))
    assert not isinstance(counts, TableCounts)
    greedy(counts, 2, score=score)
    assert len(counts.asked) == len(set(counts.asked))
    # One pair for the second attribute, then every three attributes in the order of placing: 5 + 4·… children left.
    assert len(counts.asked) == 6 + sum((7 - placed) * (placed - 1) for placed in range(2, 7))


@settings(max_examples=often(4, 20), deadline=None)
@given(seeds)
def test_exact_and_table_by_table_counts_lead_to_the_same_structure(seed: int) -> None:
    exact = ExactCounts(random_network(seed, attributes=6, zeros=0).sample_table(300, seed))

    class Whole(Slow):
        def tables(self, sets: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
            whole = [table.astype(np.int64) for table in super().tables(sets)]
            return [table.view(np.int64).astype(np.float64) for table in whole]

    assert objective(greedy(Whole(exact), 2), exact) == pytest.approx(objective(greedy(exact, 2), exact), abs=1e-9)


def test_noisy_counts_are_clipped_and_searched() -> None:
    exact = ExactCounts(random_network(3, schema=plain_schema([3] * 6)).sample_table(300, 3))
    noisy = Slow(exact, noise=5.0)
    found = greedy(noisy, 2)
    assert found == slow_greedy(noisy, 2, 0)
    assert penalised_greedy(noisy, 2).degree <= 2


def test_choose_decides() -> None:
    counts = ExactCounts(random_network(1, attributes=5).sample_table(100, 1))
    rounds: list[tuple[int, int]] = []

    def last(candidates: Families, scores: FloatArray) -> int:
        assert len(candidates) == scores.size
        assert np.all(np.isfinite(scores))
        for index in (0, len(candidates) // 2, len(candidates) - 1):
            child, parents = candidates[index]
            assert scores[index] == INFORMATION(counts, [parents], [child])[0, 0]
        rounds.append((len(candidates.parent_sets), len(candidates.children)))
        return len(candidates) - 1

    found = greedy(counts, 2, choose=last)
    assert rounds == [(1, 4), (1, 3), (3, 2), (6, 1)]
    assert [child for child, _ in found.pairs] == [0, 4, 3, 2, 1]


def test_families_are_a_sequence() -> None:
    candidates = Families(((0,), (1,)), (2, 3))
    assert len(candidates) == 4
    assert candidates[-1] == (3, (1,)) == candidates[3]
    assert candidates[1:3] == [(3, (0,)), (2, (1,))]
    assert (2, (1,)) in candidates
    for index in (4, -5):
        with pytest.raises(IndexError):
            candidates[index]
    with pytest.raises(ValueError, match="found 3 scores for 4 candidates"):
        best(candidates, np.zeros(3))


def test_ties_go_to_the_first_candidate() -> None:
    assert best(Families(((0,),), (1, 2)), np.array([0.5, 0.5])) == 0


@pytest.mark.parametrize("degree", [0, 5, -1])
def test_impossible_degrees_are_refused(degree: int) -> None:
    counts = ExactCounts(random_network(1, attributes=5).sample_table(10, 1))
    with pytest.raises(InputError, match=f"degree: found {degree} with 5 attributes; give 1 to 4"):
        greedy(counts, degree)
    with pytest.raises(InputError, match="first: found 5; give 0 to 4"):
        greedy(counts, 1, first=5)


def test_one_attribute_and_no_records() -> None:
    alone = ExactCounts(random_network(1, attributes=1).sample_table(10, 1))
    assert chow_liu(alone).pairs == ((0, ()),)
    assert penalised_greedy(alone, 0).pairs == ((0, ()),)
    empty = ExactCounts(random_network(1, attributes=4).sample_table(0, 1))
    assert greedy(empty, 2).degree == 2
    assert penalised_greedy(empty, 2).degree == 0


def test_rounds_can_be_walked_without_data() -> None:
    search = GreedySearch(4, 2, first=1)
    assert search.candidates == Families(((1,),), (0, 2, 3))
    search.place(3, (1,))
    assert search.candidates == Families(((1, 3),), (0, 2))
    search.place(0, (1, 3))
    assert search.candidates == Families(((1, 3), (0, 1), (0, 3)), (2,))
    search.place(2, (0, 3))
    assert search.done
    assert search.structure == Structure(((1, ()), (3, (1,)), (0, (1, 3)), (2, (0, 3))))


def test_run_takes_any_score() -> None:
    counts = ExactCounts(random_network(1, attributes=4).sample_table(50, 1))

    def constant(_: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
        return np.zeros((len(parent_sets), len(children)))

    found = run(GreedySearch(4, 1), counts, score=constant)
    assert found.pairs == ((0, ()), (1, (0,)), (2, (0,)), (3, (0,)))
