"""An open database: what its table has, and records as they come out of it.

Whatever goes wrong on the way is one line about the address, of a kind that says what to do. The database's own words
are never repeated: they may quote values of the data, or how somebody is known to the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import BATCH_RECORDS, Column
from panbayes.tables.sql.dialect import Dialect

__all__ = [
    "INSTALL",
    "OPTIONS",
    "Database",
    "Rows",
    "Session",
    "answered",
    "arrow_rows",
    "broken",
    "driver",
    "no_table",
    "table_parts",
    "told",
]

INSTALL: Final = "run: pip install 'panbayes[databases]'"

OPTIONS: Final = ("order_by", "pushdown", "table")
"""What may follow the question mark of a database's address."""

_WHOLE: Final = ("int16", "int32", "int64")
_PART: Final = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Some records: integers of shape (words, records), and columns as they are."""

    words: NDArray[np.int64]
    raw: tuple[Column, ...]
    records: int


class Session(Protocol):
    """An open database, in one transaction that sees one state of it."""

    @property
    def dialect(self) -> Dialect:
        """How it is spoken to."""

    @property
    def types(self) -> Mapping[str, str]:
        """The declared type of every column of the table, by name, in order."""

    def rows(self, statement: str, words: int, raw: int, /) -> Iterator[Rows]:
        """Yield what a statement gives: first so many integers, none of them missing, then columns as they are."""


class Database(Session, Protocol):
    """An open database, before its table is chosen."""

    def describe(self, parts: tuple[str, ...], /) -> None:
        """Look at a table: from then on :attr:`types` are those of its columns."""


def driver(module: str, *, argument: str, what: str, remedy: str = INSTALL) -> Any:
    """Return a module that speaks to a database, or say how it is installed."""
    try:
        import_module("sqlglot")
        return import_module(module)
    except ImportError:
        raise InputError(argument, found=f"{what} tables need a driver that is not installed", remedy=remedy) from None


@contextmanager
def told(failures: tuple[type[BaseException], ...], error: InputError) -> Iterator[None]:
    """Make one line of whatever a database says."""
    try:
        yield
    except failures:
        raise error from None


def no_table(argument: str, table: str) -> InputError:
    """Return the error that a database does not have a table."""
    return InputError(
        argument, found=f'has no table or view "{table}" that can be read', remedy="check its name, and who may read it"
    )


def broken(argument: str) -> InputError:
    """Return the error that reading ended before its end."""
    return InputError(
        argument,
        found="could not be read to its end: the database broke off, or cannot answer",
        remedy="see that it is up, that its views still fit their tables and that there is room, then run it again",
    )


def answered(argument: str) -> InputError:
    """Return the error that a database gave what was not asked for."""
    return InputError(
        argument, found="answered otherwise than it was asked", remedy="see that nothing stands between that changes it"
    )


def table_parts(address: Address, *, argument: str) -> tuple[str, ...]:
    """Return the parts of a table's name: ``schema.people``, each perhaps in quotation marks.

    >>> table_parts(Address("duckdb", options=(("table", 'main."odd.name"'),)), argument="data")
    ('main', 'odd.name')
    """
    name = address.option("table") or ""
    found = list(_PART.finditer(name))
    parts = tuple((match[1] or match[2]).replace('""', '"') for match in found)
    if ".".join(match[0] for match in found) != name or not 1 <= len(parts) <= 3:
        raise InputError(
            argument,
            found="its option table is no name of a table",
            remedy='give a name such as people or schema.people, an odd part in quotation marks: "odd.name"',
        )
    return parts


def arrow_rows(batches: Iterable[Any], words: int, raw: int, *, argument: str) -> Iterator[Rows]:
    """Turn record batches, whose first columns are words, into rows."""
    from panbayes.tables.sources.arrow_columns import ArrowColumns

    columns = ArrowColumns()
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_RECORDS):
            part = batch.slice(start, BATCH_RECORDS)
            if part.num_columns != words + raw:
                raise answered(argument)
            numbers = np.empty((words, part.num_rows), dtype=np.int64)
            for place, into in enumerate(numbers):
                array = part.column(place)
                if array.null_count or str(array.type) not in _WHOLE:
                    raise answered(argument)
                into[:] = array.to_numpy(zero_copy_only=False)
            others = range(words, words + raw)
            found = tuple(columns.column(str(place), part.column(place)) for place in others)
            yield Rows(numbers, found, part.num_rows)
