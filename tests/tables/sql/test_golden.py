"""The text of statements, held in files: some of these services are known by their manuals alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import pytest
import sqlglot

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import BLANKS
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.sources.dispatch import open_source
from panbayes.tables.sql.coding import coded, named_table
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.dialects.duckdb import DUCKDB
from panbayes.tables.sql.dialects.postgresql import POSTGRESQL
from panbayes.tables.sql.dialects.services import BIGQUERY, DATABRICKS, SNOWFLAKE, SQL_SERVER
from panbayes.tables.sql.dialects.sqlite import STRICT, Sqlite
from panbayes.tables.sql.reading import reading_under
from panbayes.tables.sql.relation import Axis, Relation, person_of
from panbayes.tables.sql.session import Rows

GOLDEN = Path(__file__).parent / "golden"
CLINIC = named_table(("clinic", "people"))

SCHEMA = Schema(
    "s",
    (
        Attribute("sex", categories=("F", "M", " o'x"), other="else", missing="none"),
        Attribute("age", bins=(0, 40, 65.5, 120), missing="none"),
        Attribute("visits", categories=tuple(range(6))),
        Attribute("weight", categories=(0.1, 70), other="else"),
        Attribute("price", bins=(0, 9.99, 100)),
        Attribute("smokes", categories=(False, True), missing="none"),
        Attribute("born", bins=(0, 18, 120), age_at="2026-01-01", missing="none"),
        Attribute("seen", period="weekday", missing="none"),
        Attribute("hour", period="hour", missing="none"),
        Attribute("icd", mapping="icd10-chapters", missing="none"),
    ),
    missing_values=("?", "999", "1900-01-01"),
    unit=Unit("patient", 2),
)
ARROW = dict(
    zip(
        SCHEMA.names,
        (
            "string",
            "int32",
            "int64",
            "double",
            "decimal128(10, 2)",
            "bool",
            "date32[day]",
            "timestamp[us]",
            "timestamp[us, tz=UTC]",
            "string",
        ),
        strict=True,
    )
)
POSTGRES_TYPES = [
    *("text", "integer", "bigint", "double precision", "numeric(10,2)", "boolean", "date"),
    *("timestamp without time zone", "timestamp with time zone", "text"),
]
DUCKDB_TYPES = [
    *("VARCHAR", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(10,2)", "BOOLEAN", "DATE", "TIMESTAMP"),
    *("TIMESTAMP WITH TIME ZONE", "VARCHAR"),
]
DIALECTS: dict[str, tuple[Dialect, Mapping[str, str]]] = {
    "duckdb": (DUCKDB, dict(zip(SCHEMA.names, DUCKDB_TYPES, strict=True))),
    "postgresql": (POSTGRESQL, dict(zip(SCHEMA.names, POSTGRES_TYPES, strict=True))),
    "sqlite": (Sqlite(), dict.fromkeys(SCHEMA.names, "")),
    "snowflake": (SNOWFLAKE, ARROW),
    "bigquery": (BIGQUERY, ARROW),
    "mssql": (SQL_SERVER, ARROW),
    "databricks": (DATABRICKS, ARROW),
}


class Spoken:
    """A session that is never asked."""

    def __init__(self, dialect: Dialect, types: Mapping[str, str], patient: str) -> None:
        self.dialect = dialect
        self.types = {**types, "patient": patient, "visit": ""}

    def rows(self, _statement: str, _words: int, _raw: int, /) -> Iterator[Rows]:
        raise AssertionError("nobody is asked")


def held(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.sql"
    if os.environ.get("PANBAYES_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "if this is meant, write it anew: PANBAYES_GOLDEN=write"


def readable(statement: str, name: str) -> str:
    """A statement on many lines, in which blanks can be seen."""
    text = statement.replace(BLANKS, "(all blanks)")
    seen = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return seen.replace(" CASE WHEN", "\n  CASE WHEN").replace(" FROM ", "\nFROM ") + f"\n-- {name}\n"


@pytest.mark.parametrize("name", DIALECTS)
def test_statements_that_read_are_those_that_were_looked_at(name: str) -> None:
    dialect, types = DIALECTS[name]
    patient = {"duckdb": "VARCHAR", "postgresql": "text"}.get(name, "string" if types is ARROW else "")
    columns = {one: one for one in (*SCHEMA.names, "patient")}
    reading = reading_under(SCHEMA, columns, Spoken(dialect, types, patient), CLINIC, ("visit",))
    held(f"read-{name}", readable(reading.statement, name))
    sqlglot.parse_one(reading.statement, dialect=dialect.name)


@pytest.mark.parametrize("name", ["duckdb", "postgresql", "sqlite"])
def test_statements_that_count_are_those_that_were_looked_at(name: str) -> None:
    dialect = DIALECTS[name][0]
    texts = {"sqlite": f"{STRICT}TEXT"}.get(name, "text" if name == "postgresql" else "VARCHAR")
    found = coded(SCHEMA.attributes[0], "sex", texts, dialect, SCHEMA.missing_values)
    person = person_of("patient", texts, dialect, SCHEMA.missing_values, 2)
    assert found is not None
    assert person is not None
    relation = Relation(dialect, named_table(("people",)), (found,), person, ("visit",))
    axes = {0: Axis(0, found.codes), 1: Axis(0, tuple(code % 2 for code in found.codes))}
    sets = [(0,), (0, 1)]
    count = relation.grouping_sets(sets, axes) if dialect.grouping else relation.one_by_one(sets, axes, (5, 2))
    text = "\n".join(readable(one, name) for one in (relation.sizes(), count, relation.parities([(1,)], axes)))
    held(f"count-{name}", text)


@pytest.mark.parametrize(
    ("scheme", "package"),
    [
        ("snowflake", "adbc-driver-snowflake"),
        ("bigquery", "adbc-driver-bigquery"),
        ("mssql", "arrow-odbc"),
        ("databricks", "arrow-odbc"),
    ],
)
def test_services_say_that_they_were_never_tested(scheme: str, package: str) -> None:
    there: AbstractContextManager[object] = open_source(f"{scheme}://host/clinic?table=people", argument="data")
    with pytest.raises(InputError, match=rf"pip install {package} \(.* never tested against the service\)"), there:
        pass
    with (
        pytest.raises(InputError, match='has no option "pushdown"'),
        open_source(f"{scheme}://host/clinic?table=people&pushdown=true", argument="data"),
        nullcontext(),
    ):
        pass


def test_a_service_is_read_by_what_its_driver_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put DuckDB where a driver would be: it understands what Databricks is told about whole numbers."""
    import duckdb

    class Driver:
        Error = duckdb.Error

        @staticmethod
        def read_arrow_batches_from_odbc(*, query: str, connection_string: str, batch_size: int) -> Iterator[object]:
            assert connection_string == "here"
            text = sqlglot.transpile(query, read="databricks", write="duckdb")[0]
            with duckdb.connect() as connection:
                connection.execute("CREATE TABLE people AS SELECT range % 3 AS n FROM range(9)")
                yield from connection.sql(text).to_arrow_reader(batch_size)

    monkeypatch.setattr("panbayes.tables.sql.session.import_module", lambda _name: Driver)
    with (
        pytest.raises(InputError, match="PANBAYES_DATABRICKS is not set"),
        open_source("databricks://host/c?table=people", argument="data"),
    ):
        pass
    monkeypatch.setenv("PANBAYES_DATABRICKS", "here")
    schema = Schema("s", (Attribute("n", categories=(0, 1, 2)),))
    with ExitStack() as stack:
        with pytest.warns(UserWarning, match="never tested against the service"):
            opened = stack.enter_context(open_source("databricks://host/c?table=people", argument="data"))
        (batch,) = opened.under(schema).batches(["n"])
        assert batch.columns["n"].series().to_list() == ["0", "1", "2"] * 3
