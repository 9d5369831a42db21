"""A table of a database that is open: read as it is, read under a schema, or counted where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panbayes.errors import InputError, nearest
from panbayes.schema.schema import Schema
from panbayes.tables.remote import RemoteTable
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.source import check_distinct
from panbayes.tables.sql.reading import Reading, raw_reading, reading_under
from panbayes.tables.sql.session import Session

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["SqlTable", "UnderSchema"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnderSchema:
    """A table that is read under a schema."""

    session: Session
    reading: Reading
    columns: tuple[str, ...]
    argument: str

    @property
    def decimal_comma(self) -> bool:
        """Numbers are numbers."""
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield all records, with the named columns."""
        for batch in self.reading.batches(self.session, argument=self.argument):
            yield Batch({name: batch.columns[name] for name in names}, batch.records)


class SqlTable:
    """A table or view of an open database."""

    def __init__(self, session: Session, table: Expr, address: Address, *, argument: str) -> None:
        """Look at its columns; ``table`` is what stands for it in statements."""
        self._session, self._table, self._address, self._argument = session, table, address, argument
        check_distinct(self.columns, argument=argument)
        self._order_by = address.names("order_by")
        for name in self._order_by:
            if name not in self.columns:
                raise InputError(
                    argument, found=f'has no column "{name}" to order by', remedy=nearest(name, self.columns)
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column."""
        return tuple(self._session.types)

    @property
    def decimal_comma(self) -> bool:
        """Numbers are numbers."""
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield all records as they are."""
        self._check_readable()
        reading = raw_reading(list(dict.fromkeys(names)), self._session, self._table)
        return reading.batches(self._session, argument=self._argument)

    def under(self, schema: Schema, columns: Mapping[str, str], /) -> UnderSchema:
        """Return the table as it is read under a schema."""
        self._check_readable()
        reading = reading_under(schema, columns, self._session, self._table, self._order_by)
        return UnderSchema(self._session, reading, tuple(columns), self._argument)

    def counting(self, schema: Schema, columns: Mapping[str, str], /) -> RemoteTable:
        """Return what counts its records in the database."""
        from panbayes.tables.sql.push_down import SqlCounter

        return SqlCounter(self._session, self._table, schema, columns, self._order_by, argument=self._argument)

    def _check_readable(self) -> None:
        """Refuse to let records out of a database that shall keep them."""
        if self._address.flag("pushdown", argument=self._argument):
            raise InputError(
                self._argument,
                found="is to be counted where it lies (pushdown=true), and this reads records",
                remedy="leave the option out where records may leave the database",
            )
