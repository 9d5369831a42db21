"""The edges of what a holder computes: sizes of tables, degrees, scores; and models cut down to what fits."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from panbayes.bayesnet.structure import Structure
from panbayes.consortium.holder import grouped_tables, query_checks
from panbayes.consortium.holder.grouped_tables import check_axes
from panbayes.consortium.holder.handlers import local_model
from panbayes.consortium.holder.handlers.local_model import _fitting
from panbayes.consortium.holder.query_checks import _sets_within
from panbayes.consortium.protocol.answers import ModelAnswer
from panbayes.consortium.protocol.queries import Grouping, ModelQuery, ParentChoiceQuery
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.counting.block_counts import BLOCK_AXES, _parts
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer, check


def schema(*sizes: int) -> Schema:
    return Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(sizes)))


def model(degree: int, theta: str | None = None, *, score: str = "I", first: int = 0) -> ModelQuery:
    return ModelQuery(first, degree, theta, score, "permute-and-flip", "900", "1/2", clip=False)


@pytest.mark.parametrize(
    "views",
    [
        (),
        ((),),
        ((0, 1),) * 3,
        tuple((g,) for g in range(3 * BLOCK_AXES + 7)),
        tuple((g, g + 1) for g in range(BLOCK_AXES + 9)),
        tuple((g % 3, 3 + g) for g in range(2 * BLOCK_AXES)),
        (tuple(range(BLOCK_AXES + 40)), (0,), (1, 2)),
        ((0,), tuple(range(1, BLOCK_AXES + 1)), (5,)),
        (tuple(range(BLOCK_AXES)), (0,), (BLOCK_AXES,)),
    ],
)
def test_a_block_holds_as_many_groupings_as_stated_and_no_more(views: tuple[tuple[int, ...], ...]) -> None:
    blocks = [(block.start, block.stop) for block in _parts(views)]
    assert [place for start, stop in blocks for place in range(start, stop)] == list(range(len(views)))
    named = [{g for axes in views[start:stop] for g in axes} for start, stop in blocks]
    for (start, stop), own in zip(blocks, named, strict=True):
        assert len(own) <= BLOCK_AXES or stop - start == 1
        if stop < len(views):
            assert len(own | set(views[stop])) > BLOCK_AXES, "a block ends where the next table has no room"


@pytest.mark.parametrize("size", [255, 256, 257, 300])
@pytest.mark.parametrize("grouped", [False, True])
def test_every_value_of_a_large_domain_is_counted_as_itself(size: int, grouped: bool) -> None:
    """Codes of 8 bits hold 256 values; the next would be taken for the first."""
    values = np.concatenate([np.arange(size), [0, size - 1, size - 1]])
    own = schema(size, 2)
    found = np.stack([values, values % 2])
    codes = found.astype(np.uint8) if size <= 256 else found.astype(np.uint16)
    groups = tuple(reversed(range(size))) if grouped else ()
    counted = Table(own, codes).count(((0,), (1,), (0, 1)), (Grouping(0, groups), Grouping(1, ())))
    alone = np.bincount(size - 1 - values if grouped else values, minlength=size)
    pairs = np.zeros((size, 2), dtype=np.int64)
    np.add.at(pairs, (size - 1 - values if grouped else values, values % 2), 1)
    assert counted.flat.tolist() == [*alone.tolist(), *np.bincount(values % 2).tolist(), *pairs.ravel().tolist()]


def test_a_table_and_all_tables_may_have_as_many_cells_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    groupings, sizes = (Grouping(0, ()), Grouping(1, ())), (4, 5)
    for name, most in (("MAX_TABLE_CELLS", 20), ("MAX_CELLS", 24)):
        with monkeypatch.context() as patch:
            patch.setattr(grouped_tables, name, most)
            assert check_axes(((0, 1), (0,)), groupings, sizes) == 24
            patch.setattr(grouped_tables, name, most - 1)
            with pytest.raises(InputError, match=rf"found .*{most} cells"):
                check_axes(((0, 1), (0,)), groupings, sizes)


def fitted(pairs: dict[int, tuple[int, ...]], sizes: tuple[int, ...], most: int) -> dict[int, tuple[int, ...]]:
    """Drop the largest parent of the largest table that has parents until all cells fit, by recounting every time."""
    while sum(math.prod(sizes[a] for a in (child, *parents)) for child, parents in pairs.items()) > most:
        with_parents = [child for child in pairs if pairs[child]]
        cells = [math.prod(sizes[a] for a in (child, *pairs[child])) for child in with_parents]
        child = with_parents[cells.index(max(cells))]
        of_parents = [sizes[parent] for parent in pairs[child]]
        dropped = pairs[child][of_parents.index(max(of_parents))]
        pairs = {**pairs, child: tuple(parent for parent in pairs[child] if parent != dropped)}
    return pairs


@pytest.mark.parametrize("sizes", [(50, 2, 3, 4, 5), (2, 7, 3, 5, 4), (3, 2, 9, 2, 11), (400, 5, 4, 3, 2)])
def test_what_does_not_fit_loses_its_largest_parents_one_by_one(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attribute has no parents, however large it is: there is nothing of it to drop."""
    pairs: dict[int, tuple[int, ...]] = {0: (), 1: (0,), 2: (0, 1), 3: (1, 2), 4: (1, 2, 3)}
    whole = sum(math.prod(sizes[a] for a in (child, *parents)) for child, parents in pairs.items())
    seen = set()
    for most in [*range(sum(sizes), whole, max(1, (whole - sum(sizes)) // 40)), whole - 1, whole]:
        monkeypatch.setattr(local_model, "MAX_CELLS", most)
        found = dict(_fitting(Structure(tuple(pairs.items())), schema(*sizes)).pairs)
        assert found == fitted(pairs, sizes, most)
        seen.add(tuple(found.items()))
    assert len(seen) > 2


@pytest.mark.parametrize(("records", "most"), [(87, 4), (95, 4), (96, 6), (97, 6)])
def test_a_table_is_useful_from_the_very_number_of_records_on(records: int, most: int) -> None:
    """n·ε₂/(2Nθ) = n/16 cells, rounded down: a table of six is useful from 96 records on."""
    wide = schema(2, 3, 2, 2)
    codes = np.tile(np.arange(records) % 2, (4, 1)).astype(np.uint8)
    found = answer(model(1, "1"), Table(wide, codes), noise=SimulatedNoise(1))
    assert isinstance(found, ModelAnswer)
    cells = {math.prod(wide.sizes[a] for a in (p.child, *p.parents)) for p in found.pairs if p.parents}
    assert max(cells) == most


@pytest.mark.parametrize("attributes", [1, 2, 3, 5])
def test_a_degree_is_below_the_number_of_attributes(attributes: int) -> None:
    """One attribute alone is asked for with degree 1, and has no parents."""
    own = schema(*[2] * attributes)
    for degree in range(7):
        if 1 <= degree < max(attributes, 2):
            check(model(degree), own, 100)
            continue
        with pytest.raises(InputError, match=f"query, degree: found {degree}; give 1 to"):
            check(model(degree), own, 100)


@pytest.mark.parametrize(("largest", "allowed"), [(2, True), (3, False), (4, False)])
def test_a_score_of_binary_children_is_for_schemas_of_binary_attributes(largest: int, allowed: bool) -> None:
    for query in (model(1, score="F"), ParentChoiceQuery((0,), 1, "F", "exponential", "1")):
        if allowed:
            check(query, schema(2, largest, 2), 100)
            continue
        with pytest.raises(InputError, match="query, score: found F with attributes that are not binary"):
            check(query, schema(2, largest, 2), 100)


def test_a_score_that_nobody_knows_is_refused_by_the_name_of_its_field() -> None:
    with pytest.raises(InputError, match=r'^query, score: found "Q"'):
        check(model(1, score="Q"), schema(2, 2), 100)


def test_the_largest_table_of_a_search_is_that_of_the_largest_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    for sizes in ((2, 9, 3, 7), (9, 7, 2, 3), (2, 3, 7, 9)):
        monkeypatch.setattr(query_checks, "MAX_CELLS", 9 * 7 * 3)
        check(model(2), schema(*sizes), 100)
        monkeypatch.setattr(query_checks, "MAX_CELLS", 9 * 7 * 3 - 1)
        with pytest.raises(InputError, match="asks for tables of 189 cells"):
            check(model(2), schema(*sizes), 100)


def test_candidates_with_useful_tables_are_counted_by_the_smallest_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """n·ε₂/(2Nθ) = 20 cells: parents of 10 combinations at most beside a binary child, no set or one attribute."""
    wide = schema(2, *[10] * 19)
    monkeypatch.setattr(query_checks, "MAX_CANDIDATES", 20 * 21)
    check(model(3, "1"), wide, 1600)
    monkeypatch.setattr(query_checks, "MAX_CANDIDATES", 20 * 21 - 1)
    with pytest.raises(InputError, match="3: 420 candidates in a step"):
        check(model(3, "1"), wide, 1600)


def test_sets_of_parents_are_counted_as_they_fit() -> None:
    """By brute force: all sets of at most so many attributes whose values have at most so many combinations."""
    sizes = (2, 3, 2, 5, 4)
    for degree, room in product(range(1, 5), range(1, 41)):
        masks = [[size for size, taken in zip(sizes, mask, strict=True) if taken] for mask in product((0, 1), repeat=5)]
        expected = sum(len(found) <= degree and math.prod(found) <= room for found in masks)
        assert _sets_within(sizes, degree, room) == expected
