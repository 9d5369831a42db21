"""Dates out of texts, held against Python's own calendar."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.dates import DATE, MONTH, QUARTER, TIME, WEEK, YEAR, Moment, Shape, declared_shape, write_moment
from tests.effort import often

DAYS = (("d",),)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2020-02-29", 0),
        ("2020-02-29 00:00:00", 0),
        ("2020-02-29T23:59:60", 23),
        ("2020-02-29t07", 7),
        ("2020-02-29 07:30", 7),
        ("2020-02-29 07:30:15.123456789", 7),
        ("2020-02-29 07:30:15,5Z", 7),
        ("2020-02-29 07:30:15+05:30", 7),
        ("2020-02-29T07:30:15-0800", 7),
        ("2020-02-29 07:30:15 UTC", 7),
        ("2020-02-29 07:30:15+00:19:32", 7),
    ],
)
def test_iso_dates_are_read_as_they_are_written(text: str, hour: int) -> None:
    assert DATE.read(text) == Moment(dt.date(2020, 2, 29), hour)


@pytest.mark.parametrize(
    "text",
    [
        *("2019-02-29", "2020-13-01", "2020-00-10", "2020-01-00", "0000-01-01", "2020-01-01 24:00", "2020-01-01 07:60"),
        *("2020-1-1", "20200101", "01/02/2020", "1.2.2020", "2020-01-01x", "2020-01-01\n", " 2020-01-01", "", "x"),
        *("2020-01-01 07:30:15 CET", "2020-01-01T", "12020-01-01", "-2020-01-01", "\uff12020-01-01"),
    ],
)
def test_what_is_no_iso_date_is_none(text: str) -> None:
    assert DATE.read(text) is None


@given(st.dates(), st.integers(0, 86_399))
def test_every_day_is_read_back(day: dt.date, second: int) -> None:
    whole = dt.datetime.combine(day, dt.time.min) + dt.timedelta(seconds=second) if day < dt.date.max else None
    assert DATE.read(day.isoformat()) == Moment(day)
    if whole is not None:
        assert DATE.read(whole.isoformat()) == Moment(day, whole.hour)
    year, week, _ = day.isocalendar()
    assert YEAR.read(f"{day.year:04}") == Moment(day.replace(month=1, day=1))
    assert MONTH.read(day.isoformat()[:7]) == Moment(day.replace(day=1))
    if year <= 9999:
        found = WEEK.read(f"{year:04}-W{week:02}")
        assert found is not None
        assert 0 <= (day - found.day).days < 7
    quarter = QUARTER.read(f"{day.year:04}-Q{(day.month + 2) // 3}")
    assert quarter == Moment(dt.date(day.year, (day.month - 1) // 3 * 3 + 1, 1))
    assert TIME.read(f"{second // 3600:02}:{second // 60 % 60:02}") == Moment(dt.date.min, second // 3600)


FORMATS = [
    *("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d%b%Y", "%d %B %Y", "%d.%m.%y", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y %I:%M %p"),
    *("%Y-%m-%dT%H:%M:%S.%f%z", "(%d) [%m]+%Y?", "%d%%%m%%%Y", "%H%M%d%m%Y"),
]


@given(st.sampled_from(FORMATS), st.dates(dt.date(1969, 1, 1), dt.date(2068, 12, 31)), st.integers(0, 86_399))
@settings(max_examples=often(60, 300))
def test_what_is_written_in_a_format_is_read_back(form: str, day: dt.date, second: int) -> None:
    shape = declared_shape(form, DAYS)
    text = write_moment(day, second, form)
    hour = second // 3600 if "%H" in form or "%I" in form else 0
    assert shape.read(text) == Moment(day, hour)
    if "%z" not in form and "%f" not in form:
        assert text == dt.datetime(day.year, day.month, day.day, hour, second // 60 % 60, second % 60).strftime(form)
        again = dt.datetime.strptime(text, form)
        assert again.date() == day


def test_one_digit_is_enough_where_no_other_digit_is_beside_it() -> None:
    assert declared_shape("%d.%m.%Y", DAYS).read("3.1.2020") == Moment(dt.date(2020, 1, 3))
    assert declared_shape("%d%m%Y", DAYS).read("1112020") is None, "the 11th of January or the 1st of November"
    assert declared_shape("%d%m%Y", DAYS).read("11012020") == Moment(dt.date(2020, 1, 11))
    assert declared_shape("%d1%m %Y", DAYS).read("1112 2020") is None, "a digit of the format is a digit too"


@pytest.mark.parametrize(
    ("text", "hour"), [("12:00 AM", 0), ("01:00 am", 1), ("12:59 PM", 12), ("11:00 pm", 23), ("13:00 PM", None)]
)
def test_twelve_hours(text: str, hour: int | None) -> None:
    found = declared_shape("%Y%m%d %I:%M %p", DAYS).read(f"20200101 {text}")
    assert (found.hour if found else None) == hour


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("%d.%m.%Q", '"%Q"; such as'),
        ("%d.%m.%", '"%"; such as'),
        ("%d.%d.%Y", "found %d twice"),
        ("%m.%Y", "has no %d"),
        ("%d.%m.%Y %I", "has one of %I and %p"),
        ("%Y-%d-%m", "would read 2001-02-03 otherwise than ISO 8601 does"),
        ("%Y-%d-%m %H:%M:%S", "would read 2001-02-03 04:05:06 otherwise"),
    ],
)
def test_formats_that_mean_nothing_or_another_thing_are_refused(form: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        declared_shape(form, (("Y",), ("m",), ("d",)))


def test_a_shape_that_fits_decides() -> None:
    shape = Shape("^(?P<d>[0-9]{2})$", ("d",))
    assert shape.fits("31")
    assert not shape.fits("31\n")
    assert shape.read("32") is None
