"""The text of statements, held in files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import sqlglot

from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import BLANKS
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.sql.coding import coded, named_table
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.dialects.duckdb import DUCKDB
from panbayes.tables.sql.dialects.postgresql import POSTGRESQL
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
    patient = {"duckdb": "VARCHAR", "postgresql": "text"}.get(name, "")
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
