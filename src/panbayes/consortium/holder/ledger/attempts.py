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
twice. The ledger itself cannot hold the attempt: a commit would let go of it between the attempt and the answer, and
another process could not tell a dead one from one that waits for its turn.

What a person interrupts at the keyboard is no failure (:func:`dismiss_begun`).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from panbayes.files import sync_folder

__all__ = ["CUT_OFF", "PAUSING", "Attempt", "AttemptFile", "AttemptLog", "dismiss_begun", "read_attempt"]

PAUSING: Final = 3
"""So many failures of a study, since the holder last looked, pause it."""

CUT_OFF: Final = "cut off"
"""What is said of an attempt that could not say itself what went wrong."""

_BEGUN: set[Path] = set()
"""Files of attempts that this process is at work on."""


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
        time = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        return cls(secrets.token_hex(16), study, name, question, kind, time)

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
    except (ValueError, TypeError, RecursionError):
        return None
    return found if all(isinstance(value, str) for value in asdict(found).values()) else None


class AttemptLog:
    """The newest attempt on a ledger in memory, which ends with its process."""

    def __init__(self) -> None:
        """Begin without an attempt."""
        self._newest: Attempt | None = None

    def begin(self, attempt: Attempt) -> None:
        """Write an attempt down. The caller holds the ledger for writing, and has resolved the one before."""
        self._newest = attempt

    def newest(self) -> Attempt | None:
        """Return the newest attempt, resolved or not."""
        return self._newest

    def end(self) -> None:
        """Say that the attempt is no longer worked on: from here on an interruption leaves it as it is."""

    def dismiss(self) -> None:
        """Forget the newest attempt: a person interrupted it."""
        self._newest = None


class AttemptFile(AttemptLog):
    """The newest attempt on a ledger on disk, in a file beside it."""

    def __init__(self, ledger: Path) -> None:
        """Stand beside the file of a ledger."""
        super().__init__()
        self._path = ledger.with_name(f"{ledger.name}-attempt")

    def begin(self, attempt: Attempt) -> None:
        """Write an attempt to disk; it and the name of its file outlast a power cut from here on."""
        new = not self._path.exists()
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
        _BEGUN.add(self._path)

    def newest(self) -> Attempt | None:
        """Return what is written; a file that was cut short while it was written is no attempt: nothing followed."""
        try:
            return read_attempt(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def end(self) -> None:
        """Say that this process no longer works on it."""
        _BEGUN.discard(self._path)

    def dismiss(self) -> None:
        """Empty the file."""
        self.end()
        _empty(self._path)


def dismiss_begun() -> None:
    """Forget what this process is at work on, for a person at the keyboard who interrupts it.

    An attempt is in the list only while this process holds its ledger for writing, so no other is touched.
    """
    for path in tuple(_BEGUN):
        with suppress(OSError):
            _empty(path)


def _empty(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC))
