"""How an agent runs: once over all that lies there, or for as long as the machine does.

There is one agent for a holder: it holds ``STATE/agent.lock`` while it lives, and whoever comes second is told which
process it is. Serving goes on whatever happens around it: when there is no network, no folder or no room, it says so
once, waits, longer each time and never exactly as long as others do, and tries again. It may be ended at any moment.
Only the day on which a study ends is read off the clock on the wall; everything else goes by the monotonic clock.
"""

from __future__ import annotations

import fcntl
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from panbayes.consortium.agent.answering import Agent, Clock
from panbayes.consortium.agent.checking import is_agreed
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.slots import check_grid
from panbayes.consortium.agent.studies import Studies
from panbayes.errors import LedgerError, PanbayesError, visible
from panbayes.files import writing

__all__ = ["LONGEST_PAUSE", "Voice", "answer_all", "check_start", "locked", "serve"]

LONGEST_PAUSE: Final = 60.0
_FIRST_PAUSE: Final = 1.0
_PARTS: Final = 1000
_QUIET: Final = 3600.0
_REMEMBERED: Final = 100


class Voice:
    """Says what goes wrong to the holder: each line once, until things have been right again or an hour has passed."""

    def __init__(self, write: Callable[[str], None], *, clock: Clock = time) -> None:
        """Write lines by ``write``."""
        self._write = write
        self._clock = clock
        self._said: dict[str, float] = {}

    def __call__(self, line: str) -> None:
        """Say a line, unless it was said."""
        now = self._clock.monotonic()
        if now - self._said.get(line, -math.inf) < _QUIET:
            return
        if len(self._said) >= _REMEMBERED:
            self._said.clear()
        self._said[line] = now
        self._write(visible(line))

    def right_again(self, line: str) -> None:
        """Say that things are right again; what goes wrong after that is said anew."""
        self._said.clear()
        self._write(visible(line))


@contextmanager
def locked(holder: HolderFile) -> Iterator[None]:
    """Be the one agent of a holder; refuse to be a second."""
    path = holder.private_folder(holder.state_folder) / "agent.lock"
    with writing(path, argument=f"{holder.file}, state"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            number = os.pread(handle, 20, 0).decode(errors="replace").strip()
            raise LedgerError(
                str(path),
                found=f"another agent answers for this holder, process {number or 'unknown'}",
                remedy="let it do so, or end it first",
            ) from None
        with writing(path, argument=f"{holder.file}, state"):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def check_start(holder: HolderFile) -> None:
    """Refuse to begin with a ledger that cannot be used, or without a bound that an approved study needs."""
    with holder.ledger() as ledger:
        for kept in Studies(holder).all():
            if is_agreed(kept.proposed, holder, ledger):
                check_grid(
                    kept.proposed.study,
                    grid=float(holder.time.grid),
                    bound=holder.time.rows_bound,
                    argument=f"{holder.file}, rows_bound",
                )


def answer_all(agent: Agent) -> None:
    """Answer everything that lies there and may be answered now; raise a ``CarrierError`` if not all could leave."""
    while agent.turn(seconds=0.0):
        pass
    agent.flush()
    if agent.failed is not None:
        raise agent.failed


def serve(agent: Agent, *, seconds: float, say: Voice, clock: Clock = time) -> None:
    """Answer what comes, for ever; ``seconds`` is how long the carrier may be waited for at a time."""
    pause = 0.0
    while True:
        try:
            agent.turn(seconds=seconds)
        except (PanbayesError, OSError) as error:
            say(_told(error))
            pause = min(max(2 * pause, _FIRST_PAUSE), LONGEST_PAUSE)
            clock.sleep(pause * (0.5 + secrets.randbelow(_PARTS) / (2 * _PARTS)))
        else:
            if pause:
                say.right_again("letters can be fetched again")
            pause = 0.0


def _told(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"the system refused ({(error.strerror or type(error).__name__).lower()})"
    return str(error)
