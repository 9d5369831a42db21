"""Periods and ages, held against a walk over every day."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.dates import Moment
from panbayes.schema.periods import PERIODS, Ages, Periods
from tests.effort import often

CALENDARS = [name for name in PERIODS if name not in ("weekday", "hour")]


def label_of(name: str, day: dt.date) -> str:
    """Name the period of a day from first principles."""
    year, week, _ = day.isocalendar()
    return {
        "year": f"{day.year:04}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "month": day.isoformat()[:7],
        "week": f"{year:04}-W{week:02}",
        "day": day.isoformat(),
    }[name]


@given(st.sampled_from(CALENDARS), st.dates(), st.integers(0, 400))
@settings(max_examples=often(40, 200))
def test_every_day_falls_into_the_period_of_its_name(name: str, first: dt.date, span: int) -> None:
    last = min(first.toordinal() + span, dt.date.max.toordinal())
    domain = Periods(name, (first.isoformat(), dt.date.fromordinal(last).isoformat()))
    days = [dt.date.fromordinal(day) for day in range(first.toordinal(), last + 1)]
    names = list(dict.fromkeys(label_of(name, day) for day in days))
    assert domain.labels == tuple(names)
    assert domain.bounds == (names[0], names[-1])
    for day in days:
        assert domain.place(Moment(day)) == (names.index(label_of(name, day)), True)
    for beyond, code in ((first.toordinal() - 400, 0), (last + 400, len(names) - 1)):
        if 1 <= beyond <= dt.date.max.toordinal():
            assert domain.place(Moment(dt.date.fromordinal(beyond))) == (code, False)


@given(st.sampled_from(CALENDARS), st.dates(), st.integers(0, 400))
@settings(max_examples=often(20, 100))
def test_the_days_of_a_code_are_those_that_have_it(name: str, first: dt.date, span: int) -> None:
    last = min(first.toordinal() + span, dt.date.max.toordinal())
    domain = Periods(name, (first.isoformat(), dt.date.fromordinal(last).isoformat()))
    spans = [domain.days(code) for code in range(len(domain.labels))]
    known = [found for found in spans if found is not None]
    assert len(known) == len(spans)
    assert all(after == before for (_, after), (before, _) in pairwise(known))
    for code, (begin, after) in enumerate(known):
        for day in (begin, after - 1):
            assert domain.place(Moment(dt.date.fromordinal(day))) == (code, True)


@given(st.dates(dt.date(1000, 1, 1), dt.date(9000, 1, 1)), st.dates())
def test_weekdays_and_hours_come_again(first: dt.date, day: dt.date) -> None:
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    assert Periods("weekday").labels == names
    assert names[Periods("weekday").place(Moment(first))[0]] == first.strftime("%A")
    hours = Periods("hour")
    assert (len(hours.labels), hours.labels[8], hours.days(3)) == (24, "08:00", None)
    assert hours.inside(f"{day.isoformat()} 13:45:00") == hours.inside("13:07") == hours.inside("13:00") == 13
    assert Periods("weekday").inside("Sunday") == 6


def completed(birth: dt.date, at: dt.date) -> int:
    """Count birthdays one by one; without a 29 February it is the 1st of March."""
    years = 0
    while True:
        try:
            birthday = birth.replace(year=birth.year + years + 1)
        except ValueError:
            birthday = dt.date(birth.year + years + 1, 3, 1)
        if birthday > at:
            return years
        years += 1


@given(st.dates(dt.date(1900, 1, 1), dt.date(2040, 1, 1)), st.integers(0, 50_000))
@settings(max_examples=often(60, 300))
def test_ages_are_completed_years(at: dt.date, days: int) -> None:
    birth = at - dt.timedelta(days=days)
    age = completed(birth, at)
    domain = Ages(at.isoformat(), tuple(range(140)))
    assert domain.place(Moment(birth)) == (min(age, 138), True)
    coarse = Ages(at.isoformat(), (18, 65, 120))
    expected = (0 if age < 65 else 1, 18 <= age <= 120)
    assert coarse.place(Moment(birth)) == expected


@pytest.mark.parametrize("at", ["2024-02-28", "2024-02-29", "2024-03-01", "2023-02-28", "2023-03-01", "2026-01-01"])
def test_birthdays_of_a_bin_are_those_that_have_its_ages(at: str) -> None:
    edges = (0, 1, 5, 18, 20)
    domain = Ages(at, edges)
    day = dt.date.fromisoformat(at)
    for code in range(4):
        ages = range(edges[code], edges[code + 1] + (code == 3))
        own = [
            d
            for d in range(day.toordinal() - 9000, day.toordinal() + 1)
            if completed(dt.date.fromordinal(d), day) in ages
        ]
        assert domain.days(code) == (own[0], own[-1] + 1)


def test_who_is_born_later_is_younger_than_nobody() -> None:
    assert Ages("2020-01-01", (0, 10, 20)).place(Moment(dt.date(2020, 1, 2))) == (0, False)
    assert Ages("2020-01-01", (-1, 0, 20)).place(Moment(dt.date(2020, 1, 2))) == (0, True)


@pytest.mark.parametrize(
    ("name", "between", "message"),
    [
        ("fortnight", (), 'period: found "fortnight"'),
        ("month", (), "between: found 0 bounds; give the first and the last month"),
        ("hour", ("2020", "2021"), "between: found 2 bounds; remove it: hours come again"),
        ("month", ("2020-02", "2020-01"), "between: found the later bound first"),
        ("day", ("1000-01-01", "2020-01-01"), "between: found 372,5"),
        ("day", ("2020-01", "2020-02"), 'between: found "2020-01"'),
        ("month", ("01/02/2020", "2021-01"), 'between: found "01/02/2020"'),
    ],
)
def test_bounds_that_are_none_are_refused(name: str, between: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Periods(name, between)
    assert message in str(caught.value)


def test_ages_are_whole_years_that_a_calendar_has() -> None:
    for edges in ((0, 0.5), (0, 2025), (-7973, 0)):
        with pytest.raises(InputError, match="no age in years"):
            Ages("2026-01-01", edges)
    ages = Ages("2026-01-01", (-7972, 0, 2024))
    assert ages.days(1)[0] > 0
    assert ages.days(0)[1] - 1 <= dt.date.max.toordinal()
