"""Snowflake, BigQuery, SQL Server and Databricks: statements that no service has ever run for us.

How a service is reached, and who somebody is, is said by a text in the environment that goes to the driver as it is and
nowhere else: that of ADBC for Snowflake and BigQuery, that of ODBC for SQL Server and Databricks.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import BATCH_RECORDS
from panbayes.tables.sources.source import Opened
from panbayes.tables.sql.coding import named_table
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.dialects.services import BIGQUERY, DATABRICKS, SNOWFLAKE, SQL_SERVER
from panbayes.tables.sql.session import Rows, arrow_rows, broken, driver, no_table, table_parts, told
from panbayes.tables.sql.table import SqlTable

__all__ = ["SERVICES", "Service", "open_table"]


@dataclass(frozen=True, slots=True)
class Service:
    """A service: what people call it, how it is spoken to, what reads it, and which variable says where it is."""

    name: str
    dialect: Dialect
    module: str
    package: str
    variable: str


_ODBC: Final = ("arrow_odbc", "arrow-odbc")
SERVICES: Final = {
    "snowflake": Service(
        "Snowflake", SNOWFLAKE, "adbc_driver_snowflake.dbapi", "adbc-driver-snowflake", "PANBAYES_SNOWFLAKE"
    ),
    "bigquery": Service(
        "BigQuery", BIGQUERY, "adbc_driver_bigquery.dbapi", "adbc-driver-bigquery", "PANBAYES_BIGQUERY"
    ),
    "mssql": Service("SQL Server", SQL_SERVER, *_ODBC, "PANBAYES_MSSQL"),
    "databricks": Service("Databricks", DATABRICKS, *_ODBC, "PANBAYES_DATABRICKS"),
}
"""Services by the scheme of their addresses."""

Batches = Callable[[str], Iterator[Any]]


class _Session:
    """A service, by what gives the record batches of a statement."""

    def __init__(self, dialect: Dialect, batches: Batches, failures: tuple[type[BaseException], ...], argument: str):
        """Look at nothing yet."""
        self.dialect: Final = dialect
        self._batches, self._failures, self._argument = batches, failures, argument
        self.types: Mapping[str, str] = {}

    def describe(self, parts: tuple[str, ...]) -> None:
        """Look at the types that the driver gives the columns."""
        from sqlglot import exp

        one = exp.select("*").from_(named_table(parts)).limit(1).sql(self.dialect.name)
        with told(self._failures, no_table(self._argument, ".".join(parts))):
            for batch in self._batches(one):
                self.types = {field.name: str(field.type) for field in batch.schema}

    def rows(self, statement: str, words: int, raw: int, /) -> Iterator[Rows]:
        """Yield what a statement gives."""
        with told(self._failures, broken(self._argument)):
            yield from arrow_rows(self._batches(statement), words, raw, argument=self._argument)


@contextmanager
def open_table(address: Address, *, argument: str) -> Iterator[Opened]:
    """Open a table or view until the block ends."""
    address.check_options(("order_by", "table"), required=("table",), argument=argument)
    parts = table_parts(address, argument=argument)
    service = SERVICES[address.scheme]
    untested = f"{service.name} is spoken to in SQL that was never tested against the service"
    module = driver(
        service.module, argument=argument, what=service.name, remedy=f"run: pip install {service.package} ({untested})"
    )
    where = os.environ.get(service.variable)
    if where is None:
        raise InputError(
            argument,
            found=f"{service.variable} is not set: it says how the driver reaches {service.name}",
            remedy=f"set it ({untested})",
        )
    warnings.warn(f"{untested}: hold its counts against another reading first", stacklevel=2)
    failures = (getattr(module, "Error", OSError), pa.ArrowException, OSError, RuntimeError)
    unreached = InputError(
        argument, found=f"{service.name} cannot be reached", remedy=f"check {service.variable} and the network"
    )
    with told(failures, unreached):
        opened = _odbc(module, where) if service.module == "arrow_odbc" else _adbc(module, where)
    with opened as batches:
        session = _Session(service.dialect, batches, failures, argument)
        session.describe(parts)
        yield SqlTable(session, named_table(parts), address, argument=argument)


@contextmanager
def _adbc(module: Any, where: str) -> Iterator[Batches]:
    with closing(module.connect(where)) as connection:

        def batches(statement: str) -> Iterator[Any]:
            with closing(connection.cursor()) as cursor:
                cursor.execute(statement)
                yield from cursor.fetch_record_batch()

        yield batches


@contextmanager
def _odbc(module: Any, where: str) -> Iterator[Batches]:
    def batches(statement: str) -> Iterator[Any]:
        found: Iterator[Any] = module.read_arrow_batches_from_odbc(
            query=statement, connection_string=where, batch_size=BATCH_RECORDS
        )
        return iter(found)

    yield batches
