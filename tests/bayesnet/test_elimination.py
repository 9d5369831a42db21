"""Elimination orders against a plain one: at every step the attribute that adds least goes, by neighbours alone."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from panbayes.bayesnet.inference.elimination import Heuristic, Scope, eliminate


def plainly(scopes: list[Scope], sizes: list[int], heuristic: Heuristic) -> list[tuple[int, frozenset[int]]]:
    edges = {frozenset(pair) for scope in scopes for pair in combinations(scope, 2)}
    left = sorted({v for scope in scopes for v in scope})
    steps = []
    while left:
        costs = []
        for v in left:
            near = [u for u in left if frozenset((u, v)) in edges]
            fill = sum(frozenset(pair) not in edges for pair in combinations(near, 2))
            weight = math.prod(sizes[u] for u in (v, *near))
            costs.append(((fill, weight, v) if heuristic == "fill" else (weight, fill, v), near))
        (*_, chosen), near = min(costs)
        edges |= {frozenset(pair) for pair in combinations(near, 2)}
        left.remove(chosen)
        steps.append((chosen, frozenset(near)))
    return steps


@pytest.mark.parametrize("heuristic", ["fill", "weight"])
def test_the_attribute_that_adds_least_is_eliminated_first(heuristic: Heuristic) -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        attributes = int(rng.integers(1, 15))
        sizes = rng.integers(1, 6, attributes).tolist()
        scopes: list[Scope] = [
            tuple(rng.choice(attributes, min(attributes, int(rng.integers(1, 5))), replace=False).tolist())
            for _ in range(int(rng.integers(1, 18)))
        ]
        assert eliminate(scopes, sizes, heuristic) == plainly(scopes, sizes, heuristic)


def test_ties_of_weights_go_to_the_first_attribute_whatever_the_order_of_factors() -> None:
    """Sums of logarithms would differ in their last digits with the order in which neighbours are gone through."""
    sizes = [3, 7, 5, 11, 3, 7, 5, 11]
    scopes: list[Scope] = [(0, 1, 2, 3), (7, 6, 5, 4)]
    assert [v for v, _ in eliminate(scopes, sizes, "weight")] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [v for v, _ in eliminate(scopes[::-1], sizes, "weight")] == [0, 1, 2, 3, 4, 5, 6, 7]
