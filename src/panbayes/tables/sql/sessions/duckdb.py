"""A DuckDB file, open for reading only, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import BATCH_RECORDS
from panbayes.tables.sources.source import Opened
from panbayes.tables.sql.coding import named_table
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.dialects.duckdb import DUCKDB
from panbayes.tables.sql.session import OPTIONS, Database, Rows, arrow_rows, broken, driver, no_table, table_parts, told
from panbayes.tables.sql.table import SqlTable

__all__ = ["open_database", "open_table"]


class _Session:
    """An open file. It is held against other processes that would write to it."""

    dialect: Final[Dialect] = DUCKDB

    def __init__(self, connection: Any, failures: tuple[type[Exception], ...], argument: str) -> None:
        """Look at nothing yet."""
        self._connection, self._failures, self._argument = connection, failures, argument
        self.types: Mapping[str, str] = {}

    def describe(self, parts: tuple[str, ...]) -> None:
        """Look at the columns of the table."""
        from sqlglot import exp

        every = exp.select("*").from_(named_table(parts)).sql(self.dialect.name)
        with told(self._failures, no_table(self._argument, ".".join(parts))):
            described = self._connection.execute("DESCRIBE " + every).fetchall()
        self.types = {str(name): str(declared) for name, declared, *_ in described}

    def rows(self, statement: str, words: int, raw: int, /) -> Iterator[Rows]:
        """Yield what a statement gives."""
        with told((*self._failures, pa.ArrowException, OSError), broken(self._argument)):
            batches = self._connection.sql(statement).to_arrow_reader(BATCH_RECORDS)
            yield from arrow_rows(batches, words, raw, argument=self._argument)


@contextmanager
def open_database(address: Address, *, argument: str) -> Iterator[Database]:
    """Open a file until the block ends. One that is not there is not made."""
    module = driver("duckdb", argument=argument, what="DuckDB")
    if not address.file.is_file():
        raise InputError(argument, found="names a file that is not there", remedy="check the path")
    unopened = InputError(
        argument,
        found="cannot be opened as a DuckDB file",
        remedy="check that it is one, that it may be read, and that no process has it open for writing",
    )
    with told((module.Error, OSError), unopened):
        connection = module.connect(
            str(address.file), read_only=True, config={"autoinstall_known_extensions": "false", "TimeZone": "UTC"}
        )
    with connection:
        with told((module.Error,), unopened):
            connection.execute("BEGIN TRANSACTION")
        yield _Session(connection, (module.Error,), argument)


@contextmanager
def open_table(address: Address, *, argument: str) -> Iterator[Opened]:
    """Open a table or view until the block ends."""
    address.check_options(OPTIONS, required=("table",), argument=argument)
    parts = table_parts(address, argument=argument)
    with open_database(address, argument=argument) as database:
        database.describe(parts)
        yield SqlTable(database, named_table(parts), address, argument=argument)
