"""Tables in a lake, made for tests: what their address is."""

from __future__ import annotations

import itertools
import json
import os
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import polars as pl
import pyarrow as pa

__all__ = [
    "CATALOG",
    "as_delta",
    "as_iceberg",
    "catalog_settings",
    "create_iceberg",
    "delete_by_vector",
    "delete_positions",
]

CATALOG: Final = "lake"
_NUMBERS: Final = itertools.count()


def as_delta(frame: pl.DataFrame, path: Path) -> str:
    """Write a Delta table whose columns may have any names, and return its address."""
    from deltalake import write_deltalake

    place = Path(tempfile.mkdtemp(dir=path.parent)) / path.name
    write_deltalake(place.as_uri(), frame.to_arrow(), configuration={"delta.columnMapping.mode": "name"})
    return f"delta://{quote(str(place))}"


@cache
def _warehouse() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="panbayes-lake-")


def catalog_settings() -> dict[str, str]:
    """Return the settings of a catalog in a file, which are the environment's from now on."""
    place = _warehouse().name
    settings = {"type": "sql", "uri": f"sqlite:///{place}/catalog.db", "warehouse": f"file://{place}"}
    for name, value in settings.items():
        os.environ[f"PYICEBERG_CATALOG__{CATALOG.upper()}__{name.upper()}"] = value
    return settings


def create_iceberg(table: pa.Table, **properties: str) -> str:
    """Make an Iceberg table with some records, and return its name."""
    from pyiceberg.catalog import load_catalog

    with load_catalog(CATALOG, **catalog_settings()) as catalog:
        catalog.create_namespace_if_not_exists("clinic")
        name = f"clinic.t{next(_NUMBERS)}"
        made = catalog.create_table(name, schema=table.schema, properties=properties)
        if table.num_rows:
            made.append(table)
    return name


def as_iceberg(frame: pl.DataFrame, _path: Path) -> str:
    """Make an Iceberg table and return its address."""
    return f"iceberg://{CATALOG}/{create_iceberg(frame.to_arrow())}"


def _z85(data: bytes) -> str:
    """Write bytes as Delta does within its log."""
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = struct.unpack(f">{len(data) // 4}I", data)
    return "".join(letters[word // 85**place % 85] for word in words for place in (4, 3, 2, 1, 0))


def delete_by_vector(table: Path, positions: list[int]) -> None:
    """Add a version of a Delta table of one file in which some of its records are deleted by a vector.

    The vector is one array container of a Roaring bitmap in the first 2³² positions, within the log.
    """
    log = table / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    added = next(action["add"] for action in actions if "add" in action)
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(positions) - 1, 16) + struct.pack(f"<{len(positions)}H", *positions)
    data = struct.pack("<iqi", 1681511377, 1, 0) + bitmap
    data += bytes(-len(data) % 4)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": _z85(data),
        "sizeInBytes": len(data),
        "cardinality": len(positions),
    }
    removed = {"path": added["path"], "deletionTimestamp": 0, "dataChange": True}
    lines = [{"remove": removed}, {"add": {**added, "deletionVector": vector}}]
    (log / f"{1:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))


def delete_positions(name: str, positions: list[int]) -> None:
    """Add a snapshot of an Iceberg table of one file in which some of its records are deleted by their positions."""
    import pyarrow.parquet as pq
    from pyiceberg.catalog import load_catalog
    from pyiceberg.manifest import (
        DataFile,
        DataFileContent,
        FileFormat,
        ManifestContent,
        ManifestEntry,
        ManifestEntryStatus,
        ManifestFile,
        ManifestWriterV2,
    )
    from pyiceberg.table.snapshots import Operation
    from pyiceberg.table.update.snapshot import _FastAppendFiles
    from pyiceberg.typedef import Record

    with load_catalog(CATALOG, **catalog_settings()) as catalog:
        table = catalog.load_table(name)
        (data,) = (task.file.file_path for task in table.scan().plan_files())
        path = f"{table.location()}/data/deletes.parquet"
        ids = ({"PARQUET:field_id": "2147483546"}, {"PARQUET:field_id": "2147483545"})
        where = pa.field("file_path", pa.string(), metadata=ids[0])
        place: pa.Field[Any] = pa.field("pos", pa.int64(), metadata=ids[1])
        schema = pa.schema([where, place])
        file = Path(path.removeprefix("file://"))
        pq.write_table(pa.table({"file_path": [data] * len(positions), "pos": positions}, schema=schema), file)
        deletes = DataFile.from_args(
            content=DataFileContent.POSITION_DELETES,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=len(positions),
            file_size_in_bytes=file.stat().st_size,
        )

        class Deletes(ManifestWriterV2):
            """Lists files of deletes."""

            def content(self) -> ManifestContent:
                return ManifestContent.DELETES

            @property
            def _meta(self) -> dict[str, str]:
                return {**super()._meta, "content": "deletes"}

        class Delete(_FastAppendFiles):
            """Adds a list of deletes to what is there."""

            def _manifests(self) -> list[ManifestFile]:
                listed = table.io.new_output(f"{table.location()}/metadata/deletes.avro")
                with Deletes(table.spec(), table.schema(), listed, self._snapshot_id, "deflate") as writer:
                    writer.add_entry(
                        ManifestEntry.from_args(
                            status=ManifestEntryStatus.ADDED, snapshot_id=self._snapshot_id, data_file=deletes
                        )
                    )
                return [writer.to_manifest_file(), *self._existing_manifests()]

        with table.transaction() as transaction:
            Delete(operation=Operation.DELETE, transaction=transaction, io=table.io).commit()
