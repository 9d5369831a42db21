"""Ids in every container that people have them in: the same ids, and what is missing drops itself alone."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.columns import chunks
from panbayes.stream.state.coins import seeded_coins
from tests.effort import often

UUIDS = [UUID(int=i * 0x1234567890ABCDEF1234567890ABCDEF % (1 << 128)) for i in range(5)]
NAMES = [str(one) for one in UUIDS]


def read(ids: object) -> list[str | int | None]:
    """What is read of every row: a text, a number, or nothing."""
    found: list[str | int | None] = []
    arena = Arena()
    for chunk in chunks(ids):
        block = chunk.block(0, chunk.size, arena)
        if isinstance(block, Texts):
            spans = zip(block.starts.tolist(), block.lengths.tolist(), strict=True)
            found += [block.data[start : start + length].tobytes().decode() or None for start, length in spans]
        else:
            found += [value if value >= 0 else None for value in block.numbers(arena).tolist()]
    return found


def relation(frame: pl.DataFrame, kind: str) -> object:
    return duckdb.connect().from_arrow(frame.to_arrow()).project(f"id::{kind}")


TEXTS = ["ann", None, "bob", "ann", "somebody with a long name", None]
TEXT_CONTAINERS: dict[str, Callable[[], object]] = {
    "pandas categories": lambda: pd.Series(TEXTS, dtype="category"),
    "pandas objects": lambda: pd.Series(TEXTS, dtype=object),
    "pandas texts": lambda: pd.Series(TEXTS, dtype="str"),
    "pandas frame": lambda: pd.DataFrame({"id": TEXTS}),
    "pandas frame of categories": lambda: pd.DataFrame({"id": pd.Series(TEXTS, dtype="category")}),
    "pandas with NA": lambda: pd.Series([pd.NA if text is None else text for text in TEXTS], dtype=object),
    "polars categories": lambda: pl.Series(TEXTS, dtype=pl.Categorical),
    "polars enum": lambda: pl.Series(TEXTS, dtype=pl.Enum(sorted({text for text in TEXTS if text}))),
    "polars frame": lambda: pl.DataFrame({"id": TEXTS}),
    "polars bytes": lambda: pl.Series([text and text.encode() for text in TEXTS], dtype=pl.Binary),
    "polars objects": lambda: pl.Series(TEXTS, dtype=pl.Object),
    "arrow dictionary": lambda: pa.array(TEXTS).dictionary_encode(),
    "arrow dictionary of views": lambda: (
        pa.array(TEXTS).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string_view()))
    ),
    "arrow bytes": lambda: pa.array([text and text.encode() for text in TEXTS], pa.binary()),
    "arrow large bytes": lambda: pa.array([text and text.encode() for text in TEXTS], pa.large_binary()),
    "arrow views of bytes": lambda: pa.array([text and text.encode() for text in TEXTS], pa.binary_view()),
    "arrow table": lambda: pa.table({"id": TEXTS}),
    "arrow slice of a batch": lambda: pa.record_batch({"id": ["x", *TEXTS]}).slice(1),
    "list": lambda: TEXTS,
    "list with NaN": lambda: [float("nan") if text is None else text for text in TEXTS],
    "list of NumPy texts": lambda: [None if text is None else np.str_(text) for text in TEXTS],
    "list of bytes": lambda: [text and text.encode() for text in TEXTS],
    "array of objects": lambda: np.array(TEXTS, dtype=object),
    "generator": lambda: (text for text in TEXTS),
}


@pytest.mark.parametrize("container", TEXT_CONTAINERS)
def test_texts_in_every_container(container: str) -> None:
    assert read(TEXT_CONTAINERS[container]()) == TEXTS


NUMBERS = [5, None, 7, 5, 123456, None]
NUMBER_CONTAINERS: dict[str, Callable[[], object]] = {
    "pandas": lambda: pd.Series(NUMBERS, dtype="Int64"),
    "pandas objects": lambda: pd.Series(NUMBERS, dtype=object),
    "pandas categories": lambda: pd.Series(pd.Series(NUMBERS, dtype="Int64"), dtype="category"),
    "polars frame": lambda: pl.DataFrame({"id": NUMBERS}),
    "arrow dictionary": lambda: pa.array(NUMBERS).dictionary_encode(),
    "arrow table": lambda: pa.table({"id": NUMBERS}),
    "list": lambda: NUMBERS,
    "list of NumPy numbers": lambda: [None if n is None else np.uint32(n) for n in NUMBERS],
    "masked array": lambda: np.ma.masked_equal([5, 0, 7, 5, 123456, 0], 0),
    "array of objects": lambda: np.array(NUMBERS, dtype=object),
}


@pytest.mark.parametrize("container", NUMBER_CONTAINERS)
def test_numbers_in_every_container(container: str) -> None:
    assert read(NUMBER_CONTAINERS[container]()) == NUMBERS


UUID_CONTAINERS: dict[str, Callable[[], object]] = {
    "list": lambda: UUIDS,
    "pandas": lambda: pd.Series(UUIDS),
    "pandas frame": lambda: pd.DataFrame({"id": UUIDS}),
    "polars objects": lambda: pl.Series(UUIDS, dtype=pl.Object),
    "array of objects": lambda: np.array(UUIDS, dtype=object),
    "arrow": lambda: pa.array([one.bytes for one in UUIDS], pa.uuid()),
    "slice of arrow": lambda: pa.array([bytes(16), *(one.bytes for one in UUIDS)], pa.uuid())[1:],
    "DuckDB": lambda: relation(pl.DataFrame({"id": NAMES}), "uuid"),
    "texts": lambda: NAMES,
}


@pytest.mark.parametrize("container", UUID_CONTAINERS)
def test_a_uuid_is_its_text_in_every_container(container: str) -> None:
    assert read(UUID_CONTAINERS[container]()) == NAMES


def test_relations_of_duckdb_and_bytes_of_one_width() -> None:
    assert read(relation(pl.DataFrame({"id": [3, 1]}), "bigint")) == [3, 1]
    assert read(relation(pl.DataFrame({"id": ["a", "b"]}), "varchar")) == ["a", "b"]
    assert read(pa.array([b"ab", None, b"cd"], pa.binary(2))) == ["ab", None, "cd"]
    assert read(pl.Series([None, None])) == [None, None]


@settings(max_examples=often(40, 200))
@given(st.lists(st.sampled_from(["a", "bb", "somebody with a long name", None]), max_size=30), st.data())
def test_categories_are_looked_up_row_by_row(rows: list[str | None], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(rows)))
    column = pa.array(rows, pa.string()).dictionary_encode()[begin:]
    assert read(column) == rows[begin:]
    assert read(pl.Series(rows, dtype=pl.Categorical)[begin:]) == rows[begin:]


def test_rows_of_a_struct_and_values_of_a_dictionary_may_be_missing() -> None:
    rows = pa.array([{"id": "x"}, {"id": "ann"}, None, {"id": None}, {"id": "bob"}])
    assert read(rows[1:]) == ["ann", None, None, "bob"]
    numbers = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["id"], mask=pa.array([False, True, False]))
    assert read(numbers) == [1, None, 3]
    values = pa.array(["ann", None])
    assert read(pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), values)) == ["ann", None, None, "ann"]
    assert read(pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([5, None]))) == [5, None]


def test_what_cannot_be_ids_is_refused_by_its_type_and_without_its_value() -> None:
    with DensityEstimator(10, epsilon=1) as estimator:
        for ids, found in (
            (pl.DataFrame({"a": [1], "b": [2]}), "a frame of 2 columns"),
            (pd.DataFrame({"a": [UUIDS[0]], "b": [object()]}), "a frame of 2 columns"),
            (pl.DataFrame(), "a frame of 0 columns"),
            ([1.5], "item of type float"),
            ([True], "item of type bool"),
            (["a", object()], "item of type object"),
            ([np.array([1])], "item of type ndarray"),
            (pl.Series([[1]]), "a column of another type"),
            (pl.Series([1.5]), "a column of another type"),
            (np.array([1.5]), ""),
            (np.zeros((2, 2), int), ""),
            ("abc", ""),
            (b"abc", ""),
            (5, ""),
            ({"abc": 1}, ""),
        ):
            with pytest.raises(InputError, match=f"ids: found .*{found}") as refused:
                estimator.update(ids)
            assert not [value for value in ("1.5", "abc") if value in str(refused.value)], found


def test_numbers_among_texts_are_their_digits() -> None:
    assert read([1, "a", None, b"b", np.int8(7)]) == ["1", "a", None, "b", "7"]


def test_a_missing_id_drops_itself_and_not_the_batch() -> None:
    """At a huge budget, and with these coins, the state is exact: all users but the missing one are seen."""
    with DensityEstimator(1000, epsilon=60, state_epsilon=20, coins=seeded_coins(1)) as estimator:
        estimator.update([None, *range(999)])
        assert estimator.estimate().unbiased == pytest.approx(0.999, abs=1e-6)
