"""What a holder answers to the adaptive strategy: noisy tables of grouped values, and which tables to measure next.

========================= ================================================================ ====================
query                     mechanism, for table or pick t at its share of the loss          loss
========================= ================================================================ ====================
tables, pure              discrete Laplace of scale Δ₁/ε_t on every cell                   Σ ε_t
tables, zcdp              discrete Gaussian of variance Δ₂²/(2ρ_t) on every cell           Σ ρ_t
choice, pure              permute-and-flip on the scores at ε_t, one pick after the other  Σ ε_t
choice, zcdp              exponential mechanism at ρ_t = ε²/8                              Σ ρ_t
========================= ================================================================ ====================

Δ₁ = 2m and Δ₂² = 2m² under ``replace``, m and m² under ``add-remove``, m the records kept per person
(:mod:`panbayes.dp.sensitivity`). Grouping values is a fixed map of every record, so a table of groups is a contingency
table like any other.

A candidate's score is ½‖c − e‖₁ − penalty. What is expected, e, and the penalty come from the analyst: they are fixed
integers, bounded so that the doubled score ‖c − e‖₁ − 2·penalty is an integer below 2⁵³ and exact in floating point.
Its sensitivity is that of the table in L1, whatever e is. Which candidates are still allowed follows from the query
and the picks released so far; taking none is always among them, with score 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.protocol.messages import (
    GroupedTablesAnswer,
    GroupedTablesQuery,
    Grouping,
    TableChoiceAnswer,
    TableChoiceQuery,
    pack_cells,
    unpack_cells,
)
from panbayes.dp.mechanisms import (
    discrete_gaussian,
    discrete_gaussian_variance,
    discrete_laplace,
    discrete_laplace_scale,
    select,
    select_concentrated,
)
from panbayes.dp.noise import Noise
from panbayes.dp.sensitivity import l1_distance, table_l1, table_l2_squared
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Schema
from panbayes.tables.counting.count_tables import DEFAULT_CELL_LIMIT, CountTables, contingencies
from panbayes.tables.table import Table

__all__ = ["answer_choice", "answer_tables", "check_choice", "check_tables", "loss_of_views"]

MAX_EXPECTED: Final = 2**31
"""What is expected in a cell lies below this, and so does the number of records; see the module for why."""

MAX_VIEW_CELLS: Final = 2**20
BLOCK_GROUPINGS: Final = 256
"""Groupings whose codes are held in memory at once."""


def loss_of_views(query: GroupedTablesQuery | TableChoiceQuery) -> Loss:
    """Return what answering spends."""
    loss = Fraction(query.loss)
    return Pure(loss) if query.privacy == "pure" else ZeroConcentrated(loss)


def check_tables(query: GroupedTablesQuery, schema: Schema) -> None:
    """Refuse tables that make no sense under the schema, are too large, or would need noise beyond what is served."""
    sizes = _check_groupings(query.groupings, schema)
    _check_views(query.views, query.groupings, sizes)
    if len(query.weights) != len(query.views):
        raise _bad("weights", f"{len(query.weights)} for {len(query.views)} tables", "give one for each table")
    for share in {_share(query, weight) for weight in set(query.weights)}:
        if query.privacy == "pure":
            discrete_laplace_scale(sensitivity=_l1(query, schema), epsilon=share)
        else:
            discrete_gaussian_variance(square=_l2(query, schema), rho=share)


def check_choice(query: TableChoiceQuery, schema: Schema) -> None:
    """Refuse candidates that make no sense under the schema, are too large, or expect what cannot be."""
    sizes = _check_groupings(query.groupings, schema)
    views = [candidate.view for candidate in query.candidates]
    cells = _check_views(views, query.groupings, sizes)
    least = 2 if query.rule == "forest" else 1
    if min(map(len, views)) < least:
        raise _bad("candidates", "a table without enough attributes", f"give {least} or more")
    if any(a >= len(schema) or b >= len(schema) for a, b in query.taken):
        raise _bad("taken", "an attribute that is not in the schema", f"give 0 to {len(schema) - 1}")
    if len(query.expected.data) != cells * query.expected.width:
        raise _bad("expected", "another number of cells", f"the candidates have {cells:,}")
    expected = unpack_cells(query.expected)
    if int(expected.min()) < 0 or int(expected.max()) >= MAX_EXPECTED:
        raise _bad("expected", "a count out of range", f"give 0 to {MAX_EXPECTED - 1:,}")


def answer_tables(query: GroupedTablesQuery, table: Table, *, noise: Noise) -> GroupedTablesAnswer:
    """Count and add noise; the query has been checked and charged."""
    counted = _counted(query.groupings, query.views, table)
    flat = counted.flat
    noisy = np.empty_like(flat)
    for weight in sorted(set(query.weights)):
        # Tables of one weight are drawn together: each has its own share of the loss.
        tables = [t for t, w in enumerate(query.weights) if w == weight]
        cells = np.concatenate([np.arange(counted.offsets[t], counted.offsets[t + 1]) for t in tables])
        share = _share(query, weight)
        if query.privacy == "pure":
            drawn = discrete_laplace(flat[cells], sensitivity=_l1(query, table.schema), epsilon=share, noise=noise)
        else:
            drawn = discrete_gaussian(flat[cells], square=_l2(query, table.schema), rho=share, noise=noise)
        noisy[cells] = drawn
    return GroupedTablesAnswer(pack_cells(noisy))


def answer_choice(query: TableChoiceQuery, table: Table, *, noise: Noise) -> TableChoiceAnswer:
    """Take up to ``picks`` candidates, one after the other; the query has been checked and charged."""
    views = [candidate.view for candidate in query.candidates]
    doubled = _doubled_scores(query, views, table)
    unit = table.schema.unit
    delta = l1_distance(adjacency=query.adjacency, max_records=unit.max_records if unit else 1)
    share = Fraction(query.loss) / query.picks
    allowed = _Allowed(query, len(table.schema))
    taken: list[int] = []
    for _ in range(query.picks):
        places = allowed.places()
        scores = np.append(doubled[places], 0).astype(np.float64)
        if query.privacy == "pure":
            chosen = select(
                scores, sensitivity=Fraction(delta), epsilon=share, mechanism="permute-and-flip", noise=noise
            )
        else:
            chosen = select_concentrated(scores, sensitivity=Fraction(delta), rho=share, noise=noise)
        if chosen < places.size:
            taken.append(int(places[chosen]))
            allowed.take(taken[-1])
    return TableChoiceAnswer(tuple(taken))


class _Allowed:
    """Which candidates may still be taken: a function of the query and of what was taken, both public."""

    def __init__(self, query: TableChoiceQuery, attributes: int) -> None:
        """Start from what was ``taken`` before."""
        self._forest = query.rule == "forest"
        axes = [[query.groupings[g].attribute for g in candidate.view] for candidate in query.candidates]
        self._first = np.array([found[0] for found in axes])
        self._second = np.array([found[1] if self._forest else found[0] for found in axes])
        self._part = np.arange(attributes)
        self._free = np.ones(attributes, dtype=np.bool_)
        self._left = np.ones(len(axes), dtype=np.bool_)
        for first, second in query.taken:
            self._mark(first, second)

    def places(self) -> NDArray[np.intp]:
        """Return the candidates that are allowed now."""
        if self._forest:
            return np.flatnonzero(self._left & (self._part[self._first] != self._part[self._second]))
        return np.flatnonzero(self._left & self._free[self._first])

    def take(self, place: int) -> None:
        """Take one."""
        self._left[place] = False
        self._mark(int(self._first[place]), int(self._second[place]))

    def _mark(self, first: int, second: int) -> None:
        self._free[first] = False
        self._part[self._part == self._part[second]] = self._part[first]


def _doubled_scores(query: TableChoiceQuery, views: Sequence[tuple[int, ...]], table: Table) -> NDArray[np.int64]:
    """Return ‖c − e‖₁ − 2·penalty of every candidate, in integers."""
    counted = _counted(query.groupings, views, table)
    apart = np.abs(counted.flat - unpack_cells(query.expected))
    penalties = np.array([candidate.penalty for candidate in query.candidates], dtype=np.int64)
    scores: NDArray[np.int64] = np.add.reduceat(apart, counted.offsets[:-1]) - 2 * penalties
    return scores


@dataclass(frozen=True, slots=True)
class _Counted:
    """Tables end to end: table t is ``flat[offsets[t]:offsets[t + 1]]``."""

    flat: NDArray[np.int64]
    offsets: NDArray[np.int64]


def _counted(groupings: Sequence[Grouping], views: Sequence[tuple[int, ...]], table: Table) -> _Counted:
    """Count the tables of grouped values, end to end in the order of ``views``.

    In blocks of views with few groupings, so that the memory does not grow with what the analyst asks for: running out
    of it would tell the asker about the number of records.
    """
    parts = [_count_block(groupings, views[block], table) for block in _blocks(views)]
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return _Counted(
        np.concatenate([part.flat for part in parts]).astype(np.int64), np.concatenate([[0], np.cumsum(lengths)])
    )


def _blocks(views: Sequence[tuple[int, ...]]) -> Iterator[slice]:
    """Cut the views so that each block names at most :data:`BLOCK_GROUPINGS` groupings."""
    start, named = 0, set[int]()
    for place, view in enumerate(views):
        if start < place and len(named | set(view)) > BLOCK_GROUPINGS:
            yield slice(start, place)
            start, named = place, set()
        named.update(view)
    yield slice(start, len(views))


def _count_block(groupings: Sequence[Grouping], views: Sequence[tuple[int, ...]], table: Table) -> CountTables:
    used = sorted({g for view in views for g in view})
    sizes = [_size(groupings[g], table.schema.sizes) for g in used]
    codes = np.empty((len(used), table.records), dtype=np.uint8 if max(sizes, default=1) <= 256 else np.uint16)
    for row, g in zip(codes, used, strict=True):
        grouping, found = groupings[g], table.codes[groupings[g].attribute]
        row[:] = np.array(grouping.groups, dtype=codes.dtype)[found] if grouping.groups else found
    place = {g: i for i, g in enumerate(used)}
    return contingencies(codes, sizes, [tuple(place[g] for g in view) for view in views])


def _size(grouping: Grouping, sizes: Sequence[int]) -> int:
    return max(grouping.groups) + 1 if grouping.groups else sizes[grouping.attribute]


def _share(query: GroupedTablesQuery, weight: int) -> Fraction:
    return Fraction(query.loss) * weight / sum(query.weights)


def _l1(query: GroupedTablesQuery, schema: Schema) -> int:
    return table_l1(adjacency=query.adjacency, max_records=schema.unit.max_records if schema.unit else 1)


def _l2(query: GroupedTablesQuery, schema: Schema) -> int:
    return table_l2_squared(adjacency=query.adjacency, max_records=schema.unit.max_records if schema.unit else 1)


def _check_groupings(groupings: Sequence[Grouping], schema: Schema) -> list[int]:
    for grouping in groupings:
        if grouping.attribute >= len(schema):
            raise _bad("groupings", "an attribute that is not in the schema", f"give 0 to {len(schema) - 1}")
        if grouping.groups and len(grouping.groups) != schema.sizes[grouping.attribute]:
            raise _bad("groupings", "another number of values than the schema has", "give a group for every value")
        if grouping.groups and set(grouping.groups) != set(range(max(grouping.groups) + 1)):
            raise _bad("groupings", "a group without values", "number the groups 0, 1, 2, …")
    return [_size(grouping, schema.sizes) for grouping in groupings]


def _check_views(views: Sequence[tuple[int, ...]], groupings: Sequence[Grouping], sizes: Sequence[int]) -> int:
    """Return the number of all cells."""
    total = 0
    for view in views:
        if any(g >= len(groupings) for g in view):
            raise _bad("views", "a grouping that is not given", f"there are {len(groupings)}")
        if len({groupings[g].attribute for g in view}) != len(view):
            raise _bad("views", "an attribute twice in a table", "give each once")
        cells = math.prod(sizes[g] for g in view)
        if cells > MAX_VIEW_CELLS:
            raise _bad("views", f"a table of {cells:,} cells", f"give at most {MAX_VIEW_CELLS:,}")
        total += cells
    if len({tuple(sorted(view)) for view in views}) != len(views):
        raise _bad("views", "the same table twice", "ask for every table once")
    if total > DEFAULT_CELL_LIMIT:
        raise _bad("views", f"{total:,} cells", f"at most {DEFAULT_CELL_LIMIT:,} are counted")
    return total


def _bad(field: str, found: str, remedy: str) -> InputError:
    return InputError(f"query, {field}", found=f"found {found}", remedy=remedy)
