from __future__ import annotations

import polars as pl

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.check import check_table


def test_what_is_told() -> None:
    schema = Schema(
        "s",
        (
            Attribute("a", categories=("x", "y", "z"), missing="missing"),
            Attribute("b", bins=(0, 1, 2), other="other"),
            Attribute("c", categories=("u", "v"), impute="u"),
        ),
    )
    frame = pl.DataFrame({"a": ["x", "w", None], "b": [0.5, 9.0, 1.5], "c": ["u", None, "v"]})
    a, b, c = check_table(frame, schema).attributes
    assert (a.outside, a.outside_to, a.missing, a.missing_to, a.unused) == (1, "z", 1, "missing", ("y",))
    assert (b.outside, b.outside_to, b.missing, b.unused) == (1, "other", 0, ())
    assert (c.outside, c.missing, c.missing_to) == (0, 1, "u")
    assert not check_table(frame, schema).clean


def test_dates_beyond_the_bounds_and_what_is_no_date() -> None:
    day = Attribute("d", period="month", between=("2020-01", "2020-12"), missing="missing")
    code = Attribute("c", mapping="atc-groups", missing="missing")
    frame = pl.DataFrame({"d": ["2019-01-01", "01/02/2020", "2020-05-05"], "c": ["A10BA02", "aspirin", None]})
    dates, codes = check_table(frame, Schema("s", (day, code))).attributes
    assert (dates.outside, dates.outside_to, dates.missing, dates.missing_to) == (1, "the end periods", 1, "missing")
    assert (codes.outside, codes.outside_to, codes.missing) == (1, "V various", 1)
