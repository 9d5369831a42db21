"""Arrow files, streams and tables: what they hold has one text, whatever its type, and spoils its own record alone."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from panbayes.errors import InputError
from panbayes.tables.sources.arrow_columns import ArrowColumns, arrow_batches
from panbayes.tables.sources.dispatch import open_source, read_columns, read_frame
from panbayes.tables.texts import as_text


def unchecked(texts: list[bytes | None], kind: Any = None) -> Any:
    """An array of texts that nobody looked at."""
    raw = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(kind or pa.string(), len(raw), raw.buffers())


ODD: dict[str, tuple[Any, list[str | None]]] = {
    "offsets": (pa.array([0, None], pa.timestamp("s", "+05:30")), ["1970-01-01 05:30:00+05:30", None]),
    "a zone that nobody knows": (
        pa.array([0, None], pa.timestamp("s", "Mars/X")),
        ["a value that cannot be read (timestamp[s, tz=Mars/X])", None],
    ),
    "zones": (pa.array([0], pa.timestamp("ms", "Europe/Berlin")), ["1970-01-01 01:00:00+01:00"]),
    "decimals of hundreds": (pa.array([None, 1200], pa.decimal128(5, -2)), [None, "1200"]),
    "large decimals": (pa.array([None, 1], pa.decimal256(50, 2)), [None, "1"]),
    "half floats": (pa.array([0.5, 2.0], pa.float16()), ["0.5", "2"]),
    "maps": (pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())), ["{'a': 1}", None]),
    "structs": (pa.array([{"a": 1, "b": "x"}]), ["{'a': 1, 'b': 'x'}"]),
    "texts that are none": (unchecked([b"a", b"\xff", None]), ["a", "b'\\xff'", None]),
    "large texts that are none": (pa.array([b"a", b"\xff"], pa.large_binary()), ["a", "b'\\xff'"]),
    "dictionaries of such": (
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 0] * 5, pa.int8()), unchecked([b"a", b"\xff"])),
        ["b'\\xff'", "a", None, "a"] * 5,
    ),
    "dictionaries with gaps": (
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None] * 9, pa.uint16()), pa.array(["a", None])),
        [None, "a", None] * 9,
    ),
    "dictionaries of numbers": (pa.array([7, 8, 7] * 9).dictionary_encode(), ["7", "8", "7"] * 9),
    "views": (
        pa.array(["a", None, "long enough to lie elsewhere"], pa.string_view()),
        ["a", None, "long enough to lie elsewhere"],
    ),
    "days": (pa.array([86_400_000], pa.date64()), ["1970-01-02"]),
    "nothing": (pa.nulls(2), [None, None]),
    "booleans": (pa.array([True, None]), ["true", None]),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"])), ["a", "a", "b"]),
}


@pytest.mark.parametrize("name", ODD)
def test_every_type_has_its_texts(name: str) -> None:
    array, texts = ODD[name]
    assert as_text(ArrowColumns().column("x", array).series()).to_list() == texts
    assert as_text(ArrowColumns().column("x", array.slice(1)).series()).to_list() == texts[1:]


NESTED = [b"a", b"\xff", b"c"]


@pytest.mark.parametrize("kind", ["list", "struct", "map"])
def test_a_text_within_a_value_spoils_its_own_record(kind: str) -> None:
    def column(texts: list[bytes]) -> Any:
        inner = unchecked([*texts])
        if kind == "struct":
            return pa.StructArray.from_arrays([inner, pa.array([b"x"] * 3)], ["t", "b"])
        offsets: Any = pa.array([0, 1, 2, 3], pa.int32())
        if kind == "map":
            return pa.MapArray.from_arrays(offsets, inner, pa.array([1, 2, 3]))
        return pa.ListArray.from_arrays(offsets, inner)

    good, spoilt = (
        as_text(ArrowColumns().column("x", column(texts)).series()).to_list() for texts in ([b"a", b"b", b"c"], NESTED)
    )
    assert good[::2] == spoilt[::2]
    assert good[1] != spoilt[1]


def test_equal_dictionaries_are_one_object() -> None:
    table = pa.table({"x": pa.array(["a", "b"] * 50).dictionary_encode()})
    found = list(arrow_batches([*table.to_batches(40), *table.to_batches(100)], ["x"]))
    assert len({id(batch.columns["x"].values) for batch in found}) == 1
    assert found[0].columns["x"].places is not None
    other = pa.table({"x": pa.array(["c", "b"] * 50).dictionary_encode()})
    both = list(arrow_batches([*table.to_batches(), *other.to_batches(), *table.to_batches()], ["x"]))
    assert [batch.columns["x"].series()[0] for batch in both] == ["a", "c", "a"]


def test_places_outside_a_dictionary_are_damage() -> None:
    for place in (-1, 2, 100):
        bad = pa.DictionaryArray.from_arrays(pa.array([0, place] * 9, pa.int8()), pa.array(["a", "b"]), safe=False)
        with pytest.raises(InputError, match="t: is a damaged or truncated Arrow table"):
            read_frame(pa.table({"x": bad}), argument="t")


TABLE = pa.table(
    {
        "name": ["Ann", None, "Bo"] * 50,
        "age": list(range(150)),
        "ward": pa.array(["a", "b", "b"] * 50).dictionary_encode(),
    }
)


def arrow_files(path: Path) -> dict[str, bytes]:
    made = {}
    for codec in ("uncompressed", "lz4", "zstd"):
        feather.write_feather(TABLE, str(path), compression=codec, chunksize=40)
        made[codec] = path.read_bytes()
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, TABLE.schema) as writer:
        writer.write_table(TABLE, 40)
    return made | {"stream": stream.getvalue()}


def test_arrow_files_of_both_formats(tmp_path: Path) -> None:
    for name, content in arrow_files(tmp_path / "x").items():
        for called in ("t.arrow", "t.feather", *(["t", "t.csv"] if name != "stream" else [])):
            (tmp_path / called).write_bytes(content)
            assert read_frame(tmp_path / called, argument="t").rows() == list(
                zip(*TABLE.to_pydict().values(), strict=True)
            )
            assert read_columns(tmp_path / called, ["ward", "age"], argument="t").rows()[2] == ("b", 2)
    (tmp_path / "old.feather").write_bytes(b"FEA1" + b"\0" * 50)
    with pytest.raises(InputError, match="t: is a Feather file of version 1, which is not read; write it again"):
        read_frame(tmp_path / "old.feather", argument="t")


def test_whatever_hands_out_arrow_data_is_read() -> None:
    rows = list(zip(*TABLE.to_pydict().values(), strict=True))
    relation = duckdb.from_arrow(TABLE)
    for given in (
        relation,
        relation,
        TABLE.to_reader(),
        TABLE.to_batches(40)[0],
        TABLE,
        pl.from_arrow(TABLE),
        TABLE.to_pandas(),
    ):
        found = read_frame(given, argument="t").with_columns(pl.col("ward").cast(pl.String)).rows()
        assert found == rows[: len(found)]
        assert len(found) in (40, 150)
    for other in (
        pl.Series([1]),
        pa.array([1]),
        pa.chunked_array([[1]]),
        pd.Series([1]),
        pa.RecordBatchReader,
        np.zeros(3),
    ):
        with pytest.raises(InputError, match=r"^t: found a"):
            read_frame(other, argument="t")


def test_a_reader_can_be_read_once() -> None:
    reader = TABLE.to_reader()
    with open_source(reader, argument="t") as opened:
        assert opened.columns == ("name", "age", "ward")
        assert sum(batch.records for batch in opened.batches(["age"])) == 150
        with pytest.raises(InputError, match=r"^t: is a stream that has been read; give a new one, or its table"):
            list(opened.batches(["age"]))
    with pytest.raises(InputError, match=r"^t: is a stream that has been read"):
        read_frame(reader, argument="t")


def test_a_stream_that_breaks_is_an_error_about_it() -> None:
    def batches() -> Any:
        yield TABLE.to_batches()[0]
        raise ValueError("Jane Doe")

    with pytest.raises(InputError, match=r"^t: is a damaged or truncated Arrow stream; [^J]*$"):
        read_frame(pa.RecordBatchReader.from_batches(TABLE.schema, batches()), argument="t")


def test_few_columns_are_read_of_many(tmp_path: Path) -> None:
    """A column that is damaged is no matter where nobody asks for it."""
    stream = io.BytesIO()
    pq.write_table(
        pa.table({"a": ["x"] * 1000, "b": pa.array(np.arange(1000))}), stream, compression="none", use_dictionary=False
    )
    raw = bytearray(stream.getvalue())
    at = raw.index(np.arange(1000).tobytes()[:80])
    raw[at - 60 : at] = b"\xff" * 60
    (tmp_path / "t.parquet").write_bytes(raw)
    assert read_columns(tmp_path / "t.parquet", ["a"], argument="t").height == 1000
    with pytest.raises(InputError, match="damaged"):
        read_columns(tmp_path / "t.parquet", ["b"], argument="t")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_that_point_outside_their_bytes_are_damage(kind: Any) -> None:
    """What is not UTF-8 is looked at value by value; what does not lie in the file must not be."""
    width = np.int32 if kind == pa.string() else np.int64
    for ends in ([0, 2**30, 2], [0, -5, 2], [0, 2, 1]):
        offsets = pa.py_buffer(np.array(ends, dtype=width).tobytes())
        bad = pa.Array.from_buffers(kind, 2, [None, offsets, pa.py_buffer(b"\xff\xff")])
        with pytest.raises(InputError, match="t: is a damaged or truncated Arrow table"):
            read_frame(pa.table({"x": bad}), argument="t")
        places = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32).tobytes())
        nested = pa.Array.from_buffers(pa.list_(kind), 2, [None, places], children=[bad])
        with pytest.raises(InputError, match="t: is a damaged or truncated Arrow table"):
            read_frame(pa.table({"x": nested}), argument="t")
