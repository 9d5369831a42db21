"""What goes wrong with databases: one line about the address, and none of the database's own words."""

from __future__ import annotations

import importlib
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.reading import read_records
from panbayes.tables.remote import remote_table
from panbayes.tables.sources.dispatch import open_source, read_frame
from panbayes.tables.sql.table import UnderSchema
from tests.postgres import WORD, Postgres
from tests.tables.databases import PUT, in_duckdb, in_postgresql, in_sqlite

SECRET = pl.DataFrame({"who": [1, 2], "text": ["Jane Doe", "secret"], "whole": [4711, 815]})
SCHEMA = Schema("s", (Attribute("text", categories=("a", "b")), Attribute("whole", bins=(0, 10, 100))))
ENGINES = list(PUT)


def complaint(address: str, schema: Schema = SCHEMA) -> str:
    with pytest.raises(InputError) as caught:
        read_records(address, schema).close()
    text = str(caught.value)
    assert not any(word in text for word in ("Jane", "Doe", "secret", "4711", "815", WORD, "Error", "SELECT"))
    return text


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_address_names_is_there(engine: str, tmp_path: Path) -> None:
    address = PUT[engine](SECRET, tmp_path / "t")
    bare = address.partition("?")[0]
    for wrong, said in {
        address.replace("?table", "?tabel"): 'has no option "tabel"; did you mean "table"?',
        bare: 'has no option "table"; add ?table=',
        f"{address}&order_by=vist": 'has no column "vist" to order by',
        f"{bare}?table=a..b": "is no name of a table",
        f"{bare}?table=nobody": 'has no table or view "nobody" that can be read',
        f"{bare}?table=no.where": 'has no table or view "no.where" that can be read',
        f"{bare}?table=%22Robert'%3B%20DROP%22": "that can be read",
    }.items():
        assert said in complaint(wrong), wrong
    schema = Schema("s", SCHEMA.attributes, unit=Unit("patient", 1))
    assert 'has no column "patient", which the schema names' in complaint(address, schema)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_table_is_an_error_unless_nobody_may_be_told(engine: str, tmp_path: Path) -> None:
    address = (
        in_sqlite(SECRET.clear(), tmp_path / "t", strict=True)
        if engine == "SQLite"
        else PUT[engine](SECRET.clear(), tmp_path / "t")
    )
    assert "holds no records" in complaint(address)
    with read_records(address, SCHEMA, may_be_empty=True) as read:
        assert read.facts.records == 0
    for allowed in (True, False):
        with ExitStack() as stack:
            if allowed:
                counter = remote_table(f"{address}&pushdown=true", SCHEMA, argument="t", may_be_empty=True, stack=stack)
                assert counter is not None
                assert counter.count([(0, 1)]).flat.sum() == counter.count([()]).flat.sum() == 0
            else:
                with pytest.raises(InputError, match="holds no records"):
                    remote_table(f"{address}&pushdown=true", SCHEMA, argument="t", may_be_empty=False, stack=stack)


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_a_file_that_is_not_there_is_not_made(scheme: str, tmp_path: Path) -> None:
    assert "names a file that is not there" in complaint(f"{scheme}://{tmp_path}/none.db?table=t")
    assert not list(tmp_path.iterdir())
    (tmp_path / "odd.db").write_text("Jane Doe, secret\n" * 2000)
    assert f"cannot be opened as a {'DuckDB' if scheme == 'duckdb' else 'SQLite'} file" in complaint(
        f"{scheme}://{tmp_path}/odd.db?table=t"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_reading_writes_nothing(engine: str, tmp_path: Path) -> None:
    address = PUT[engine](SECRET, tmp_path / "t")
    with open_source(address, argument="t") as opened:
        under = opened.under(SCHEMA).opened
        assert isinstance(under, UnderSchema)
        session = under.session
        table = address.partition("table=")[2]
        with pytest.raises(InputError, match="could not be read to its end"):
            list(session.rows(f"DELETE FROM {table} RETURNING 1", 1, 0))
        with pytest.raises(InputError, match="could not be read to its end"):
            list(session.rows("CREATE TABLE further (x INTEGER)", 1, 0))
    assert read_frame(address, argument="t").height == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_reading_sees_one_state(engine: str, tmp_path: Path, postgres: Postgres) -> None:
    address = PUT[engine](SECRET, tmp_path / "t")
    if engine == "DuckDB":
        return  # another process cannot even open it to write
    with open_source(address, argument="t") as opened:
        first = sum(batch.records for batch in opened.batches(["who"]))
        table = address.partition("table=")[2]
        if engine == "PostgreSQL":
            postgres.execute(f"DELETE FROM {table}")
        else:
            file = address.removeprefix("sqlite://").partition("?")[0]
            with closing(sqlite3.connect(file, timeout=0)) as other, pytest.raises(sqlite3.OperationalError), other:
                other.execute("DELETE FROM people")
        assert sum(batch.records for batch in opened.batches(["who"])) == first == 2


def test_a_view_whose_table_changed_its_columns(tmp_path: Path, postgres: Postgres) -> None:
    file = tmp_path / "a.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t (text VARCHAR, whole INTEGER)")
        connection.execute("CREATE VIEW v AS SELECT text, whole FROM t")
        connection.execute("DROP TABLE t")
        connection.execute("CREATE TABLE t (text VARCHAR, weight INTEGER)")
    assert 'has no table or view "v" that can be read' in complaint(f"duckdb://{file}?table=v")
    lite = tmp_path / "a.db"
    with closing(sqlite3.connect(lite)) as other, other:
        other.execute("CREATE TABLE t (text TEXT, weight INTEGER)")
        other.execute("CREATE VIEW v AS SELECT text, whole FROM t")
    assert "that can be read" in complaint(f"sqlite://{lite}?table=v")
    # A view of PostgreSQL keeps its columns; one that was made again has others.
    postgres.execute(
        "DROP VIEW IF EXISTS v",
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (text text, weight integer)",
        "CREATE VIEW v AS SELECT * FROM t",
    )
    assert 'has no column "whole", which the schema names' in complaint(postgres.address("v"))


def test_a_view_that_fails_on_a_value_says_nothing_of_it(tmp_path: Path, postgres: Postgres) -> None:
    file = tmp_path / "a.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'Jane Doe' AS text")
        connection.execute("CREATE VIEW v AS SELECT text, CAST(text AS INTEGER) AS whole FROM t")
    assert "could not be read to its end" in complaint(f"duckdb://{file}?table=v")
    postgres.execute(
        "DROP VIEW IF EXISTS w",
        "DROP TABLE IF EXISTS u",
        "CREATE TABLE u (text text)",
        "INSERT INTO u VALUES ('Jane Doe')",
        "CREATE VIEW w AS SELECT text, CAST(text AS integer) AS whole FROM u",
    )
    assert "could not be read to its end" in complaint(postgres.address("w"))


def test_a_connection_that_is_lost_in_the_middle(postgres: Postgres) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS many",
        "CREATE TABLE many AS SELECT 'Jane Doe' AS text, g AS whole FROM generate_series(1, 1500000) AS g",
    )
    with open_source(postgres.address("many"), argument="t") as opened:
        batches = opened.batches(["text", "whole"])
        next(batches)
        postgres.restart()
        with pytest.raises(InputError, match="could not be read to its end: the database broke off") as caught:
            for _ in batches:
                pass
        assert "Jane" not in str(caught.value)
    with ExitStack() as stack:
        address = postgres.address("many", more="&pushdown=true")
        counter = remote_table(address, SCHEMA, argument="t", may_be_empty=False, stack=stack)
        assert counter is not None
        postgres.restart()
        with pytest.raises(InputError, match="could not be read to its end"):
            counter.count([(0,)])
    postgres.execute("DROP TABLE many")


def test_a_server_that_lets_nobody_in(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    address = in_postgresql(SECRET)
    monkeypatch.setenv("PGPASSWORD", f"{WORD} not")
    assert "cannot be reached, or that lets nobody in" in complaint(address)
    monkeypatch.setenv("PGPASSWORD", WORD)
    assert "cannot be reached" in complaint(address.replace("holder@", "nobody@"))
    assert "cannot be reached" in complaint(address.replace(f":{postgres.port}/", ":1/"))
    assert "cannot be reached" in complaint(address.replace("/postgres?", "/nowhere?"))
    assert read_frame(address, argument="t").height == 2


def test_a_table_that_may_not_be_read(postgres: Postgres) -> None:
    address = in_postgresql(SECRET)
    postgres.execute("DROP ROLE IF EXISTS stranger", f"CREATE ROLE stranger LOGIN PASSWORD '{WORD}'")
    assert "that can be read; check its name, and who may read it" in complaint(address.replace("holder@", "stranger@"))


def test_a_database_of_another_encoding(postgres: Postgres) -> None:
    if not postgres.execute("SELECT 1 FROM pg_database WHERE datname = 'latin'"):
        postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    postgres.execute("CREATE TABLE IF NOT EXISTS t (text text, whole integer)", database="latin")
    assert "whose encoding is not UTF8" in complaint(postgres.address("t", database="latin"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_missing_driver_is_named_with_the_command(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = PUT[engine](SECRET, tmp_path / "t")
    real = importlib.import_module

    def absent(name: str, package: str | None = None) -> object:
        if name in ("sqlglot", "duckdb", "adbc_driver_postgresql.dbapi"):
            raise ModuleNotFoundError(name)
        return real(name, package)

    monkeypatch.setattr("panbayes.tables.sql.session.import_module", absent)
    found = complaint(address)
    assert f"{engine} tables need a driver that is not installed; run: pip install 'panbayes[databases]'" in found


def test_records_do_not_leave_where_they_are_to_stay(tmp_path: Path) -> None:
    address = f"{in_duckdb(SECRET, tmp_path / 't')}&pushdown=true"
    assert "is to be counted where it lies (pushdown=true), and this reads records" in complaint(address)
    with pytest.raises(InputError, match="this reads records"):
        read_frame(address, argument="t")


def test_what_sql_cannot_say_is_refused_by_name_where_records_stay(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["7"], "whole": ["5"]})
    for address in (in_duckdb(frame, tmp_path / "t"), in_sqlite(frame.cast({"whole": pl.Int64}), tmp_path / "t")):
        with ExitStack() as stack, pytest.raises(InputError, match="has a declared type of which SQL"):
            remote_table(f"{address}&pushdown=true", SCHEMA, argument="t", may_be_empty=False, stack=stack)


def test_names_are_taken_as_they_are_written(postgres: Postgres) -> None:
    odd = 'a "b".c; --'
    postgres.execute(
        'CREATE SCHEMA IF NOT EXISTS "odd.s"',
        'DROP TABLE IF EXISTS "odd.s"."a ""b"".c; --"',
        'CREATE TABLE "odd.s"."a ""b"".c; --" ("x ""y""" text, "Z" integer)',
        'INSERT INTO "odd.s"."a ""b"".c; --" VALUES (\'k\', 1)',
    )
    name = '"odd.s"."' + odd.replace('"', '""') + '"'
    assert read_frame(postgres.address(name), argument="t").rows() == [("k", 1)]
    assert read_frame(postgres.address(name), argument="t").columns == ['x "y"', "Z"]
