"""Periods of a calendar, by which a table that grows is divided into blocks: 2026-11, 2026-Q4 or 2026, in UTC.

Periods of one calendar are in the order of their texts.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, get_args

__all__ = ["CALENDARS", "Calendar", "calendar_of", "period_at", "periods"]

Calendar: TypeAlias = Literal["monthly", "quarterly", "yearly"]
"""How often a new block begins."""

CALENDARS: Final[tuple[Calendar, ...]] = get_args(Calendar)

_SHAPES: Final[dict[Calendar, re.Pattern[str]]] = {
    "monthly": re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"),
    "quarterly": re.compile(r"([0-9]{4})-Q([1-4])"),
    "yearly": re.compile(r"([0-9]{4})()"),
}
_IN_A_YEAR: Final[dict[Calendar, int]] = {"monthly": 12, "quarterly": 4, "yearly": 1}


def calendar_of(period: str) -> Calendar | None:
    """Return the calendar that a period belongs to, None if the text is no period.

    >>> [calendar_of(text) for text in ("2026-11", "2026-Q4", "2026", "2026-13")]
    ['monthly', 'quarterly', 'yearly', None]
    """
    return next((calendar for calendar, shape in _SHAPES.items() if shape.fullmatch(period)), None)


def period_at(calendar: Calendar, time: str) -> str:
    """Return the period in which a moment lies, written as ledgers write it.

    >>> [period_at(calendar, "2026-11-16 23:59:59Z") for calendar in CALENDARS]
    ['2026-11', '2026-Q4', '2026']
    """
    year, month = time[:4], int(time[5:7])
    return {"monthly": f"{year}-{month:02}", "quarterly": f"{year}-Q{(month + 2) // 3}", "yearly": year}[calendar]


def periods(first: str, last: str) -> tuple[str, ...]:
    """Return every period of a calendar from the first to the last; none if the last is before the first.

    >>> periods("2025-Q3", "2026-Q1"), periods("2026", "2025")
    (('2025-Q3', '2025-Q4', '2026-Q1'), ())
    """
    calendar = calendar_of(first)
    if calendar is None or calendar_of(last) != calendar:
        raise ValueError("periods of one calendar have a first and a last one")
    return tuple(_written(calendar, number) for number in range(_number(calendar, first), _number(calendar, last) + 1))


def _number(calendar: Calendar, period: str) -> int:
    found = _SHAPES[calendar].fullmatch(period)
    if found is None:
        raise ValueError("no period of this calendar")
    return int(found[1]) * _IN_A_YEAR[calendar] + int(found[2] or 1) - 1


def _written(calendar: Calendar, number: int) -> str:
    year, part = divmod(number, _IN_A_YEAR[calendar])
    return {"monthly": f"{year:04}-{part + 1:02}", "quarterly": f"{year:04}-Q{part + 1}", "yearly": f"{year:04}"}[
        calendar
    ]
