"""Delta and Iceberg: every value as from a Parquet file, at one snapshot, which is an error when it is gone."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table as IcebergTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StringType

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.sources.batch import BATCH_RECORDS
from panbayes.tables.sources.dispatch import open_source, read_columns, read_frame
from panbayes.tables.table import Table
from panbayes.tables.texts import as_text
from tests.tables.lakes import (
    CATALOG,
    catalog_settings,
    create_iceberg,
    delete_by_vector,
    delete_positions,
)

UTC = dt.UTC
DAYS = [dt.datetime(2020, 1, 1, 12, 30), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), None]
VALUES = pa.table(
    {
        "text": pa.array(["a", "ü b", None]),
        "whole": pa.array([1, -(2**62), None]),
        "small": pa.array([1, -7, None], pa.int32()),
        "real": pa.array([0.1, -1e300, None]),
        "single": pa.array([0.5, 0.1, None], pa.float32()),
        "money": pa.array([Decimal("1.20"), Decimal("-3.00"), None], pa.decimal128(9, 2)),
        "flag": pa.array([True, False, None]),
        "day": pa.array([dt.date(2020, 2, 29), dt.date(1900, 1, 1), None]),
        "then": pa.array([day and day.replace(tzinfo=UTC) for day in DAYS], pa.timestamp("us", tz="UTC")),
        "local": pa.array(DAYS, pa.timestamp("us")),
        "bytes": pa.array([b"ab", b"\xff", None]),
        "list": pa.array([[1, 2], [], None]),
        "struct": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": "y"}, None]),
    }
)


def delta(
    folder: Path,
    table: pa.Table,
    *,
    partition_by: list[str] | None = None,
    configuration: dict[str, str | None] | None = None,
    merge: bool = False,
) -> str:
    write_deltalake(
        folder / "people",
        table,
        mode="append",
        partition_by=partition_by,
        configuration=configuration,
        schema_mode="merge" if merge else None,
    )
    return f"delta://{folder}/people"


def iceberg(table: pa.Table, **properties: str) -> str:
    return f"iceberg://{CATALOG}/{create_iceberg(table, **properties)}"


def changed(address: str, change: Callable[[IcebergTable], object]) -> None:
    """Change an Iceberg table."""
    with load_catalog(CATALOG, **catalog_settings()) as catalog:
        change(catalog.load_table(address.rpartition("/")[2]))


def appending(records: pa.Table) -> Callable[[IcebergTable], object]:
    return lambda table: table.append(records)


def pinned(address: str) -> str:
    with open_source(address, argument="data") as opened:
        return str(opened.pinned)


def column(address: str, name: str = "i") -> list[object]:
    return sorted(read_columns(address, [name], argument="data", may_be_empty=True)[name].to_list(), key=str)


def numbers(start: int, stop: int) -> pa.Table:
    return pa.table(
        {
            "i": pa.array(range(start, stop), pa.int64()),
            "s": pa.array([f"s{k % 3}" for k in range(start, stop)], pa.string()),
        }
    )


def both(tmp_path: Path, table: pa.Table) -> dict[str, str]:
    return {"delta": delta(tmp_path, table), "iceberg": iceberg(table)}


def test_every_value_is_read_as_from_a_parquet_file(tmp_path: Path) -> None:
    pq.write_table(VALUES, tmp_path / "people.parquet")
    wanted = read_frame(tmp_path / "people.parquet", argument="data")
    for address in both(tmp_path, VALUES).values():
        found = read_frame(address, argument="data")
        assert found.columns == wanted.columns
        for name in wanted.columns:
            assert as_text(found[name]).to_list() == as_text(wanted[name]).to_list(), (address, name)


def test_batches_are_small_and_texts_of_iceberg_are_dictionaries(tmp_path: Path) -> None:
    many = BATCH_RECORDS + 100
    for kind, address in both(tmp_path, numbers(0, many)).items():
        with open_source(address, argument="data") as opened:
            batches = list(opened.batches(["s", "i"]))
            assert sum(batch.records for batch in opened.batches([])) == many, "also of no column"
        assert sum(batch.records for batch in batches) == many
        assert max(batch.records for batch in batches) <= BATCH_RECORDS
        assert all((batch.columns["s"].places is not None) == (kind == "iceberg") for batch in batches)
        assert np.concatenate([batch.columns["i"].series().to_numpy() for batch in batches]).tolist() == [*range(many)]


def test_what_is_pinned_stays_what_it_was(tmp_path: Path) -> None:
    for kind, address in both(tmp_path, numbers(0, 4)).items():
        then = pinned(address)
        assert then.startswith(f"{address}?{'version=0' if kind == 'delta' else 'snapshot='}")
        assert pinned(then) == then
        if kind == "delta":
            delta(tmp_path, numbers(4, 6))
        else:
            changed(address, appending(numbers(4, 6)))
        assert column(address) == [*range(6)]
        assert column(then) == [*range(4)]
        assert pinned(address) != then


def test_deleted_records_are_not_read(tmp_path: Path) -> None:
    address = delta(tmp_path, numbers(0, 10), configuration={"delta.enableDeletionVectors": "true"})
    delete_by_vector(tmp_path / "people", [1, 4, 9])
    assert column(address) == [0, 2, 3, 5, 6, 7, 8]
    assert column(f"{address}?version=0") == [*range(10)]
    address = iceberg(numbers(0, 10))
    before = pinned(address)
    delete_positions(address.rpartition("/")[2], [1, 4, 9])
    assert column(address) == [0, 2, 3, 5, 6, 7, 8]
    assert column(address, "s") == sorted(f"s{k % 3}" for k in (0, 2, 3, 5, 6, 7, 8))
    assert column(before) == [*range(10)]


def test_columns_that_came_later_are_missing_before(tmp_path: Path) -> None:
    more = numbers(4, 6).append_column("new", pa.array(["x", "y"]))
    address = delta(tmp_path, numbers(0, 4))
    delta(tmp_path, more, merge=True)
    assert column(address, "new") == [None] * 4 + ["x", "y"]
    address = iceberg(numbers(0, 4))

    def evolve(table: IcebergTable) -> None:
        with table.update_schema() as update:
            update.add_column("new", StringType())
        table.append(more)

    changed(address, evolve)
    assert column(address, "new") == [None] * 4 + ["x", "y"]


def test_columns_keep_their_values_under_other_names() -> None:
    table = numbers(0, 4).append_column("t", pa.array(["p", "q", "r", None]))
    address = iceberg(table)
    before = pinned(address)

    def swap(table: IcebergTable) -> None:
        for old, new in (("s", "x"), ("t", "s"), ("i", "t"), ("x", "i")):
            with table.update_schema() as update:
                update.rename_column(old, new)

    changed(address, swap)
    now = pinned(address)
    assert "schema_id=" in now
    for at in (address, now):
        assert column(at, "s") == sorted(["p", "q", "r", None], key=str)
        assert column(at, "t") == [0, 1, 2, 3]
        assert column(at, "i") == ["s0", "s0", "s1", "s2"]
    assert column(before, "i") == [0, 1, 2, 3]
    with pytest.raises(InputError, match=r"has no schema 77; leave out schema_id"):
        column(f"{address}?schema_id=77")


def test_partitions_are_columns(tmp_path: Path) -> None:
    table = numbers(0, 6).append_column("p", pa.array(["x", "a/b =", None] * 2))
    address = delta(tmp_path, table, partition_by=["p"])
    assert column(address, "p") == sorted(["x", "a/b =", None] * 2, key=str)
    assert column(address) == [*range(6)]
    with load_catalog(CATALOG, **catalog_settings()) as catalog:
        catalog.create_namespace_if_not_exists("clinic")
        empty = catalog.create_table("clinic.parted", schema=table.schema)
        with empty.update_spec() as update:
            update.add_field("p", IdentityTransform())
        empty.append(table)
    address = f"iceberg://{CATALOG}/clinic.parted"
    assert column(address, "p") == sorted(["x", "a/b =", None] * 2, key=str)
    assert column(address) == [*range(6)]


def test_records_come_in_the_same_order_every_time(tmp_path: Path) -> None:
    addresses = both(tmp_path, numbers(0, 50))
    for start in range(50, 400, 50):
        delta(tmp_path, numbers(start, start + 50))
        changed(addresses["iceberg"], appending(numbers(start, start + 50)))
    for address in addresses.values():
        orders = {tuple(read_columns(address, ["i"], argument="data")["i"].to_list()) for _ in range(3)}
        assert len(orders) == 1
        assert sorted(orders.pop()) == [*range(400)]


def test_a_person_keeps_the_same_records(tmp_path: Path) -> None:
    schema = Schema("s", (Attribute("s", categories=("s0", "s1", "s2")),), unit=Unit("who", 1))
    table = numbers(0, 60).append_column("who", pa.array([str(k % 20) for k in range(60)]))
    for address in both(tmp_path, table).values():
        read = Table.read(f"{address}?order_by=i", schema)
        assert read.codes.tolist() == Table.read(pl.DataFrame(table), schema).codes.tolist()


def test_a_table_without_records_is_pinned_too(tmp_path: Path) -> None:
    for kind, address in both(tmp_path, numbers(0, 0)).items():
        then = pinned(address)
        assert then == f"{address}?{'version=0' if kind == 'delta' else 'snapshot=-1'}"
        assert column(then) == []
        with pytest.raises(InputError, match="holds no records"):
            read_columns(then, ["i"], argument="data")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("version=1", "has no version 1, or not any more; give a version that is still there"),
        ("version=-1", "has no version -1, or not any more"),
        ("version=x", 'option "version" is "x"; give a whole number'),
        ("snapshot=1", 'has no option "snapshot"'),
    ],
)
def test_a_version_that_is_not_there(options: str, complaint: str, tmp_path: Path) -> None:
    address = f"{delta(tmp_path, numbers(0, 4))}?{options}"
    with pytest.raises(InputError) as caught:
        column(address)
    assert str(caught.value).startswith(f"{address}: {complaint}")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("snapshot=1", "has no snapshot 1, or not any more; give a snapshot that is still there"),
        (f"snapshot={2**70}", f'option "snapshot" is "{2**70}"; give a whole number'),
        ("version=1", 'has no option "version"'),
    ],
)
def test_a_snapshot_that_is_not_there(options: str, complaint: str) -> None:
    address = f"{iceberg(numbers(0, 4))}?{options}"
    with pytest.raises(InputError) as caught:
        column(address)
    assert str(caught.value).startswith(f"{address}: {complaint}")


def test_a_version_that_was_vacuumed_is_an_error_and_never_the_newer_one(tmp_path: Path) -> None:
    address = delta(tmp_path, numbers(0, 4))
    write_deltalake(tmp_path / "people", numbers(7, 9), mode="overwrite")
    assert column(f"{address}?version=0") == [0, 1, 2, 3]
    DeltaTable(tmp_path / "people").vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(InputError, match=r"version 0 cannot be read: a file of it is gone or damaged; see whether"):
        column(f"{address}?version=0")
    assert column(address) == [7, 8]


def test_a_snapshot_that_was_expired_is_an_error_and_never_the_newer_one() -> None:
    address = iceberg(numbers(0, 4))
    then = pinned(address)
    changed(address, appending(numbers(4, 6)))
    number = int(then.partition("snapshot=")[2])
    changed(address, lambda table: table.maintenance.expire_snapshots().by_id(number).commit())
    with pytest.raises(InputError, match=rf"has no snapshot {number}, or not any more"):
        column(then)
    assert column(address) == [*range(6)]


def test_a_file_that_vanishes_in_the_middle_is_an_error(tmp_path: Path) -> None:
    addresses = both(tmp_path, numbers(0, 10))
    for start in (10, 20):
        delta(tmp_path, numbers(start, start + 10))
        changed(addresses["iceberg"], appending(numbers(start, start + 10)))
    for kind, address in addresses.items():
        folder = tmp_path / "people" if kind == "delta" else _data_of(address)
        with open_source(address, argument="data") as opened:
            batches = opened.batches(["i"])
            next(batches)
            for file in folder.glob("*.parquet"):
                file.unlink()
            with pytest.raises(InputError) as caught:
                list(batches)
        assert str(caught.value).startswith(f"{address}: {'version' if kind == 'delta' else 'snapshot'} ")
        assert "cannot be read: a file of it is gone" in str(caught.value)
        assert ".parquet" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def _data_of(address: str) -> Path:
    with load_catalog(CATALOG, **catalog_settings()) as catalog:
        place = catalog.load_table(address.rpartition("/")[2]).location()
    return Path(place.removeprefix("file://")) / "data"


def test_damaged_files_are_an_error_without_values(tmp_path: Path) -> None:
    for kind, address in both(tmp_path, pa.table({"i": ["Jane Doe"] * 50})).items():
        (file,) = (tmp_path / "people" if kind == "delta" else _data_of(address)).glob("*.parquet")
        whole = file.read_bytes()
        complaints = set()
        for length in range(0, len(whole), 40):
            file.write_bytes(whole[:length])
            with pytest.raises(InputError) as caught:
                column(address)
            complaints.add(str(caught.value))
        assert len(complaints) == 1
        assert "Jane" not in complaints.pop()


def test_what_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog_settings()
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("secret")
    monkeypatch.setenv("PYICEBERG_CATALOG__CLOSED__URI", "http://127.0.0.1:9/secret")
    for address, complaint in {
        f"delta://{tmp_path}/nowhere": "is no directory that can be read; check the path",
        f"delta://{tmp_path}": "is no Delta table that can be read; check the path",
        "iceberg://lake": "names no catalog and table; write it as iceberg://catalog/namespace.table",
        "iceberg://lake/people": "names no catalog and table; write it as iceberg://catalog/namespace.table",
        "iceberg://lake/clinic.nobody": 'the catalog has no table "clinic.nobody"; check namespace and name',
        "iceberg://nolake/clinic.people": 'the catalog "nolake" cannot be reached; see pyiceberg\'s configuration',
    }.items():
        with pytest.raises(InputError) as caught:
            column(address)
        assert str(caught.value).startswith(f"{address}: {complaint}")
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("module", "address"), [("deltalake", "delta://{}"), ("pyiceberg", "iceberg://lake/a.b")])
def test_a_missing_library_is_named_with_the_command(
    module: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        InputError, match=rf"needs {module}.*, which is not installed; run: pip install 'panbayes\[lake\]'"
    ):
        column(address.format(tmp_path))


def test_one_data_file_of_iceberg_is_in_memory_at_a_time_and_not_whole() -> None:
    address = iceberg(numbers(0, 400_000))
    for start in range(1, 6):
        changed(address, appending(numbers(start * 400_000, (start + 1) * 400_000)))

    def peak() -> int:
        most = 0
        with open_source(address, argument="data") as opened:
            for batch in opened.batches(["i", "s"]):
                most = max(most, pa.total_allocated_bytes())
                assert batch.records
        return most

    before = pa.total_allocated_bytes()
    whole = 6 * 400_000 * 12
    assert peak() - before < whole / 2
