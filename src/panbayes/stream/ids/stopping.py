"""Asking whoever reads a stream to stop, so that what was read is applied first.

A process that only ended would leave it open which of the lines it had read count. So while a stream is fed, the
signals that ask a process to end are taken for a wish: the reader is woken, hands over the whole lines it has, and
reads no more. A second signal ends the process at once, as it does elsewhere.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeAlias

__all__ = ["Stop", "stopped_by_signals"]

Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """A wish to stop: ``asked`` says whether it was uttered, and whoever waits for its descriptor is woken by it."""

    def __init__(self) -> None:
        """Make a pipe, into which the wish is written."""
        self.asked = False
        self._reader, self._writer = os.pipe()

    def ask(self) -> None:
        """Ask to stop."""
        if not self.asked:
            self.asked = True
            os.write(self._writer, b"!")

    def fileno(self) -> int:
        """Return what can be read from once the wish was uttered."""
        return self._reader

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._reader)
        os.close(self._writer)


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """Let the first SIGINT, SIGTERM or SIGHUP ask to stop, and the next do what it did before.

    A signal that the process was started to ignore stays ignored. Only the main thread hears signals.
    """
    stop = Stop()
    before: dict[signal.Signals, Handler] = {}

    def hear(number: int, frame: FrameType | None) -> None:
        handler = before[signal.Signals(number)]
        if not stop.asked:
            stop.ask()
        elif callable(handler):
            handler(number, frame)
        else:
            signal.signal(number, handler)
            signal.raise_signal(number)

    if threading.current_thread() is threading.main_thread():
        before = {n: signal.getsignal(n) for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, hear)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()
