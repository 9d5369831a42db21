"""Releases by the clock: once in every hour, day or week, as many as were planned.

A schedule divides time into periods that begin on the hour, at midnight or on Monday at midnight, all in UTC. A state
with a schedule writes down the period of its last release, or that of its opening, and a release is *due* once the
clock shows a later one. Both are read and written in the transaction of the release itself, so there is one release a
period, whoever asks how often, and never more than planned. A period in which nobody asked is passed over; its release
is kept for later. A clock that goes back shows a period that is not later, and nothing is due until it is.

Where there are turns, the turn is what is due, and releases are planned for each period.

When a release is made does not depend on the stream, and the number of the period is public.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from panbayes.stream.choices import choose

__all__ = ["SCHEDULES", "Due", "Schedule", "due_of", "moment", "now", "read_schedule"]

_DAY: Final = 86_400
_LATEST: Final = 5000 * 365 * _DAY
"""The year 6966: the last of the most releases that can be planned, one a week, is due before the year 10000."""

_MONDAY: Final = 4 * _DAY
"""The first Monday of the clock that starts on Thursday, 1 January 1970."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is due once in every period of so many ``seconds``, the first of which began at ``start``."""

    name: str
    seconds: int
    start: int = 0

    def period(self, at: float) -> int:
        """The number of the period that a moment is in."""
        return int((at - self.start) // self.seconds)

    def begin(self, period: int) -> int:
        """The moment at which a period begins."""
        return self.start + period * self.seconds

    def has(self, period: int) -> bool:
        """Say whether a clock can show a period: none before 1970, and none so late that its plan has no date."""
        return period >= -1 and self.begin(period) <= _LATEST


SCHEDULES: Final = {
    schedule.name: schedule
    for schedule in (Schedule("hourly", 3600), Schedule("daily", _DAY), Schedule("weekly", 7 * _DAY, _MONDAY))
}


def read_schedule(name: str, *, argument: str = "--at") -> Schedule:
    """Return the schedule called ``name``.

    >>> schedule = read_schedule("weekly")
    >>> moment(schedule.begin(schedule.period(1_800_000_000)))
    '2027-01-11 00:00 UTC'
    """
    return choose(name, SCHEDULES, argument=argument)


@dataclass(frozen=True, slots=True)
class Due:
    """Whether something is due ``now``, when the ``next`` is, and when the ``last`` of all will be if none is missed.

    ``last`` is None where there is no end. ``backwards`` is true if the clock is in an earlier period than it was.
    """

    now: bool
    next: int
    last: int | None
    backwards: bool


def due_of(schedule: Schedule, done: int, left: int | None, at: float) -> Due:
    """Say what is due at a moment, if the last was ``done`` in such a period and so many are ``left``."""
    period = schedule.period(at)
    first = max(period, done + 1)
    last = None if left is None else schedule.begin(first + max(0, left - 1))
    return Due(period > done and left != 0, schedule.begin(first), last, period < done)


def moment(seconds: float) -> str:
    """Return a moment as people read it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def now() -> float:
    """Return what the clock shows."""
    return time.time()
