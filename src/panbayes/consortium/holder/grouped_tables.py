"""Tables of grouped values: whether a query for them makes sense, and what it costs.

They are counted by the holder's counter (:mod:`panbayes.tables.counting.block_counts`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.limits import MAX_CELLS
from panbayes.consortium.holder.query_checks import bad
from panbayes.consortium.protocol.queries import GroupedTablesQuery, Grouping, TableChoiceQuery
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import CLASSES
from panbayes.schema.schema import Schema
from panbayes.tables.counting.block_counts import groups_in

__all__ = [
    "check_axes",
    "check_groupings",
    "loss_of_query",
    "moved_by_one",
]

MAX_TABLE_CELLS: Final = 2**20
"""Cells of one table at most."""


def loss_of_query(query: GroupedTablesQuery | TableChoiceQuery) -> Loss:
    """Return what answering spends."""
    if query.privacy not in CLASSES:
        raise bad("privacy", "a class of privacy that is not known here", f"give one of: {', '.join(CLASSES)}")
    return CLASSES[query.privacy].with_amount(Fraction(query.loss))


def moved_by_one(query: GroupedTablesQuery | TableChoiceQuery, schema: Schema) -> TableSensitivity:
    """Return how far one person can move one of the query's tables."""
    return TableSensitivity.of(adjacency=query.adjacency, max_records=schema.max_records)


def check_groupings(groupings: Sequence[Grouping], schema: Schema) -> list[int]:
    """Refuse groupings that do not fit the schema; return the number of groups of each."""
    values = schema.sizes
    for grouping in groupings:
        if grouping.attribute >= len(values):
            raise bad("groupings", "an attribute that is not in the schema", f"give 0 to {len(schema) - 1}")
        if grouping.groups and len(grouping.groups) != values[grouping.attribute]:
            raise bad("groupings", "another number of values than the schema has", "give a group for every value")
        if grouping.groups and set(grouping.groups) != set(range(max(grouping.groups) + 1)):
            raise bad("groupings", "a group without values", "number the groups 0, 1, 2, …")
    return [groups_in(grouping, values) for grouping in groupings]


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
