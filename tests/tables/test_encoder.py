"""Codes by dictionaries are the codes of the values one by one, whatever the column's type and the batches."""

from __future__ import annotations

import datetime as dt
import tracemalloc
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables import encoder
from panbayes.tables.encoder import MISSING, OUTSIDE, OWN, BatchEncoder
from panbayes.tables.encoding import Encoded, encode_values
from panbayes.tables.sources.batch import Batch, Column
from tests.effort import often
from tests.tables.strategies import anything, attributes

MARKERS = ("?", "NA", "7")

TYPED: dict[str, pl.Series] = {
    "texts": pl.Series(["a", " a", "b", "?", None, "", "7", "7.0", "2020-01-01", "true"]),
    "integers": pl.Series([-3, 0, 7, None, 4000, 7, 1], dtype=pl.Int64),
    "bytes to the edge": pl.Series([-128, 127, None, 7], dtype=pl.Int8),
    "large unsigned": pl.Series([2**64 - 1, 2**64 - 3, None, 2**64 - 1], dtype=pl.UInt64),
    "very large": pl.Series([2**100, 2**100 + 5, None, 2**100], dtype=pl.Int128),
    "integers far apart": pl.Series([-(2**62), 2**62, 7, None], dtype=pl.Int64),
    "floats": pl.Series([0.0, -0.0, 7.0, float("nan"), None, float("inf"), 1e300, 0.25]),
    "short floats": pl.Series([0.1, 7.0, None, float("nan")], dtype=pl.Float32),
    "booleans": pl.Series([True, False, None, True]),
    "days": pl.Series([dt.date(2020, 1, 1), None, dt.date(1999, 12, 31)]),
    "times": pl.Series([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12, 0, 0, 5), None]),
    "hours": pl.Series([dt.time(1, 2, 3), None]),
    "durations": pl.Series([dt.timedelta(hours=25), None]),
    "decimals": pl.Series([Decimal("7.00"), Decimal("0.25"), None]),
    "categories": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
    "an enum": pl.Series(["a", "b", None, "a"], dtype=pl.Enum(["b", "a", "c"])),
    "nothing": pl.Series([None, None]),
    "lists": pl.Series([[1, 2], None, [7]]),
    "bytes": pl.Series([b"a", b"\xff", None]),
}
DOMAINS = (
    Attribute("x", categories=("a", "b", "7", "2020-01-01", "true"), other="other", missing="missing"),
    Attribute("x", categories=("a", " a", "b")),
    Attribute("x", categories=(0, 7, 1.5), missing="missing"),
    Attribute("x", categories=(False, True), impute=True),
    Attribute("x", bins=(0, 1, 7, 100), other="other"),
    Attribute("x", bins=(-1.5, 0.2, 8), missing="missing"),
)


def brute(values: pl.Series, attribute: Attribute) -> tuple[list[int], list[list[int]]]:
    """The codes of all values, and how many have each code and fate."""
    found = encode_values(values, attribute, MARKERS)
    tally = np.zeros((3, attribute.size), dtype=np.int64)
    for code, outside, missing in zip(found.codes, found.outside, found.missing, strict=True):
        tally[MISSING if missing else OUTSIDE if outside else OWN, code] += 1
    return found.codes.tolist(), tally.tolist()


def plain(values: pl.Series) -> Column:
    return Column(values)


def with_dictionary(values: pl.Series) -> Column:
    """Every distinct value once, in another order, and some that do not occur."""
    last = pl.concat([values[::-1], values])
    return Column(last, (values.len() - 1 - np.arange(values.len())).astype(np.int32))


def batches(values: pl.Series, size: int, kind: str) -> Iterator[Batch]:
    make = {"plain": plain, "dictionary": with_dictionary}[kind]
    for start in range(0, values.len(), size):
        part = values[start : start + size]
        yield Batch({"x": make(part)}, part.len())


def by_batches(values: pl.Series, attribute: Attribute, size: int, kind: str) -> tuple[list[int], list[list[int]]]:
    working = BatchEncoder(Schema("s", (attribute,), missing_values=MARKERS))
    codes = [code for batch in batches(values, size, kind) for code in working.encode(batch)[0].tolist()]
    return codes, working.tallies[0].tolist()


@pytest.mark.parametrize("name", TYPED)
def test_a_column_of_any_type_has_the_codes_of_its_values(name: str) -> None:
    """A short column goes by its values, one that repeats them by what they are, in one batch and in many."""
    often = pl.concat([TYPED[name]] * 9)
    for attribute in DOMAINS:
        alone, repeated = brute(TYPED[name], attribute), brute(often, attribute)
        for kind in ("plain", "dictionary"):
            assert by_batches(often, attribute, often.len(), kind) == repeated, (attribute, kind)
            assert by_batches(often, attribute, often.len() // 2 + 1, kind) == repeated, (attribute, kind)
            assert by_batches(TYPED[name], attribute, 3, kind) == alone, (attribute, kind)


@given(anything, attributes(), st.integers(1, 30), st.integers(1, 4), st.sampled_from(["plain", "dictionary"]))
@settings(max_examples=often(30, 150))
def test_any_values_in_any_batches_have_the_same_codes(
    values: pl.Series, attribute: Attribute, size: int, times: int, kind: str
) -> None:
    often = pl.concat([values] * times) if times > 1 else values
    assert by_batches(often, attribute, size, kind) == brute(often, attribute)


@pytest.mark.parametrize("column", [pl.Series(range(5000)), pl.Series([f"{i}" for i in range(5000)])])
def test_values_that_hardly_repeat_are_encoded_one_by_one(column: pl.Series) -> None:
    attribute = Attribute("x", bins=(0, 10, 100, 4000))
    assert by_batches(column, attribute, 5000, "plain") == brute(column, attribute)


def test_every_distinct_value_is_encoded_once_and_a_dictionary_that_comes_again_not_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def counting(values: pl.Series, attribute: Attribute, **_named: object) -> Encoded:
        seen.append(values.len())
        return encode_values(values, attribute, ())

    monkeypatch.setattr(encoder, "encode_values", counting)
    working = BatchEncoder(Schema("s", (Attribute("x", categories=("a", "b")),)))
    dictionary = pl.Series(["b", "a", None])
    places = np.array([0, 1, 0, 2] * 1000)
    for _ in range(3):
        working.encode(Batch({"x": Column(dictionary, places)}, places.size))
        working.encode(Batch({"x": Column(dictionary.clone(), places)}, places.size))
    assert seen == [3]
    for values in (pl.Series(["b", "a", "a", "c"] * 1000), pl.Series([4, None, 6, 4] * 1000)):
        seen.clear()
        working.encode(Batch({"x": Column(values)}, values.len()))
        assert seen[-1] <= 4
    seen.clear()
    # A dictionary far larger than the batch is cut down to what the batch holds.
    working.encode(Batch({"x": Column(pl.Series([f"{i}" for i in range(9000)]), np.array([5, 5, 7]))}, 3))
    assert max(seen) <= 3


def test_codes_are_narrow_and_a_batch_may_be_empty() -> None:
    small = Schema("s", (Attribute("x", categories=tuple(range(256))),))
    large = Schema("s", (Attribute("x", categories=tuple(range(257))),))
    batch = Batch({"x": Column(pl.Series([255, 3]))}, 2)
    assert BatchEncoder(small).encode(batch).dtype == np.uint8
    assert BatchEncoder(large).encode(batch).dtype == np.uint16
    assert BatchEncoder(large).encode(Batch({"x": Column(pl.Series([], dtype=pl.Int64))}, 0)).shape == (1, 0)


def test_long_texts_are_not_remembered() -> None:
    """A file may have millions of them, each of millions of letters."""
    schema = Schema("s", (Attribute("a", categories=("x", "y" * 5000), other="other"),))
    made = BatchEncoder(schema)
    tracemalloc.start()
    for number in range(60):
        texts = pl.Series(["x", "y" * 5000, None, *(f"{number} {place}" + "z" * 10_000 for place in range(30))])
        codes = made.encode(Batch({"a": Column(texts, np.arange(33, dtype=np.int32))}, 33))
        assert codes.tolist() == [[0, 1, *[2] * 31]]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 5_000_000, "18 million letters came by"
