"""Each person's first records, in an order that depends on that person's records alone, on every database."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.code_map import CodeMap
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.counter import Facts
from panbayes.tables.reading import read_records
from panbayes.tables.remote import remote_table
from panbayes.tables.table import Table
from panbayes.tables.units import first_records
from tests.effort import often
from tests.postgres import POSTGRES
from tests.tables.databases import PUT, in_duckdb, in_sqlite

ENGINES = list(PUT)

ids = st.sampled_from(["a", "b", " a", "a\u3000", "", "?", "c", None, "A"])
rows = st.lists(st.tuples(ids, st.integers(0, 2), st.integers(0, 2), st.sampled_from(["x", "y", "z"])), max_size=12)


def schema_of(most: int) -> Schema:
    return Schema(
        "s",
        (Attribute("n", categories=(0, 1), other="else"), Attribute("t", categories=("x", "y"), other="else")),
        unit=Unit("who", most),
    )


def frame_of(drawn: list[tuple[str | None, int, int, str]]) -> pl.DataFrame:
    types = {"who": pl.String, "visit": pl.Int64, "n": pl.Int64, "t": pl.String}
    return pl.DataFrame(drawn, schema=types, orient="row")


def put(engine: str, frame: pl.DataFrame, folder: str) -> str:
    if engine == "SQLite":
        return in_sqlite(frame, Path(folder) / "t", strict=True)
    return PUT[engine](frame, Path(folder) / "t")


def multiset(address: object, schema: Schema) -> tuple[Counter[tuple[int, ...]], int | None]:
    with read_records(address, schema, may_be_empty=True) as read:
        table = Table.gathered(read)
        return Counter(map(tuple, table.codes.T.tolist())), table.persons


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=often(2, 8))
@given(drawn=rows, most=st.integers(1, 3))
def test_no_order_in_which_records_lie_matters_and_counting_keeps_what_reading_keeps(
    engine: str, drawn: list[tuple[str | None, int, int, str]], most: int
) -> None:
    schema, frame = schema_of(most), frame_of(drawn)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=len(drawn))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        one, other = put(engine, frame, folder), put(engine, shuffled, folder)
        for order in ("", "&order_by=visit"):
            assert multiset(one + order, schema) == multiset(other + order, schema)
        counter = remote_table(f"{one}&pushdown=true", schema, argument="t", may_be_empty=True, stack=stack)
        assert counter is not None
        with read_records(other, schema, may_be_empty=True) as read:
            assert counter.count([(0, 1)]).flat.tolist() == read.count([(0, 1)]).flat.tolist()
            assert counter.facts == read.facts


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=often(2, 8))
@given(drawn=rows, most=st.integers(1, 3))
def test_first_records_are_those_of_the_declared_order(
    engine: str, drawn: list[tuple[str | None, int, int, str]], most: int
) -> None:
    # A total order: no two records have one number of a visit.
    frame = frame_of(drawn).with_columns(visit=np.random.default_rng(len(drawn)).permutation(len(drawn)))
    schema, ordered = schema_of(most), frame.sort("visit")
    kept, persons = first_records(ordered["who"], most, schema.missing_values)
    wanted = Table.read(ordered[kept], Schema("s", schema.attributes), may_be_empty=True)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        address = put(engine, frame, folder) + "&order_by=visit"
        assert multiset(address, schema) == (Counter(map(tuple, wanted.codes.T.tolist())), persons)
        counter = remote_table(f"{address}&pushdown=true", schema, argument="t", may_be_empty=True, stack=stack)
        assert counter is not None
        assert counter.facts == Facts(schema, wanted.records, persons)
        sets = [(0,), (1,), (0, 1), (1, 0), ()]
        assert counter.count(sets).flat.tolist() == wanted.count(sets).flat.tolist()


def test_whole_numbers_are_ids_too_and_others_are_refused_where_records_stay(tmp_path: Path) -> None:
    schema = Schema("s", (Attribute("n", categories=(0, 1)),), missing_values=("999", "?"), unit=Unit("who", 1))
    frame = pl.DataFrame({"who": [1, 1, 2, 999, None], "n": [0, 1, 1, 1, 1]})
    with ExitStack() as stack:
        address = f"{in_duckdb(frame, tmp_path / 't')}&pushdown=true"
        counter = remote_table(address, schema, argument="t", may_be_empty=False, stack=stack)
        assert counter is not None
        assert counter.facts == Facts(schema, 2, 2)
        real = f"{in_duckdb(frame.cast({'who': pl.Float64}), tmp_path / 't')}&pushdown=true"
        with pytest.raises(InputError, match='column "who" has a declared type of which SQL cannot say exactly'):
            remote_table(real, schema, argument="t", may_be_empty=False, stack=stack)


def test_no_collation_hides_which_of_two_records_comes_first(tmp_path: Path) -> None:
    """Where a column is read as it is, texts that a collation takes for one have codes of their own all the same."""
    groups = CodeMap.of([{"value": "a", "group": "small"}, {"value": "A", "group": "large"}])
    schema = Schema("s", (Attribute("x", mapping=groups, other="else"),), unit=Unit("who", 1))
    file, lite = tmp_path / "t.duckdb", tmp_path / "t.db"
    POSTGRES.execute(
        "DROP TABLE IF EXISTS hidden0",
        "DROP TABLE IF EXISTS hidden1",
        "DROP COLLATION IF EXISTS nocase",
        "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    )
    with duckdb.connect(str(file)) as connection, closing(sqlite3.connect(lite)) as other, other:
        for place, rows_ in enumerate(("(1, 'a'), (1, 'A')", "(1, 'A'), (1, 'a')")):
            for run in (connection.execute, other.execute, POSTGRES.execute):
                run(f"CREATE TABLE hidden{place} (who INTEGER, x VARCHAR(9) COLLATE nocase)")
                run(f"INSERT INTO hidden{place} VALUES {rows_}")
    for address in (f"duckdb://{file}?table=hidden", f"sqlite://{lite}?table=hidden", POSTGRES.address("hidden")):
        assert multiset(f"{address}0", schema) == multiset(f"{address}1", schema)
