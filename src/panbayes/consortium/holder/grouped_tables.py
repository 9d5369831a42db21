"""Tables of grouped values: whether a query for them makes sense, and counting them in bounded memory.

Grouping values is a fixed map of every record, so a table of groups is a contingency table like any other. It is
counted in blocks, of groupings and of records: the memory it takes follows from the query and the schema, never from
the number of records. That number may be private, and an answer that fails for want of memory is not charged: whoever
could make it fail for many records and not for few would learn it for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.agreement.limits import MAX_CELLS
from panbayes.consortium.holder.query_checks import bad
from panbayes.consortium.protocol.queries import FormerChoiceQuery, GroupedTablesQuery, Grouping, TableChoiceQuery
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import CLASSES
from panbayes.schema.schema import Schema
from panbayes.tables.counting.count_tables import contingencies
from panbayes.tables.counting.parities import parities
from panbayes.tables.table import Table

__all__ = [
    "Counted",
    "check_axes",
    "check_groupings",
    "count_grouped",
    "count_parities",
    "loss_of_query",
    "moved_by_one",
]

MAX_TABLE_CELLS: Final = 2**20
"""Cells of one table at most."""

BLOCK_GROUPINGS: Final = 256
"""Groupings whose codes are held in memory at once."""

BLOCK_RECORDS: Final = 2**16
"""Records whose codes are held in memory at once: 16 MB for 256 groupings into up to 256 groups."""

BLOCK_BITS: Final = BLOCK_GROUPINGS * BLOCK_RECORDS
"""Bits, of a byte each, that are held in memory at once when parities are counted: fewer records of more groupings."""

LEAST_RECORDS: Final = 2**10
"""Records that are held in memory at once at least."""


def loss_of_query(query: GroupedTablesQuery | TableChoiceQuery | FormerChoiceQuery) -> Loss:
    """Return what answering spends."""
    if query.privacy not in CLASSES:
        raise bad("privacy", "a class of privacy that is not known here", f"give one of: {', '.join(CLASSES)}")
    return CLASSES[query.privacy].with_amount(Fraction(query.loss))


def moved_by_one(query: GroupedTablesQuery | TableChoiceQuery, schema: Schema) -> TableSensitivity:
    """Return how far one person can move one of the query's tables."""
    return TableSensitivity.of(adjacency=query.adjacency, max_records=schema.max_records)


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """Tables end to end: table t is ``flat[offsets[t]:offsets[t + 1]]``."""

    flat: NDArray[np.int64]
    offsets: NDArray[np.int64]


def count_grouped(groupings: Sequence[Grouping], tables: Sequence[tuple[int, ...]], table: Table) -> Counted:
    """Count the tables of grouped values, end to end in the order of ``tables``; in blocks, see the module."""
    sizes = [_size(grouping, table.schema.sizes) for grouping in groupings]
    lengths = [math.prod(sizes[g] for g in axes) for axes in tables]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = np.zeros(offsets[-1], dtype=np.int64)
    for block in _blocks(tables):
        _count_block(groupings, tables[block], table, flat[offsets[block.start] : offsets[block.stop]])
    return Counted(flat, offsets)


def count_parities(groupings: Sequence[Grouping], sets: Sequence[tuple[int, ...]], table: Table) -> NDArray[np.int64]:
    """Return the parity of every set of groupings into two (:mod:`panbayes.tables.counting.parities`)."""
    found = np.zeros(len(sets), dtype=np.int64)
    used = sorted({g for axes in sets for g in axes})
    place = {g: row for row, g in enumerate(used)}
    members = [tuple(place[g] for g in axes) for axes in sets]
    maps = [np.array(groupings[g].groups or (0, 1), dtype=np.uint8) for g in used]
    step = max(BLOCK_BITS // max(len(used), 1), LEAST_RECORDS)
    for start in range(0, table.records if used else 0, step):
        codes = table.codes[:, start : start + step]
        bits = np.empty((len(used), codes.shape[1]), dtype=np.uint8)
        for row, g, groups in zip(bits, used, maps, strict=True):
            row[:] = groups[codes[groupings[g].attribute]]
        found += parities(bits, members)
    return found


def _blocks(tables: Sequence[tuple[int, ...]]) -> Iterator[slice]:
    """Cut the tables so that each block names at most :data:`BLOCK_GROUPINGS` groupings."""
    start, named = 0, set[int]()
    for place, axes in enumerate(tables):
        if start < place and len(named | set(axes)) > BLOCK_GROUPINGS:
            yield slice(start, place)
            start, named = place, set()
        named.update(axes)
    yield slice(start, len(tables))


def _count_block(
    groupings: Sequence[Grouping], tables: Sequence[tuple[int, ...]], table: Table, out: NDArray[np.int64]
) -> None:
    """Add the counts of some tables to ``out``."""
    used = sorted({g for axes in tables for g in axes})
    sizes = [_size(groupings[g], table.schema.sizes) for g in used]
    dtype = np.uint8 if max(sizes, default=1) <= 256 else np.uint16
    maps = [np.array(groupings[g].groups, dtype=dtype) for g in used]
    place = {g: i for i, g in enumerate(used)}
    sets = [tuple(place[g] for g in axes) for axes in tables]
    for start in range(0, table.records, BLOCK_RECORDS):
        found = table.codes[:, start : start + BLOCK_RECORDS]
        codes = np.empty((len(used), found.shape[1]), dtype=dtype)
        for row, g, groups in zip(codes, used, maps, strict=True):
            row[:] = groups[found[groupings[g].attribute]] if groups.size else found[groupings[g].attribute]
        out += contingencies(codes, sizes, sets).flat


def _size(grouping: Grouping, sizes: Sequence[int]) -> int:
    return max(grouping.groups) + 1 if grouping.groups else sizes[grouping.attribute]


def check_groupings(groupings: Sequence[Grouping], schema: Schema) -> list[int]:
    """Refuse groupings that do not fit the schema; return the number of groups of each."""
    for grouping in groupings:
        if grouping.attribute >= len(schema):
            raise bad("groupings", "an attribute that is not in the schema", f"give 0 to {len(schema) - 1}")
        if grouping.groups and len(grouping.groups) != schema.sizes[grouping.attribute]:
            raise bad("groupings", "another number of values than the schema has", "give a group for every value")
        if grouping.groups and set(grouping.groups) != set(range(max(grouping.groups) + 1)):
            raise bad("groupings", "a group without values", "number the groups 0, 1, 2, …")
    return [_size(grouping, schema.sizes) for grouping in groupings]


def check_axes(tables: Sequence[tuple[int, ...]], groupings: Sequence[Grouping], sizes: Sequence[int]) -> int:
    """Refuse tables that make no sense or are too large; return the number of all cells."""
    total = 0
    for axes in tables:
        if any(g >= len(groupings) for g in axes):
            raise bad("views", "a grouping that is not given", f"there are {len(groupings)}")
        if len({groupings[g].attribute for g in axes}) != len(axes):
            raise bad("views", "an attribute twice in a table", "give each once")
        cells = math.prod(sizes[g] for g in axes)
        if cells > MAX_TABLE_CELLS:
            raise bad("views", f"a table of {cells:,} cells", f"give at most {MAX_TABLE_CELLS:,}")
        total += cells
    if len({tuple(sorted(axes)) for axes in tables}) != len(tables):
        raise bad("views", "the same table twice", "ask for every table once")
    if total > MAX_CELLS:
        raise bad("views", f"{total:,} cells", f"at most {MAX_CELLS:,} are counted")
    return total
