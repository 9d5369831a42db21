"""Dates and times out of texts: ISO 8601 always, another way of writing only where the schema declares it.

A :class:`Shape` says which texts are dates, as a regular expression that Python and data frames read alike, and what
its parts mean. Which shapes count is decided by the schema alone, never by other values: ``01/02/2020`` is no date
unless a format says which of the two is the month. The first shape that a text has decides; a text that has a shape
and is no date all the same (``2019-02-29``) is none.

A date is taken as it is written: an offset (``+02:00``) is read and left alone, and a day alone begins at midnight.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from panbayes.errors import InputError

__all__ = [
    "DATE",
    "HOUR",
    "MONTH",
    "QUARTER",
    "TIME",
    "WEEK",
    "YEAR",
    "Moment",
    "Shape",
    "declared_shape",
    "write_moment",
]

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TO_THE_SECOND: Final = r":[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?"
_OFFSET: Final = r" ?(?:z|utc|[+-][0-9]{2}(?::?[0-9]{2}){0,2})?"
_TWO_DIGITS: Final = {"m": "[0-9]{2}", "d": "[0-9]{2}", "H": "[01][0-9]|2[0-3]", "I": "0[1-9]|1[0-2]"}
_PARTS: Final = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "H": "[01]?[0-9]|2[0-3]",
    "I": "0?[1-9]|1[0-2]",
    "b": "|".join(month[:3] for month in _MONTHS),
    "B": "|".join(_MONTHS),
    "p": "am|pm",
}
_UNREAD: Final = {
    "M": "[0-5][0-9]",
    "S": "(?:[0-5][0-9]|60)",
    "f": "[0-9]{1,9}",
    "z": "(?:z|[+-][0-9]{2}:?[0-9]{2})",
    "%": "%",
}
_DIRECTIVES: Final = (*_PARTS, *_UNREAD)
_DIGITS: Final = frozenset("YymdHIMSf")
HOUR: Final = ("H", "I", "p")
"""The parts that tell the hour."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, and the hour that began last."""

    day: dt.date
    hour: int = 0


@dataclass(frozen=True)
class Shape:
    """A way to write dates: ``pattern`` finds its ``parts``, each in a group of its own name.

    >>> DATE.read("2020-02-29T12:30:00+01:00")
    Moment(day=datetime.date(2020, 2, 29), hour=12)
    >>> DATE.read("2019-02-29") is None, DATE.fits("2019-02-29")
    (True, True)
    """

    pattern: str
    parts: tuple[str, ...]

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern[:-1] + r"\Z")

    def fits(self, text: str) -> bool:
        """Tell whether a text has the shape."""
        return self._compiled.match(text) is not None

    def read(self, text: str) -> Moment | None:
        """Return the moment a text names; None if it has another shape, or there is no such day."""
        found = self._compiled.match(text)
        return None if found is None else self.moment(found.groupdict())

    def moment(self, parts: Mapping[str, str | None]) -> Moment | None:
        """Put parts together; what the shape has not is the first of its kind."""
        with suppress(ValueError):
            return Moment(_day(parts), _hour(parts))
        return None


def _number(parts: Mapping[str, str | None], key: str, default: int) -> int:
    text = parts.get(key)
    return int(text) if text else default


def _day(parts: Mapping[str, str | None]) -> dt.date:
    if parts.get("V"):
        return dt.date.fromisocalendar(_number(parts, "G", 0), _number(parts, "V", 0), 1)
    year = _number(parts, "Y", 1)
    if short := parts.get("y"):
        year = int(short) + (1900 if int(short) >= 69 else 2000)
    month = 3 * _number(parts, "Q", 1) - 2 if parts.get("Q") else _number(parts, "m", 1)
    if name := parts.get("B") or parts.get("b"):
        month = next(i for i, known in enumerate([*_MONTHS, ""], start=1) if known.startswith(name.lower()))
    return dt.date(year, month, _number(parts, "d", 1))


def _hour(parts: Mapping[str, str | None]) -> int:
    if parts.get("I"):
        return _number(parts, "I", 0) % 12 + (12 if (parts.get("p") or "").lower() == "pm" else 0)
    return _number(parts, "H", 0)


DATE: Final = Shape(
    rf"(?i)^(?P<Y>[0-9]{{4}})-(?P<m>[0-9]{{2}})-(?P<d>[0-9]{{2}})"
    rf"(?:[t ](?P<H>[01][0-9]|2[0-3])(?:{_TO_THE_SECOND})?{_OFFSET})?$",
    ("Y", "m", "d", "H"),
)
TIME: Final = Shape(rf"(?i)^(?P<H>[01][0-9]|2[0-3]){_TO_THE_SECOND}{_OFFSET}$", ("H",))
MONTH: Final = Shape("^(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})$", ("Y", "m"))
YEAR: Final = Shape("^(?P<Y>[0-9]{4})$", ("Y",))
QUARTER: Final = Shape("(?i)^(?P<Y>[0-9]{4})-?q(?P<Q>[1-4])$", ("Y", "Q"))
WEEK: Final = Shape("(?i)^(?P<G>[0-9]{4})-?w(?P<V>[0-9]{2})$", ("G", "V"))


def _pieces(written: str) -> list[tuple[bool, str]]:
    """Cut a format into directives (True) and letters (False)."""
    found = re.findall(r"%(.?)|([^%])", written, re.DOTALL)
    return [(not letter, letter or directive) for directive, letter in found]


def declared_shape(written: str, needed: tuple[tuple[str, ...], ...]) -> Shape:
    """Return the shape that a format such as ``%d.%m.%Y`` declares, with the directives of Python's ``strptime``.

    Of each group in ``needed`` the format must have one directive. A day, month or hour may have one digit where no
    other digit can stand beside it. Two digits of a year are 1969 to 2068. A format that would read an ISO date
    otherwise is refused: columns of dates are written so.

    >>> declared_shape("%d.%m.%Y", (("d",),)).read("3.12.2020")
    Moment(day=datetime.date(2020, 12, 3), hour=0)
    """
    pieces = _pieces(written)
    known = f"{', '.join('%' + one for one in _DIRECTIVES if one != '%')} are known"
    for special, piece in pieces:
        if special and piece not in _DIRECTIVES:
            raise InputError("format", found=f'found "%{piece}"', remedy=f"such as %d.%m.%Y; {known}")
    parts = tuple(piece for special, piece in pieces if special and piece in _PARTS)
    for part in parts:
        if parts.count(part) > 1:
            raise InputError("format", found=f"found %{part} twice", remedy="give every part once")
    for choices in needed:
        if not set(choices) & set(parts):
            raise InputError(
                "format", found=f'"{written}" has no {" or ".join("%" + one for one in choices)}', remedy=known
            )
    if ("I" in parts) != ("p" in parts):
        raise InputError("format", found=f'"{written}" has one of %I and %p', remedy="give both, or %H")
    digits = [(special and piece in _DIGITS) or (not special and piece.isdigit()) for special, piece in pieces]
    pattern = ""
    for i, (special, piece) in enumerate(pieces):
        if not special:
            pattern += re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", piece)
            continue
        beside = (i > 0 and digits[i - 1]) or (i + 1 < len(pieces) and digits[i + 1])
        own = _TWO_DIGITS.get(piece, "") if beside else ""
        own = own or _PARTS.get(piece, "")
        pattern += f"(?P<{piece}>{own})" if own else _UNREAD[piece]
    shape = Shape(f"(?i)^{pattern}$", parts)
    for year in ("2001", "2002"):
        for text in (f"{year}-02-03", f"{year}-02-03 04:05:06", f"{year}-02-03T04:05:06"):
            if shape.fits(text) and shape.read(text) != DATE.read(text):
                raise InputError(
                    "format",
                    found=f'"{written}" would read {text} otherwise than ISO 8601 does',
                    remedy="write ISO dates",
                )
    return shape


def write_moment(day: dt.date, second: int, form: str) -> str:
    """Write a day and the seconds since its midnight in a declared format.

    >>> write_moment(dt.date(987, 6, 5), 13 * 3600 + 60, "%d.%m.%Y %I:%M %p")
    '05.06.0987 01:01 PM'
    """
    hour = second // 3600
    written = {
        "Y": f"{day.year:04}",
        "y": f"{day.year % 100:02}",
        "m": f"{day.month:02}",
        "d": f"{day.day:02}",
        "b": _MONTHS[day.month - 1][:3].title(),
        "B": _MONTHS[day.month - 1].title(),
        "H": f"{hour:02}",
        "I": f"{(hour + 11) % 12 + 1:02}",
        "p": "AM" if hour < 12 else "PM",
        "M": f"{second // 60 % 60:02}",
        "S": f"{second % 60:02}",
        "f": "000000",
        "z": "+0000",
        "%": "%",
    }
    return "".join(written[piece] if special else piece for special, piece in _pieces(form))
