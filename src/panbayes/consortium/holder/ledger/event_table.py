"""The table of events in a ledger, and of strangers who were only counted; see the module ``events``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from panbayes.consortium.holder.ledger.clock import Clock
from panbayes.consortium.holder.ledger.events import (
    DECISIONS,
    FIRST_DIGEST,
    MAX_TEXT,
    STRANGERS,
    Event,
    Happening,
    Stranger,
    StrangerCount,
    detail_text,
)
from panbayes.consortium.holder.ledger.rows import Rows
from panbayes.errors import InternalError

__all__ = ["EventTable"]

_TYPES: Final = (int, str, str, str, str, str, str, str)
_DAY: Final = len("2026-11-16")


class EventTable(Rows):
    """The events of a ledger inside BEGIN … COMMIT."""

    def __init__(self, connection: sqlite3.Connection, name: str, clock: Clock) -> None:
        """Work on a connection; ``name`` is the ledger's in messages, ``clock`` says when something happens."""
        super().__init__(connection, name)
        self._clock = clock

    def newest(self) -> tuple[int, str]:
        """Return the position of the newest event and the digest of all, or refuse a ledger that lost its newest."""
        row = self._row("SELECT position, digest FROM events ORDER BY position DESC LIMIT 1", int, str)
        position, digest = (0, FIRST_DIGEST) if row is None else (row[0], row[1])
        if digest != self._kept("events"):
            raise self._damaged("its newest events have been changed, or are missing")
        return position, digest

    def all(self) -> Iterator[Event]:
        """Yield every event in order."""
        every = "SELECT position, time, what, study, asker, question, detail, digest FROM events ORDER BY position"
        yield from (Event(*row) for row in self._rows(every, *_TYPES))

    def decisions(self, study: str) -> list[Event]:
        """Return what was decided about a study, in order."""
        self.newest()
        chosen = (
            "SELECT position, time, what, study, asker, question, detail, digest FROM events"
            " WHERE study = ? AND what IN (?, ?, ?, ?) ORDER BY position"
        )
        return [Event(*row) for row in self._rows(chosen, *_TYPES, given=(study, *DECISIONS))]

    def write(
        self, what: Happening, said: Mapping[str, str | int], *, study: str, asker: str = "", question: str = ""
    ) -> None:
        """Append an event that happens now."""
        if max(map(len, (study, asker, question))) > MAX_TEXT:
            raise InternalError("an event was to be written with a text that is too long")
        position, previous = self.newest()
        event = Event(position + 1, self._clock(), what, study, asker, question, detail_text(what, said))
        digest = event.expected_digest(previous)
        self.connection.execute(
            "INSERT INTO events (position, time, what, study, asker, question, detail, digest)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (event.position, event.time, what, study, asker, question, event.detail, digest),
        )
        self._keep("events", digest)

    def today(self, what: Happening, study: str) -> int:
        """Count the events of a kind that were written about a study since midnight, UTC."""
        counting = "SELECT COUNT(*) FROM events WHERE study = ? AND what = ? AND time >= ?"
        return sum(count for (count,) in self._rows(counting, int, given=(study, what, self._clock()[:_DAY])))

    def strangers(self) -> Iterator[StrangerCount]:
        """Yield how many were not let in, by day and kind."""
        rows = self._rows("SELECT day, what, count FROM strangers ORDER BY day, what", str, str, int)
        yield from (StrangerCount(*row) for row in rows)

    def count_strangers(self, what: Stranger, number: int) -> None:
        """Count so many more of a kind that were not let in today."""
        if what not in STRANGERS or number < 1:
            raise InternalError(f"strangers of kind {what} cannot be counted, {number} at a time")
        self.connection.execute(
            "INSERT INTO strangers (day, what, count) VALUES (?, ?, ?)"
            " ON CONFLICT (day, what) DO UPDATE SET count = min(count + excluded.count, 9007199254740991)",
            (self._clock()[:_DAY], what, number),
        )
