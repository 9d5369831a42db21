"""The suite that everything that counts must pass: the tables and parities of a loop, wherever the records lie."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import os
import pkgutil
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

import panbayes.tables
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables import spool as spooling
from panbayes.tables.codes import code_type
from panbayes.tables.counter import Counter, Facts, SumCounter
from panbayes.tables.counting import block_counts
from panbayes.tables.fit import fit_of
from panbayes.tables.kept import KeptTable, read_codes, write_codes
from panbayes.tables.reading import Origin, SpooledTable
from panbayes.tables.remote import remote_table
from panbayes.tables.spark.counter import SparkCounter
from panbayes.tables.spool import Spool
from panbayes.tables.sql.push_down import SqlCounter
from panbayes.tables.table import Table
from tests.effort import some
from tests.tables.databases import in_duckdb, in_postgresql, in_sqlite


@dataclass(frozen=True)
class Groups:
    """Values in groups."""

    attribute: int
    groups: tuple[int, ...] = ()


SMALL = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(n))) for i, n in enumerate((2, 3, 2, 5, 4))))
WIDE = Schema("w", (*SMALL.attributes, Attribute("b", categories=tuple(range(300)))))
GROUPS = (
    Groups(1),
    Groups(3, (0, 1, 1, 0, 2)),
    Groups(0),
    Groups(4, (1, 0, 0, 1)),
    Groups(1, (0, 0, 1)),
    Groups(2),
    Groups(3, (0, 1, 1, 1, 0)),
)


def spooled(table: Table, *, keep: int) -> SpooledTable:
    kept = Spool(len(table.schema), code_type(table.schema), keep=keep)
    for start in range(0, table.records, 37):
        kept.append(table.codes[:, start : start + 37])
    fit = fit_of(table.schema, [np.zeros((3, size), dtype=np.int64) for size in table.schema.sizes])
    return SpooledTable(table.schema, kept, table.persons, Origin("polars", fit))


def in_parts(table: Table) -> Counter:
    middle = table.records // 3
    return SumCounter((table.select(slice(0, middle)), spooled(table.select(slice(middle, None)), keep=0)))


OPEN = ExitStack()
"""What is open until the test ends."""


def counted_in(put: Callable[[pl.DataFrame, Path], str]) -> Callable[[Table], Counter]:
    """Put records into a database that lets none of them out."""

    def counter(table: Table) -> Counter:
        folder = OPEN.enter_context(tempfile.TemporaryDirectory())
        frame = pl.DataFrame({name: table.codes[a].astype(np.int64) for a, name in enumerate(table.schema.names)})
        address = f"{put(frame, Path(folder) / 't')}&pushdown=true"
        found = remote_table(address, table.schema, argument="data", may_be_empty=True, stack=OPEN)
        assert found is not None
        return found

    return counter


def in_spark(table: Table) -> Counter:
    """Have Spark count the records of a file, in several tasks."""
    path = Path(OPEN.enter_context(tempfile.TemporaryDirectory())) / "t.parquet"
    table.decoded().write_parquet(path, row_group_size=50)
    with patch("panbayes.tables.spark.parquet_parts.PART_RECORDS", 60):
        found = remote_table(f"spark:///?path={path}", table.schema, argument="t", may_be_empty=True, stack=OPEN)
    assert isinstance(found, SparkCounter)
    return found


def kept(table: Table) -> KeptTable:
    with tempfile.TemporaryDirectory() as folder:
        write_codes(Path(folder) / "codes", table, purpose="a test")
        found = read_codes(Path(folder) / "codes", table.schema, purpose="a test")
    assert found is not None
    return found


KEPT: dict[str, tuple[type, Callable[[Table], Counter]]] = {
    "table": (Table, lambda table: table),
    "spooled in memory": (SpooledTable, lambda table: spooled(table, keep=10**9)),
    "spooled in a file": (SpooledTable, lambda table: spooled(table, keep=0)),
    "in parts": (SumCounter, in_parts),
    "in DuckDB": (SqlCounter, counted_in(in_duckdb)),
    "in SQLite": (SqlCounter, counted_in(partial(in_sqlite, strict=True))),
    "in PostgreSQL": (SqlCounter, counted_in(lambda frame, _path: in_postgresql(frame))),
    "in Spark": (SparkCounter, in_spark),
    "kept in a file": (KeptTable, kept),
}
"""How each implementation comes to some records."""


def implementations() -> Iterator[type]:
    """Every class of the room that can be told apart as a counter."""
    for module in pkgutil.walk_packages(panbayes.tables.__path__, "panbayes.tables."):
        if not module.ispkg:
            for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                own = found.__module__ == module.name and not inspect.isabstract(found) and found is not Counter
                if own and all(hasattr(found, name) for name in ("facts", "count", "parities")):
                    yield found


def test_every_implementation_is_held_by_this_suite() -> None:
    assert set(implementations()) == {kind for kind, _ in KEPT.values()}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blocks of few records, so that few records make many blocks."""
    monkeypatch.setattr(spooling, "BLOCK_RECORDS", 64)
    monkeypatch.setattr(block_counts, "MOST_RECORDS", 24)
    monkeypatch.setenv("PANBAYES_SPOOL", str(tmp_path))


@pytest.fixture(autouse=True)
def open_tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close what a test opens; where Spark counts, every other number of records has to do."""
    given = getattr(request.node, "callspec", None)
    if given is not None and given.params.get("kind") == "in Spark":
        if given.params.get("records") in (1, 2, 63, 65):
            pytest.skip("Spark takes long to count few records")
        request.getfixturevalue("spark")
    with OPEN:
        yield


def table_of(records: int, schema: Schema = SMALL, seed: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    codes = [np.minimum(rng.integers(0, size, records), rng.integers(0, size, records)) for size in schema.sizes]
    return Table(schema, np.stack(codes).astype(code_type(schema)))


def group(record: list[int], groups: Groups) -> int:
    code = record[groups.attribute]
    return groups.groups[code] if groups.groups else code


def brute(table: Table, axes: Sequence[tuple[int, ...]], groups: Sequence[Groups]) -> list[int]:
    """Count with a loop over records."""
    sizes = [max(one.groups) + 1 if one.groups else table.schema.sizes[one.attribute] for one in groups]
    flat: list[int] = []
    for chosen in axes:
        counted = np.zeros([sizes[g] for g in chosen], dtype=np.int64)
        for record in table.codes.T.tolist():
            counted[tuple(group(record, groups[g]) for g in chosen)] += 1
        flat += counted.ravel().tolist()
    return flat


EDGES = (0, 1, 63, 64, 65, 200)
PLACES = [(kind, records) for kind in KEPT for records in ((0, 200) if kind == "in Spark" else EDGES)]
"""Every count of Spark's is a job, and its workers count with what counts a table in memory."""


@pytest.mark.parametrize(("kind", "records"), some(PLACES, 25))
def test_tables_parities_and_facts_are_those_of_a_loop(kind: str, records: int) -> None:
    schema = WIDE if records in (1, 65, 200) else SMALL
    table = table_of(records, schema)
    counter = KEPT[kind][1](table)
    assert counter.facts == Facts(schema, records, None)
    plain = tuple(Groups(a) for a in range(len(schema)))
    for sets in ([(), (0,), (3, 1), (1, 3), (2, 0, 4)], [(a,) for a in range(len(schema))], [(4, 1, 2, 0)], [()], []):
        found = counter.count(sets)
        assert found.flat.tolist() == brute(table, sets, plain)
        assert found.flat.dtype == np.int64
        assert np.diff(found.offsets).tolist() == [math.prod(schema.sizes[a] for a in axes) for axes in sets]
    sets = [(0, 1), (3, 2), (5, 6, 4), (), (2,)]
    assert counter.count(sets, GROUPS).flat.tolist() == brute(table, sets, GROUPS)
    assert counter.count([(2, 5)], GROUPS).flat.tolist() == brute(table, [(2, 5)], GROUPS), "nothing is grouped here"
    sets = [(2, 3, 4), (5, 6, 4, 2), (3, 5, 6)]
    bits = {g: np.array(GROUPS[g].groups or (0, 1))[table.codes[GROUPS[g].attribute]] for g in range(2, 7)}
    wanted = [int((1 - 2 * (np.sum([bits[g] for g in axes], axis=0) % 2)).sum()) for axes in sets]
    assert counter.parities(sets, GROUPS).tolist() == wanted
    assert counter.parities([], GROUPS).tolist() == []


@pytest.mark.parametrize("kind", KEPT)
def test_too_many_cells_are_refused_before_a_record_is_looked_at(kind: str) -> None:
    counter = KEPT[kind][1](table_of(100))
    with pytest.raises(InputError, match="would have 30 cells"):
        counter.count([(1, 3), (1, 3)], cell_limit=29)
    assert counter.count([(1, 3), (1, 3)], cell_limit=30).flat.size == 30


@pytest.mark.parametrize("records", some([1, 2, 200], 2))
@pytest.mark.parametrize("kind", [kind for kind in KEPT if kind != "table"])
def test_scores_are_the_same_to_the_bit_wherever_the_codes_lie(
    kind: str, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(records)
    exact, other = ExactCounts(table), ExactCounts(KEPT[kind][1](table))
    monkeypatch.setattr("panbayes.bayesnet.table_counts._BATCH_CELLS", 50)
    for length in (1, 2, 4):
        sets = np.array(list(itertools.combinations(range(5), length)), dtype=np.int64).reshape(-1, length)
        assert other.weights(sets).tolist() == exact.weights(sets).tolist()
    assert other.weights(np.empty((0, 2), dtype=np.int64)).tolist() == []
    assert other.total == exact.total == records
    found, wanted = other.count([(0, 1), (1, 0), (3,)]), exact.count([(0, 1), (1, 0), (3,)])
    assert (found.flat.tolist(), found.sets, found.records) == (wanted.flat.tolist(), wanted.sets, wanted.records)


@pytest.mark.parametrize("keep", [0, 10**9])
def test_blocks_are_all_records_in_order_whatever_is_asked_for(keep: int) -> None:
    table = table_of(200)
    for most, rows in itertools.product((1, 24, 64, 1000), (None, [3], [4, 0], [0, 1, 2, 3, 4])):
        for holder in (table, spooled(table, keep=keep)):
            blocks = [block.copy() for block in holder.blocks(rows, most) if block.flags.c_contiguous]
            assert max(block.shape[1] for block in blocks) <= most
            assert np.concatenate(blocks, axis=1).tolist() == table.codes[rows or slice(None)].tolist()


def test_parts_must_belong_together() -> None:
    with pytest.raises(InputError, match="several schemas"):
        SumCounter((table_of(3), table_of(3, WIDE)))
    with pytest.raises(InputError, match="found none"):
        SumCounter(())


@pytest.mark.parametrize("grouped", [False, True])
def test_the_memory_that_counting_takes_does_not_follow_the_number_of_records(
    grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()

    def peak(records: int) -> int:
        with spooled(table_of(records), keep=0) as counter:
            sets = [(0, 1), (3, 4), (2, 3, 4)] if not grouped else [(0, 1), (3, 2)]
            counter.count(sets, GROUPS if grouped else None)
            tracemalloc.start()
            try:
                counter.count(sets, GROUPS if grouped else None)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    few, many = peak(300_000), peak(900_000)
    assert many == pytest.approx(few, rel=0.01)


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a full disk would."""
    import resource
    import signal

    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_takes_no_more_is_named_with_the_way_out(tmp_path: Path) -> None:
    with (
        limited(1000),
        pytest.raises(InputError, match=r"cannot take a table of this size .*set PANBAYES_SPOOL") as told,
    ):
        spooled(table_of(2000), keep=0)
    assert str(tmp_path) in str(told.value)


@pytest.mark.parametrize("folder", ["nowhere", "file"])
def test_a_folder_that_cannot_be_used_is_named(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PANBAYES_SPOOL", str(tmp_path / folder))
    with pytest.raises(InputError, match=f"{folder}: cannot take a table of this size"):
        spooled(table_of(100), keep=0)


def test_the_folder_is_the_named_one_else_tmpdir_else_a_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert spooling.spool_folder() == tmp_path
    monkeypatch.delenv("PANBAYES_SPOOL")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert spooling.spool_folder() == Path("/elsewhere")
    monkeypatch.delenv("TMPDIR")
    assert spooling.spool_folder() == Path("/var") / "tmp"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert spooling.spool_folder() != Path("/var") / "tmp"
