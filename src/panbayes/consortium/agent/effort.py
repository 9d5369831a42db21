"""How long an answer may take, from public sizes alone: what an asker is promised before anything is computed.

What a question asks for is counted in four numbers, each a function of the question, the study and its schema:

=========== ==================================================================================================
``length``  bytes of the question: reading and checking it
``tables``  tables that are counted, each by going through all records
``cells``   cells of those tables, and candidates that are compared, for every choice among them
``draws``   values that are drawn: noisy cells, looks and choices; a cell of a table of k cells that shares a radius
            counts as 1 + k/64 of them
=========== ==================================================================================================

With *n* records and *N* attributes the promise is::

    seconds = BASE + LENGTH·length + PASS·tables·n + CELL·cells + DRAW·draws (+ OPEN + r·(READ·N + ID + REGISTER))

with THERE in the place of PASS, and AWAY more, where a database or Spark counts the records (``pushdown=true``). What
is in brackets counts where the records have to be read first, ID only where a schema's ``[unit]`` names people,
REGISTER only where these have blocks; and never more than :data:`MOST` is promised. *r* is the number of rows that are
read: the public number of records where each is a person; else what the holder declares (``rows_bound``), for one
person may have any number of rows, and under ``add-remove`` the number of people is private too. *n* of them count at
most: no more than *r*, and where the number of people is public no more than that times the records that each may
have. A table with more rows than were declared is answered from like any other: whether an answer comes does not
depend on their number. It may be late, which is an overrun like any other.

What the study does not ask for at all is refused unseen, and promised for by its length alone.

Measured on two shared cores in November 2026 were 1.4 ns a record and table, 7 µs a Laplace and 13 µs a Gaussian draw,
5 to 350 µs a cell of a table of 4 to 512 cells that shares a radius, 0.05 µs a candidate and choice, whatever the
scores are (:mod:`panbayes.dp.selection`), 0.04 to 0.4 µs a value that is read (SQLite: 0.7 to 1.5 µs), and 0.3 to 4 µs
an id. To look people up in the register of a dataset with blocks, or to put them there, took 4 to 7 µs each in a table
of a million people, and 10 to 23 µs in one of four. Databases took 0.02 to 1 µs a record and table that they counted;
Spark was not measured, and AWAY is meant for it. The constants for these are 1.5 to forty times that, so that a slower
or busier machine keeps its promises too. Those for what every answer takes, for a byte of the question and for a cell
are set so that small questions fit into the shortest slots with room to spare. A promise that is too long costs
waiting; one that is too short is an overrun (:mod:`panbayes.consortium.agent.slots`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from panbayes.consortium.agreement.limits import MAX_CELLS, cells_of_each, cells_of_grouped, cells_of_largest
from panbayes.consortium.holder.query_checks import MAX_CANDIDATES
from panbayes.consortium.protocol.queries import (
    GroupedTablesQuery,
    LinearChoiceQuery,
    ModelQuery,
    ParentChoiceQuery,
    Query,
    TableChoiceQuery,
    TablesQuery,
)
from panbayes.schema.schema import Schema

__all__ = ["MOST", "Effort", "Sizes", "effort_of", "public_sizes", "seconds"]

BASE: Final = 0.4
LENGTH: Final = 2e-6
PASS: Final = 4e-9
THERE: Final = 3e-6
AWAY: Final = 10.0
CELL: Final = 2e-6
DRAW: Final = 6e-5
OPEN: Final = 2.0
READ: Final = 2.5e-6
ID: Final = 8e-6
REGISTER: Final = 6e-5
SLOWER: Final = 64
"""A cell of a table that shares a radius takes one draw more for so many cells of the table."""

MOST: Final = 3600.0
"""Seconds that are promised at most: whoever asks for more makes an overrun, and not the others wait."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a question asks for; see the module."""

    length: int
    tables: int = 0
    cells: int = 0
    draws: int = 0


def effort_of(query: Query | None, schema: Schema, *, length: int) -> Effort:
    """Return what a ``query`` in a question of this ``length`` asks for; None is a question that cannot be read."""
    sizes = schema.sizes
    match query:
        case TablesQuery():
            cells = sum(_cells(attributes, sizes) for attributes in query.sets)
            return _bounded(length, len(query.sets), cells, cells)
        case ParentChoiceQuery():
            placed, left = len(query.placed), max(len(sizes) - len(query.placed), 0)
            sets = math.comb(placed, min(query.degree, placed))
            return _bounded(length, left * sets, left * sets * (1 + _largest(sizes, query.degree)), 1)
        case LinearChoiceQuery():
            placed, left = len(query.placed), max(len(sizes) - len(query.placed), 0)
            sets = math.comb(placed, min(query.degree, placed))
            return _bounded(length, left * placed, left * (placed + sets * (1 + query.degree)), 1)
        case ModelQuery():
            return _model(query, sizes, length)
        case GroupedTablesQuery():
            found = cells_of_grouped(query.tables, query.groupings, sizes) or 0
            shared = cells_of_each(query.tables[: sum(query.radii)], query.groupings, sizes) or []
            slower = sum(cells**2 // SLOWER for cells in shared)
            return _bounded(length, len(query.tables), found, found + slower)
        case TableChoiceQuery():
            tables = [candidate.axes for candidate in query.candidates]
            found = cells_of_grouped(tables, query.groupings, sizes) or 0
            choices = max(count.tables for count in query.counts) if query.look != "1" else 0
            compared = len(query.counts) * len(tables)
            compared += choices * (len(tables) + 1)
            return _bounded(length, len(tables), found + compared, choices + len(query.counts))
        case _:
            return Effort(length)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The public sizes of a table: ``rows`` that are read at most, and ``records`` that count at most."""

    rows: int
    records: int


def public_sizes(schema: Schema, *, size: int | None, bound: int | None) -> Sizes:
    """Return the sizes that a promise is made for.

    ``size`` is the public number of people, None where it is private; ``bound`` is the number of rows that the holder
    declared, if anything. Every person has a row, so there are at least as many.
    """
    rows = max(size or 0, bound or 0)
    return Sizes(rows, rows if size is None else min(size * (schema.max_records or 1), rows))


def seconds(
    effort: Effort, *, sizes: Sizes, schema: Schema, read: bool, blocks: bool = False, there: bool = False
) -> float:
    """Return how long an answer may take.

    ``read`` tells whether the records are at hand already, ``blocks`` whether people are known by their blocks, and
    ``there`` whether the records are counted where they lie.
    """
    passes = (THERE if there else PASS) * effort.tables * sizes.records + (AWAY if there else 0)
    found = BASE + LENGTH * effort.length + passes + CELL * effort.cells + DRAW * effort.draws
    if not read:
        people = (0 if schema.unit is None else ID) + (REGISTER if blocks else 0)
        found += OPEN + sizes.rows * (READ * len(schema) + people)
    return min(found, MOST)


def _model(query: ModelQuery, sizes: Sequence[int], length: int) -> Effort:
    """Return the effort of a whole search: each family is scored once, and is a candidate in every step after that."""
    attributes, degree = len(sizes), min(query.degree, max(len(sizes) - 1, 0))
    lengths = (degree,) if query.theta is None else range(degree + 1)
    families = attributes * sum(math.comb(attributes - 1, parents) for parents in lengths)
    families = min(families, MAX_CANDIDATES * attributes)
    largest = _largest(sizes, degree)
    return _bounded(length, families, families * (attributes + largest), attributes * (1 + largest))


def _bounded(length: int, tables: int, cells: int, draws: int) -> Effort:
    """Return the effort, of which no gate does more than its own limits allow."""
    most = MAX_CANDIDATES * 100
    return Effort(length, min(tables, most), min(cells, most), min(draws, most))


def _cells(attributes: Sequence[int], sizes: Sequence[int]) -> int:
    """Return the cells of a table; none if an attribute is not in the schema, which the gate will refuse."""
    if max(attributes) >= len(sizes):
        return 0
    return math.prod(sizes[a] for a in attributes)


def _largest(sizes: Sequence[int], degree: int) -> int:
    return min(cells_of_largest(sizes, degree + 1), MAX_CELLS)
