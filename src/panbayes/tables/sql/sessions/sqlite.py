"""A SQLite file, open for reading only, in one transaction.

Python's own module reads it. A driver of Arrow would have to decide by the first records what type a column has, and
break off at a later one that has another.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from urllib.parse import quote

import numpy as np

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import BATCH_RECORDS, Column
from panbayes.tables.sources.source import Opened
from panbayes.tables.sql.coding import named_table
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.dialects.sqlite import STRICT, Sqlite
from panbayes.tables.sql.session import OPTIONS, Rows, answered, broken, driver, no_table, table_parts, told
from panbayes.tables.sql.table import SqlTable
from panbayes.tables.texts import text_column

__all__ = ["open_table"]


class _Session:
    """An open file."""

    def __init__(self, connection: sqlite3.Connection, argument: str) -> None:
        """Look at how texts are kept."""
        self._connection, self._argument = connection, argument
        ((encoding,),) = connection.execute("PRAGMA encoding").fetchall()
        self.dialect: Dialect = Sqlite(ordered_texts=encoding == b"UTF-8")
        self.types: Mapping[str, str] = {}

    def describe(self, parts: tuple[str, ...]) -> None:
        """Look at the columns of the table."""
        absent = no_table(self._argument, ".".join(parts))
        if len(parts) > 2:
            raise absent
        *above, name = parts
        place = (name, *(above or ["main"]))
        with told((sqlite3.Error,), absent):
            found = self._connection.execute("SELECT name, type FROM pragma_table_info(?, ?)", place).fetchall()
            kept = self._connection.execute("SELECT strict FROM pragma_table_list(?)", (name,)).fetchall()
        if not found:
            raise absent
        mark = STRICT if kept == [(1,)] else ""
        self.types = {column.decode(): mark + declared.decode() for column, declared in found}

    def rows(self, statement: str, words: int, raw: int, /) -> Iterator[Rows]:
        """Yield what a statement gives."""
        with told((sqlite3.Error,), broken(self._argument)), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)
            while found := cursor.fetchmany(BATCH_RECORDS):
                columns = list(zip(*found, strict=True))
                if len(columns) != words + raw or any(set(map(type, word)) != {int} for word in columns[:words]):
                    raise answered(self._argument)
                numbers = np.array(columns[:words], dtype=np.int64).reshape(words, len(found))
                yield Rows(numbers, tuple(map(_column, columns[words:])), len(found))


def _column(values: Sequence[object]) -> Column:
    """Return values as texts; most are missing where only those are read that escape."""
    there = [place for place, value in enumerate(values) if value is not None]
    if len(there) * 4 > len(values):
        return Column(text_column("", values))
    texts = text_column("", [*(values[place] for place in there), None])
    places = np.full(len(values), len(there), dtype=np.int32)
    places[there] = np.arange(len(there), dtype=np.int32)
    return Column(texts, places)


@contextmanager
def open_table(address: Address, *, argument: str) -> Iterator[Opened]:
    """Open a table or view until the block ends. A file that is not there is not made."""
    address.check_options(OPTIONS, required=("table",), argument=argument)
    parts = table_parts(address, argument=argument)
    driver("sqlite3", argument=argument, what="SQLite")
    if not address.file.is_file():
        raise InputError(argument, found="names a file that is not there", remedy="check the path")
    unopened = InputError(
        argument,
        found="cannot be opened as a SQLite file",
        remedy="check that it is one, that it may be read, and that nobody is writing to it",
    )
    with told((sqlite3.Error, OSError), unopened):
        connection = sqlite3.connect(
            f"file:{quote(str(address.file.absolute()))}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
    with closing(connection):
        # A text may be no UTF-8: then it is so for its own record alone.
        connection.text_factory = bytes
        with told((sqlite3.Error,), unopened):
            connection.execute("BEGIN")
            session = _Session(connection, argument)
        session.describe(parts)
        yield SqlTable(session, named_table(parts), address, argument=argument)
