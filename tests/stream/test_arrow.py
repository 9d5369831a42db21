"""Columns as polars and pyarrow really hand them over, in every layout, against the plain lists they were made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.arrow import arrow_chunks
from panbayes.stream.ids.chunk import Integers, Texts
from tests.effort import often

Rows = list[str | None]


def read_texts(column: object) -> list[bytes]:
    """Read every text as its bytes; a missing one is empty."""
    found: list[bytes] = []
    for chunk in arrow_chunks(column):
        texts = chunk.block(0, chunk.size, Arena())
        assert isinstance(texts, Texts)
        for start, length in zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True):
            found.append(texts.data[start : start + length].tobytes() if length else b"")
    return found


def read_integers(column: object) -> list[int | None]:
    found: list[int | None] = []
    for chunk in arrow_chunks(column):
        block = chunk.block(0, chunk.size, Arena())
        assert isinstance(block, Integers)
        missing = np.zeros(block.size, dtype=bool) if block.missing is None else block.missing
        found += [None if gone else value for value, gone in zip(block.values.tolist(), missing.tolist(), strict=True)]
    return found


def plain(rows: Sequence[str | None]) -> list[bytes]:
    return [(row or "").encode() for row in rows]


def uncounted(rows: Rows) -> object:
    """An array whose producer has not counted its nulls."""
    made = pa.array(rows, pa.string())
    return pa.Array.from_buffers(pa.string(), len(made), made.buffers(), -1, made.offset)


def polars_parts(rows: Rows) -> pl.Series:
    half = len(rows) // 2
    first, second = pl.Series("id", rows[:half], dtype=pl.String), pl.Series("id", rows[half:], dtype=pl.String)
    return pl.concat([first, second], rechunk=False)


PRODUCERS: dict[str, Callable[[Rows], object]] = {
    "string": lambda rows: pa.array(rows, pa.string()),
    "large string": lambda rows: pa.array(rows, pa.large_string()),
    "string view": lambda rows: pa.array(rows, pa.string_view()),
    "nulls not counted": uncounted,
    "chunks": lambda rows: pa.chunked_array([rows[:1], [], rows[1:]], pa.string()),
    "chunks of views": lambda rows: pa.chunked_array([rows[:2], rows[2:]], pa.string_view()),
    "no chunks": lambda rows: pa.chunked_array([rows] if rows else [], pa.large_string()),
    "polars": lambda rows: pl.Series("id", rows, dtype=pl.String),
    "polars in parts": polars_parts,
    "polars to arrow": lambda rows: pl.Series("id", rows, dtype=pl.String).to_arrow(),
    "column of a table": lambda rows: pa.table({"id": pa.array(rows, pa.string())})["id"],
}

# Views keep twelve bytes inside, so lengths around that; and texts of more than one byte a letter.
texts = st.one_of(
    st.none(), st.text(max_size=5), st.text("0123456789.", min_size=11, max_size=14), st.text(min_size=13, max_size=60)
)


@pytest.mark.parametrize("producer", PRODUCERS)
@settings(max_examples=often(20, 60))
@given(rows=st.lists(texts, max_size=40), data=st.data())
def test_texts_of_every_producer(producer: str, rows: Rows, data: st.DataObject) -> None:
    """Whole, and as any slice: offsets into the buffers that are not multiples of eight."""
    column = PRODUCERS[producer](rows)
    assert read_texts(column) == plain(rows)
    assert isinstance(column, pa.Array | pa.ChunkedArray | pl.Series)
    begin = data.draw(st.integers(0, len(rows)))
    length = data.draw(st.integers(0, len(rows) - begin))
    assert read_texts(column.slice(begin, length)) == plain(rows[begin : begin + length])


KINDS = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("library", ["pyarrow", "polars"])
@settings(max_examples=often(8, 30))
@given(data=st.data())
def test_integers_of_every_producer(kind: pa.DataType, library: str, data: st.DataObject) -> None:
    limits = np.iinfo(str(kind))
    rows = data.draw(st.lists(st.none() | st.integers(int(limits.min), int(limits.max)), max_size=40))
    made = pa.array(rows, kind)
    column = made if library == "pyarrow" else pl.Series("id", made)
    begin = data.draw(st.integers(0, len(rows)))
    length = data.draw(st.integers(0, len(rows) - begin))
    assert read_integers(column) == rows
    assert read_integers(column.slice(begin, length)) == rows[begin : begin + length]


def test_long_columns_in_blocks() -> None:
    """More rows than a block holds, with a slice that begins in the middle of one."""
    rng = np.random.default_rng(3)
    sizes, gone = rng.integers(0, 30, 100_000).tolist(), rng.random(100_000) < 0.1
    rows: Rows = [None if g else str(i).rjust(size, "x") for i, (size, g) in enumerate(zip(sizes, gone, strict=True))]
    wanted = plain(rows)
    for name, producer in PRODUCERS.items():
        column = producer(rows)
        assert read_texts(column) == wanted, name
        assert isinstance(column, pa.Array | pa.ChunkedArray | pl.Series)
        assert read_texts(column.slice(30_001, 66_003)) == wanted[30_001:96_004], name


def test_only_nulls_and_only_empty_texts() -> None:
    for producer in PRODUCERS.values():
        for rows in ([], [None], [None] * 20, [""], [""] * 20, [None, "", "a"]):
            assert read_texts(producer(list(rows))) == plain(rows)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5]),
        pa.array([[1]]),
        pa.array([True]),
        pa.array([1.5]).dictionary_encode(),
        pa.array([{"a": 1, "b": 2}]),
        pa.table({"a": [1], "b": [2]}),
    ],
    ids=lambda column: f"{type(column).__module__}.{getattr(column, 'type', type(column).__name__)}",
)
def test_other_columns_are_refused_by_their_type(column: object) -> None:
    with pytest.raises(InputError, match=r"ids: found a (column of another type|frame of 2 columns)"):
        list(arrow_chunks(column))


def test_a_column_left_half_way_is_released() -> None:
    """The producer's memory is given back when reading stops early, and nothing is read afterwards."""
    before = pa.total_allocated_bytes()
    column = pa.chunked_array([[str(i) * 9 for i in range(1000)] for _ in range(50)], pa.string())
    reading = arrow_chunks(column)
    next(reading)
    del column, reading
    assert pa.total_allocated_bytes() == before
