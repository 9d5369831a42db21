"""The command ``panbayes``: what it starts with, before anything that takes time to load.

From its first moment on the process ends at once when it is interrupted or asked to stop (SIGINT, SIGTERM, SIGHUP):
what it was writing is removed, one line says so, and the exit code is 130. It ends inside the signal's handler rather
than by an exception, which could be raised anywhere, also where libraries swallow it or report it as a failure of
theirs. Ledgers and states are whole at every moment, and lose nothing by it. An answer that a person interrupts at the
keyboard (SIGINT) is not counted as one that failed.

A command that runs until it is asked to stop has done what it should then: it says how things stand, and the exit code
is 0 (:func:`when_stopped`).

The exit codes stand in :class:`panbayes.errors.ExitCode`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from panbayes.cli.calling import Build

__all__ = ["run", "when_stopped"]

_INTERRUPTED = 130
_SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"
_FAREWELLS: list[Callable[[], str]] = []


def when_stopped(farewell: Callable[[], str]) -> None:
    """Let the process end with exit code 0 when it is asked to stop, with a line that says how things stand.

    The line is asked for inside the signal's handler: what it is made of must be at hand.
    """
    _FAREWELLS.append(farewell)


def run(app: Build | None = None, name: str = "panbayes") -> None:
    """Run the command line and exit; another ``app`` than that of panbayes is called by its ``name``."""
    _end_when_asked()
    _occupy_standard_numbers()
    # Loaded from here on: an interruption on the way is one like any other.
    from panbayes.cli.calling import call, report_bug

    sys.excepthook = report_bug
    sys.exit(call(sys.argv[1:], app=app, name=name))


def _end_when_asked() -> None:
    """End the process on the signals that ask for it, but for those that it was started to ignore."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _frame: object) -> None:
    code = 0 if _FAREWELLS else _INTERRUPTED
    try:
        undone = [("panbayes.files", "remove_unfinished"), ("panbayes.kernel_cache", "remove_cache")]
        if number == signal.SIGINT:
            undone.append(("panbayes.consortium.holder.ledger.attempts", "dismiss_begun"))
        # Where a module is not loaded, or not yet as far as its function, it has left nothing to undo.
        for module, name in undone:
            undo = getattr(sys.modules.get(module), name, None)
            if undo is not None:
                undo()
        line = _FAREWELLS[-1]() if _FAREWELLS else "error: interrupted"
        os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + f"{line}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(code)


def _occupy_standard_numbers() -> None:
    """Put nothing in the place of standard files that are closed, so that no other file gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
