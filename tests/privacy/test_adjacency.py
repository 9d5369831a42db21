"""How far neighbours' tables are apart: exhaustive search over all small datasets."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency, TableSensitivity
from panbayes.tables.counting.count_tables import contingencies

SIZES = (2, 3)
RECORDS = list(itertools.product(range(2), range(3)))

adjacencies = pytest.mark.parametrize("adjacency", ["replace", "add-remove"])


def moves(adjacency: Adjacency, sets: list[tuple[int, ...]], changes: int) -> list[NDArray[np.int64]]:
    """The differences between the tables of all neighbours of up to 3 records that differ in ``changes`` of them."""

    def counts(records: tuple[tuple[int, int], ...]) -> NDArray[np.int64]:
        codes = np.array(records, dtype=np.uint8).reshape(len(records), 2).T.copy()
        return contingencies(codes, SIZES, sets, kernels="numpy").flat.astype(np.int64)

    found = []
    for common in range(3 - changes + 1):
        for records in itertools.combinations_with_replacement(RECORDS, common):
            mine = [counts((*records, *own)) for own in itertools.combinations_with_replacement(RECORDS, changes)]
            theirs = mine if adjacency == "replace" else [counts(records)]
            found += [a - b for a in mine for b in theirs]
    return found


@adjacencies
@pytest.mark.parametrize("changes", [1, 2])
@pytest.mark.parametrize("sets", [[(0, 1)], [(1,)], [()], [(0, 1), (0,), (1,)]])
def test_tables_reach_their_sensitivity(adjacency: Adjacency, changes: int, sets: list[tuple[int, ...]]) -> None:
    stated = TableSensitivity.of(adjacency=adjacency, max_records=changes, tables=len(sets))
    found = moves(adjacency, sets, changes)
    if sets == [()] and adjacency == "replace":
        assert not any(move.any() for move in found), "the number of records is public"
    else:
        assert max(int(np.abs(move).sum()) for move in found) == stated.l1
        assert max(int((move**2).sum()) for move in found) == stated.l2_squared


@adjacencies
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_may_have_fewer_records_than_the_most(adjacency: Adjacency, most: int) -> None:
    """Everything that one person may bring or take: any number of records up to the most, also none at all."""
    people = [p for n in range(most + 1) for p in itertools.combinations_with_replacement(RECORDS, n)]
    counts = [np.array([Counter(person)[r] for r in RECORDS]) for person in people]
    others = counts if adjacency == "replace" else [np.zeros(6, dtype=np.int64)]
    found = [a - b for a in counts for b in others]
    stated = TableSensitivity.of(adjacency=adjacency, max_records=most)
    assert max(int(np.abs(move).sum()) for move in found) == stated.l1
    assert max(int((move**2).sum()) for move in found) == stated.l2_squared


@adjacencies
@pytest.mark.parametrize("changes", [1, 2])
def test_a_distance_from_public_numbers_moves_as_far_as_one_table(adjacency: Adjacency, changes: int) -> None:
    """Every pair of neighbours and expectations of every kind, also such as no table could have."""
    expectations = [np.zeros(6), np.array([5, 0, 0, 0, 0, 0]), np.array([1, 0, 1, 0, 1, 0]), np.full(6, 2**31 - 1)]
    expectations += [np.full(6, -7), np.array([0.5, 0.25, 0, 1, 2, 3])]
    commons = itertools.combinations_with_replacement(RECORDS, 3 - changes)
    largest = 0.0
    for common in commons:
        rest = np.array([Counter(common)[r] for r in RECORDS])
        own = [
            rest + np.array([Counter(some)[r] for r in RECORDS])
            for some in itertools.combinations_with_replacement(RECORDS, changes)
        ]
        theirs = own if adjacency == "replace" else [rest]
        for e in expectations:
            mine, others = ([float(np.abs(c - e).sum()) for c in tables] for tables in (own, theirs))
            largest = max(largest, max(mine) - min(others), max(others) - min(mine))
    assert largest == TableSensitivity.of(adjacency=adjacency, max_records=changes).l1


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="max_records: found 0; give 1 or more"):
        TableSensitivity.of(adjacency="replace", max_records=0)
    with pytest.raises(InputError, match="tables: found 0; give 1 or more"):
        TableSensitivity.of(adjacency="replace", tables=0)


def without_margins(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """K·P·c by definition: project onto what all functions of one attribute are orthogonal to."""
    shape, size = table.shape, table.size
    columns = [np.ones(size)]
    for axis, groups in enumerate(shape):
        values = np.indices(shape)[axis].ravel()
        columns += [(values == group).astype(float) for group in range(groups)]
    basis, weights, _ = np.linalg.svd(np.array(columns).T, full_matrices=False)
    basis = basis[:, weights > 1e-9]
    flat = table.ravel().astype(float)
    return np.asarray(size * (flat - basis @ (basis.T @ flat)))


@adjacencies
@pytest.mark.parametrize(
    "shape",
    [(2, 2), (2, 3), (3, 4), (5, 2), (2, 2, 2), (2, 3, 2), (1, 2, 2), (3, 1, 2), (2, 2, 2, 2), (3, 2, 2, 2)],
)
def test_centred_tables_of_one_record_move_as_far_as_is_said(shape: tuple[int, ...], adjacency: Adjacency) -> None:
    """All records against all others, or none. L2 is reached; L1 by one that comes, and twice that is said for two."""
    units = [without_margins(unit.reshape(shape)) for unit in np.eye(int(np.prod(shape)), dtype=np.int64)]
    moved = units if adjacency == "add-remove" else [one - other for one, other in itertools.combinations(units, 2)]
    said = TableSensitivity.of_centred(shape, adjacency=adjacency)
    assert max(float((found**2).sum()) for found in moved) == pytest.approx(said.l2_squared, rel=1e-9)
    farthest = max(float(np.abs(found).sum()) for found in moved)
    assert farthest <= said.l1 + 1e-9
    assert max(float(np.abs(unit).sum()) for unit in units) * (1 + (adjacency == "replace")) == pytest.approx(said.l1)


@adjacencies
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (2, 2, 2)])
def test_centred_tables_of_a_person_with_several_records_move_no_further(
    shape: tuple[int, ...], adjacency: Adjacency
) -> None:
    """Every person with up to two records, against every other such person where one is replaced, or nobody."""
    units = [without_margins(unit.reshape(shape)) for unit in np.eye(int(np.prod(shape)), dtype=np.int64)]
    nobody = np.zeros(len(units))
    people = [nobody, *units, *(a + b for a, b in itertools.combinations_with_replacement(units, 2))]
    others = people if adjacency == "replace" else [nobody]
    said = TableSensitivity.of_centred(shape, adjacency=adjacency, max_records=2)
    squares = [float(((one - other) ** 2).sum()) for one in people for other in others]
    assert max(squares) == pytest.approx(said.l2_squared, rel=1e-9)
    assert max(float(np.abs(one - other).sum()) for one in people for other in others) <= said.l1 + 1e-9


@pytest.mark.parametrize("shape", [(1, 3), (4, 1), (1, 1)])
@adjacencies
def test_a_centred_table_of_one_group_is_nothing_and_still_gets_noise(
    shape: tuple[int, ...], adjacency: Adjacency
) -> None:
    units = [without_margins(unit.reshape(shape)) for unit in np.eye(int(np.prod(shape)), dtype=np.int64)]
    assert np.abs(units).max() < 1e-9
    said = TableSensitivity.of_centred(shape, adjacency=adjacency)
    assert min(said.l1, said.l2_squared) >= 1
