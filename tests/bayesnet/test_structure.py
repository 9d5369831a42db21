"""Structures: what is accepted, what is refused, and orders that hold."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from tests.effort import often


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ((), "no attribute"),
        (((0, ()), (0, ())), "given twice"),
        (((0, ()), (2, ())), "missing"),
        (((0, (0,)),), "itself"),
        (((0, ()), (1, (0, 0))), "twice"),
        (((0, (3,)),), "unknown parent"),
        (((0, (-1,)), (1, ())), "unknown parent"),
        (((0, (1,)), (1, (2,)), (2, (0,)), (3, (0,))), "cycle through attributes 0, 1, 2;"),
    ],
)
def test_what_is_no_structure_is_refused(pairs: tuple[tuple[int, tuple[int, ...]], ...], found: str) -> None:
    with pytest.raises(InputError, match=found):
        Structure(pairs)


@settings(max_examples=often(40, 200))
@given(
    st.integers(1, 7).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=n, max_size=n)
    )
)
def test_accepts_exactly_the_acyclic_graphs(parents: list[list[int]]) -> None:
    size = len(parents)
    acyclic = any(
        all(order.index(p) < order.index(c) for c in range(size) for p in parents[c])
        for order in itertools.permutations(range(size))
    )
    if not acyclic:
        with pytest.raises(InputError):
            Structure.of(enumerate(parents))
        return
    structure = Structure.of(enumerate(parents))
    assert sorted(structure.order) == list(range(size))
    assert all(structure.order.index(p) < structure.order.index(c) for p, c in structure.edges)
    assert structure.degree == max(map(len, parents))
    assert all(structure.parents(c) == tuple(parents[c]) for c in range(size))
    assert all((p in parents[c]) == (c in structure.children(p)) for p in range(size) for c in range(size))


def test_order_follows_the_pairs_where_it_can() -> None:
    assert Structure(((2, ()), (0, ()), (1, (0,)))).order == (2, 0, 1)
    assert Structure(((2, (1,)), (0, ()), (1, (0,)))).order == (0, 1, 2)


def test_ancestors_include_the_attributes_themselves() -> None:
    chain = Structure(((0, ()), (1, (0,)), (2, (1,)), (3, ())))
    assert chain.ancestors([2]) == {0, 1, 2}
    assert chain.ancestors([]) == frozenset()
    assert Structure.independent(3).ancestors([1]) == {1}
