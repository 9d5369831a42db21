"""What a holder has spent on its people's privacy: exact, durable, across studies, with every reply it gave.

One ledger belongs to one holder's data (:mod:`panbayes.consortium.holder.ledger.binding`), not to a study: the spending
of all studies adds up, exactly (ε are fractions, typed by privacy class), under a cap that the holder sets. Every
charge is an entry of an append-only hash chain (:mod:`panbayes.consortium.holder.ledger.chain`) and is stored together
with the question and the reply it paid for, so that the same question gets the same bytes again and costs nothing.

All writing goes through :meth:`Ledger.transaction`: either everything in it is on disk when it ends, or nothing of it
ever happened, whatever kills the process. The file itself is explained in
:mod:`panbayes.consortium.holder.ledger.file`. :meth:`Ledger.in_memory` is a ledger in memory for simulated noise, where
nothing is spent because nothing is private.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.ledger import file as ledger_file
from panbayes.consortium.holder.ledger.binding import Bindings, keyed
from panbayes.consortium.holder.ledger.chain import Entry, first_head, loss_text
from panbayes.errors import InternalError, LedgerError
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss, total
from panbayes.privacy.losses import grant, loss_from_json

__all__ = ["Ledger", "Promise", "Spending", "Summary", "Transaction", "granted"]


Promise: TypeAlias = tuple[str, int | None]
"""What a loss means: the adjacency, and how many records a person may have (None: the unit is the record)."""


def granted(agreed: Mapping[str, str]) -> Loss:
    """Return what a study may spend, from its stored content."""
    return grant(Fraction(agreed["epsilon"]), delta=Fraction(agreed["delta"]))


@dataclass(frozen=True, slots=True)
class Spending:
    """What one study was granted and has spent. ``study`` is its hash, ``grant`` its ε."""

    study: str
    name: str
    grant: Loss
    spent: Loss
    entries: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Where a ledger stands: spending per study and in total, the cap, and where the chain begins and ends."""

    studies: tuple[Spending, ...]
    cap: Loss | None
    entries: int
    first: str
    head: str

    @property
    def spent(self) -> Loss:
        """The total over all studies, in the class of the cap where that can express it."""
        return total((NOTHING if self.cap is None else self.cap.times(0), *(study.spent for study in self.studies)))

    @property
    def left(self) -> Loss | None:
        """What the cap leaves, None without a cap."""
        return None if self.cap is None else self.cap.less(self.spent)


class Transaction:
    """One turn with a ledger, alone with it if it was opened for writing; ends with the ``with`` block."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        """Work on a connection inside BEGIN … COMMIT."""
        self.connection = connection
        self._name = name

    def secret(self, key: str) -> bytes:
        """Return the ledger's random number ("ledger", behind the first head) or its binding "key"."""
        return bytes(self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])

    def last(self) -> tuple[int, str]:
        """Return the sequence number and the head of the newest entry."""
        row = self.connection.execute("SELECT sequence, head FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
        return (0, first_head(self.secret("ledger"))) if row is None else (int(row[0]), str(row[1]))

    def stored(self, question: str) -> tuple[bytes, bytes] | None:
        """Return the bytes of the question with this id and of its reply, if it was answered before."""
        row = self.connection.execute("SELECT asked, replied FROM entries WHERE question = ?", (question,)).fetchone()
        return None if row is None else (bytes(row[0]), bytes(row[1]))

    def times(self, study: str, kind: str) -> int:
        """Count the study's charges for questions of one kind."""
        found = self.connection.execute("SELECT COUNT(*) FROM entries WHERE study = ? AND kind = ?", (study, kind))
        return int(found.fetchone()[0])

    def spent(self) -> dict[str, Loss]:
        """Return the exact spending of every study charged so far, by its hash."""
        rows = self.connection.execute("SELECT study, loss, COUNT(*) FROM entries GROUP BY study, loss")
        sums: dict[str, Loss] = {}
        for study, loss, times in rows:
            sums[study] = self.loss(loss).times(times).add(sums.get(study, NOTHING))
        return sums

    def cap(self) -> Loss | None:
        """Return the cap in force."""
        row = self.connection.execute("SELECT loss FROM caps ORDER BY position DESC LIMIT 1").fetchone()
        return None if row is None or row[0] is None else self.loss(row[0])

    def set_cap(self, cap: Loss | None) -> None:
        """Put another cap in force; the earlier ones stay on record."""
        text = None if cap is None else self._text(cap)
        self.connection.execute("INSERT INTO caps (after, loss) VALUES (?, ?)", (self.last()[0], text))

    def bindings(self) -> Bindings:
        """Return which records the ledger belongs to."""
        digests = {str(schema): bytes(digest) for schema, digest in self.connection.execute("SELECT * FROM bindings")}
        return Bindings(self.secret("key"), digests)

    def promises(self) -> set[Promise]:
        """Return to whom the studies charged here promised their losses: adjacency, and records per person."""
        contents = (json.loads(row[0]) for row in self.connection.execute("SELECT content FROM studies"))
        return {(content["adjacency"], content["max_records"]) for content in contents}

    def bind(self, schema: str, records: bytes) -> None:
        """Bind the ledger to ``records`` (a fingerprint), or refuse if it has been used for others.

        A binding under which nothing has been charged gives way.
        """
        if self.bindings().belongs_to(schema, records):
            return
        contents = (json.loads(row[0]) for row in self.connection.execute("SELECT content FROM studies"))
        if any(content["schema"] == schema for content in contents):
            raise LedgerError(
                self._name,
                found="belongs to other records than those given",
                remedy="give the records it was first used for; if they have changed for good, keep this ledger and "
                "start a new one: people in both have then spent both",
            )
        digest = keyed(self.secret("key"), records)
        self.connection.execute("INSERT OR REPLACE INTO bindings VALUES (?, ?)", (schema, digest))

    def record(self, entry: Entry, *, study: Study, asked: bytes, replied: bytes) -> None:
        """Append a charge together with the question and the reply it pays for."""
        content = json.dumps(study.canonical(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        self.connection.execute("INSERT OR IGNORE INTO studies VALUES (?, ?)", (entry.study, content))
        self.connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.sequence,
                entry.study,
                entry.question,
                entry.kind,
                self._text(entry.loss),
                entry.reply,
                entry.head,
                asked,
                replied,
            ),
        )
        # Kept apart as well, so that a ledger cut short by hand shows.
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (entry.head.encode(),))

    def entries(self) -> Iterator[Entry]:
        """Yield every entry in order."""
        rows = self.connection.execute(
            "SELECT sequence, study, question, kind, loss, reply, head FROM entries ORDER BY sequence"
        )
        for sequence, study, question, kind, loss, reply, head in rows:
            yield Entry(sequence, study, question, kind, self.loss(loss), reply, head)

    def _text(self, loss: Loss) -> str:
        """Write a loss, and see that it can be read again: a ledger must never hold what it cannot add up."""
        text = loss_text(loss)
        if self.loss(text) != loss:
            raise InternalError("a loss does not survive being written")
        return text

    def loss(self, text: str) -> Loss:
        """Read a stored loss."""
        try:
            data = json.loads(text)
        except ValueError:
            data = None
        return loss_from_json(data, argument=self._name)


class Ledger:
    """A holder's ledger; see the module. Close it, or use it in a ``with`` block."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None, busy_seconds: float) -> None:
        """Wrap an open connection; use :meth:`open` or :meth:`throwaway`."""
        self.path = path
        self._connection = connection
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._process = os.getpid()

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, busy_seconds: float = ledger_file.BUSY_SECONDS) -> Ledger:
        """Open the ledger at ``path``; with ``create``, make an empty one if nothing is there."""
        place = Path(path)
        if create and not place.exists():
            ledger_file.create(place)
        return cls(ledger_file.connect(place, busy_seconds=busy_seconds), place, busy_seconds)

    @classmethod
    def in_memory(cls) -> Ledger:
        """Return an empty ledger in memory, for simulated noise."""
        return cls(ledger_file.memory(), None, ledger_file.BUSY_SECONDS)

    @property
    def durable(self) -> bool:
        """Whether the ledger is on disk."""
        return self.path is not None

    @property
    def name(self) -> str:
        """What the ledger is called in messages to the holder."""
        return "ledger" if self.path is None else str(self.path)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Transaction]:
        """Take a turn: all of it is committed, durably, when the block ends well; else none of it.

        Only one writer at a time, whichever process it is in; others wait ``busy_seconds`` and then fail.
        """
        if os.getpid() != self._process:
            raise InternalError("a ledger must be opened by the process that uses it")
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise LedgerError(self.name, found="is in use by this process", remedy="let the other run finish")
        try:
            with ledger_file.guarded(self.path):
                self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield Transaction(self._connection, self.name)
                    self._connection.execute("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
        finally:
            self._lock.release()

    def bind(self, schema: str, records: bytes) -> None:
        """Bind the ledger to records (a fingerprint) under a schema, or refuse; see :meth:`Transaction.bind`."""
        with self.transaction() as transaction:
            transaction.bind(schema, records)

    def set_cap(self, cap: Loss | None) -> None:
        """Set what all studies together may spend; None lifts the cap."""
        with self.transaction() as transaction:
            transaction.set_cap(cap)

    def summary(self) -> Summary:
        """Return where the ledger stands."""
        with self.transaction(write=False) as transaction:
            spent = transaction.spent()
            studies = []
            for study, content in transaction.connection.execute("SELECT hash, content FROM studies ORDER BY rowid"):
                agreed = json.loads(content)
                entries = transaction.connection.execute(
                    "SELECT COUNT(*) FROM entries WHERE study = ?", (study,)
                ).fetchone()
                total = spent.get(study, NOTHING)
                studies.append(Spending(study, agreed["name"], granted(agreed), total, entries[0]))
            sequence, head = transaction.last()
            return Summary(tuple(studies), transaction.cap(), sequence, first_head(transaction.secret("ledger")), head)

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry."""
        with self.transaction(write=False) as transaction:
            return tuple(transaction.entries())

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
