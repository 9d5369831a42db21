"""Answers that were begun: each is written down before a record is touched, so that none can fail without a trace.

Who may ask could make answers fail on purpose, and learn from *that* they failed, which nothing is charged for: with a
question that needs more memory the more people there are, say. So failures are counted, and the third one of a study
since the holder last looked pauses it (:data:`PAUSING`).

A failure cannot be relied on to write itself down: a process that the system ends for want of memory writes nothing
more. Therefore every attempt to answer is written and synced *first*, to a small file beside the ledger
(``….ledger-attempt``), by the one process that holds the ledger for writing. It is resolved when its question is found
answered in the ledger, or its failure among the notes; whoever next takes the ledger and finds an attempt that is
neither knows that it failed, and writes the note before anything else. Nothing is ever removed from the file, the
next attempt takes the place of a resolved one; so there is no moment at which a kill could lose a failure or count it
twice. Without the file nothing is answered. The ledger itself cannot hold the attempt: a commit would let go of it
between the attempt and the answer, and another process could not tell a dead one from one that waits for its turn.
It holds instead, from the first answer or failure on, that there is such a file: a ledger that was moved without it
answers nothing new until it is beside it again (:meth:`AttemptLog.left_behind`).

What a person interrupts at the keyboard is no failure (:func:`dismiss_begun`), from the moment the attempt is begun
until its answer is committed: its id is written behind it.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from panbayes.consortium.holder.ledger.clock import utc
from panbayes.errors import LedgerError
from panbayes.files import sync_folder

__all__ = ["CUT_OFF", "PAUSING", "Attempt", "AttemptFile", "AttemptLog", "dismiss_begun", "read_attempt"]

PAUSING: Final = 3
"""So many failures of a study, since the holder last looked, pause it."""

CUT_OFF: Final = "cut off"
"""What is said of an attempt that could not say itself what went wrong."""

_BEGUN: dict[Path, str] = {}
"""What this process is at work on: the id of the attempt, by its file."""

os.register_at_fork(after_in_child=_BEGUN.clear)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to answer one question of a study, known by a random ``attempt``; ``error`` says how it failed.

    The ``error`` is the name of a kind of error, never its text, which may quote a value. For the holder's eyes only.
    """

    attempt: str
    study: str
    name: str
    question: str
    kind: str
    time: str
    error: str = CUT_OFF

    @classmethod
    def now(cls, *, study: str, name: str, question: str, kind: str) -> Attempt:
        """Return an attempt that begins at this moment."""
        return cls(secrets.token_hex(16), study, name, question, kind, utc())

    def text(self) -> str:
        """Write it as one line, which :func:`read_attempt` reads."""
        return json.dumps(asdict(self), ensure_ascii=False)


def read_attempt(text: str) -> Attempt | None:
    """Read an attempt; None if the text is none.

    >>> read_attempt(Attempt("1", "a", "spring", "b", "vote", "").text())
    Attempt(attempt='1', study='a', name='spring', question='b', kind='vote', time='', error='cut off')
    >>> read_attempt("{}") is read_attempt("[") is None
    True
    """
    try:
        found = Attempt(**json.loads(text))
        found.text().encode()  # what no file can hold was written by somebody else
    except (ValueError, TypeError, RecursionError):
        return None
    return found if all(isinstance(value, str) for value in asdict(found).values()) else None


class AttemptLog:
    """The newest attempt on a ledger in memory, which ends with its process."""

    def __init__(self) -> None:
        """Begin without an attempt."""
        self._own: Attempt | None = None

    def begin(self, attempt: Attempt) -> None:
        """Write an attempt down. The caller holds the ledger for writing, and has resolved the one before."""
        self._own = attempt

    def newest(self) -> Attempt | None:
        """Return the newest attempt, resolved or not, unless it was dismissed."""
        return self._own

    def left_behind(self) -> Path | None:
        """Return the file of attempts if it is not there; there is none in memory."""
        return None

    def is_own(self, attempt: Attempt) -> bool:
        """Tell whether an attempt is the one that was begun here last."""
        return self._own == attempt

    def end(self) -> None:
        """Say that the attempt is no longer worked on: from here on an interruption leaves it as it is."""

    def dismiss(self, _attempt: Attempt) -> None:
        """Forget the newest attempt: a person interrupted it."""
        self._own = None


class AttemptFile(AttemptLog):
    """The newest attempt on a ledger on disk, in a file beside it: a line, and the ids of attempts dismissed since."""

    def __init__(self, ledger: Path) -> None:
        """Stand beside the file of a ledger."""
        super().__init__()
        self._path = ledger.with_name(f"{ledger.name}-attempt")

    def begin(self, attempt: Attempt) -> None:
        """Write an attempt to disk; it and the name of its file outlast a power cut from here on."""
        super().begin(attempt)
        # Before it is written: whoever interrupts the writing has interrupted the attempt.
        _BEGUN[self._path] = attempt.attempt
        with self._usable("written"):
            new = not self._path.exists()
            handle = _open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                os.fchmod(handle, 0o600)
                data = attempt.text().encode()
                while data:
                    data = data[os.write(handle, data) :]
                os.fsync(handle)
            finally:
                os.close(handle)
            if new:
                sync_folder(self._path.parent)

    def newest(self) -> Attempt | None:
        """Return what is written; a file that was cut short while it was written is no attempt: nothing followed."""
        with self._usable("read"), suppress(FileNotFoundError, UnicodeDecodeError):
            with open(_open(self._path, os.O_RDONLY), encoding="utf-8", newline="\n") as file:
                line, *dismissed = file.read().split("\n")
            found = read_attempt(line)
            return None if found is None or found.attempt in dismissed else found
        return None

    def left_behind(self) -> Path | None:
        """Return the file if nothing has its name."""
        return None if os.path.lexists(self._path) else self._path

    def end(self) -> None:
        """Say that this process no longer works on it."""
        if self._own is not None and _BEGUN.get(self._path) == self._own.attempt:
            del _BEGUN[self._path]

    def dismiss(self, attempt: Attempt) -> None:
        """Write the id of the attempt behind it."""
        _dismiss(self._path, attempt.attempt)

    @contextmanager
    def _usable(self, done: str) -> Iterator[None]:
        """Turn what the system refuses into one line for the holder: without the file nothing can be answered."""
        try:
            yield
        except OSError as error:
            raise LedgerError(
                str(self._path),
                found=f"cannot be {done} ({(error.strerror or 'no regular file').lower()})",
                remedy="make room, look after its permissions, or move away what is in its place",
            ) from None


def dismiss_begun() -> None:
    """Forget what this process is at work on, for a person at the keyboard who interrupts it.

    An id is written behind whatever stands in the file. If that is another attempt by now, it is not meant by it: the
    answer to this one has been committed a moment ago, and somebody else is at work.
    """
    for path, attempt in tuple(_BEGUN.items()):
        with suppress(OSError):
            _dismiss(path, attempt)


def _dismiss(path: Path, attempt: str) -> None:
    handle = _open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, f"\n{attempt}".encode())
    finally:
        os.close(handle)


def _open(path: Path, how: int) -> int:
    """Open a regular file; whatever else has its name is neither followed nor waited for."""
    handle = os.open(path, how | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return handle
