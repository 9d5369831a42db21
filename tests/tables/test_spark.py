"""Spark: the tables, parities and marks of the same records in memory, to the bit, whatever is lost meanwhile."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from panbayes._version import __version__
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.marks import mark_of
from panbayes.tables.remote import RemoteTable, remote_table
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.sources.dispatch import counted_there, frame_kind, open_source, read_columns, read_frame, sources
from panbayes.tables.spark.blocks import blocks_of
from panbayes.tables.spark.coded import Coded
from panbayes.tables.spark.coding import OTHER_VERSION, Coding
from panbayes.tables.spark.cutting import first_of_each, records_of
from panbayes.tables.spark.order_keys import value_keys
from panbayes.tables.spark.questions import Counts
from panbayes.tables.table import Table
from panbayes.tables.texts import as_text
from panbayes.tables.units import first_records
from tests.effort import soak
from tests.spark_here import needs_spark
from tests.tables.test_lakes import VALUES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTRIBUTES = (
    Attribute("text", categories=("x", "y"), other="other", missing="missing"),
    Attribute("whole", bins=(0, 5, 10), other="other", missing="missing"),
    Attribute("wide", categories=tuple(range(300)), other="other"),
)
SCHEMA = Schema("s", ATTRIBUTES)
PEOPLE = Schema("s", ATTRIBUTES, unit=Unit("who", 2), missing_values=("?",))
PAIRS = [(0, 1), (2, 0), (1,), ()]
WAYS = ("files", "frame")


def records(number: int, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ids = [" p{} ", "p{}"]
    return pl.DataFrame(
        {
            "text": [["x", "y", "zz", " x", None][place] for place in rng.integers(0, 5, number)],
            "whole": rng.integers(-2, 12, number),
            "wide": rng.integers(0, 310, number),
            "who": [
                [None, "?", "  "][place] if place < 3 else ids[place % 2].format(place)
                for place in rng.integers(0, max(number // 5, 4), number)
            ],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 9, number)],
        }
    )


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def given(way: str, frame: pl.DataFrame, spark: SparkSession, folder: Path, options: str = "") -> object:
    """Return what Spark counts of a data frame: files, or a table of its catalog."""
    place = folder / "people"
    place.mkdir(exist_ok=True)
    half = frame.height // 2
    frame[:half].write_parquet(place / "a.parquet", row_group_size=max(half // 3, 1))
    frame[half:].write_parquet(place / "b.parquet")
    if way == "files":
        return f"spark:///?path={place}{options}"
    spark.read.parquet(str(place)).createOrReplaceTempView("people")
    return f"spark://people{options.replace('&', '?')}"


def counter(data: object, schema: Schema, stack: ExitStack) -> RemoteTable:
    found = remote_table(data, schema, argument="data", may_be_empty=True, stack=stack)
    assert found is not None
    return found


@pytest.mark.parametrize("way", WAYS)
def test_counts_parities_and_marks_are_those_in_memory(
    way: str, spark: SparkSession, tmp_path: Path, stack: ExitStack
) -> None:
    frame = records(3000)
    table = Table.read(frame, SCHEMA)
    found = counter(given(way, frame, spark, tmp_path), SCHEMA, stack)
    assert found.facts == table.facts
    assert found.count(PAIRS).flat.tolist() == table.count(PAIRS).flat.tolist()
    assert found.marks() == (mark_of(table),)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order_by", [(), ("day",)])
def test_each_person_has_the_first_records_in_the_order_of_their_own(
    way: str,
    order_by: tuple[str, ...],
    spark: SparkSession,
    tmp_path: Path,
    stack: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("panbayes.tables.spark.opening.PART_RECORDS", 700)
    frame = records(2000)
    everything = Table.read(frame, SCHEMA).codes
    keys = [*everything[::-1], *([frame["day"].to_physical().to_numpy()] if order_by else [])]
    ordered = frame[np.lexsort(keys)]
    wanted = Table.read(ordered, PEOPLE)
    kept, persons = first_records(ordered["who"], 2, ("?",))
    assert (wanted.records, wanted.persons) == (kept.size, persons)
    assert wanted.records < sum(frame["who"].is_not_null()), "somebody has more"
    options = "&order_by=day" if order_by else ""
    found = counter(given(way, frame, spark, tmp_path, options), PEOPLE, stack)
    assert found.facts == wanted.facts
    assert found.count(PAIRS).flat.tolist() == wanted.count(PAIRS).flat.tolist()
    assert wanted.origin is not None
    assert wanted.origin.whole is not None
    assert found.marks() == tuple(sorted({mark_of(wanted), wanted.origin.whole}))
    assert found.count(PAIRS).flat.tolist() == wanted.count(PAIRS).flat.tolist(), "also after all records are let go"


def test_every_value_is_read_as_from_a_parquet_file(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "people.parquet"
    pq.write_table(VALUES, path)
    wanted = read_frame(path, argument="data")
    frame = spark.read.parquet(str(path))
    for found in (read_frame(frame, argument="data"), read_frame(f"spark:///?path={path}", argument="data")):
        assert found.columns == wanted.columns
        for name in wanted.columns:
            assert as_text(found[name]).to_list() == as_text(wanted[name]).to_list(), name
    assert read_columns(frame, ["whole", "text"], argument="data").columns == ["whole", "text"]
    with open_source(frame, argument="data") as opened:
        assert sum(batch.records for batch in opened.batches([])) == wanted.height


def test_a_data_frame_is_counted_where_it_lies_and_nobody_else_takes_it(
    spark: SparkSession, tmp_path: Path, stack: ExitStack
) -> None:
    path = tmp_path / "people.parquet"
    records(300).write_parquet(path)
    frame = spark.read.parquet(str(path)).repartition(3, "text")
    assert counted_there(frame, argument="data")
    assert [source.name for source in sources() if source.takes(frame)] == ["Spark"]
    assert frame_kind(frame) == "polars"
    found = counter(frame, SCHEMA, stack)
    table = Table.read(records(300), SCHEMA)
    assert found.count(PAIRS).flat.tolist() == table.count(PAIRS).flat.tolist()
    assert found.marks() == (mark_of(table),)


def test_folders_are_columns(spark: SparkSession, tmp_path: Path, stack: ExitStack) -> None:
    for text in ("x", "y"):
        (tmp_path / f"text={text}").mkdir()
        records(50, seed=ord(text)).drop("text").write_parquet(tmp_path / f"text={text}" / "a.parquet")
    assert spark is not None
    found = counter(f"spark:///?path={tmp_path}", SCHEMA, stack)
    table = Table.read(tmp_path, SCHEMA)
    assert found.count(PAIRS).flat.tolist() == table.count(PAIRS).flat.tolist()


def test_nothing_is_kept_when_the_table_is_closed(spark: SparkSession, tmp_path: Path) -> None:
    def kept() -> int:
        return int(vars(spark)["_jsc"].getPersistentRDDs().size())

    before = kept()
    with ExitStack() as stack:
        assert counter(given("files", records(100), spark, tmp_path), SCHEMA, stack).marks()
        assert kept() == before, "files are read again"
        assert counter(given("files", records(100), spark, tmp_path), PEOPLE, stack).marks()
        assert kept() == before + 1, "but not cut again"
        found = counter(given("frame", records(100), spark, tmp_path), PEOPLE, stack)
        assert kept() == before + 3
        found.marks()
        assert kept() == before + 2, "what all records are known by is known"
    assert kept() == before


def lose(found: RemoteTable) -> None:
    """Have Spark lose all blocks, as it does with the machines that kept them."""
    coded, whole = vars(found)["_kept"], vars(found)["_whole"]
    assert isinstance(coded, Coded)
    coded.frame.unpersist(True)
    if whole is not None:
        lose(whole)


@pytest.mark.parametrize("schema", [SCHEMA, PEOPLE])
@pytest.mark.parametrize("way", WAYS)
def test_records_that_are_computed_again_are_those_of_before_or_none(
    way: str, schema: Schema, spark: SparkSession, tmp_path: Path, stack: ExitStack
) -> None:
    frame = records(400)
    found = counter(given(way, frame, spark, tmp_path), schema, stack)
    wanted = found.count(PAIRS).flat.tolist()
    lose(found)
    assert found.count(PAIRS).flat.tolist() == wanted
    lose(found)
    for name in ("a", "b"):
        frame.sample(fraction=1, shuffle=True, seed=3)[:200].write_parquet(tmp_path / "people" / f"{name}.parquet")
    with pytest.raises(InputError) as caught:
        found.count(PAIRS)
    assert "has changed since" in str(caught.value)


def test_a_worker_that_dies_is_replaced_and_the_counts_are_the_same(
    spark: SparkSession, tmp_path: Path, stack: ExitStack
) -> None:
    found = counter(given("files", records(400), spark, tmp_path), SCHEMA, stack)
    counts = Counts(tuple(PAIRS), None, 10**6)
    mark = str(tmp_path / "died")

    @dataclass(frozen=True)
    class Dying:
        """Kills the first worker that is asked, in the middle."""

        def of(self, table: Table) -> NDArray[np.int64]:
            import os
            import signal

            if table.records:
                try:
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                    os.kill(os.getpid(), signal.SIGKILL)
                except FileExistsError:
                    pass
            return counts.of(table)

    coded = vars(found)["_kept"]
    assert coded.ask(Dying()).tolist() == found.count(PAIRS).flat.tolist()
    assert Path(mark).exists()


def test_no_text_of_an_error_leaves_the_workers(spark: SparkSession, tmp_path: Path, stack: ExitStack) -> None:
    found = counter(given("files", records(40), spark, tmp_path), SCHEMA, stack)

    @dataclass(frozen=True)
    class Telling:
        """Raises what should stay where it is."""

        text: str

        def of(self, table: Table) -> NDArray[np.int64]:
            raise (ValueError if "Jane" in self.text else RuntimeError)(self.text[: len(table.schema) * 99])

    coded = vars(found)["_kept"]
    for text, complaint in (
        ("Jane Doe", "Spark did not finish: a worker failed or was lost, or the table cannot be read; see"),
        (OTHER_VERSION, "Spark's workers have another version of panbayes; install the same version everywhere"),
    ):
        with pytest.raises(InputError) as caught:
            coded.ask(Telling(text))
        assert complaint in str(caught.value)
        assert "Jane" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_workers_of_another_version_do_not_count(
    spark: SparkSession, tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = counter(given("frame", records(40), spark, tmp_path), SCHEMA, stack)
    monkeypatch.setattr("panbayes.tables.spark.coded.__version__", "0")
    with pytest.raises(InputError, match="Spark's workers have another version of panbayes"):
        found.count(PAIRS)


def test_what_cannot_be_opened(spark: SparkSession, tmp_path: Path) -> None:
    assert spark is not None
    records(5).write_csv(tmp_path / "a.csv")
    records(5).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "two").mkdir()
    records(5).write_parquet(tmp_path / "two" / "a.parquet")
    records(5).drop("who").write_parquet(tmp_path / "two" / "b.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 Jane PAR1")
    for address, complaint in {
        "spark://nowhere.nothing": 'Spark finds no table "nowhere.nothing"; write it as spark://catalog.schema.table',
        "spark://host:7077": "names no table of a catalog; write it as",
        "spark:///": "names no table of a catalog",
        f"spark://people?path={tmp_path}": "names both a table and a path",
        f"spark:///?path={tmp_path}/a.csv": "is no Parquet file that can be read",
        f"spark:///?path={tmp_path}/nothing.parquet": "is no Parquet file that can be read",
        f"spark:///?path={tmp_path}/two": "has files with other columns than the first of them",
        f"spark:///?path={tmp_path}/bad.parquet": "is a damaged or truncated Parquet file",
        f"spark:///?order_by=dya&path={tmp_path}/a.parquet": 'order_by names "dya"; did you mean "day"?',
        f"spark:///?path={tmp_path}/a.parquet&version=1": 'has no option "version"',
    }.items():
        with pytest.raises(InputError) as caught:
            read_columns(address, ["text"], argument="data")
        assert str(caught.value).startswith(f"{address}: {complaint}")
        assert "Jane" not in str(caught.value)


def test_a_missing_library_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records(5).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with (
        ExitStack() as stack,
        pytest.raises(InputError, match=r"needs pyspark, which is not installed; run: pip install 'panbayes\[spark\]'"),
    ):
        counter(f"spark:///?path={tmp_path}/a.parquet", SCHEMA, stack)


@pytest.mark.parametrize("schema", [PEOPLE, Schema("n", ATTRIBUTES[:2], unit=Unit("who", 3))])
def test_first_records_are_cut_wherever_batches_end(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    assert schema.unit is not None
    monkeypatch.setattr("panbayes.tables.spark.cutting.BATCH_RECORDS", 50)
    frame = records(400)
    table = Table.read(frame, Schema("e", schema.attributes))
    columns = {name: Column(frame[name]) for name in (*schema.names, "who")}
    coding = Coding(schema, {name: name for name in columns}, (), b"k" * 32)
    blocks = [block.row() for block in coding.blocks([Batch(columns, 400)])]
    rows = pa.Table.from_batches(list(records_of(schema, __version__, iter(blocks))))
    ordered = rows.sort_by([("person", "ascending"), ("place", "ascending"), ("codes", "ascending")]).combine_chunks()
    kept, persons = first_records(frame["who"][np.lexsort([*table.codes[::-1]])], schema.unit.max_records, ("?",))
    wanted = table.codes[:, np.lexsort([*table.codes[::-1]])][:, kept]
    for size in (1, 2, 7, 64, 1000):
        batches = iter(ordered.to_batches(max_chunksize=size))
        made = list(first_of_each(schema, schema.unit.max_records, __version__, batches))
        found = [block for block, _ in blocks_of(schema, iter(made))]
        assert sum(block.persons for block in found) == persons
        assert max(block.records for block in found) <= 50
        codes = np.concatenate([block.codes for block in found], axis=1)
        assert sorted(codes.T.tolist()) == sorted(wanted.T.tolist())


def test_keys_are_in_the_order_of_values() -> None:
    every: list[list[Any]] = [
        [3, None, -2, 10, 2**62, -(2**62), 0],
        [0.5, -1.5, None, float("inf"), -1e300, 1e-300, 0.0, float("-inf")],
        [Decimal("1.20"), Decimal("-3.05"), None, Decimal("0.01"), Decimal("99999999.99")],
        ["b", "a", "", None, "a\0", "a\0b", "ab", "ü", "\U0001f600"],
        [True, None, False],
        [dt.date(2020, 1, 1), None, dt.date(1900, 1, 1)],
        [dt.datetime(2020, 1, 1, 5), dt.datetime(1969, 1, 1), None],
    ]
    for values in every:
        keys = value_keys(pl.Series(values))
        first = [value for value in values if value is None]
        rest = sorted(value for value in values if value is not None)
        assert [values[place] for place in sorted(range(len(values)), key=keys.__getitem__)] == [*first, *rest]
    two = pl.Series(["a", "a\0", "a", "b"]), pl.Series([2, 1, 1, 0])
    keys = [a + b for a, b in zip(*map(value_keys, two), strict=True)]
    assert sorted(range(4), key=keys.__getitem__) == [2, 0, 1, 3]


def test_people_are_told_by_what_their_ids_say_and_a_key() -> None:
    ids = Column(pl.Series(["a", " a ", "b", None, "?", " ", "\ud7ff"]))
    columns = dict.fromkeys((*PEOPLE.names, "who"), ids)
    found = []
    for key in (b"k" * 32, b"k" * 32, b"l" * 32):
        (block,) = Coding(PEOPLE, {name: name for name in columns}, (), key).blocks([Batch(columns, 7)])
        found.append(block.people)
    assert found[0] == found[1] != found[2]
    each = [found[0][start : start + 16] for start in range(0, len(found[0]), 16)]
    assert each[0] == each[1] != each[2]
    assert each[3] == each[4] == each[5] == bytes(16)
    assert len(set(each)) == 4


CONNECT = """
    import sys
    from contextlib import ExitStack
    import polars as pl
    from panbayes.tables.quiet import quiet
    from panbayes.tables.remote import remote_table
    from panbayes.tables.spark.session import without_warnings
    from pyspark.sql import SparkSession
    from tests.tables.test_spark import PAIRS, PEOPLE, SCHEMA

    with quiet(), without_warnings():
        spark = SparkSession.builder.remote("local[2]").getOrCreate()
    frame = spark.read.parquet(sys.argv[1])
    assert "connect" in type(frame).__module__
    with ExitStack() as stack:
        for data, schema in ((frame, SCHEMA), (f"spark:///?path={sys.argv[1]}", PEOPLE)):
            found = remote_table(data, schema, argument="data", may_be_empty=True, stack=stack)
            counts = found.count(PAIRS).flat.tolist()
            print(found.facts.records, found.facts.persons, counts, found.marks()[0].hex())
    spark.stop()
"""


@soak
def test_spark_connect_counts_the_same(tmp_path: Path) -> None:
    needs_spark()
    pytest.importorskip("grpc", reason="Spark Connect is not installed: make spark")
    frame = records(500).sort("text", "whole", "wide")
    frame.write_parquet(tmp_path / "people.parquet")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CONNECT), str(tmp_path / "people.parquet")],
        cwd=root,
        env={
            **os.environ,
            "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",  # Short jobs are not worth being compiled well.
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    wanted = []
    codes = Table.read(frame, SCHEMA).codes
    for schema in (SCHEMA, PEOPLE):
        table = Table.read(frame[np.lexsort([*codes[::-1]])], schema)
        whole = [] if table.origin is None or table.origin.whole is None else [table.origin.whole]
        mark = min([mark_of(table), *whole]).hex()
        wanted.append(f"{table.records} {table.persons} {table.count(PAIRS).flat.tolist()} {mark}")
    assert done.stdout.splitlines() == wanted, done.stderr[-2000:]
