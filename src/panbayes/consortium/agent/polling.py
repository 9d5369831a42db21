"""Polls that go on whatever the agent does: one is outstanding all the time, in a thread of its own.

When a holder polls, its analyst sees. If it polled whenever it is done with something, that would show how long it
computed, and whether it did, also for questions that it is silent about. So polls follow one another by themselves:
what comes is kept until the agent collects it, and until it does so again the letters that it has are not asked for.
A poll is cut short for one reason only: the agent wants a letter again that it did not want before, because its officer
has decided something. After an answer was handed over that is not needed: its question will not come.

After an error, whatever kind of one, the next poll waits a second, then two, up to a minute. Nothing ends the thread
but who closes it: an agent that no longer polls would wait for ever and say nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from panbayes.consortium.agent.carrier import Arrived, CarrierError

__all__ = ["MOST", "Polling"]

MOST: Final = 4
"""Letters that are kept until they are collected; what else comes in the meantime is asked for again."""

_EARLY: Final = 1.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_PATIENCE: Final = 60.0
"""Seconds that somebody who came to look at once waits for the first reply."""


class Polling:
    """Polls by ``fetch``, which is given the letters that need not come and the seconds to wait; see the module.

    ``interrupt(True)`` makes every ``fetch`` raise a :class:`CarrierError`, also one that waits, until
    ``interrupt(False)``.
    """

    def __init__(
        self,
        fetch: Callable[[frozenset[str], int], Arrived | None],
        interrupt: Callable[[bool], None],
        *,
        seconds: int,
    ) -> None:
        """Do nothing yet. Every poll but the first waits ``seconds`` for a letter."""
        self._fetch, self._interrupt, self._seconds = fetch, interrupt, seconds
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._cut_short = False
        self._replied = False
        self._error: CarrierError | None = None
        self._kept: dict[str, Arrived] = {}
        self._have: frozenset[str] = frozenset()
        self._passed: set[str] = set()
        self._answered: set[str] = set()
        self._asked: frozenset[str] = frozenset()

    def collect(self, have: Collection[str], *, seconds: float) -> Sequence[Arrived]:
        """Return what has come, or comes in so many seconds, and is not among ``have``."""
        with self._changed:
            end = time.monotonic() + seconds
            self._have, self._passed = frozenset(have), set()
            if self._asked - self._have - self._answered - self._kept.keys():
                self._cut_short = True
                self._interrupt(True)
            if self._thread is None:
                end = max(end, time.monotonic() + _PATIENCE)
                self._thread = threading.Thread(target=self._run, name="polling", daemon=True)
                self._thread.start()
            while True:
                found = self._take()
                if found or self._error is not None or self._closed:
                    break
                left = end - time.monotonic()
                if left <= 0 or (self._replied and seconds <= 0):
                    break
                self._changed.wait(left)
            if not found and self._error is not None:
                raise self._error
            return found

    def answered(self, known_by: str) -> None:
        """Say that a letter was replied to: it will not come again by itself."""
        with self._changed:
            self._answered.add(known_by)

    def close(self) -> None:
        """Poll no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._interrupt(True)
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _take(self) -> list[Arrived]:
        """Take every study that is kept, and one question."""
        found: list[Arrived] = []
        for name in [name for name in self._kept if name not in self._have]:
            if self._kept[name].kind == "study" or not any(one.kind == "question" for one in found):
                found.append(self._kept.pop(name))
        self._passed.update(one.known_by for one in found)
        return found

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            with self._changed:
                if self._closed:
                    return
                self._cut_short = False
                self._interrupt(False)
                self._asked = self._have | self._passed | self._kept.keys()
                self._answered &= self._asked
            began, waits = time.monotonic(), self._seconds if self._replied else 0
            try:
                with _told():
                    arrived = self._fetch(self._asked, waits)
            except CarrierError as error:
                with self._changed:
                    if not self._cut_short and not self._closed:
                        self._error = error
                        self._changed.notify_all()
                        self._changed.wait_for(lambda: self._closed, pause)
                        pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            with self._changed:
                self._error, self._replied = None, True
                if arrived is not None:
                    self._keep(arrived)
                self._changed.notify_all()
                if arrived is None and time.monotonic() - began < waits - _EARLY:
                    # Another agent with the same key has polled: let neither hurry.
                    self._changed.wait_for(lambda: self._closed, _EARLY)

    def _keep(self, arrived: Arrived) -> None:
        if len(self._kept) < MOST:
            self._kept[arrived.known_by] = arrived
        else:
            self._passed.add(arrived.known_by)


@contextmanager
def _told() -> Iterator[None]:
    """Tell of what no carrier should raise, a lack of memory or a bug, as of what one does, by the name of its kind."""
    try:
        yield
    except CarrierError:
        raise
    except Exception as error:
        raise CarrierError(
            "mailbox",
            found=f"a poll failed by an internal error, {type(error).__name__}",
            remedy="it is tried again; if that goes on, start the agent again",
        ) from error
