"""A source that reads in a thread of its own: pieces of input become lines, and lines enter the states."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from panbayes.service.feed import LONGEST, Feed
from panbayes.service.source import Surroundings, nothing
from panbayes.stream.ids.formats.lines import LineBuffer
from panbayes.stream.ids.stopping import Stop

__all__ = ["Pieces", "Pump"]

Pieces: TypeAlias = Callable[[Stop, LineBuffer], Iterator[bool]]
"""What reads pieces into a buffer until it is asked to stop: true after each, false where one input ends."""


class Pump:
    """Takes pieces in until they end, and then ends the service if it is told to."""

    def __init__(self, feed: Feed, pieces: Pieces, around: Surroundings, *, ends: bool) -> None:
        """Begin at once."""
        self._feed, self._pieces, self._around, self._ends = feed, pieces, around, ends
        self._stop, self._thread = Stop(), ThreadPoolExecutor(1)
        self._done = self._thread.submit(self._run)
        self._done.add_done_callback(self._tell)

    def _run(self) -> None:
        buffer = LineBuffer(LONGEST)
        try:
            for goes_on in self._pieces(self._stop, buffer):
                self._feed.take_whole(buffer, ended=not goes_on)
            # Asked to stop within a line: its beginning is no line.
            if not self._stop.asked:
                self._feed.take_whole(buffer, ended=True)
        finally:
            buffer.wipe()

    def _tell(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None or (self._ends and not self._stop.asked):
            self._around.end(error)

    def settle(self) -> Callable[[], None]:
        """Acknowledge nothing: whoever writes the lines does not wait."""
        return nothing

    async def stop(self) -> None:
        """Take no more lines."""
        self._stop.ask()
        await asyncio.to_thread(self._thread.shutdown)

    async def close(self) -> None:
        """Let the wish go."""
        self._stop.close()
