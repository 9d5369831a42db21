"""Domains of dates: a date falls into a period of a calendar, or into a bin by the age it gives at a reference date.

Both know every day that has a code, so that what is drawn from a model is a date again.
"""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, TypeAlias

from panbayes.errors import InputError, nearest
from panbayes.schema.blanks import stripped
from panbayes.schema.dates import DATE, MONTH, QUARTER, TIME, WEEK, YEAR, Moment, Shape, declared_shape
from panbayes.schema.domains import Bins, Domain, Scalar

__all__ = ["PERIODS", "Ages", "DateDomain", "Periods", "reference_date"]

Needed: TypeAlias = tuple[tuple[str, ...], ...]
"""Parts of a date, one of each group."""

MAX_PERIODS: Final = 65_536
_LAST_DAY: Final = dt.date.max.toordinal()
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_IN_YEARS: Final = (("Y", "y"),)
_IN_MONTHS: Final = (*_IN_YEARS, ("m", "b", "B"))
_IN_DAYS: Final = (*_IN_MONTHS, ("d",))


@dataclass(frozen=True, slots=True)
class Period:
    """A way to divide time: the number of the period that holds a moment, the label and the first day of a number.

    A format must have the ``needed`` parts. ``shapes`` write no more of a date than the period needs. Where periods
    come again, ``cycle`` is how many there are.
    """

    number: Callable[[Moment], int]
    label: Callable[[int], str]
    first: Callable[[int], int]
    needed: Needed = _IN_DAYS
    shapes: tuple[Shape, ...] = ()
    cycle: int | None = None


def _month_start(number: int) -> int:
    """Return the first day of a month, counted from January of the year 0; after the last one, the day after it."""
    year, month = divmod(number, 12)
    return dt.date(year, month + 1, 1).toordinal() if year <= dt.MAXYEAR else _LAST_DAY + 1


def _week_label(number: int) -> str:
    year, week, _ = dt.date.fromordinal(7 * number + 1).isocalendar()
    return f"{year:04}-W{week:02}"


_KNOWN: Final = {
    "year": Period(
        lambda at: at.day.year, lambda n: f"{n:04}", lambda n: _month_start(12 * n), _IN_YEARS, (MONTH, YEAR)
    ),
    "quarter": Period(
        lambda at: 4 * at.day.year + (at.day.month - 1) // 3,
        lambda n: f"{n // 4:04}-Q{n % 4 + 1}",
        lambda n: _month_start(3 * n),
        _IN_MONTHS,
        (MONTH, QUARTER),
    ),
    "month": Period(
        lambda at: 12 * at.day.year + at.day.month - 1,
        lambda n: f"{n // 12:04}-{n % 12 + 1:02}",
        _month_start,
        _IN_MONTHS,
        (MONTH,),
    ),
    # The year 1 began on a Monday.
    "week": Period(lambda at: (at.day.toordinal() - 1) // 7, _week_label, lambda n: 7 * n + 1, shapes=(WEEK,)),
    "day": Period(lambda at: at.day.toordinal(), lambda n: dt.date.fromordinal(n).isoformat(), lambda n: n),
    "weekday": Period(lambda at: at.day.weekday(), lambda n: _WEEKDAYS[n], lambda n: n, cycle=7),
    "hour": Period(lambda at: at.hour, lambda n: f"{n:02}:00", lambda n: n, (("H", "I"),), (TIME,), cycle=24),
}

PERIODS: Final = tuple(_KNOWN)
"""The periods that a schema may name."""


class DateDomain(Domain):
    """A domain whose values are dates."""

    format: str | None

    @property
    @abstractmethod
    def shapes(self) -> tuple[Shape, ...]:
        """How a date may be written; the first that fits decides."""

    @property
    def by_hour(self) -> bool:
        """Whether the hour matters."""
        return False

    @abstractmethod
    def place(self, moment: Moment) -> tuple[int, bool]:
        """Return the code of a moment, that of the nearer end where it lies outside, and whether it lies inside."""

    @abstractmethod
    def days(self, code: int) -> tuple[int, int] | None:
        """Return the first day of a code and the first after it, counted from 1 January of the year 1.

        None where a code has no days of its own, because periods come again.
        """

    def inside(self, value: Scalar) -> int | None:
        """Return the code of a label, or of a date inside the domain."""
        text = stripped(str(value))
        if text in self.labels:
            return self.labels.index(text)
        moment = next((shape.read(text) for shape in self.shapes if shape.fits(text)), None)
        if moment is None:
            return None
        code, inside = self.place(moment)
        return code if inside else None


@cache
def _shapes(declared: str | None, needed: Needed, further: tuple[Shape, ...]) -> tuple[Shape, ...]:
    return (*([declared_shape(declared, needed)] if declared is not None else []), DATE, *further)


@dataclass(frozen=True)
class Periods(DateDomain):
    """Periods of a calendar, both bounds included, or of a cycle.

    >>> months = Periods("month", ("2019-11", "2020-02"))
    >>> months.labels, months.inside("2020-02-29"), months.inside("2020-03-01")
    (('2019-11', '2019-12', '2020-01', '2020-02'), 3, None)
    """

    name: str
    between: tuple[str, ...] = ()
    format: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds and the format."""
        if self.name not in _KNOWN:
            raise InputError("period", found=f'found "{self.name}"', remedy=nearest(self.name, PERIODS))
        if (self._period.cycle is None) != (len(self.between) == 2):
            raise InputError(
                "between",
                found=f"found {len(self.between)} bounds",
                remedy=f"give the first and the last {self.name}"
                if self._period.cycle is None
                else f"remove it: {self.name}s come again and have none",
            )
        first, last = self._numbers
        if last < first:
            raise InputError("between", found="found the later bound first", remedy="give the earlier one first")
        if last - first >= MAX_PERIODS:
            raise InputError("between", found=f"found {last - first + 1:,} {self.name}s", remedy="give a longer period")
        if not self.shapes:
            raise InputError("format", found="found no way to write a date", remedy="give a format such as %d.%m.%Y")

    @property
    def _period(self) -> Period:
        return _KNOWN[self.name]

    @cached_property
    def _numbers(self) -> tuple[int, int]:
        """The numbers of the first and the last period."""
        if self._period.cycle is not None:
            return 0, self._period.cycle - 1
        first, last = (self._number(bound) for bound in self.between)
        return first, last

    def _number(self, bound: str) -> int:
        read = (shape.read(bound) for shape in (DATE, *self._period.shapes))
        moment = next((found for found in read if found is not None), None)
        if moment is None:
            raise InputError(
                "between",
                found=f'found "{bound}"',
                remedy=f"give the first and the last {self.name} as ISO dates, such as 2020-01-31",
            )
        return self._period.number(moment)

    @property
    def bounds(self) -> tuple[str, ...]:
        """The first and the last period by their labels, however they were written; nothing in a cycle."""
        return (self.labels[0], self.labels[-1]) if self.between else ()

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The declared format, ISO dates, and less of them where the period needs less."""
        return _shapes(self.format, self._period.needed, self._period.shapes)

    @property
    def by_hour(self) -> bool:
        """Whether the periods are hours."""
        return self.name == "hour"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name every period as ISO 8601 does."""
        first, last = self._numbers
        return tuple(self._period.label(number) for number in range(first, last + 1))

    @property
    def ordered(self) -> bool:
        """Periods beside each other are alike."""
        return True

    def place(self, moment: Moment) -> tuple[int, bool]:
        """Return the code of the period that holds a moment, or that of the nearer end."""
        (first, last), number = self._numbers, self._period.number(moment)
        return min(max(number, first), last) - first, first <= number <= last

    def days(self, code: int) -> tuple[int, int] | None:
        """Return the first day of a period and the first after it."""
        if self._period.cycle is not None:
            return None
        number = self._numbers[0] + code
        return self._period.first(number), min(self._period.first(number + 1), _LAST_DAY + 1)


def reference_date(value: object) -> str:
    """Return a reference date as ISO 8601 writes it.

    >>> reference_date(dt.date(2026, 1, 1)), reference_date("2026-01-01 00:00")
    ('2026-01-01', '2026-01-01')
    """
    moment = DATE.read(str(value))
    if moment is None:
        raise InputError("age_at", found=f'found "{value}"', remedy="give an ISO date such as 2026-01-01")
    return moment.day.isoformat()


@dataclass(frozen=True)
class Ages(DateDomain):
    """Bins by the years that somebody has completed at a reference date, from the date of birth.

    Who was born on 29 February completes a year on 1 March where there is no such day.

    >>> ages = Ages("2026-01-01", (0, 18, 65, 120))
    >>> ages.labels, ages.inside("2008-01-01"), ages.inside("2008-01-02"), ages.inside("2027-01-01")
    (('[0, 18)', '[18, 65)', '[65, 120]'), 1, 0, None)
    """

    at: str
    edges: tuple[int | float, ...]
    format: str | None = None

    def __post_init__(self) -> None:
        """Check the edges and the format."""
        youngest, oldest = (self._at.year - year for year in (dt.MAXYEAR - 1, dt.MINYEAR + 1))
        if not all(float(edge).is_integer() and youngest <= edge <= oldest for edge in self._bins.edges):
            raise InputError(
                "bins", found="found an edge that is no age in years", remedy="give whole numbers of years"
            )
        if not self.shapes:
            raise InputError("format", found="found no way to write a date", remedy="give a format such as %d.%m.%Y")

    @cached_property
    def _at(self) -> dt.date:
        return dt.date.fromisoformat(self.at)

    @cached_property
    def _bins(self) -> Bins:
        return Bins(self.edges)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The declared format, and ISO dates."""
        return _shapes(self.format, _IN_DAYS, ())

    @property
    def labels(self) -> tuple[str, ...]:
        """Name every bin by its edges."""
        return self._bins.labels

    @property
    def numbers(self) -> tuple[float, ...]:
        """The middle of every bin."""
        return self._bins.numbers

    def _age(self, birth: dt.date) -> int:
        return self._at.year - birth.year - ((self._at.month, self._at.day) < (birth.month, birth.day))

    def place(self, moment: Moment) -> tuple[int, bool]:
        """Return the code of the age of somebody who was born then."""
        age = self._age(moment.day)
        code = self._bins.inside(age)
        return (code, True) if code is not None else (0 if age < self.edges[0] else len(self.edges) - 2, False)

    def days(self, code: int) -> tuple[int, int]:
        """Return the first birthday of a bin and the first after it."""
        youngest, above = int(self.edges[code]), int(self.edges[code + 1]) + (code == len(self.edges) - 2)
        return self._first_below(above), self._first_below(youngest)

    def _first_below(self, age: int) -> int:
        """Return the first day on which to be born for less than this age."""
        return bisect_left(range(_LAST_DAY + 1), -age + 1, lo=1, key=lambda day: -self._age(dt.date.fromordinal(day)))
