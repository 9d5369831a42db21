"""Polls that wait for letters: one look at the folder for all of them, and none while nobody waits.

The folder is looked at every :data:`BUSY` seconds while something happens, and every :data:`QUIET` seconds after half a
minute in which nothing did. A look asks the system when ``to-NAME`` last changed, and compares that with what it was.
Times on disks are coarse, and two changes may have one: the letters themselves are looked for as long as the last
change is younger than a tick of the system's clock; four times a second while it is younger than the ticks of the
coarsest disks; and every few seconds in any case, should a share not tell times at all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Ticket", "Waiting"]

BUSY: Final = 0.01
QUIET: Final = 0.1
_CALM: Final = 30.0
_TICK: Final = 0.05
_COARSE, _COARSELY = 2.5, 0.25
_EVER: Final = 5.0


@dataclass(slots=True, eq=False)
class Ticket:
    """A poll that waits: ``stirred`` when there may be something, ``over`` when it is to wait no more."""

    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False

    def end(self) -> None:
        """End the wait."""
        self.over = True
        self.stirred.set()


class Waiting:
    """The polls that wait, one of each holder."""

    def __init__(self, state: Callable[[str], tuple[int, int, int] | None]) -> None:
        """Look at holders' letters by ``state``: their number, time in nanoseconds, and size."""
        self._state = state
        self._polls: dict[str, Ticket] = {}
        self._seen: dict[str, tuple[tuple[int, int, int] | None, float]] = {}
        self._watch: asyncio.Task[None] | None = None
        self._busy_until = 0.0

    def stir(self) -> None:
        """Say that something happens: look more often."""
        self._busy_until = time.monotonic() + _CALM

    def enter(self, holder: str) -> Ticket:
        """Begin to wait; a poll of the same holder that waits already ends."""
        ticket = Ticket()
        before = self._polls.get(holder)
        self._polls[holder] = ticket
        if before is not None:
            before.end()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._look())
        return ticket

    def leave(self, holder: str, ticket: Ticket) -> None:
        """Wait no more."""
        if self._polls.get(holder) is ticket:
            del self._polls[holder]

    def end(self) -> None:
        """End the wait of all."""
        for ticket in self._polls.values():
            ticket.end()

    async def _look(self) -> None:
        while self._polls:
            await asyncio.sleep(BUSY if time.monotonic() < self._busy_until else QUIET)
            for holder, ticket in self._polls.items():
                if self._changed(holder):
                    ticket.stirred.set()

    def _changed(self, holder: str) -> bool:
        state, now = self._state(holder), time.monotonic()
        before, looked = self._seen.get(holder, (None, 0.0))
        age = _EVER if state is None else time.time() - state[1] / 1e9
        if state != before:
            self.stir()
        elif now - looked < (0.0 if age < _TICK else _COARSELY if age < _COARSE else _EVER):
            return False
        self._seen[holder] = state, now
        return True
