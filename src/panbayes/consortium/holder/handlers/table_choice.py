"""How many tables are worth measuring next, and which: a look, then choices one after the other.

The score of a pair is ‖c − e‖₁, that of an interaction |s − e|: what is expected comes from the analyst, in integers.
One person moves the sum of a table's cells, and s, by at most Δ₁ (:mod:`panbayes.privacy.adjacency`), whatever e is; so
Δ₁ is the sensitivity of every score, and of the worth of every candidate at every count, which is an integer below 2⁵³
and exact in floating point. Where the analyst expects nothing, the score of a pair is ⌊D⌋, its distance from
independence, whose sensitivity is larger (:func:`~panbayes.privacy.adjacency.dependence_sensitivity`) and takes the
place of Δ₁; n·D is a sum of integers. Where the study has a target, tables without it are worth a quarter, rounded
down: a worth that one person moves by at most Δ₁ moves by ⌈Δ₁/4⌉ then, which is no more.

**The look.** The sets of candidates that may be taken together are the independent sets of a matroid: forests of pairs,
or one table of each set of attributes. Of a basis of the largest worth, the T-th best member has a worth w_T that one
person moves by at most Δ₁ too: w_T ≥ w just if the candidates worth at least w have rank T or more, and moving every
worth by at most Δ₁ moves the w at which they do by at most that. There are L counts T, each with its own worths, so the
vector of the w_T has sensitivity L·Δ₁ in L1 and √L·Δ₁ in L2; it gets the noise of a table of that sensitivity. A query
with one count may do without; a query may also be for the look alone.

**The choices.** The largest count whose noisy w_T is above ``least`` is a function of the look. So many choices divide
the rest of the loss evenly; each draws by permute-and-flip under pure privacy, by the exponential mechanism under zCDP.
Which candidates are still allowed follows from the query and the choices so far; taking none is always among them,
worth 0.
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
    loss_of_query,
    moved_by_one,
)
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.query_checks import bad
from panbayes.consortium.protocol.answers import TableChoiceAnswer
from panbayes.consortium.protocol.cells import Cells, unpack_cells
from panbayes.consortium.protocol.queries import TableChoiceQuery
from panbayes.dp.mechanisms import check_noise, noisy_counts, select
from panbayes.dp.noise import Noise
from panbayes.privacy.adjacency import TableSensitivity, dependence_sensitivity
from panbayes.privacy.events import Event
from panbayes.schema.schema import Schema
from panbayes.tables.counter import Counter
from panbayes.tables.counting.block_counts import groups_in

__all__ = ["TABLE_CHOICE"]

MAX_EXPECTED: Final = 2**31
"""What is expected lies below this, and so does the number of records; see the module for why."""

_PAIR: Final = 2

_OTHERS: Final = 4
"""Tables without the target are worth one part in so many."""


def _part(query: TableChoiceQuery) -> Fraction:
    """Return the part of the loss that is for the look."""
    return Fraction(query.look or 0)


def _moved(query: TableChoiceQuery, schema: Schema) -> int:
    """Return how far one person can move a score."""
    if query.expected is None:
        return dependence_sensitivity(adjacency=query.adjacency, max_records=schema.max_records)
    return moved_by_one(query, schema).l1


def _look(query: TableChoiceQuery, schema: Schema) -> Event:
    """Return the noise of the look."""
    moved, values = _moved(query, schema), len(query.counts)
    return loss_of_query(query).part(_part(query)).tables_event(TableSensitivity(values * moved, values * moved**2))


def _check(query: TableChoiceQuery, schema: Schema, _size: int) -> None:
    sizes = check_groupings(query.groupings, schema)
    pairs = [candidate.axes for candidate in query.candidates if len(candidate.axes) == _PAIR]
    sets = [candidate.axes for candidate in query.candidates if len(candidate.axes) != _PAIR]
    cells = check_axes(pairs, query.groupings, sizes) + len(sets)
    check_axes(sets, query.groupings, sizes)
    if any(len(axes) not in (3, 4) or any(sizes[g] != 2 for g in axes) for axes in sets):
        raise bad(
            "candidates", "a table that is neither a pair nor an interaction", "give 2 axes, or 3 or 4 of two groups"
        )
    if query.expected is not None:
        _check_expected(query.expected, cells)
    elif sets:
        raise bad("expected", "nothing of an interaction", "give numbers, or offer pairs only")
    dearest = max(candidate.penalty for candidate in query.candidates) + max(
        candidate.price for candidate in query.candidates
    ) * max(count.unit for count in query.counts)
    if dearest >= -_NEVER:
        raise bad("counts", "prices beyond what is reckoned with", f"keep penalty + price·unit below {-_NEVER:,}")
    if any(a >= len(schema) or b >= len(schema) for a, b in query.taken):
        raise bad("taken", "an attribute that is not in the schema", f"give 0 to {len(schema) - 1}")
    if _part(query) > 1:
        raise bad("look", "more than the whole loss", "give a ratio of at most 1")
    if query.look:
        check_noise(_look(query, schema))
    elif len(query.counts) > 1:
        raise bad("look", "no look at several counts", "give a ratio, or one count")


def _check_expected(cells: Cells, many: int) -> None:
    if len(cells.data) != many * cells.width:
        raise bad("expected", "another number of cells", f"the candidates have {many:,}")
    expected = unpack_cells(cells)
    if int(expected.max()) >= MAX_EXPECTED or int(expected.min()) <= -MAX_EXPECTED:
        raise bad("expected", "a count out of range", f"give numbers below {MAX_EXPECTED:,}")


def _answer(query: TableChoiceQuery, counts: PrivateCounts, *, noise: Noise) -> TableChoiceAnswer:
    scores = _scores(query, counts.counter)
    allowed = _Allowed(query, len(counts.schema))
    penalties = np.array([candidate.penalty for candidate in query.candidates], dtype=np.int64)
    prices = np.array([candidate.price for candidate in query.candidates], dtype=np.int64)
    parts = np.where(_about_target(query), 1, _OTHERS)
    worths = [(scores - penalties - prices * count.unit) // parts for count in query.counts]
    place = _looked_at(query, counts.schema, allowed, worths, noise=noise) if query.look else 0
    if place is None:
        return TableChoiceAnswer(0, ())
    times, worth = query.counts[place].tables, worths[place].astype(np.float64)
    if _part(query) == 1:
        return TableChoiceAnswer(times, ())
    event = loss_of_query(query).part((1 - _part(query)) / times).selection_event()
    moved = Fraction(_moved(query, counts.schema))
    taken: list[int] = []
    for _ in range(times):
        left = allowed.places()
        chosen = select(np.append(worth[left], 0.0), sensitivity=moved, event=event, noise=noise)
        if chosen < left.size:
            taken.append(int(left[chosen]))
            allowed.take(taken[-1])
    return TableChoiceAnswer(times, tuple(taken))


def _looked_at(
    query: TableChoiceQuery, schema: Schema, allowed: _Allowed, worths: Sequence[NDArray[np.int64]], *, noise: Noise
) -> int | None:
    """Return the place of the largest count whose tables are worth more than the least, by a noisy look."""
    best = [allowed.best(worth, count.tables) for worth, count in zip(worths, query.counts, strict=True)]
    noisy = noisy_counts(np.array(best, dtype=np.int64), event=_look(query, schema), noise=noise)
    found = [place for place, value in enumerate(noisy.tolist()) if value > query.least]
    return max(found, key=lambda place: query.counts[place].tables, default=None)


def _about_target(query: TableChoiceQuery) -> NDArray[np.bool_]:
    """Tell which candidates have the target among their attributes; all, if there is none."""
    if query.target is None:
        return np.ones(len(query.candidates), dtype=np.bool_)
    having = {number for number, found in enumerate(query.groupings) if found.attribute == query.target}
    return np.array([not having.isdisjoint(candidate.axes) for candidate in query.candidates])


class _Allowed:
    """Which candidates may be taken together: forests of pairs, or one table of each set of attributes."""

    def __init__(self, query: TableChoiceQuery, attributes: int) -> None:
        """Start with nothing taken."""
        members = [tuple(query.groupings[g].attribute for g in candidate.axes) for candidate in query.candidates]
        self._attributes = attributes
        self._first = np.array([found[0] for found in members])
        self._second = np.array([found[1] for found in members])
        self._edge = np.array([len(found) == _PAIR for found in members]) & (query.rule == "forest")
        numbers: dict[tuple[int, ...], int] = {}
        self._set = np.array([numbers.setdefault(tuple(sorted(found)), len(numbers)) for found in members])
        self._sets = len(numbers)
        self._part = np.arange(attributes)
        self._left = np.ones(len(members), dtype=np.bool_)
        for first, second in query.taken:
            self._join(first, second)

    def places(self) -> NDArray[np.intp]:
        """Return the candidates that are allowed now."""
        joined = self._part[self._first] == self._part[self._second]
        return np.flatnonzero(self._left & ~(self._edge & joined))

    def take(self, place: int) -> None:
        """Take one."""
        self._left[self._set == self._set[place]] = False
        if self._edge[place]:
            self._join(int(self._first[place]), int(self._second[place]))

    def _join(self, first: int, second: int) -> None:
        self._part[self._part == self._part[second]] = self._part[first]

    def best(self, worth: NDArray[np.int64], count: int) -> int:
        """Return the ``count``-th best worth of a basis of the largest worth; the lowest there is if it has fewer."""
        free = np.full(self._sets, _NEVER, dtype=np.int64)
        np.maximum.at(free, self._set, worth)
        basis = free
        if self._edge.any():
            edges = np.flatnonzero(self._edge)
            forest = self._forest(edges[np.argsort(-worth[edges], kind="stable")])
            basis = np.concatenate([np.delete(free, np.unique(self._set[edges])), worth[forest]])
        return int(-np.partition(-basis, count - 1)[count - 1]) if count <= basis.size else _NEVER

    def _forest(self, ordered: NDArray[np.intp]) -> list[int]:
        """Take pairs in this order, leaving out those that close a cycle (Kruskal)."""
        part = self._part.tolist()

        def root(attribute: int) -> int:
            while part[attribute] != attribute:
                part[attribute] = part[part[attribute]]
                attribute = part[attribute]
            return attribute

        taken: list[int] = []
        for place in ordered.tolist():
            first, second = root(int(self._first[place])), root(int(self._second[place]))
            if first != second:
                part[first] = second
                taken.append(place)
                if len(taken) == self._attributes - 1:
                    break
        return taken


_NEVER: Final = -(2**52)
"""The worth of what cannot be had: no noise brings it above zero."""


def _scores(query: TableChoiceQuery, counter: Counter) -> NDArray[np.int64]:
    """Return ‖c − e‖₁ of every pair and |s − e| of every interaction, in the order of the candidates."""
    if query.expected is None:
        return _dependences(query, counter)
    pair = np.array([len(candidate.axes) == _PAIR for candidate in query.candidates])
    axes: Sequence[tuple[int, ...]] = [candidate.axes for candidate in query.candidates]
    counted = counter.count([found for found in axes if len(found) == _PAIR], query.groupings)
    sums = counter.parities([found for found in axes if len(found) != _PAIR], query.groupings)
    lengths = np.ones(pair.size, dtype=np.int64)
    lengths[pair] = np.diff(counted.offsets)
    start = np.concatenate([[0], np.cumsum(lengths)])
    found = np.empty(int(start[-1]), dtype=np.int64)
    within = np.repeat(pair, lengths)
    found[within] = counted.flat
    found[~within] = sums
    scores: NDArray[np.int64] = np.add.reduceat(np.abs(found - unpack_cells(query.expected)), start[:-1])
    return scores


def _dependences(query: TableChoiceQuery, counter: Counter) -> NDArray[np.int64]:
    """Return the distance of every pair from independence, rounded down: Σ|n·c(a, b) − c_a·c_b| / n."""
    counted = counter.count([candidate.axes for candidate in query.candidates], query.groupings)
    sizes = [groups_in(grouping, counter.facts.schema.sizes) for grouping in query.groupings]
    scores = np.zeros(len(query.candidates), dtype=np.int64)
    for place, candidate in enumerate(query.candidates):
        first, second = candidate.axes
        found = counted.flat[counted.offsets[place] : counted.offsets[place + 1]].reshape(sizes[first], sizes[second])
        records = int(found.sum())
        apart = np.abs(records * found - np.outer(found.sum(axis=1), found.sum(axis=0)))
        # Each is at most n², all together 2n², and n is below 2³¹: they fit into 64 bits without a sign.
        scores[place] = int(apart.astype(np.uint64).sum()) // max(records, 1)
    return scores


TABLE_CHOICE: Final = Handler(TableChoiceQuery, loss_of_query, _check, _answer)
