"""A source in this process: what it takes in stands in a set, and beats are made by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from panbayes.service.feed import Feed
from panbayes.service.source import Declared, Running, Surroundings
from panbayes.stream.ids.feeding import stream_format

__all__ = ["Taking", "taking"]


class _Seen(Feed):
    """Keeps the lines instead of feeding a state."""

    def __init__(self) -> None:
        super().__init__((), form=stream_format("", "text"), column=None)
        self.lines: list[bytes] = []

    def take(self, lines: bytes | bytearray | memoryview) -> None:
        """Keep them."""
        if lines:
            self.lines += [line for line in bytes(lines).split(b"\n") if line]


class Taking:
    """A source that runs: what it ``told`` the operator, and what ended it."""

    running: Running

    def __init__(self) -> None:
        """Begin with nothing."""
        self.feed, self.told, self.ended = _Seen(), list[str](), list[BaseException | None]()

    @property
    def seen(self) -> list[int]:
        """The ids that were taken in, in their order."""
        return [int(line) for line in self.feed.lines if line.isdigit()]

    def beat(self) -> None:
        """Acknowledge what was taken in; it takes no time, whatever the broker does."""
        start = time.monotonic()
        self.running.settle()()
        assert time.monotonic() - start < 2

    async def until(self, condition: Callable[[], bool], *, beating: bool = True) -> None:
        """Beat until something is so."""
        deadline = time.monotonic() + 60
        while not await asyncio.to_thread(condition):
            assert time.monotonic() < deadline, (self.told, len(self.seen))
            if beating:
                self.beat()
            await asyncio.sleep(0.05)


@asynccontextmanager
async def taking(source: Declared, folder: Path) -> AsyncIterator[Taking]:
    """Run a source, and stop it as a service does: after its last beat."""
    found = Taking()
    found.running = await source.start(found.feed, Surroundings(folder, found.told.append, found.ended.append))
    try:
        yield found
    finally:
        await found.running.stop()
        found.beat()
        await found.running.stop()
        await found.running.close()
