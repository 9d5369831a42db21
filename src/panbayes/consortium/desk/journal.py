"""The analyst's journal of one study: whom it was proposed to, what they answered, and who took part in what.

A run is given up and run again as often as holders need: strategies are deterministic given the answers, so it comes by
the same way, as long as it finds the same answers and leaves out the same holders. That is what the journal keeps, in
the analyst's own state directory (``analyst/HASH/journal``, for its owner alone), never in the folder that letters lie
in: what that folder loses, changes or brings back later does not matter. Everything is on disk before it is used.

It keeps the *letters*, with their signatures, so that they can be shown (:mod:`panbayes.consortium.desk.receipts`).

Who loses a journal spends nothing twice: letters to the same holders are the same letters again, so answers
that still lie in the folder are found, and those that holders have given are given again. Only who was left out is
forgotten (``missing = "continue"``), so that such a run may take another way.

One process at a time works on a study.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import platformdirs

from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.letters import Signed
from panbayes.errors import InputError
from panbayes.files import check_path, sync_folder

__all__ = ["Answer", "Journal", "journal_folder"]

VERSION: Final = 1

_MOVE: Final = "move its folder away: answers that lie among the letters are found again, holders repeat the others"

_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE holders (name TEXT PRIMARY KEY, key TEXT NOT NULL, study BLOB NOT NULL, signature TEXT NOT NULL) STRICT;
CREATE TABLE answers (
    holder TEXT NOT NULL, sequence INTEGER NOT NULL, round INTEGER NOT NULL, question TEXT NOT NULL,
    refused INTEGER NOT NULL, letter BLOB NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (holder, sequence)
) STRICT;
CREATE TABLE askings (place INTEGER PRIMARY KEY, since REAL NOT NULL, took_part TEXT) STRICT;
CREATE TABLE unusable (
    holder TEXT PRIMARY KEY, sequence INTEGER NOT NULL, round INTEGER NOT NULL, question TEXT NOT NULL,
    why TEXT NOT NULL, letter BLOB NOT NULL, signature TEXT NOT NULL
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """A letter of a holder that was taken, whatever is in it: a release, or a refusal."""

    sequence: int
    round: int
    question: str
    refused: bool
    letter: Signed


def journal_folder(state: str | Path | None, study: str) -> Path:
    """Return where the journal of a study lies, by the study's hash; by default in the user's state directory."""
    own = platformdirs.user_state_path("panbayes") if state is None else check_path(state, argument="--state")
    return own / "analyst" / study


class Journal:
    """The journal in a ``folder``; it is the course of the run as well, and ``patience`` says when that is overdue.

    See :class:`panbayes.consortium.analyst.course.Course`.
    """

    def __init__(self, folder: Path, *, patience: Fraction | None = None) -> None:
        """Open the journal, make one if there is none, and keep others from it."""
        self._patience = None if patience is None else float(patience * 3600)
        self._path = folder / "journal"
        self._turn = threading.Lock()
        self._due: float | None = None
        with self._trouble():
            _make(folder)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take_lock(folder)
            with self._trouble():
                self._base = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Self:
        """Use it until the block ends."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, and let others use it."""
        self._base.close()
        os.close(self._lock)

    def proposed(self, *, analyst: PublicKey, simulated: bool, holders: Mapping[str, PublicKey]) -> dict[str, Signed]:
        """Return the letters that proposed the study, by holder; none if it was not proposed yet.

        Another analyst's key, other holders or other keys of theirs than the first time are refused.
        """
        with self._transaction() as base:
            kept = dict(base.execute("SELECT name, value FROM facts"))
            known = {name: (key, Signed(*letter)) for name, key, *letter in base.execute("SELECT * FROM holders")}
        if known:
            keys = {name: key for name, (key, _) in known.items()}
            if kept.keys() != _facts(analyst, simulated).keys():
                raise self.damaged("it does not say who began the study, and how")
            _check_same(kept, _facts(analyst, simulated), keys, holders)
        return {name: letter for name, (_, letter) in known.items()}

    def begin(
        self,
        *,
        analyst: PublicKey,
        simulated: bool,
        holders: Mapping[str, PublicKey],
        letters: Mapping[str, Signed],
    ) -> None:
        """Keep whom the study is proposed to, and by which letters, before they leave."""
        rows = [(name, key.line, letters[name].data, letters[name].signature) for name, key in holders.items()]
        with self._transaction() as base:
            base.executemany("INSERT INTO facts VALUES (?, ?)", _facts(analyst, simulated).items())
            base.executemany("INSERT INTO holders VALUES (?, ?, ?, ?)", rows)

    def answers(self, holder: str) -> list[Answer]:
        """Return what was taken from a holder, in order."""
        with self._transaction() as base:
            rows = base.execute(
                "SELECT sequence, round, question, refused, letter, signature FROM answers WHERE holder = ? "
                "ORDER BY sequence",
                (holder,),
            )
            return [
                Answer(sequence, number, question, bool(refused), Signed(data, signature))
                for sequence, number, question, refused, data, signature in rows
            ]

    def take(self, holder: str, answer: Answer) -> None:
        """Keep an answer for good: when this returns it is on disk."""
        letter = answer.letter
        row = (
            holder,
            answer.sequence,
            answer.round,
            answer.question,
            int(answer.refused),
            letter.data,
            letter.signature,
        )
        with self._transaction() as base:
            base.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def take_unusable(self, holder: str, answer: Answer, why: str) -> None:
        """Keep what a holder signed as its answer and cannot be used, for good: it is out, and can be shown why."""
        letter = answer.letter
        row = (holder, answer.sequence, answer.round, answer.question, why, letter.data, letter.signature)
        with self._transaction() as base:
            base.execute("INSERT INTO unusable VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def out(self, holder: str) -> tuple[int, str] | None:
        """Return in which round a holder signed what cannot be used, and why; None if it did not."""
        with self._transaction() as base:
            found = base.execute("SELECT round, why FROM unusable WHERE holder = ?", (holder,)).fetchone()
        return None if found is None else (found[0], found[1])

    def unusable(self, name: str, question: str, /) -> str:
        """Say why what a holder signed as its answer to a question cannot be used; nothing if that is not so."""
        with self._transaction() as base:
            found = base.execute(
                "SELECT why FROM unusable WHERE holder = ? AND question = ?", (name, question)
            ).fetchone()
        return "" if found is None else str(found[0])

    def settled(self, place: int, /) -> Sequence[str] | None:
        """Return who took part in the asking of this number, None if that is open."""
        with self._transaction() as base:
            found = base.execute("SELECT took_part FROM askings WHERE place = ?", (place,)).fetchone()
        return None if found is None or found[0] is None else tuple(found[0].split())

    def settle(self, place: int, names: Sequence[str], /) -> None:
        """Keep who took part in an asking, for good."""
        text, self._due = " ".join(names), None
        with self._transaction() as base:
            base.execute(
                "INSERT INTO askings VALUES (?, ?, ?) ON CONFLICT (place) DO UPDATE SET took_part = ?",
                (place, time.time(), text, text),
            )

    def overdue(self, place: int, /) -> bool:
        """Tell whether an open asking has waited as long as the study's patience; the first call starts its time."""
        if self._patience is None:
            return False
        with self._transaction() as base:
            base.execute("INSERT OR IGNORE INTO askings VALUES (?, ?, NULL)", (place, time.time()))
            (since,) = base.execute("SELECT since FROM askings WHERE place = ?", (place,)).fetchone()
        self._due = since + self._patience
        return time.time() >= self._due

    @property
    def due(self) -> bool:
        """Whether the asking that is open has become overdue since it was last said to have time."""
        return self._due is not None and time.time() >= self._due

    def damaged(self, reason: str) -> InputError:
        """Return the error that says so of a journal that somebody has changed."""
        return InputError(str(self._path), found=f"is damaged ({reason})", remedy=_MOVE)

    def _open(self) -> sqlite3.Connection:
        new = not self._path.exists()
        if new:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        base = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            # One sync a commit; alone with its file, SQLite needs no memory that it shares with others.
            base.execute("PRAGMA locking_mode = EXCLUSIVE")
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = FULL")
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if version == 0:
                base.executescript(f"BEGIN IMMEDIATE;{_TABLES}PRAGMA user_version = {VERSION};COMMIT")
                sync_folder(self._path.parent)
            elif version != VERSION:
                raise InputError(
                    str(self._path),
                    found=f"was written as version {version} of a journal",
                    remedy=f"this panbayes reads version {VERSION}: use the panbayes that wrote it",
                )
        except BaseException:
            base.close()
            raise
        return base

    def _take_lock(self, folder: Path) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                "STUDY",
                found=f"is being learned by another process, which uses {folder}",
                remedy="let that one finish, or end it",
            ) from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._trouble():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Say what goes wrong with the disk or the file as one error about the journal."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            damaged = not isinstance(error, sqlite3.OperationalError)
            remedy = _MOVE if damaged else "make room, or look after its permissions; what was answered is not lost"
            raise InputError(
                str(self._path), found=f"is {'damaged' if damaged else 'not usable'} ({error})", remedy=remedy
            ) from None
        except OSError as error:
            reason = (error.strerror or "not writable").lower()
            raise InputError(
                str(self._path),
                found=f"cannot be used ({reason})",
                remedy="give --state a folder that you may write to",
            ) from None


def _facts(analyst: PublicKey, simulated: bool) -> dict[str, str]:
    return {"analyst": analyst.line, "noise": "simulated" if simulated else "secure"}


def _check_same(
    kept: Mapping[str, str], facts: Mapping[str, str], known: Mapping[str, str], holders: Mapping[str, PublicKey]
) -> None:
    """Refuse what would make of a run another one in the middle."""
    if kept["analyst"] != facts["analyst"]:
        raise InputError(
            "--key",
            found="is another key than the study was proposed with",
            remedy="give that one, or give the study another name and propose it anew",
        )
    if kept["noise"] != facts["noise"]:
        raise InputError(
            "--simulated",
            found=f"the study was begun with {kept['noise']} noise",
            remedy="begin and go on alike: the two are never mixed; another name makes another study",
        )
    if known.keys() != holders.keys():
        raise InputError(
            "--holder",
            found=f"found {', '.join(sorted(holders))}, and the study was proposed to {', '.join(sorted(known))}",
            remedy="name the same holders as before, or give the study another name and propose it anew",
        )
    changed = [name for name, key in holders.items() if known[name] != key.line]
    if changed:
        raise InputError(
            "--roster",
            found=f"{changed[0]} has another key than the study was proposed to",
            remedy="give the study another name and propose it anew: what was approved names the old key",
        )


def _make(folder: Path) -> None:
    """Make a folder and those above it; the two lowest are for their owner alone."""
    for depth, path in reversed(list(enumerate((folder, *folder.parents)))):
        if not path.is_dir():
            path.mkdir(mode=0o700 if depth < 2 else 0o777, exist_ok=True)
            sync_folder(path.parent)
