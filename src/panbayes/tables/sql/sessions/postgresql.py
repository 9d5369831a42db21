"""A PostgreSQL database over ADBC, in one transaction that writes nothing and sees one state of it.

Who somebody is, and how the connection is protected, libpq finds out: from the address (without a password), from the
environment (PGPASSWORD, PGSERVICE, PGSSLMODE, …) and from the user's own ``~/.pgpass``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.source import Opened
from panbayes.tables.sql.coding import named_table, plain_table
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.dialects.postgresql import POSTGRESQL
from panbayes.tables.sql.session import OPTIONS, Database, Rows, arrow_rows, broken, driver, no_table, table_parts, told
from panbayes.tables.sql.table import SqlTable

__all__ = ["open_database", "open_table"]

_BEGINNING: Final = (
    "SET client_min_messages = error",
    "SET client_encoding = 'UTF8'",
    "SET standard_conforming_strings = on",
    "SET TimeZone = 'UTC'",
    # To compile a long expression takes longer than to apply it; and hashing shall not spill.
    "SET jit = off",
    "SET work_mem = '64MB'",
    "SET default_transaction_read_only = on",
    # Statements here go through whole tables; without statistics the planner would join those row by row.
    "SET enable_nestloop = off",
    "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
)
_OLDEST: Final = 140_000
_COLUMNS: Final = """
SELECT a.attname::text, CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
       ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass({}) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


class _Session:
    """An open database."""

    dialect: Final[Dialect] = POSTGRESQL

    def __init__(self, connection: Any, failures: tuple[type[Exception], ...], argument: str) -> None:
        """Look at nothing yet."""
        self._connection, self._failures, self._argument = connection, failures, argument
        self.types: Mapping[str, str] = {}

    def all(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small question."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def begin(self) -> None:
        """Begin the transaction, and see that texts are what they are taken for."""
        for statement in _BEGINNING:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(statement)
        settings = "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int"
        ((encoding, version),) = self.all(settings)
        if encoding != "UTF8" or version < _OLDEST:
            raise InputError(
                self._argument,
                found="is a database whose encoding is not UTF8, or that is older than PostgreSQL 14",
                remedy="copy the table into another",
            )

    def describe(self, parts: tuple[str, ...]) -> None:
        """Look at the columns of the table, and whether it may be read."""
        from sqlglot import exp

        name = exp.Literal.string(plain_table(parts).sql(self.dialect.name)).sql(self.dialect.name)
        with told(self._failures, no_table(self._argument, ".".join(parts))):
            self.types = {str(found): str(declared) for found, declared in self.all(_COLUMNS.format(name))}
            self.all(exp.select("1").from_(plain_table(parts)).limit(0).sql(self.dialect.name))

    def rows(self, statement: str, words: int, raw: int, /) -> Iterator[Rows]:
        """Yield what a statement gives."""
        failures = (*self._failures, pa.ArrowException, OSError)
        with told(failures, broken(self._argument)), closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)
            yield from arrow_rows(cursor.fetch_record_batch(), words, raw, argument=self._argument)


def _locator(address: Address) -> str:
    """Return what libpq is told."""
    user = f"{quote(address.user, safe='')}@" if address.user else ""
    port = "" if address.port is None else f":{address.port}"
    return (
        f"postgresql://{user}{quote(address.host, safe='[]:,.')}{port}{quote(address.path)}?application_name=panbayes"
    )


@contextmanager
def open_database(address: Address, *, argument: str) -> Iterator[Database]:
    """Open a database until the block ends."""
    module = driver("adbc_driver_postgresql.dbapi", argument=argument, what="PostgreSQL")
    unreached = InputError(
        argument,
        found="is a database that cannot be reached, or that lets nobody in by this name",
        remedy="check host, port, database and user, and give a password by PGPASSWORD or ~/.pgpass",
    )
    with told((module.Error, OSError), unreached):
        connection = module.connect(_locator(address), autocommit=True)
    with closing(connection):
        session = _Session(connection, (module.Error,), argument)
        with told((module.Error, OSError), unreached):
            session.begin()
        yield session


@contextmanager
def open_table(address: Address, *, argument: str) -> Iterator[Opened]:
    """Open a table or view until the block ends."""
    address.check_options(OPTIONS, required=("table",), argument=argument)
    parts = table_parts(address, argument=argument)
    with open_database(address, argument=argument) as database:
        database.describe(parts)
        yield SqlTable(database, named_table(parts), address, argument=argument)
