"""Codes in words: as few as they need, and nothing but what was asked for comes out of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.tables.counting.engines import engine
from panbayes.tables.sql.push_down import SETS, chunks
from panbayes.tables.sql.session import arrow_rows
from panbayes.tables.sql.words import ROOM, Word, packed

sizes = st.lists(st.integers(1, 70_000), min_size=1, max_size=60)


@given(sizes)
def test_every_column_lies_in_one_word_that_has_room(found: list[int]) -> None:
    words = packed(found)
    assert sorted(column for word in words for column in word.columns) == list(range(len(found)))
    assert all(word.values == math.prod(found[column] for column in word.columns) <= ROOM for word in words)
    # No two words would fit into one, so that there are less than twice as many as their bits need.
    assert all(one.values * other.values > ROOM for one, other in itertools.pairwise(words))


@pytest.mark.parametrize("bad", [-1, 6, 2**62])
def test_a_word_that_nobody_asked_for_is_seen(bad: int) -> None:
    word = Word((0, 1), (2, 3))
    out = np.zeros((2, 2), dtype=np.int32)
    assert word.unpack(np.array([5, 0]), out, engine("numpy"))
    assert out.tolist() == [[1, 0], [2, 0]]
    assert not word.unpack(np.array([0, bad]), out, engine("numpy"))


def test_columns_that_nobody_asked_for_are_refused() -> None:
    import pyarrow as pa

    good = pa.record_batch([pa.array([1, 2], pa.int16()), pa.array(["a", "b"])], names=["w", "r"])
    (rows,) = arrow_rows([good], 1, 1, argument="data")
    assert rows.words.tolist() == [[1, 2]]
    for words, raw in ((1, 0), (2, 0), (0, 1)):
        with pytest.raises(InputError, match="answered otherwise than it was asked"):
            list(arrow_rows([good], words, raw, argument="data"))
    null = pa.record_batch([pa.array([1, None], pa.int64())], names=["w"])
    with pytest.raises(InputError, match="answered otherwise"):
        list(arrow_rows([null], 1, 0, argument="data"))


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5, unique=True).map(tuple), max_size=200),
    st.integers(5, 31),
)
def test_statements_name_no_more_attributes_than_a_database_takes(found: list[tuple[int, ...]], most: int) -> None:
    asked = sorted(set(found))
    parts = list(chunks(asked, most))
    assert sorted(one for part in parts for one in part) == asked
    assert all(len({axis for one in part for axis in one}) <= most and len(part) <= SETS for part in parts)
