"""Which tables to measure next: up to ``picks`` of them, one after the other, each at its part of the loss.

A candidate's score is ½‖c − e‖₁ − penalty. What is expected, e, and the penalty come from the analyst: they are fixed
integers, bounded so that the doubled score ‖c − e‖₁ − 2·penalty is an integer below 2⁵³ and exact in floating point.
Its sensitivity is that of the table in L1, whatever e is (:mod:`panbayes.privacy.adjacency`). Which candidates are
still allowed follows from the query and the picks released so far; taking none is always among them, with score 0.

Each pick is a draw by permute-and-flip at ε/picks under pure privacy, by the exponential mechanism at ρ/picks under
zCDP.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.holder.grouped_tables import (
    check_axes,
    check_groupings,
    count_grouped,
    loss_of_query,
    moved_by_one,
)
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.query_checks import bad
from panbayes.consortium.protocol.answers import TableChoiceAnswer
from panbayes.consortium.protocol.cells import unpack_cells
from panbayes.consortium.protocol.queries import TableChoiceQuery
from panbayes.dp.mechanisms import select
from panbayes.dp.noise import Noise
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

__all__ = ["TABLE_CHOICE"]

MAX_EXPECTED: Final = 2**31
"""What is expected in a cell lies below this, and so does the number of records; see the module for why."""


def _check(query: TableChoiceQuery, schema: Schema, _size: int) -> None:
    loss_of_query(query)
    sizes = check_groupings(query.groupings, schema)
    tables = [candidate.axes for candidate in query.candidates]
    cells = check_axes(tables, query.groupings, sizes)
    least = 2 if query.rule == "forest" else 1
    if min(map(len, tables)) < least:
        raise bad("candidates", "a table without enough attributes", f"give {least} or more")
    if any(a >= len(schema) or b >= len(schema) for a, b in query.taken):
        raise bad("taken", "an attribute that is not in the schema", f"give 0 to {len(schema) - 1}")
    if len(query.expected.data) != cells * query.expected.width:
        raise bad("expected", "another number of cells", f"the candidates have {cells:,}")
    expected = unpack_cells(query.expected)
    if int(expected.min()) < 0 or int(expected.max()) >= MAX_EXPECTED:
        raise bad("expected", "a count out of range", f"give 0 to {MAX_EXPECTED - 1:,}")


def _answer(query: TableChoiceQuery, counts: PrivateCounts, *, noise: Noise) -> TableChoiceAnswer:
    doubled = _doubled_scores(query, [candidate.axes for candidate in query.candidates], counts.table)
    moved = Fraction(moved_by_one(query, counts.schema).l1)
    event = loss_of_query(query).part(Fraction(1, query.picks)).selection_event()
    allowed = _Allowed(query, len(counts.schema))
    taken: list[int] = []
    for _ in range(query.picks):
        places = allowed.places()
        scores = np.append(doubled[places], 0).astype(np.float64)
        chosen = select(scores, sensitivity=moved, event=event, noise=noise)
        if chosen < places.size:
            taken.append(int(places[chosen]))
            allowed.take(taken[-1])
    return TableChoiceAnswer(tuple(taken))


class _Allowed:
    """Which candidates may still be taken: a function of the query and of what was taken, both public."""

    def __init__(self, query: TableChoiceQuery, attributes: int) -> None:
        """Start from what was ``taken`` before."""
        self._forest = query.rule == "forest"
        axes = [[query.groupings[g].attribute for g in candidate.axes] for candidate in query.candidates]
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


def _doubled_scores(query: TableChoiceQuery, tables: Sequence[tuple[int, ...]], table: Table) -> NDArray[np.int64]:
    """Return ‖c − e‖₁ − 2·penalty of every candidate, in integers."""
    counted = count_grouped(query.groupings, tables, table)
    apart = np.abs(counted.flat - unpack_cells(query.expected))
    penalties = np.array([candidate.penalty for candidate in query.candidates], dtype=np.int64)
    scores: NDArray[np.int64] = np.add.reduceat(apart, counted.offsets[:-1]) - 2 * penalties
    return scores


TABLE_CHOICE: Final = Handler(TableChoiceQuery, loss_of_query, _check, _answer)
