"""Counts inside a database: no record leaves it, only the tables that a holder's answer is drawn from.

Codes are compiled as for reading, and counted by GROUPING SETS, some attributes at a time, or where there are none by
one GROUP BY after the other. All questions see one state of the database, as long as it stays open. Every question
reads the table anew, which costs far more than to let codes out once, and the database may keep exact tables among its
results: whoever may look at those sees more than an analyst ever does.

Under a privacy unit each person's first records are counted, in the order that reading them would have them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.schema.schema import Schema
from panbayes.tables.counter import Facts
from panbayes.tables.counting.block_counts import Counted, GroupsOfValues, groups_in
from panbayes.tables.counting.count_tables import DEFAULT_CELL_LIMIT
from panbayes.tables.counting.limits import shaped_sets, table_lengths
from panbayes.tables.remote import RemoteTable
from panbayes.tables.sql.coding import Coded, coded
from panbayes.tables.sql.relation import Axis, Relation, person_of
from panbayes.tables.sql.session import Session, answered

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["SqlCounter", "chunks"]

SETS: Final = 64
"""So many tables are counted by one statement."""

PARITIES: Final = 200
"""So many parities are counted by one statement."""

Set = tuple[int, ...]


class SqlCounter(RemoteTable):
    """Counts the records of a table in its database, under a schema."""

    def __init__(
        self,
        session: Session,
        table: Expr,
        schema: Schema,
        columns: Mapping[str, str],
        order_by: Sequence[str],
        *,
        argument: str,
    ) -> None:
        """Compile the columns, and count records and people."""
        self._session, self._argument = session, argument
        self._lock = threading.Lock()
        dialect, types, unit = session.dialect, session.types, schema.unit
        compiled = []
        for attribute in schema.attributes:
            column = columns[attribute.name]
            one = coded(attribute, column, types[column], dialect, schema.missing_values)
            compiled.append(self._exactly(attribute.name, one))
        person = None
        if unit is not None:
            column = columns[unit.column]
            person = person_of(column, types[column], dialect, schema.missing_values, unit.max_records)
            if person is None:
                raise self._unsaid(unit.column)
        self._relation = Relation(dialect, table, tuple(compiled), person, tuple(order_by))
        records, persons = self._asked(self._relation.sizes(), 2)[:, 0].tolist()
        if records > MAX_RECORDS:
            raise InputError(argument, found=f"has over {MAX_RECORDS:,} records", remedy="give fewer records")
        self._facts = Facts(schema, records, None if unit is None else persons)

    def _exactly(self, name: str, found: Coded | None) -> Coded:
        if found is None or found.escape is not None:
            raise self._unsaid(name)
        return found

    def _unsaid(self, name: str) -> InputError:
        return InputError(
            self._argument,
            found=f'column "{name}" has a declared type of which SQL cannot say exactly what the schema makes of it',
            remedy="give a view in which numbers are numbers and days are days (in SQLite, a STRICT table), or leave "
            "pushdown out",
        )

    def _asked(self, statement: str, columns: int) -> NDArray[np.int64]:
        """Return the integers that a statement gives."""
        with self._lock:
            found = [rows.words for rows in self._session.rows(statement, columns, 0)]
        return np.concatenate(found, axis=1) if found else np.zeros((columns, 0), dtype=np.int64)

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""
        return self._facts

    def marks(self) -> tuple[bytes, ...]:
        """Return nothing: to say what records are known by takes the records."""
        return ()

    def count(
        self,
        tables: Sequence[tuple[int, ...]],
        groupings: Sequence[GroupsOfValues] | None = None,
        *,
        cell_limit: int = DEFAULT_CELL_LIMIT,
    ) -> Counted:
        """Return tables end to end."""
        sizes = self._facts.schema.sizes
        axes = sizes if groupings is None else tuple(groups_in(grouping, sizes) for grouping in groupings)
        lengths = table_lengths(axes, tables, shaped_sets(axes, tables), cell_limit)
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        flat = np.zeros(offsets[-1], dtype=np.int64)
        asked = sorted({tuple(sorted(table)) for table in tables if table})
        counted: dict[Set, NDArray[np.int64]] = {}
        for sets in chunks(asked, self._session.dialect.grouping or len(axes)):
            counted |= self._count(sets, self._axes(sets, groupings), axes)
        for place, table in enumerate(tables):
            ordered = tuple(sorted(table))
            own = counted[ordered] if table else np.array(self._facts.records)
            flat[offsets[place] : offsets[place + 1]] = own.transpose([ordered.index(axis) for axis in table]).ravel()
        return Counted(flat, offsets)

    def parities(self, sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]) -> NDArray[np.int64]:
        """Return the parity of every set of groupings into two."""
        found = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(sets), PARITIES):
            some = sets[start : start + PARITIES]
            statement = self._relation.parities(some, self._axes(some, groupings))
            found.append(self._asked(statement, len(some))[:, 0])
        return np.concatenate(found)

    def _axes(self, sets: Sequence[Set], groupings: Sequence[GroupsOfValues] | None) -> dict[int, Axis]:
        """Return what is counted of the records for all axes of some sets, by number."""
        found = {}
        for axis in sorted({axis for members in sets for axis in members}):
            grouping = None if groupings is None else groupings[axis]
            column = axis if grouping is None else grouping.attribute
            groups = grouping.groups if grouping is not None and grouping.groups else None
            codes = self._relation.columns[column].codes
            found[axis] = Axis(column, tuple(code if groups is None else int(groups[code]) for code in codes))
        return found

    def _count(
        self, sets: Sequence[Set], axes: Mapping[int, Axis], sizes: Sequence[int]
    ) -> dict[Set, NDArray[np.int64]]:
        """Count some tables by one statement."""
        tables = {members: np.zeros([sizes[axis] for axis in members], dtype=np.int64) for members in sets}
        if self._session.dialect.grouping:
            mask, *numbers, many = self._asked(self._relation.grouping_sets(sets, axes), len(axes) + 2)
            place = {axis: row for row, axis in enumerate(axes)}
            for members, table in tables.items():
                rows = mask == sum(2 ** (len(axes) - 1 - row) for axis, row in place.items() if axis not in members)
                self._put(table, tuple(numbers[place[axis]][rows] for axis in members), many[rows])
            return tables
        which, cells, many = self._asked(self._relation.one_by_one(sets, axes, sizes), 3)
        for number, table in enumerate(tables.values()):
            rows = which == number
            self._put(table, np.unravel_index(cells[rows], table.shape), many[rows])
        return tables

    def _put(self, table: NDArray[np.int64], cells: tuple[NDArray[np.int64], ...], many: NDArray[np.int64]) -> None:
        table[cells] = many
        if int(table.sum()) != self._facts.records:
            raise answered(self._argument)


def chunks(sets: Sequence[Set], most: int) -> Iterator[list[Set]]:
    """Cut sets so that each part names at most ``most`` axes, and has no more than :data:`SETS`.

    >>> list(chunks([(0, 1), (0, 2), (1, 2), (3, 4)], 3))
    [[(0, 1), (0, 2), (1, 2)], [(3, 4)]]
    """
    left = list(sets)
    while left:
        named: set[int] = set()
        part: list[Set] = []
        rest: list[Set] = []
        for members in left:
            if len(part) < SETS and (not part or len(named.union(members)) <= most):
                named.update(members)
                part.append(members)
            else:
                rest.append(members)
        yield part
        left = rest
