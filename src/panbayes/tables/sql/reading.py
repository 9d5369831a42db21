"""The statement that reads a table under a schema, and its rows turned back into columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.schema import Schema
from panbayes.tables.counting.engines import choose_kernels, engine
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.sql.coding import Coded, coded, column_of
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.session import Rows, Session, answered
from panbayes.tables.sql.words import Word, packed, word_of
from panbayes.tables.texts import as_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["Reading", "raw_reading", "reading_under", "words_of"]

MANY: Final = 2**19
"""From so many records on the compiled kernels are worth the time that it takes to load them."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A statement, and what its columns are: words of coded columns, then columns as they are, by name."""

    statement: str
    words: tuple[Word, ...]
    coded: tuple[Coded, ...]
    raw: tuple[str, ...]

    def batches(self, session: Session, *, argument: str) -> Iterator[Batch]:
        """Read all records."""
        records = 0
        for rows in session.rows(self.statement, len(self.words), len(self.raw)):
            records += rows.records
            kernels = engine(choose_kernels() if records > MANY else "numpy")
            cells = np.empty((len(self.coded), rows.records), dtype=np.int32)
            for word, values in zip(self.words, rows.words, strict=True):
                if not word.unpack(values, cells, kernels):
                    raise answered(argument)
            yield self._batch(rows, cells)

    def _batch(self, rows: Rows, cells: NDArray[np.int32]) -> Batch:
        raw = dict(zip(self.raw, rows.raw, strict=True))
        found = {
            one.name: _escaped(one, places, raw.pop(one.name)) if one.escape is not None else Column(one.texts, places)
            for one, places in zip(self.coded, cells, strict=True)
        }
        return Batch(found | raw, rows.records)


def _escaped(one: Coded, places: NDArray[np.int32], raw: Column) -> Column:
    """Return a column some values of which come as they are."""
    where = np.flatnonzero(places == len(one.codes))
    if where.size == 0:
        return Column(one.texts, places)
    found = places.copy()
    found[where] += np.arange(where.size, dtype=np.int32)
    return Column(pl.concat([one.texts, as_text(raw.series().gather(where))]), found)


def words_of(columns: Sequence[Coded]) -> tuple[tuple[Word, ...], list[Expr]]:
    """Return words that hold all columns, and their expressions."""
    words = packed([one.size for one in columns])
    return words, [word_of(word, [one.expression for one in columns]) for word in words]


def reading_under(
    schema: Schema, columns: Mapping[str, str], session: Session, table: Expr, order_by: Sequence[str]
) -> Reading:
    """Compile the statement that reads a table under a schema; ``columns`` gives the column of every name in it.

    Under a privacy unit, records come ordered by ``order_by``, then by their codes, then by what is read as it is. Two
    records of one person that this does not tell apart have the same codes, so it does not matter which comes first:
    whatever lies in the database in whatever order, the codes of each person's first records are the same, and they
    depend on that person's records alone.
    """
    dialect, types, unit = session.dialect, session.types, schema.unit
    tried = [
        coded(attribute, columns[attribute.name], types[columns[attribute.name]], dialect, schema.missing_values)
        for attribute in schema.attributes
    ]
    found = [one for one in tried if one is not None]
    while True:
        whole = {one.name for one in found if one.escape is None}
        names = [name for name in schema.names if name not in whole]
        names += [] if unit is None else [unit.column]
        raw = {name: dialect.raw(column_of(columns[name]), types[columns[name]]) for name in names}
        reading = _reading(found, raw, dialect, table, None if unit is None else order_by)
        if len(reading.statement) <= dialect.most or not found:
            return reading
        # What makes a statement too long for the database is read as it is.
        found.remove(max(found, key=lambda one: len(one.expression.sql(dialect.name))))


def raw_reading(columns: Sequence[str], session: Session, table: Expr) -> Reading:
    """Compile the statement that reads some columns as they are."""
    raw = {name: session.dialect.raw(column_of(name), session.types[name]) for name in columns}
    return _reading([], raw, session.dialect, table, None)


def _reading(
    found: list[Coded],
    raw: Mapping[str, Expr],
    dialect: Dialect,
    table: Expr,
    order_by: Sequence[str] | None,
) -> Reading:
    from sqlglot import exp

    words, expressions = words_of(found)
    # A column that escapes is read only where it does: the rest of it is not moved.
    escapes = {one.name: one.escape for one in found}
    shown = []
    for name, one in raw.items():
        escape = escapes.get(name)
        shown.append(one if escape is None else exp.Case(ifs=[exp.If(this=escape, true=one)]))
    chosen = [exp.alias_(one, f"panbayes {place}", quoted=True) for place, one in enumerate((*expressions, *shown))]
    select = exp.select(*chosen).from_(table.copy())
    if order_by is not None:
        places = [exp.Literal.number(place + 1) for place in range(len(chosen))]
        select = select.order_by(
            *(exp.Ordered(this=key, nulls_first=True) for key in (*map(column_of, order_by), *places))
        )
    return Reading(select.sql(dialect.name), words, tuple(found), tuple(raw))
