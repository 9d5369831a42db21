"""The agent's ends of the pipes to the process that computes: they wait until a moment, and no longer.

That process reads files and runs for as long as it takes, and may be stuck: on a disk that does not answer, or in a
loop that does not end. Whoever reads from it or writes to it here is told by a :class:`StuckError` when the time is
over. How long that is follows from what was promised, which follows from public sizes
(:mod:`panbayes.consortium.agent.effort`), and is many times as much: a machine may be slow or busy, and to be late has
consequences of its own (:mod:`panbayes.consortium.agent.slots`).
"""

from __future__ import annotations

import math
import os
import select
import time
from typing import Final

__all__ = ["BEGINNING", "LEAST", "TIMES", "PipeEnd", "StuckError", "most_seconds", "most_to_begin"]

BEGINNING: Final = 3600.0
"""Seconds until a question is taken up, and from then until its time is promised: what has to be loaded and read. No
promise is longer either."""

_A_ROW: Final = 1e-3
"""Seconds more for a row, where the holder's file says how many there may be: ten times what 100 values take."""

TIMES: Final = 10
LEAST: Final = 600.0
"""A process has so many times the seconds that it promised, and at least so many."""

_PIECE: Final = 2**16


class StuckError(Exception):
    """The other side has neither said nor taken anything for as long as it may take."""


def most_to_begin(rows: int | None) -> float:
    """Return after how many seconds a process is stuck that has promised nothing yet; of so many ``rows``, if declared.

    >>> most_to_begin(None), most_to_begin(1_000_000), most_to_begin(50_000_000)
    (3600.0, 3600.0, 50000.0)
    """
    return max(BEGINNING, _A_ROW * (rows or 0))


def most_seconds(promised: float) -> float:
    """Return after how many seconds a process is stuck that promised so many.

    >>> most_seconds(0.4), most_seconds(100)
    (600.0, 1000)
    """
    return max(LEAST, TIMES * promised)


class PipeEnd:
    """An end of a pipe that waits no longer than ``until``, on the monotonic clock."""

    def __init__(self, number: int) -> None:
        """Use an open end by its number."""
        self.until = math.inf
        self.closed = False
        self._number = number
        os.set_blocking(number, False)

    def read(self, size: int, /) -> bytes:
        """Read so many bytes; fewer if the other side has closed its end."""
        found = bytearray()
        while len(found) < size:
            self._wait(select.POLLIN)
            piece = os.read(self._number, min(size - len(found), _PIECE))
            if not piece:
                break
            found += piece
        return bytes(found)

    def write(self, data: bytes, /) -> None:
        """Write all of it."""
        left = memoryview(data)
        while left:
            self._wait(select.POLLOUT)
            left = left[os.write(self._number, left[:_PIECE]) :]

    def flush(self) -> None:
        """Do nothing: what was written has left."""

    def close(self) -> None:
        """Close it; a number that was closed may be another's by now, and is not closed again."""
        if not self.closed:
            self.closed = True
            os.close(self._number)

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._number, event)
        left = self.until - time.monotonic()
        if not poll.poll(None if math.isinf(left) else max(left, 0.0) * 1000):
            raise StuckError
