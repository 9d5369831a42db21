"""Dates and mapped codes as attributes: the code of every value, one by one, and values that encode back."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import stripped
from panbayes.schema.code_map import CodeMap
from panbayes.schema.periods import DateDomain
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.decoding import decode_column, value_draws
from panbayes.tables.encoding import encode_column, encode_values
from panbayes.tables.table import Table
from tests.effort import often

BETWEEN = {
    "year": ("1999", "2001"),
    "quarter": ("1999-Q4", "2000-Q3"),
    "month": ("1999-11", "2000-03"),
    "week": ("1999-W50", "2000-W10"),
    "day": ("2000-02-25", "2000-03-02"),
}
PERIODS = [*BETWEEN, "weekday", "hour"]
FURTHER = [{}, {"missing": "missing"}, {"other": "other"}, {"other": "other", "missing": "missing"}]


def domains(form: str | None = None) -> list[Attribute]:
    """Make one attribute of every kind."""
    names = [name for name in PERIODS if form is None or "%H" in form or name != "hour"]
    dates = [Attribute("x", period=name, between=BETWEEN.get(name, ()), format=form) for name in names]
    return [*dates, Attribute("x", age_at="2000-02-29", bins=(0, 1, 2, 18, 120), format=form)]


def with_further(attribute: Attribute, further: dict[str, str]) -> Attribute:
    return replace(attribute, other=further.get("other"), missing=further.get("missing"))


def reference(text: str | None, attribute: Attribute, markers: tuple[str, ...]) -> int:
    """Encode one text by the rules."""
    domain, labels = attribute.domain, attribute.labels[: attribute.regular]
    assert isinstance(domain, DateDomain | CodeMap)
    own = () if attribute.bins else labels
    if text is None or (text in markers and text not in own):
        return attribute.missing_code
    bare = stripped(text)
    if bare in own:
        return labels.index(bare)
    if bare in [stripped(marker) for marker in markers]:
        return attribute.missing_code
    if isinstance(domain, CodeMap):
        code = domain.inside(text)
        return attribute.outside_code if code is None else code
    shape = next((shape for shape in domain.shapes if shape.fits(bare)), None)
    moment = None if shape is None else shape.read(bare)
    if moment is None:
        return attribute.outside_code if bare == attribute.other else attribute.missing_code
    code, inside = domain.place(moment)
    return code if inside or attribute.other is None else attribute.outside_code


odd = st.one_of(
    st.none(),
    st.datetimes(dt.datetime(1998, 1, 1), dt.datetime(2002, 1, 1)).map(str),
    st.dates(dt.date(1999, 10, 1), dt.date(2000, 5, 1)).map(str),
    st.dates().map(str),
    st.from_regex(r"[12][09][09][0-9]-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9])?", fullmatch=True),
    st.from_regex(r"[0-3][0-9]\.[01]?[0-9]\.(1999|2000)", fullmatch=True),
    st.sampled_from(
        [*"0123?", "", " ", "NA", " NA", "Monday", " Monday ", "other", "2000", "2000-01", "08:00", "08:59"]
    ),
    st.sampled_from(
        ["2000-W09", "2000-Q1", "2000q2", "2000-02-29 ", "2000-02-30", "0001-01-01", "9999-12-31", "missing", "[0, 1)"]
    ),
    st.text(max_size=5),
)


@given(
    st.lists(odd, max_size=30),
    st.sampled_from([*domains(), *domains("%d.%m.%Y %H")[-3:], *domains("%d.%m.%Y")]),
    st.sampled_from(FURTHER),
)
@settings(max_examples=often(80, 400))
def test_every_text_gets_the_code_the_rules_give(
    texts: list[str | None], plain: Attribute, further: dict[str, str]
) -> None:
    attribute = with_further(plain, further)
    found = encode_values(pl.Series(texts, dtype=pl.String), attribute, ("NA", ""))
    assert found.codes.tolist() == [reference(text, attribute, ("NA", "")) for text in texts]
    assert not np.any(found.outside & found.missing)
    if attribute.missing is not None:
        assert (found.codes == attribute.size - 1).tolist() == found.missing.tolist()
    if attribute.other is not None:
        assert np.all(found.codes[found.outside] == attribute.regular)


codes = st.one_of(
    st.none(),
    st.from_regex(r" ?[A-Za-z]?[0-9]{1,4}(\.[0-9]{1,2})? ?", fullmatch=True),
    st.sampled_from(["?", "NA", "001-139 infections", "A alimentary tract and metabolism", "aspirin", "250.01"]),
    st.text(max_size=5),
)


@given(
    st.lists(codes, max_size=30),
    st.sampled_from(["icd9-chapters", "icd10-chapters", "atc-groups"]),
    st.sampled_from(FURTHER),
)
@settings(max_examples=often(40, 200))
def test_every_code_goes_to_its_group(texts: list[str | None], name: str, further: dict[str, str]) -> None:
    attribute = with_further(Attribute("x", mapping=name), further)
    found = encode_column(pl.Series(texts, dtype=pl.String), attribute, ("NA", "?"))
    assert found.tolist() == [reference(text, attribute, ("NA", "?")) for text in texts]


def test_numbers_are_codes_too() -> None:
    attribute = Attribute("d", mapping="icd9-chapters", missing="missing")
    assert encode_column(pl.Series([250.0, 250.01, 8.0, None]), attribute, ()).tolist() == [2, 2, 0, 19]
    assert encode_column(pl.Series([250, 8]), attribute, ()).tolist() == [2, 0]


MOMENTS = [dt.datetime(2000, 2, 29), dt.datetime(1999, 12, 31, 23, 59, 59, 999_999), None, dt.datetime(2000, 1, 1, 8)]


@pytest.mark.parametrize("attribute", domains(), ids=[*PERIODS, "age"])
def test_dates_get_the_same_codes_in_every_kind_of_column(attribute: Attribute) -> None:
    texts = ["2000-02-29", "1999-12-31T23:59:59.999999", None, "2000-01-01 08:00"]
    codes = encode_column(pl.Series(texts), attribute, ()).tolist()
    schema = Schema("t", (attribute,))
    columns = [
        pl.Series("x", MOMENTS, dtype=pl.Datetime("us")),
        pl.Series("x", MOMENTS, dtype=pl.Datetime("ns")).dt.replace_time_zone("Asia/Tokyo"),
        pl.Series("x", texts, dtype=pl.Categorical),
    ]
    for column in columns:
        assert Table.read(pl.DataFrame([column]), schema).codes[0].tolist() == codes
    aware = [None if one is None else one.replace(tzinfo=ZoneInfo("America/New_York")) for one in MOMENTS]
    for frame in (
        pd.DataFrame({"x": MOMENTS}),
        pd.DataFrame({"x": pd.Series(aware)}),
        pd.DataFrame({"x": pd.Series([MOMENTS[0], texts[1], None, MOMENTS[3]], dtype=object)}),
        pa.table({"x": pa.array(MOMENTS, pa.timestamp("us"))}),
        pa.table({"x": pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))}),
    ):
        assert Table.read(frame, schema).codes[0].tolist() == codes
    days = pl.DataFrame({"x": [dt.date(2000, 2, 29)]})
    assert Table.read(days, schema).codes[0].tolist() == codes[:1]
    assert Table.read(pa.table({"x": pa.array([dt.date(2000, 2, 29)])}), schema).codes[0].tolist() == codes[:1]


@given(
    st.sampled_from(
        [
            *domains(),
            *domains("%d.%m.%Y %H:%M:%S"),
            *domains("%m/%d/%Y"),
            Attribute("x", period="year", between=("0001", "9999"), format="%Y"),
            Attribute("x", period="week", between=("9999-12-20", "9999-12-31")),
            Attribute("x", period="month", between=("9999-11", "9999-12")),
            Attribute("x", bins=(0, 1, 5, 10)),
            Attribute("x", bins=(-3, 0.5, 0.75, 1e9)),
            Attribute("x", bins=(1.0, 1.0 + 2**-52, 1.0 + 2**-51, 2.0)),
            Attribute("x", mapping="icd10-chapters"),
            Attribute("x", categories=(1, 2.5)),
        ]
    ),
    st.sampled_from(FURTHER),
    st.data(),
)
@settings(max_examples=often(60, 300))
def test_whatever_is_drawn_encodes_to_its_code(plain: Attribute, further: dict[str, str], data: st.DataObject) -> None:
    attribute = with_further(plain, further) if not plain.categories else plain
    drawn = data.draw(st.lists(st.integers(0, attribute.size - 1), min_size=1, max_size=20))
    table = Table(Schema("t", (attribute,)), np.array([drawn], dtype=code_type(Schema("t", (attribute,)))))
    codes = table.codes[0]
    share = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.999, np.nextafter(1.0, 0.0)]))
    for values in (decode_column(codes, attribute), decode_column(codes, attribute, lambda n: np.full(n, share))):
        assert encode_column(values, attribute, ()).tolist() == drawn
        assert values.name == "x"


def test_numbers_are_drawn_evenly_within_their_bin() -> None:
    attribute = Attribute("x", bins=(0, 4, 10))
    draw = value_draws("uniform", 5)
    codes = np.repeat(np.arange(2, dtype=np.uint8), 40_000)
    values = decode_column(codes, attribute, draw)
    assert values.dtype == pl.Int64
    low, high = np.bincount(values[:40_000], minlength=4), np.bincount(values[40_000:])[4:]
    # Each of 4 and of 7 whole numbers is as likely: beyond six standard deviations once in 10^9.
    assert low.size == 4
    assert high.size == 7, "the last bin has its upper edge"
    assert np.all(np.abs(low - 10_000) < 6 * np.sqrt(10_000))
    assert np.all(np.abs(high - 40_000 / 7) < 6 * np.sqrt(40_000 / 7))


def test_numbers_are_whole_where_edges_are_written_so() -> None:
    codes = np.zeros(100, dtype=np.uint8)
    for edges, kind in (((15, 20), pl.Int64), ((15.0, 20.0), pl.Float64), ((15, 20.5), pl.Float64)):
        attribute = Attribute("x", bins=edges)
        assert decode_column(codes, attribute).dtype == kind
        assert decode_column(codes, attribute, value_draws("uniform", 1)).dtype == kind
    assert decode_column(codes, Attribute("x", bins=(15.0, 20.0)), value_draws("uniform", 1)).n_unique() > 80


def test_dates_are_drawn_evenly_and_come_in_their_own_format() -> None:
    february = Attribute("x", period="month", between=("2000-02", "2000-02"))
    days = decode_column(np.zeros(58_000, dtype=np.uint8), february, value_draws("uniform", 1))
    assert days.dtype == pl.Date
    counts = days.value_counts()["count"].cast(pl.Int64).to_numpy()
    assert counts.size == 29
    assert np.all(np.abs(counts - 2000) < 6 * np.sqrt(2000))
    assert decode_column(np.zeros(1, dtype=np.uint8), february).to_list() == [dt.date(2000, 2, 15)]
    german = Attribute("x", period="month", between=("2000-02", "2000-02"), format="%d.%m.%Y")
    assert decode_column(np.zeros(1, dtype=np.uint8), german).to_list() == ["15.02.2000"]
    ages = Attribute("x", age_at="2020-01-01", bins=(0, 1, 120))
    assert decode_column(np.zeros(1, dtype=np.uint8), ages).to_list() == [dt.date(2019, 7, 3)]
    hours = Attribute("x", period="hour", missing="missing")
    assert decode_column(np.array([8, 24], dtype=np.uint8), hours).to_list() == ["08:30", None]
    assert decode_column(np.zeros(1, dtype=np.uint8), Attribute("x", period="weekday")).to_list() == ["Monday"]


def test_values_are_drawn_independently_of_their_bins() -> None:
    schema = Schema("t", (Attribute("a", bins=(0, 1000, 2000)),))
    drawn = Network(schema, Structure.independent(1), (np.full(2, 0.5),)).sample(4000, 3, within="uniform")["a"]
    # Of about 2000 numbers below 1000, half are below 500: six standard deviations are 134.
    assert abs((drawn < 500).sum() - (drawn < 1000).sum() / 2) < 134


def test_a_seed_draws_the_same_values_again() -> None:
    schema = Schema("t", (Attribute("a", bins=(0, 1000)), Attribute("b", bins=(0, 1000))))
    law = np.ones(1)
    network = Network(schema, Structure.independent(2), (law, law))
    frame = network.sample(5, 3, within="uniform")
    assert frame.equals(network.sample(5, 3, within="uniform"))
    assert not frame.equals(network.sample(5, 4, within="uniform"))
    assert frame["a"].to_list() != frame["b"].to_list()
    assert network.sample(2, 3).rows() == [(500, 500)] * 2
    with pytest.raises(InputError, match=r'within: found "middle"; known: midpoint, uniform'):
        value_draws("middle", 1)
    generator = np.random.default_rng(1)
    assert not network.sample(5, generator, within="uniform").equals(network.sample(5, generator, within="uniform"))


@pytest.mark.parametrize(
    "edges",
    [(35.0, 40.0, 45.0), (0.0, 1e-300, 1.0), (-1.7e308, 0.0, 1.7e308), (0.0, 5e-324), (1e15, 1e15 + 0.25), (0.1, 0.7)],
)
def test_numbers_drawn_within_bins_have_few_digits_and_encode_back(edges: tuple[float, ...]) -> None:
    attribute = Attribute("x", bins=edges)
    codes = np.tile(np.arange(attribute.regular, dtype=np.uint8), 200)
    values = decode_column(codes, attribute, np.random.default_rng(1).random)
    assert encode_column(values, attribute, ()).tolist() == codes.tolist()
    if edges[0] == 35.0:
        assert values.to_list() == [round(value, 2) for value in values]
        assert values.n_unique() > 250
