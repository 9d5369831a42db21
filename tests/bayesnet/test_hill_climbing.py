from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings

from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.learning.bic import bic_gains
from panbayes.bayesnet.learning.hill_climbing import hill_climbing
from panbayes.bayesnet.learning.search import penalised_greedy
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.errors import InputError
from tests.bayesnet.brute import random_network, seeds
from tests.effort import often


def total(counts: Counts, structure: Structure) -> float:
    return sum(float(bic_gains(counts, [parents], [child])[0, 0]) for child, parents in structure.pairs if parents)


def every_structure(attributes: int, degree: int) -> list[Structure]:
    """All acyclic structures, by trying every combination of parent sets."""
    choices = [
        [
            parents
            for size in range(degree + 1)
            for parents in combinations([p for p in range(attributes) if p != c], size)
        ]
        for c in range(attributes)
    ]
    found = []
    for parents in product(*choices):
        try:
            found.append(Structure.of(enumerate(parents)))
        except InputError:
            continue
    return found


def arrows(structure: Structure) -> frozenset[tuple[int, int]]:
    return frozenset(structure.edges)


@given(seeds)
@settings(max_examples=often(3, 15))
def test_no_single_move_improves_the_result(seed: int) -> None:
    counts = ExactCounts(random_network(seed % 50, attributes=4).sample_table(300, seed))
    found = hill_climbing(counts, 2)
    best = total(counts, found)
    assert found.degree <= 2
    for other in every_structure(4, 2):
        changed = arrows(other) ^ arrows(found)
        turned = len(changed) == 2 and len({frozenset(arrow) for arrow in changed}) == 1
        if len(changed) == 1 or turned:
            assert total(counts, other) <= best + 1e-9


def test_it_never_falls_below_its_start() -> None:
    for seed in range(5):
        counts = ExactCounts(random_network(seed, attributes=5).sample_table(1000, seed))
        start = penalised_greedy(counts, 2)
        assert total(counts, hill_climbing(counts, 2, start=start)) >= total(counts, start) - 1e-12


def test_the_same_counts_give_the_same_structure() -> None:
    counts = ExactCounts(random_network(5, attributes=6).sample_table(400, 2))
    assert hill_climbing(counts, 2) == hill_climbing(counts, 2)


def test_bad_degrees() -> None:
    counts = ExactCounts(random_network(5, attributes=3).sample_table(40, 2))
    with pytest.raises(InputError, match="degree: found 3; give 0 to 2"):
        hill_climbing(counts, 3)
    assert hill_climbing(counts, 0) == Structure.independent(3)
