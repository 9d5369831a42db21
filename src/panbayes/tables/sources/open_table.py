"""A table that has been opened, with names of columns as a person would write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.source import Opened, Pinnable, UnderSchema, Unordered

__all__ = ["OpenTable", "readable"]


@contextmanager
def readable(argument: str) -> Iterator[None]:
    """Make one line of an error of the system about a file."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(argument, found=f"cannot be read ({reason})", remedy="check the path") from None


class OpenTable:
    """An open table. Blanks around a column's name are not part of it, unless two names differ by them alone.

    Whoever asks for a name with these very blanks finds the column too.
    """

    def __init__(self, opened: Opened, *, argument: str) -> None:
        """Find out what the columns are called; ``argument`` names the table in errors."""
        self._opened = opened
        self._argument = argument
        self._own = {name: name for name in opened.columns}
        bare = [name.strip() for name in opened.columns]
        self._columns = tuple(bare) if len(set(bare)) == len(bare) else tuple(opened.columns)
        self._places = dict(zip(self._columns, opened.columns, strict=True)) | self._own

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of every column, in order, none of them twice."""
        return self._columns

    @property
    def decimal_comma(self) -> bool:
        """Whether a number may be written with a comma, as 25,3."""
        return self._opened.decimal_comma

    @property
    def opened(self) -> Opened:
        """The table as its source opened it."""
        return self._opened

    def has(self, name: str) -> bool:
        """Tell whether there is such a column."""
        return name in self._places

    def place(self, name: str) -> str:
        """Return what the source itself calls a column, which is there."""
        return self._places[name]

    @property
    def pinned(self) -> Address | None:
        """The address of the table as it is now, None where it keeps no past."""
        return self._opened.pinned if isinstance(self._opened, Pinnable) else None

    @property
    def order_by(self) -> tuple[str, ...] | None:
        """The columns that a person's records are put in order by, None where they come in an order of their own."""
        return self._opened.order_by if isinstance(self._opened, Unordered) else None

    def under(self, schema: Schema) -> OpenTable:
        """Return the table as it is read under a schema whose columns it has, all of it or as the source does it."""
        if not isinstance(self._opened, UnderSchema):
            return self
        names = [*schema.names, *([schema.unit.column] if schema.unit else [])]
        opened = self._opened.under(schema, {name: self._places[name] for name in names})
        return OpenTable(opened, argument=self._argument)

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield all records in order, with the named columns, which are there."""
        own = {name: self._places[name] for name in names}
        with readable(self._argument):
            for batch in self._opened.batches(list(own.values())):
                yield Batch({name: batch.columns[place] for name, place in own.items()}, batch.records)
