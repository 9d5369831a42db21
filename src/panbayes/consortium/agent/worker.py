"""The agent's hand on the process that computes: it starts one when there is a question, and knows when it died.

The agent itself loads nothing that computes (:mod:`panbayes.consortium.agent.working` does), so that it is small while
it waits, and so that whatever ends a computation, a lack of memory first of all, does not end the agent. What became of
a question whose process died nobody outside is told; the ledger knows whether an answer was begun.

One that is stuck is killed when its time is over (:mod:`panbayes.consortium.agent.pipe_end`), and its question gets no
answer then. What it had charged for by that time is in the ledger, and is what the question gets when it is tried
again: never another one.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.pipe import Done, Job, Promise, Said, Taken, receive_said, send
from panbayes.consortium.agent.pipe_end import TIMES, PipeEnd, StuckError, most_seconds, most_to_begin
from panbayes.errors import InternalError
from panbayes.kernel_cache import CHOSEN, ensure_cache, is_kept, remove_cache

__all__ = ["Worker"]

_MODULE: Final = "panbayes.consortium.agent.starting"

_PATIENCE: Final = 10.0
"""Seconds that a process that was let go is waited for."""

_LOOK: Final = 0.01


class Worker:
    """Computes the answers of one holder, in a process of its own that comes and goes."""

    def __init__(self, holder: HolderFile, *, simulate: int | None = None) -> None:
        """Start nothing yet; with ``simulate``, noise comes from that seed and nothing is private."""
        self._holder = holder
        self._simulate = simulate
        self._process: _Process | None = None
        self._killed: list[_Process] = []

    @property
    def process(self) -> int | None:
        """The number of the process, None if there is none."""
        return None if self._process is None or self._process.ended() is not None else self._process.number

    def work(self, job: Job) -> Iterator[Said]:
        """Yield what is said about a question, to the last; a process that dies says that nothing came of it."""
        beginning = most_to_begin(self._holder.time.rows_bound)
        for _ in range(2):
            process = self._running()
            seconds = process.give(beginning)
            try:
                # What it says may be garbage, too: it is let go then, and never listened to from within a message.
                with suppress(OSError, msgspec.MsgspecError, InternalError):
                    send(process.jobs, job)
                    while (said := receive_said(process.said)) is not None:
                        if isinstance(said, Taken):
                            seconds = process.give(beginning)
                        elif isinstance(said, Promise):
                            seconds = process.give(most_seconds(said.seconds))
                        yield said
                        if isinstance(said, Done):
                            return
            except StuckError:
                self._kill()
                yield Done("withheld", trouble=_stuck(seconds), stuck=TIMES)
                return
            # One that has waited long enough may end at the very moment it is asked; it has looked at nothing then.
            if self.close() != 0:
                break
        yield Done("withheld")

    def close(self) -> int | None:
        """Let the process go, which ends when it has answered what it is at work on; return what it ended with."""
        process, self._process = self._process, None
        return None if process is None else process.let_go()

    def _kill(self) -> None:
        """End the process, which may be past ending by itself; one that the system holds ends when it is let go."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            if process.let_go() is None:
                self._killed.append(process)

    def _running(self) -> _Process:
        """Return the process, or a new one if there is none."""
        self._killed = [one for one in self._killed if one.ended() is None]
        if self._process is None or self._process.ended() is not None:
            self.close()
            seed = [] if self._simulate is None else [str(self._simulate)]
            command = [sys.executable, "-m", _MODULE, self._holder.file, *seed]
            self._process = _Process(command, self._environment())
        return self._process

    def _environment(self) -> dict[str, str]:
        """Return the environment; what is compiled is kept with the holder's state where there is no other place."""
        ensure_cache()
        if is_kept():
            return dict(os.environ)
        remove_cache()
        return {**os.environ, CHOSEN: str(self._holder.private_folder(self._holder.state_folder / "kernels"))}


class _Process:
    """A process with a pipe to it, ``jobs``, and one from it, ``said``."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Start it."""
        reading, jobs = os.pipe()
        try:
            said, writing = os.pipe()
        except OSError:  # Too many files are open: one try must not leave fewer for the next.
            os.close(reading)
            os.close(jobs)
            raise
        try:
            self.number = os.posix_spawn(
                command[0],
                command,
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_DUP2, writing, 1)],
            )
        finally:
            os.close(reading)
            os.close(writing)
            self.jobs, self.said = PipeEnd(jobs), PipeEnd(said)
        self._ended: int | None = None

    def ended(self) -> int | None:
        """Return what it ended with, None if it has not."""
        if self._ended is None:
            number, status = os.waitpid(self.number, os.WNOHANG)
            self._ended = os.waitstatus_to_exitcode(status) if number else None
        return self._ended

    def give(self, seconds: float) -> float:
        """Give it so many seconds from now on to say, or take, what comes next."""
        self.jobs.until = self.said.until = time.monotonic() + seconds
        return seconds

    def kill(self) -> None:
        """Kill it: whatever it was about to do, it does not."""
        if self.ended() is None:
            os.kill(self.number, signal.SIGKILL)

    def let_go(self) -> int | None:
        """Close the pipes, and wait a while for it to end."""
        for pipe in (self.jobs, self.said):
            with suppress(OSError):
                pipe.close()
        end = time.monotonic() + _PATIENCE
        while self.ended() is None and time.monotonic() < end:
            time.sleep(_LOOK)
        return self._ended


def _stuck(seconds: float) -> str:
    return (
        f"the process that computes had said nothing for {seconds:,.0f} seconds and was ended: look whether the table "
        "can be read, and whether the machine has enough memory"
    )
