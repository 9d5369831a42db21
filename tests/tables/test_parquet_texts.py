"""Texts in Parquet files that are none: each spoils its own record, and no other."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.sources.dispatch import read_frame
from panbayes.tables.sources.parquet_footer import as_bytes
from panbayes.tables.table import Table


def parquet(texts: list[bytes | None], **options: Any) -> bytes:
    """Write a file with a column of texts that nobody looks at, as some writers do, and columns of other types."""
    column = pa.array(texts, pa.binary()).cast(pa.large_binary())
    unchecked = pa.Array.from_buffers(pa.large_string(), len(column), column.buffers())
    table = pa.table(
        {
            "name": unchecked,
            "age": list(range(len(texts))),
            "stay": pa.array(range(len(texts)), pa.duration("us")),
            "ward": pa.array(["é", None] * (len(texts) // 2)).dictionary_encode(),
        }
    )
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


WRITTEN: dict[str, dict[str, Any]] = {
    "usual": {},
    "plain": {"use_dictionary": False, "compression": "none"},
    "pages of the second kind": {"data_page_version": "2.0", "compression": "zstd"},
    "row groups": {"row_group_size": 1},
    "without Arrow's schema": {"store_schema": False},
}
NAMES = Schema(
    "names",
    (
        Attribute("name", categories=("Ann", "Bo"), other="other", missing="missing"),
        Attribute("age", categories=(0, 1, 2, 3), other="other"),
        Attribute("stay", categories=("PT0S", "PT0.000002S"), other="other"),
        Attribute("ward", categories=("é",), other="other", missing="missing"),
    ),
)


@pytest.mark.parametrize("options", WRITTEN.values(), ids=WRITTEN)
def test_a_text_in_a_parquet_file_that_is_not_utf_8_spoils_its_own_record(
    options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "names.parquet"
    codes = []
    for odd in ("é".encode(), b"\xe9", b"\xff\xfe\xfd"):
        path.write_bytes(parquet([b"Ann", odd, None, b"Bo"], **options))
        codes.append(Table.read(path, NAMES).codes.tolist())
    assert codes[0] == codes[1] == codes[2]
    assert codes[0][0] == [0, 2, 3, 1]
    assert read_frame(path, argument="x")["name"].to_list() == ["Ann", "b'\\xff\\xfe\\xfd'", None, "Bo"]


@pytest.mark.parametrize("options", WRITTEN.values(), ids=WRITTEN)
def test_a_column_of_texts_read_as_bytes_has_the_same_bytes(options: dict[str, Any]) -> None:
    texts = [b"Ann", "é".encode(), None, b""] * 50
    raw = parquet(texts, **options)
    assert pl.read_parquet(io.BytesIO(as_bytes(raw, "name")))["name"].to_list() == texts


@pytest.mark.parametrize("options", WRITTEN.values(), ids=WRITTEN)
def test_a_footer_is_written_as_it_was_read(options: dict[str, Any]) -> None:
    """Everything but what the bytes mean: a column that is not there changes nothing but the notes."""
    raw = parquet([b"Ann", b"Bo"], **options)
    bare = parquet([b"Ann", b"Bo"] * 7, store_schema=False, row_group_size=1)
    assert as_bytes(bare, "absent") == bare
    once = as_bytes(raw, "absent")
    assert as_bytes(once, "absent") == once
    metadata = pq.read_metadata(io.BytesIO(once))
    assert metadata.metadata is None
    assert metadata.schema.equals(pq.read_metadata(io.BytesIO(raw)).schema)
    assert pq.read_table(io.BytesIO(once))["age"].to_pylist() == [0, 1]


def test_a_damaged_footer_is_an_error_and_takes_no_time() -> None:
    raw = parquet([b"Ann", b"Bo"])
    length = int.from_bytes(raw[-8:-4], "little")
    draw = np.random.default_rng(1)
    for _ in range(3_000):
        footer = bytearray(raw[-8 - length : -8])
        for place in draw.integers(length, size=draw.integers(1, 4)):
            footer[place] = draw.integers(256)
        with suppress(ValueError, IndexError):
            as_bytes(raw[: -8 - length] + bytes(footer) + raw[-8:], "name")
    for cut in (b"\x1c" * 5_000, b"\x15" + b"\xff" * 100_000 + b"\x01\0", b"\x19\xfc" + b"\xff" * 9, b""):
        with pytest.raises((ValueError, IndexError)):
            as_bytes(b"PAR1" + cut + len(cut).to_bytes(4, "little") + b"PAR1", "name")
    for short in (b"", b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", raw[:-1]):
        with pytest.raises((ValueError, IndexError)):
            as_bytes(short, "name")
