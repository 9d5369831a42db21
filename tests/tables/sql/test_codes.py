"""The same tables, bit for bit, as from memory: codes and how values fit, on every database."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.reading import SpooledTable, read_records
from panbayes.tables.sources.dispatch import open_source
from panbayes.tables.sql.dialects.sqlite import Sqlite
from panbayes.tables.sql.table import UnderSchema
from panbayes.tables.table import Table
from tests.effort import often
from tests.postgres import POSTGRES
from tests.tables.databases import in_duckdb, in_postgresql, in_sqlite
from tests.tables.sql import nasty


def codes(read: SpooledTable) -> list[list[int]]:
    found: list[list[int]] = Table.gathered(read).codes.tolist()
    return found


def assert_same(address: str, frame: object, schema: Schema) -> None:
    with read_records(address, schema) as found, read_records(frame, schema) as wanted:
        assert codes(found) == codes(wanted)
        assert found.origin.fit == wanted.origin.fit


@settings(max_examples=often(8, 40))
@given(nasty.tables(tuple(nasty.TYPES)))
def test_duckdb_gives_the_codes_of_memory(drawn: tuple[pl.DataFrame, Schema, dict[str, str]]) -> None:
    frame, schema, _ = drawn
    with tempfile.TemporaryDirectory() as folder:
        assert_same(in_duckdb(frame, Path(folder) / "t"), frame, schema)


@settings(max_examples=often(5, 25))
@given(nasty.tables(tuple(name for name, kind in nasty.TYPES.items() if kind.declared)))
def test_postgresql_gives_the_codes_of_memory(drawn: tuple[pl.DataFrame, Schema, dict[str, str]]) -> None:
    frame, schema, declared = drawn
    assert_same(in_postgresql(frame, declared), frame, schema)


dynamic = (
    st.none()
    | nasty.texts
    | nasty.whole(-(2**63), 2**63 - 1)
    | nasty.reals.filter(lambda value: value == value)
    | st.binary(max_size=3)
)


@settings(max_examples=often(8, 40))
@given(
    st.lists(
        st.tuples(st.sampled_from(nasty.ATTRIBUTES), st.lists(dynamic, min_size=5, max_size=5)), max_size=4, min_size=1
    ),
    st.sampled_from(["", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "TEXT COLLATE NOCASE"]),
    st.sampled_from(["UTF-8", "UTF-16le"]),
)
def test_sqlite_gives_every_value_the_code_that_it_has_in_memory(
    columns: list[tuple[Attribute, list[object]]], declared: str, encoding: str
) -> None:
    names = [f"column {place}" for place in range(len(columns))]
    schema = Schema(
        "s",
        tuple(nasty.named(attribute, name) for name, (attribute, _) in zip(names, columns, strict=True)),
        missing_values=nasty.MISSING,
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.db"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(f"PRAGMA encoding = '{encoding}'")
            connection.execute(f"CREATE TABLE people ({', '.join(f'[{name}] {declared}' for name in names)})")
            rows = list(zip(*(values for _, values in columns), strict=True))
            connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(names))})", rows)
            # What is kept is what SQLite has made of the values.
            kept = connection.execute("SELECT * FROM people").fetchall()
        frame = pd.DataFrame(
            {name: pd.Series(list(one), dtype=object) for name, one in zip(names, zip(*kept, strict=True), strict=True)}
        )
        assert_same(f"sqlite://{file}?table=people", frame, schema)


DATED = Schema(
    "s",
    (
        Attribute("day", period="year", between=("0001", "9999"), missing="none"),
        Attribute("text", categories=("2020-01-01",), other="else", missing="none"),
        Attribute("week", period="weekday", missing="none"),
        Attribute("hour", period="hour", missing="none"),
        Attribute("group", mapping="icd10-chapters", other="else"),
    ),
)


def test_moments_that_no_calendar_holds_are_what_they_are_in_memory(tmp_path: Path) -> None:
    beyond = pl.Series([None, 18262, -800_000, 2_932_897, 2**31 - 2], dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame(dict.fromkeys(DATED.names, beyond))
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        for kind in ("DATE", "TIMESTAMP"):
            connection.execute(
                f'CREATE TABLE {kind}s (day {kind}, text {kind}, week {kind}, hour {kind}, "group" {kind})'
            )
            for text in ("NULL", "'2020-01-01'", "'0222-08-29 (BC)'", "'10000-01-01'", "'infinity'"):
                connection.execute(
                    f"INSERT INTO {kind}s SELECT d, d, d, d, d FROM (SELECT CAST({text} AS {kind}) AS d)"
                )
    for kind in ("DATE", "TIMESTAMP"):
        assert_same(f"duckdb://{file}?table={kind}s", frame, DATED)


def test_moments_beyond_the_calendar_in_postgresql() -> None:
    beyond = pl.Series([None, 18262, -800_000, 2_932_897, 2_932_897, -800_000], dtype=pl.Int32).cast(pl.Date)
    frame = pl.DataFrame(dict.fromkeys(DATED.names, beyond))
    for kind in ("date", "timestamp"):
        POSTGRES.execute(
            "DROP TABLE IF EXISTS moments",
            f'CREATE TABLE moments (day {kind}, text {kind}, week {kind}, hour {kind}, "group" {kind})',
            "INSERT INTO moments SELECT d, d, d, d, d FROM (VALUES (1, NULL), (2, '2020-01-01'), (3, '0222-08-29 BC'), "
            f"(4, '10000-01-01'), (5, 'infinity'), (6, '-infinity')) v(i, t), CAST(t AS {kind}) AS d ORDER BY i",
        )
        assert_same(POSTGRES.address("moments"), frame, DATED)
        with open_source(POSTGRES.address("moments"), argument="t") as opened:
            assert sum(batch.records for batch in opened.batches(["day"])) == 6


def test_texts_are_compared_byte_by_byte_whatever_the_collation(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["a", "A", "b", "B", "á", "ab", "abc"]})
    labels = [f"{letter}{more}" for letter in "abABcdá" for more in ("", "b", "B", "bc")]
    schema = Schema("s", (Attribute("x", categories=tuple(labels), other="else"),))
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE people (x VARCHAR COLLATE NOCASE)")
        connection.executemany("INSERT INTO people VALUES (?)", frame.rows())
    assert_same(f"duckdb://{file}?table=people", frame, schema)
    POSTGRES.execute(
        "DROP TABLE IF EXISTS collated",
        "DROP COLLATION IF EXISTS anycase",
        "CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE collated (x text COLLATE anycase)",
        "INSERT INTO collated VALUES " + ", ".join(f"('{text}')" for text in frame["x"]),
    )
    assert_same(POSTGRES.address("collated"), frame, schema)


def test_other_types_of_postgresql_are_the_texts_that_it_writes() -> None:
    values = {kind: ["up", "a b"] for kind in ("char(6)", "mood", "word")} | {
        "uuid": ["11111111-2222-3333-4444-555555555555"] * 2,
        "json": ['{"a": 1}', "1"],
        "integer[]": ["{1,2}", "{}"],
        "interval": ["1 day", "00:00:01"],
    }
    POSTGRES.execute(
        "DROP TABLE IF EXISTS others",
        "DROP DOMAIN IF EXISTS word",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('up', 'a b')",
        "CREATE DOMAIN word AS varchar(9) CHECK (value <> '')",
        f"CREATE TABLE others ({', '.join(f'x{place} {declared}' for place, declared in enumerate(values))})",
        "INSERT INTO others DEFAULT VALUES",
        *(
            "INSERT INTO others VALUES ('" + "', '".join(texts[row] for texts in values.values()) + "')"
            for row in (0, 1)
        ),
    )
    frame = pl.DataFrame({f"x{place}": [None, *texts] for place, texts in enumerate(values.values())})
    schema = Schema(
        "s",
        tuple(
            Attribute(f"x{place}", categories=(texts[0], "a b"), other="else", missing="none")
            for place, texts in enumerate(values.values())
        ),
    )
    assert_same(POSTGRES.address("others"), frame, schema)


def test_columns_come_as_codes_wherever_they_can(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": [1, 2], "t": ["a", "7"], "d": ["2020-01-01", None]})
    schema = Schema(
        "s",
        (
            Attribute("n", bins=(0, 1, 2)),
            Attribute("t", categories=("a", "b")),
            Attribute("d", period="year", between=("2019", "2021")),
        ),
    )
    with open_source(in_duckdb(frame, tmp_path / "t"), argument="t") as opened:
        under = opened.under(schema).opened
        assert isinstance(under, UnderSchema)
        assert [one.name for one in under.reading.coded] == ["n", "t"]
        assert under.reading.raw == ("d",), "a date out of a text is read here"
        assert len(under.reading.words) == 1


def test_many_categories_are_found_by_a_tree(tmp_path: Path) -> None:
    labels = tuple(f"code {i * 7919 % 10_007:05}" for i in range(often(400, 2000)))
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": [*rng.choice(labels, 300), *(f"code {n:05}" for n in rng.integers(0, 10_007, 300))]})
    schema = Schema("s", (Attribute("x", categories=labels, other="else"),))
    assert_same(in_duckdb(frame, tmp_path / "t"), frame, schema)
    assert_same(in_postgresql(frame), frame, schema)


def test_a_statement_that_would_be_too_long_leaves_columns_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sqlite, "most", 9000)
    labels = tuple(f"{i:04}{'x' * 200}" for i in range(50))
    frame = pl.DataFrame({"many": [*labels[:3], "other", None], "few": ["a", "b", "a", "c", None]})
    schema = Schema(
        "s", (Attribute("many", categories=labels, other="else"), Attribute("few", categories=("a", "b"), other="else"))
    )
    address = in_sqlite(frame, tmp_path / "t")
    assert_same(address, frame, schema)
    with open_source(address, argument="t") as opened:
        under = opened.under(schema).opened
        assert isinstance(under, UnderSchema)
        assert [one.name for one in under.reading.coded] == ["few"]


def test_a_text_with_a_nul_is_no_part_of_a_statement(tmp_path: Path) -> None:
    schema = Schema("s", (Attribute("x", categories=("a\0b", "a", "a\0"), other="else"),), missing_values=("\0",))
    frame = pl.DataFrame({"x": ["a\0b", "a", "b", "\0", "a\0", None]})
    assert_same(in_duckdb(frame, tmp_path / "t"), frame, schema)
    assert_same(in_sqlite(frame, tmp_path / "t"), frame, schema)
    assert_same(in_postgresql(frame[1:3]), frame[1:3], schema)
