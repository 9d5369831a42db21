"""Triples of which all pairs are known: which, in which order, how finely, and where noise leaves none."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.triangles import triangles

Floats = NDArray[np.float64]
RECORDS = 10_000.0
SIZES = (3, 4, 2, 5, 3)
QUIET = NoiseLaw(True, ((0.1, 1),))


def known(members: tuple[int, ...], strength: float) -> Known:
    """A table that depends as much as it is told: the first values of all go together more often."""
    joint = np.ones([SIZES[a] for a in members])
    joint[(0,) * len(members)] += strength
    counts: Floats = RECORDS * joint / joint.sum()
    return Known(tuple((a, SIZES[a]) for a in members), counts, QUIET, counts, counts, counts, np.zeros_like(counts))


def believed(tables: list[tuple[tuple[int, ...], float]], idle: tuple[Axes, ...] = ()) -> Belief:
    laws = [np.full(size, 1 / size) for size in SIZES]
    return Belief(
        RECORDS,
        tuple(Estimate(law, np.ones(law.size)) for law in laws),
        tuple(Nested.of(law, ordered=False) for law in laws),
        tuple(known(members, strength) for members, strength in tables),
        idle=idle,
    )


def quiet(_tables: int) -> float:
    return 0.1


def sets_of(tables: list[Axes]) -> list[tuple[int, ...]]:
    return [tuple(a for a, _ in axes) for axes in tables]


def test_they_are_the_triples_whose_pairs_are_all_known() -> None:
    """Pairs may lie in larger tables, or in those that are about to be measured."""
    square = believed([((0, 1), 5), ((1, 2), 5), ((2, 3), 5), ((0, 3), 5)])
    assert triangles(square, [], quiet) == []
    crossed: Axes = ((0, 3), (2, 2))
    assert sets_of(triangles(square, [crossed], quiet)) == [(0, 1, 2), (0, 2, 3)]
    wider = believed([((0, 1, 2), 5), ((1, 3), 5), ((2, 3), 5)])
    assert sets_of(triangles(wider, [], quiet)) == [(1, 2, 3)]


def test_those_that_a_table_holds_or_held_in_vain_are_not_measured() -> None:
    pairs = [(pair, 5.0) for pair in combinations(range(4), 2)]
    held: tuple[tuple[int, ...], float] = ((0, 1, 2), 5.0)
    vain: Axes = ((0, 3), (1, 4), (3, 5))
    new: Axes = ((1, 4), (2, 2), (3, 5))
    assert sets_of(triangles(believed([*pairs, held], (vain,)), [new], quiet)) == [(0, 2, 3)]


def test_the_order_is_by_what_the_two_weaker_pairs_say() -> None:
    """One strong pair does not make a triangle: (0, 1, 4) has the strongest, and is last."""
    strengths: dict[tuple[int, ...], float] = {}
    strengths |= {(0, 1): 9.0, (0, 2): 6.0, (1, 2): 5.0, (0, 3): 9.0, (1, 3): 8.0, (0, 4): 90.0, (1, 4): 1.0}
    belief = believed(list(strengths.items()))
    assert sets_of(triangles(belief, [], quiet)) == [(0, 1, 3), (0, 1, 2), (0, 1, 4)]
    twice = believed([*strengths.items(), ((0, 3, 4), 0.1)])
    assert sets_of(triangles(twice, [], quiet))[:2] == [(0, 1, 3), (0, 1, 2)], "a pair is as strong as any table says"


def test_equally_strong_ones_come_in_the_order_of_their_attributes() -> None:
    tables: list[tuple[tuple[int, ...], float]] = [(pair, 0.0) for pair in combinations(range(5), 2)]
    found = triangles(believed(tables), [], quiet)
    assert sets_of(found) == list(combinations(range(5), 3))
    assert triangles(believed(tables[::-1]), [], quiet) == found


def test_nothing_is_known_and_nothing_is_asked() -> None:
    def never(_tables: int) -> float:
        raise AssertionError("there is nothing to measure")

    assert triangles(believed([]), [], never) == []


def test_tables_stay_within_what_may_be_measured_and_attributes_that_never_vary_stay_out() -> None:
    sizes = (40, 40, 40, 1)
    laws = [np.full(size, 1 / size) for size in sizes]
    tables = []
    for a, b in combinations(range(4), 2):
        cells = np.full((sizes[a], sizes[b]), 1e6)
        axes: Axes = ((a, sizes[a]), (b, sizes[b]))
        tables.append(Known(axes, cells, QUIET, cells, cells, cells, np.zeros_like(cells)))
    belief = Belief(
        1e9,
        tuple(Estimate(law, law) for law in laws),
        tuple(Nested.of(law, ordered=False) for law in laws),
        tuple(tables),
    )
    (found,) = triangles(belief, [], quiet)
    assert [a for a, _ in found] == [0, 1, 2]
    assert 15_000 < np.prod([count for _, count in found]) <= 16_384


def test_there_are_so_many_for_each_attribute_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = believed([(pair, 10.0 - sum(pair)) for pair in combinations(range(5), 2)])
    every = triangles(belief, [], quiet)
    assert len(every) == 10
    monkeypatch.setattr("panbayes.consortium.analyst.adaptive.triangles._MOST", 1)
    assert triangles(belief, [], quiet) == every[:5]


def test_they_are_as_fine_as_noise_far_below_chance_allows_and_not_measured_otherwise() -> None:
    """A tenth of the records of an average cell is its noise's variance at most."""
    belief = believed([((0, 1), 5), ((0, 3), 5), ((1, 3), 5)])
    asked = []

    def deviation(tables: int) -> float:
        asked.append(tables)
        return size

    for size, wanted in ((4.0, [3, 4, 5]), (5.0, [3, 4, 3]), (9.0, [3, 2, 2]), (11.0, [2, 2, 2]), (12.0, None)):
        found = triangles(belief, [], deviation)
        assert found == ([] if wanted is None else [tuple(zip((0, 1, 3), wanted, strict=True))])
        if wanted is not None:
            assert size**2 <= 0.1 * RECORDS / np.prod(wanted)
    assert set(asked) == {4}, "beside three known tables"
