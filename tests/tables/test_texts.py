"""One text per value: whatever a value came in, and whatever stands beside it."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.encoding import encode_column
from panbayes.tables.numbers import as_numbers
from panbayes.tables.sources.dispatch import read_frame, sources
from panbayes.tables.sources.source import Source
from panbayes.tables.table import Table
from panbayes.tables.texts import as_text, text_column, value_text
from panbayes.tables.units import first_records
from tests.effort import often
from tests.tables.test_source_contract import FORMS, put

naive = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
aware = st.datetimes(
    dt.datetime(1850, 1, 1),
    dt.datetime(2200, 1, 1),
    timezones=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]).map(ZoneInfo),
)
spans = st.timedeltas(dt.timedelta(days=-90_000), dt.timedelta(days=90_000))
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=4)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)

TYPED: dict[str, tuple[pl.DataType | type[pl.DataType], st.SearchStrategy[Any]]] = {
    "texts": (pl.String, texts),
    "categories": (pl.Categorical, texts),
    "booleans": (pl.Boolean, st.booleans()),
    "small integers": (pl.Int8, st.integers(-128, 127)),
    "integers": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "large integers": (pl.UInt64, st.integers(0, 2**64 - 1)),
    "floats": (pl.Float64, st.floats()),
    "whole floats": (pl.Float64, st.integers(-(2**70), 2**70).map(float)),
    "short floats": (pl.Float32, st.floats(width=32)),
    "decimals": (pl.Decimal(38, 4), decimals),
    "dates": (pl.Date, st.dates()),
    "time stamps": (pl.Datetime("us"), naive),
    "fine time stamps": (pl.Datetime("ns"), naive),
    "zoned time stamps": (pl.Datetime("us", "UTC"), naive.map(lambda t: t.replace(tzinfo=dt.UTC))),
    "times": (pl.Time, st.times()),
    "durations": (pl.Duration("us"), spans),
    "bytes": (pl.Binary, st.binary(max_size=4)),
    "lists": (pl.List(pl.Int64), st.lists(st.integers(0, 9), max_size=3)),
}
FRAMES = [source for source in sources() if source.convert is not None]


def texts_of(values: Sequence[object]) -> list[str | None]:
    return [value_text(value) for value in values]


@pytest.mark.parametrize("kind", TYPED)
@settings(max_examples=often(12, 60))
@given(data=st.data())
def test_a_typed_column_writes_every_value_as_if_it_stood_alone(kind: str, data: st.DataObject) -> None:
    dtype, cell = TYPED[kind]
    values = data.draw(st.lists(st.none() | cell, max_size=8))
    column = pl.Series("x", values, dtype=dtype)
    assert as_text(column).to_list() == texts_of(column.to_list())
    objects = text_column("x", column.to_list())
    assert as_numbers(column).to_list() == as_numbers(objects).to_list()


@pytest.mark.parametrize("kind", TYPED)
@settings(max_examples=often(4, 25))
@given(data=st.data())
def test_every_frame_gives_a_value_its_text(kind: str, data: st.DataObject) -> None:
    dtype, cell = TYPED[kind]
    # One missing value makes floats of pandas's integers, whatever we do.
    gap = st.nothing() if dtype in (pl.Int64, pl.UInt64) else st.none()
    values = data.draw(st.lists(gap | cell, min_size=1, max_size=6))
    column = pl.Series("x", values, dtype=dtype)
    for source in FRAMES:
        assert source.convert is not None
        found = as_text(read_frame(source.convert(pl.DataFrame([column])), argument="t")["x"]).to_list()
        assert found == texts_of(column.to_list()), source.name


ADDRESSED = {source.name for source in sources() if source.schemes}
FILE_FORMS = [form for form in FORMS if form.values[0] not in FRAMES and form.id not in ADDRESSED]
"""Databases and lakes have types of their own, and tests of what those are read as."""


@pytest.mark.parametrize("kind", TYPED)
@settings(max_examples=often(2, 10))
@given(data=st.data())
def test_every_file_and_stream_gives_a_value_its_text(kind: str, data: st.DataObject) -> None:
    dtype, cell = TYPED[kind]
    column = pl.Series("x", data.draw(st.lists(st.none() | cell, min_size=1, max_size=6)), dtype=dtype)
    texts = text_column("x", column.to_list())
    for form in FILE_FORMS:
        source, suffix = form.values
        assert isinstance(source, Source)
        # A text file holds texts; what the other kinds hold has types. In Excel, an empty text is an empty cell.
        held = column if source.name not in ("CSV", "Excel") else texts
        expected = [text or None if source.name == "Excel" else text for text in texts_of(column.to_list())]
        frame = pl.DataFrame({"x": held, "number of the record": range(len(column))})
        with tempfile.TemporaryDirectory() as place:
            found = read_frame(put(frame, source, str(suffix), Path(place) / "t"), argument="t")["x"]
        assert as_text(found).to_list() == expected, form.id


EXTREMES = [-(2**63), -(2**62), -(10**15), -1, 0, 1, 10**15, 2**62, 2**63 - 1]


@pytest.mark.parametrize(
    "dtype",
    [pl.Date, *(pl.Datetime(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC", "Asia/Kolkata"))],
)
def test_no_day_and_no_time_is_out_of_reach(dtype: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Files hold any number as a day; such a value must not end the reading of the others."""
    numbers = [number for number in EXTREMES if dtype != pl.Date or abs(number) < 2**31] + [2**31 - 1, 2932896, 2932897]
    held = pl.Series("x", [*numbers, None], dtype=pl.Int64 if dtype != pl.Date else pl.Int32)
    column = held.cast(pl.Int64).cast(dtype) if dtype != pl.Date else held.cast(dtype)
    found = as_text(column).to_list()
    assert found == [as_text(column[place : place + 1]).item() for place in range(column.len())]
    assert found[-1] is None
    assert found.count(None) == 1
    assert as_text(pl.Series("x", [[None]] * 3 + [[2]])).to_list()[-1] == "[2]"
    nested = as_text(column.implode().append(pl.Series("x", [[None]], dtype=pl.List(dtype))))
    assert nested.null_count() == 0
    assert nested[1] == "[None]"
    assert capfd.readouterr().err == ""


class _Mute:
    def __str__(self) -> str:
        raise RuntimeError("not for your eyes")


anything = st.one_of(
    *(cell for _, cell in TYPED.values()),
    aware,
    st.text(max_size=3),
    st.sampled_from(
        [
            None,
            pd.NA,
            pd.NaT,
            float("nan"),
            Decimal("NaN"),
            Decimal("Infinity"),
            Decimal("1E+999999"),
            Decimal("1E-999999"),
            10**5000,
            -(10**5000),
            Fraction(1, 3),
            np.float32(0.1),
            np.longdouble(0.1),
            np.int8(3),
            np.bool_(True),
            np.str_("a"),
            np.datetime64("2020-01-01"),
            np.datetime64("2020-01-01T00:00:00.5", "ns"),
            np.datetime64("NaT"),
            np.timedelta64(90, "m"),
            np.timedelta64(1, "M"),
            pd.Timestamp("2020-01-01 00:00:00.000000001"),
            pd.Timedelta(1, "ns"),
            pd.Period("2020-01"),
            pd.Interval(0, 1),
            1 + 2j,
            "\ud800",
            {"a": 1},
            _Mute(),
            bytearray(b"ab"),
            memoryview(b"ab"),
            dt.time(1, 2, 3, tzinfo=dt.UTC),
        ]
    ),
)


@given(anything)
@settings(max_examples=often(100, 500))
def test_no_value_is_without_a_text_that_a_file_could_hold(value: object) -> None:
    text = value_text(value)
    assert text is None or text.encode("utf-8").decode("utf-8") == text
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([7, 7.0, Decimal("7.00"), np.int8(7), np.float32(7), "7"], "7"),
        ([2**60, 2.0**60, Decimal(2**60)], "1152921504606846976"),
        ([0.00001, Decimal("0.000010")], "0.00001"),
        ([0, -0.0, Decimal("-0.0")], "0"),
        ([1e-7, Decimal("1e-7")], "0.0000001"),
        (
            [
                dt.datetime(2020, 1, 1),
                pd.Timestamp("2020-01-01"),
                np.datetime64("2020-01-01"),
                np.datetime64("2020-01-01", "ns"),
                np.datetime64("2020-01-01T00", "h"),
                dt.date(2020, 1, 1),
            ],
            "2020-01-01",
        ),
        ([dt.datetime(2020, 1, 1, 5), pd.Timestamp("2020-01-01 05:00")], "2020-01-01 05:00:00"),
        ([dt.timedelta(minutes=90), np.timedelta64(90, "m"), pd.Timedelta(minutes=90)], "PT1H30M"),
        ([b"ab", "ab", bytearray(b"ab"), np.bytes_(b"ab")], "ab"),
        ([True, np.bool_(True)], "true"),
        ([None, pd.NA, pd.NaT, float("nan"), np.datetime64("NaT"), Decimal("NaN")], None),
    ],
)
def test_equal_values_have_one_text(values: list[object], text: str | None) -> None:
    assert texts_of(values) == [text] * len(values)


ATTRIBUTES = (
    Attribute("x", categories=("1", "2.5", "true", "2020-01-01 00:00:00", "2020-01-01", "PT1S"), other="other"),
    Attribute("x", categories=(0, 1, 2.5), other="other", missing="missing"),
    Attribute("x", bins=(-5, 0, 1, 5), other="other", missing="missing"),
    Attribute("x", categories=(False, True), other="other", missing="missing"),
)
likely = st.sampled_from(
    [
        True,
        False,
        0,
        1,
        -9,
        2.5,
        1.0,
        None,
        "1",
        "true",
        "x",
        dt.date(2020, 1, 1),
        pd.Timestamp("2020-01-01"),
        pd.Timestamp("2020-01-01", tz="UTC"),
        pd.Timedelta(seconds=1),
        Decimal("2.50"),
        Decimal("1"),
        b"1",
        np.int64(1),
        np.float32(2.5),
    ]
)


def pandas_columns(values: list[object]) -> list[pd.Series[Any]]:
    """The same values as pandas keeps them when it guesses a type, and when it does not."""
    ways = [pd.Series(values, dtype=object)]
    with suppress(UnicodeEncodeError, pa.ArrowException, OverflowError):  # pandas itself guesses no type for these
        ways.append(pd.Series(values))
    with suppress(TypeError):  # what cannot be hashed makes no categories, and what is equal makes one
        if len(set(values)) == len({value_text(value) for value in values}):
            ways.append(pd.Series(pd.Categorical(pd.Series(values, dtype=object))))
    return ways


@settings(max_examples=often(10, 50))
@given(
    values=st.one_of(
        st.lists(likely, min_size=1, max_size=6),
        *(
            st.lists(st.sampled_from(alike), min_size=1, max_size=6)
            for alike in (
                [True, False],
                [1, 0, -9],
                [1.0, 2.5, None],
                [pd.Timestamp("2020-01-01"), pd.Timestamp("2021")],
            )
        ),
    ),
    place=st.integers(0, 5),
    new=likely | anything,
)
@example(values=[True, False, True], place=0, new="x")
@example(values=[1, -9, 0], place=0, new="x")
@example(values=[1, 2, 0], place=0, new=None)
def test_a_replaced_cell_of_a_pandas_frame_recodes_no_other(values: list[object], place: int, new: object) -> None:
    place %= len(values)
    changed = [*values]
    changed[place] = new
    others = [row for row in range(len(values)) if row != place]
    for attribute in ATTRIBUTES:
        found = set()
        for given_values in (values, changed):
            for column in pandas_columns(given_values):
                frame = read_frame(pd.DataFrame({"x": column}), argument="t")
                codes = encode_column(frame["x"], attribute, ("-9", "x y"))
                found.add(tuple(codes[others].tolist()))
        assert len(found) == 1, attribute


def test_long_integers_stay_apart() -> None:
    assert len({value_text(sign * 10**5000 + i) for sign in (1, -1) for i in (0, 1)}) == 4


def test_old_schemas_of_time_stamps_still_fit() -> None:
    """Columns of time stamps were once written with as many zeros as their unit has."""
    for old in ("2020-01-01 00:00:00.000", "2020-01-01 00:00:00.000000", "2020-01-01 00:00:00.000000000"):
        attribute = Attribute("x", categories=("a", old), other="other")
        for unit in ("ms", "us", "ns"):
            column = pl.Series("x", [dt.datetime(2020, 1, 1)]).cast(pl.Datetime(unit))
            assert encode_column(column, attribute, ()).tolist() == [1]
        assert encode_column(pl.Series([old]), attribute, ()).tolist() == [1]


def test_ids_are_exact_texts_without_blanks_around_them() -> None:
    large = pl.Series([Decimal(2**53), Decimal(2**53 + 1), Decimal(2**53)], dtype=pl.Decimal(38, 0))
    assert first_records(large, 1)[1] == 2
    assert first_records(pl.Series(["1", "1 ", "  1\t", "2", "", " "]), 1)[1] == 2
    floats = pd.Series([1, 2, None, 1])
    assert first_records(read_frame(pd.DataFrame({"x": floats}), argument="t")["x"], 1)[1] == 2
    assert first_records(pl.Series([0.1, 0.1 + 2**-55, 0.1]), 1)[1] == 2
    assert first_records(pl.Series([[1], [2], [1]]), 1)[1] == 2


@settings(max_examples=often(8, 40))
@given(
    ids=st.lists(st.integers(0, 3) | st.sampled_from(["1", " 1", "2 ", 1.0, 2.5, None, Decimal(1)]), min_size=1),
    place=st.integers(0, 100),
    new=likely | anything,
    most=st.integers(1, 2),
)
def test_one_id_changes_the_number_of_persons_by_at_most_one(
    ids: list[object], place: int, new: object, most: int
) -> None:
    place %= len(ids)
    changed = [*ids]
    changed[place] = new
    schema = Schema("s", (Attribute("y", categories=("a",)),), unit=Unit("x", most))
    for before in pandas_columns(ids):
        persons = Table.read(pd.DataFrame({"x": before, "y": "a"}), schema).persons
        named = {text.strip() for text in texts_of(ids) if text is not None}
        assert persons == len(named - {"", *schema.missing_values})
        for after in pandas_columns(changed):
            found = Table.read(pd.DataFrame({"x": after, "y": "a"}), schema).persons
            assert persons is not None
            assert found is not None
            assert abs(found - persons) <= 1
