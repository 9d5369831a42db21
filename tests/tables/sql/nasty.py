"""Columns of every type with values that are hard to encode, and attributes of every kind to encode them by."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from decimal import Decimal

import polars as pl
from hypothesis import strategies as st

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

MISSING = ("?", "999", " NA", "1900-01-01", "0.1", "inf", "-3", "2020-01-01 12:00:00")

ATTRIBUTES = [
    Attribute(
        "x",
        categories=("a", " a", "b c", "7", "0.25", "true", "ü", "'", "2020-01-01", "2020-02-29 12:30:00", "\\n", "NA "),
        other="else",
        missing="none",
    ),
    Attribute("x", categories=("No", "Up", "999", "-1", "12:00:00", "\t?", "inf")),
    Attribute("x", categories=tuple(f"v{i:03}" for i in range(60)), other="else"),
    Attribute("x", categories=(0, 1, 2.5, -3, 0.1, 1e15, 7), other="else", missing="none"),
    Attribute("x", categories=tuple(range(-3, 40)), impute=1),
    Attribute("x", bins=(-5, 0, 0.1, 2.5, 10, 1e17), missing="none"),
    Attribute("x", bins=(0, 1, 2, 3, 999, 2**53 + 2), other="else"),
    Attribute("x", categories=(False, True), missing="none"),
    Attribute("x", period="month", between=("2019-11", "2020-03"), missing="none"),
    Attribute("x", period="day", between=("2020-02-27", "2020-03-02"), other="else"),
    Attribute("x", period="week", between=("2019-12-30", "2020-03-02"), missing="none"),
    Attribute("x", period="year", between=("1900", "2020"), format="%d.%m.%Y", missing="none"),
    Attribute("x", period="weekday", missing="none"),
    Attribute("x", period="hour", other="else"),
    Attribute("x", bins=(0, 18, 65, 120), age_at="2020-03-01", missing="none"),
    Attribute("x", mapping="icd10-chapters", other="else", missing="none"),
]

TEXTS = [
    "",
    " ",
    "a",
    " a",
    "a ",
    "\u00a0a\u3000",
    "b c",
    "7",
    "7.0",
    " 7",
    "07",
    "0.25",
    ".25",
    "true",
    "TRUE",
    " fAlse",
]
TEXTS += [
    "ü",
    "Ü",
    "u\u0308",
    "'",
    '"',
    "\\",
    "\\n",
    "\n",
    "?",
    " ?",
    "\t?",
    "NA",
    " NA",
    "NA ",
    "999",
    "1e3",
    "inf",
    "-inf",
]
TEXTS += ["nan", "1,5", "No", "no", "v007", "v7", "2020-01-01", " 2020-01-01", "2020-02-30", "2020-02-29 12:30:00"]
TEXTS += [
    "2020-02-29T12:30:00+02:00",
    "29.02.2020",
    "2020",
    "2020-02",
    "1900-01-01",
    "E11.9",
    "e119",
    "12:00:00",
    "else",
]
TEXTS += ["none", "0.1", "1" * 400, "\U0001f600", "a\u200b", "-3", "\u2028a\u2029", "0x10", "1_000", "²"]
INTEGERS = [-6, -5, -4, -3, -1, 0, 1, 2, 3, 7, 9, 10, 11, 39, 40, 127, 999, 1000, 2020, 20200131]
BIG = [2**31 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 10**17 - 1, 10**17, 10**17 + 7, 2**63 - 1, -(2**63), 10**15]
REALS = [
    0.0,
    -0.0,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    7.0,
    -3.0,
    -5.0,
    10.0,
    999.0,
    1e15,
    1e17,
    1e300,
    5e-324,
    math.inf,
    -math.inf,
]
REALS += [math.nan, math.nextafter(0.1, 1), math.nextafter(0.1, 0), math.nextafter(2.5, 3), math.nextafter(1e17, 2e17)]
DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1900, 1, 1), dt.date(2020, 1, 1), dt.date(2019, 10, 31)]
DAYS += [dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(2020, 3, 2), dt.date(2002, 3, 1), dt.date(2002, 3, 2)]
STAMPS = [dt.datetime.combine(day, dt.time()) for day in DAYS]
STAMPS += [
    dt.datetime(2020, 2, 29, 12, 30),
    dt.datetime(2020, 1, 1, 12),
    dt.datetime(2019, 12, 31, 23, 59, 59, 999_999),
]
STAMPS += [dt.datetime(2020, 2, 29, 12, 30, 0, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)]
DECIMALS = [
    Decimal(text) for text in ("0", "0.10", "0.09", "0.11", "2.50", "7.00", "-3.00", "999.00", "10.00", "-5.01")
]
LARGE = [
    Decimal(text) for text in ("0", "100000000000000000.5", "99999999999999999.5", "9007199254740993.5", "0.1", "7")
]


@dataclass(frozen=True)
class Type:
    """A type of columns: values, what a frame keeps them in, and what PostgreSQL declares (nothing: it has none)."""

    dtype: pl.DataType
    values: st.SearchStrategy[object]
    declared: str = ""


def whole(low: int, high: int) -> st.SearchStrategy[object]:
    return st.sampled_from([v for v in (*INTEGERS, *BIG) if low <= v <= high]) | st.integers(low, high)


texts: st.SearchStrategy[object] = st.sampled_from(TEXTS) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5
)
reals: st.SearchStrategy[object] = st.sampled_from(REALS) | st.floats()
days: st.SearchStrategy[object] = st.sampled_from(DAYS) | st.dates()
stamps: st.SearchStrategy[object] = st.sampled_from(STAMPS) | st.datetimes()
TYPES = {
    "text": Type(pl.String(), texts, "text"),
    "varchar": Type(pl.String(), texts, "character varying"),
    "bigint": Type(pl.Int64(), whole(-(2**63), 2**63 - 1), "bigint"),
    "integer": Type(pl.Int32(), whole(-(2**31), 2**31 - 1), "integer"),
    "smallint": Type(pl.Int16(), whole(-(2**15), 2**15 - 1), "smallint"),
    "tinyint": Type(pl.Int8(), whole(-128, 127)),
    "unsigned": Type(pl.UInt64(), whole(0, 2**64 - 1)),
    "double": Type(pl.Float64(), reals, "double precision"),
    "float": Type(pl.Float32(), st.sampled_from(REALS) | st.floats(width=32), "real"),
    "decimal": Type(pl.Decimal(10, 2), st.sampled_from(DECIMALS), "numeric(10,2)"),
    "large decimal": Type(pl.Decimal(30, 1), st.sampled_from(LARGE), "numeric(30,1)"),
    "numeric": Type(pl.Decimal(30, 1), st.sampled_from(LARGE), "numeric"),
    "boolean": Type(pl.Boolean(), st.booleans(), "boolean"),
    "date": Type(pl.Date(), days, "date"),
    "timestamp": Type(pl.Datetime("us"), stamps, "timestamp"),
    "zoned": Type(pl.Datetime("us", "UTC"), stamps, "timestamp with time zone"),
    "nanoseconds": Type(pl.Datetime("ns"), st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    "time": Type(pl.Time(), st.times(), "time"),
    "list": Type(pl.List(pl.Int64()), st.lists(st.integers(0, 9), max_size=2)),
    "bytes": Type(pl.Binary(), st.binary(max_size=3)),
}


@st.composite
def tables(draw: st.DrawFn, kinds: tuple[str, ...]) -> tuple[pl.DataFrame, Schema, dict[str, str]]:
    """A frame, a schema that it hardly fits, and what PostgreSQL declares for its columns."""
    many = draw(st.integers(1, 6))
    records = draw(st.integers(1, 8))
    columns, attributes, declared = {}, [], {}
    for place in range(many):
        kind = TYPES[draw(st.sampled_from(kinds))]
        attribute = draw(st.sampled_from(ATTRIBUTES))
        values = draw(st.lists(st.none() | kind.values, min_size=records, max_size=records))
        name = f"column {place}"
        columns[name] = pl.Series(name, values, dtype=kind.dtype, strict=False)
        attributes.append(named(attribute, name))
        declared[name] = kind.declared
    return pl.DataFrame(columns), Schema("s", tuple(attributes), missing_values=MISSING), declared


def named(attribute: Attribute, name: str) -> Attribute:
    """The same under another name."""
    return replace(attribute, name=name)
