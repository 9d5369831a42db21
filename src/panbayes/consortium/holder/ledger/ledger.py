"""What a holder has spent on its people's privacy: exact, durable, across studies, with every reply it gave.

One ledger belongs to one holder's data (:mod:`panbayes.consortium.holder.ledger.binding`), not to a study: the spending
of all studies adds up, exactly (ε are fractions, typed by privacy class), under a cap that the holder sets. Every
charge is an entry of an append-only hash chain (:mod:`panbayes.consortium.holder.ledger.chain`) and is stored together
with the question and the reply it paid for, so that the same question gets the same bytes again and costs nothing.

All writing goes through :meth:`Ledger.transaction`: either everything in it is on disk when it ends, or nothing of it
ever happened, whatever kills the process. The file itself is explained in
:mod:`panbayes.consortium.holder.ledger.file`, its tables in :mod:`panbayes.consortium.holder.ledger.layout`.
:meth:`Ledger.in_memory` is a ledger in memory for simulated noise, where nothing is spent because nothing is private.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.ledger import file as ledger_file
from panbayes.consortium.holder.ledger.attempts import Attempt, AttemptFile, AttemptLog
from panbayes.consortium.holder.ledger.binding import Fingerprint
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.clock import no_time, utc
from panbayes.consortium.holder.ledger.events import DAILY, Event, Happening, Stranger, StrangerCount
from panbayes.consortium.holder.ledger.file import BUSY_SECONDS
from panbayes.consortium.holder.ledger.kept import remove_codes
from panbayes.consortium.holder.ledger.summary import Spending, Summary
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.errors import InternalError, LedgerError
from panbayes.files import check_path
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss
from panbayes.schema.declaration import hashed_text

__all__ = ["Ledger"]


class Ledger:
    """A holder's ledger; see the module. Close it, or use it in a ``with`` block."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None, *, busy_seconds: float, writable: bool = True
    ) -> None:
        """Wrap an open connection; use :meth:`open`, :meth:`read` or :meth:`in_memory`."""
        self.path = path
        self._connection = connection
        self._busy_seconds = busy_seconds
        self._writable = writable
        self._closed = False
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._attempts = AttemptLog() if path is None else AttemptFile(path)

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open the ledger at ``path`` for use; with ``create``, make an empty one if nothing is there."""
        file = check_path(path)
        if create and not file.exists():
            ledger_file.create(file)
        return cls(ledger_file.connect(file, busy_seconds=busy_seconds), file, busy_seconds=busy_seconds)

    @classmethod
    def read(cls, path: str | Path, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open the ledger at ``path`` to look at it. The file stays as it is."""
        file = check_path(path)
        connection = ledger_file.connect_reading(file, busy_seconds=busy_seconds)
        return cls(connection, file, busy_seconds=busy_seconds, writable=False)

    @classmethod
    def in_memory(cls, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Return an empty ledger in memory, for simulated noise."""
        return cls(ledger_file.connect_memory(), None, busy_seconds=busy_seconds)

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
        """Begin a transaction: all of it is committed, durably, when the block ends well; else none of it.

        There is one writer at a time, whichever process it is in; others wait ``busy_seconds`` and then fail.
        """
        if os.getpid() != self._process:
            raise InternalError("a ledger must be opened by the process that uses it")
        if write and not self._writable:
            raise InternalError("a ledger that was opened to be read cannot be written to")
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise LedgerError(self.name, found="is in use by this process", remedy="let the other run finish")
        try:
            if self._closed:
                raise InternalError("a ledger was used after it was closed")
            with ledger_file.atomic(self._connection, self.path, write=write):
                draw, clock = (ledger_file.secret, utc) if self.durable else (ledger_file.no_secret, no_time)
                yield Transaction(self._connection, self.name, draw, self._attempts, clock)
        finally:
            if write:
                self._attempts.end()
            self._lock.release()

    def settle(
        self,
        attempt: Attempt,
        *,
        before: Callable[[Transaction], bytes | None],
        answer: Callable[[Transaction], bytes],
    ) -> tuple[bytes, bool]:
        """Return what was replied ``before``, or else ``answer`` in the same transaction; tell whether it is new.

        The answer begins the attempt when it has found that there is room. One that was cut off before is written down
        first; what goes wrong once this one is begun is written down too, unless a person interrupts it.
        """
        try:
            while True:
                with self.transaction() as transaction:
                    reply = before(transaction)
                    if reply is not None:
                        return reply, False
                    left = transaction.left_over()
                    if left is None:
                        return answer(transaction), True
                    # Committed by itself: whatever comes of this question, that one failed.
                    transaction.fail(left)
        except KeyboardInterrupt:
            self.dismiss(attempt)
            raise
        except Exception as error:
            self.write_failure(attempt, error)
            raise

    def bind(self, schema: str, records: Fingerprint, *, placed: bool = False) -> None:
        """Bind the ledger to records under a schema's hash, or refuse; see :meth:`Transaction.bind`."""
        with self.transaction() as transaction:
            transaction.bind(schema, records, placed=placed)

    def set_cap(self, cap: Loss | None) -> None:
        """Set what all studies together may spend; None lifts the cap."""
        with self.transaction() as transaction:
            transaction.set_cap(cap)

    def close_study(self, study: str) -> None:
        """Give no further answers to the study with this hash, and its rest back, for good; replays stay free.

        What is kept of the table for it goes, too.
        """
        with self.transaction() as transaction:
            if study not in transaction.closed():
                transaction.note("closed", study)
        if self.path is not None:
            remove_codes(self.path, study)

    def write_failure(self, attempt: Attempt, error: Exception) -> None:
        """Write down what an attempt failed by, unless it was never begun or somebody has written it down meanwhile.

        If that fails too, the attempt is left over, and whoever takes the ledger next writes it down.
        """
        if not self._attempts.is_own(attempt):
            return
        with suppress(Exception), self.transaction() as transaction:
            if transaction.left_over() == attempt:
                transaction.fail(replace(attempt, error=type(error).__name__))

    def dismiss(self, attempt: Attempt) -> None:
        """Forget an attempt that a person interrupted; see :mod:`panbayes.consortium.holder.ledger.attempts`."""
        with suppress(Exception), self.transaction() as transaction:
            if transaction.left_over() == attempt:
                self._attempts.dismiss(attempt)

    def write_cut_off(self) -> None:
        """Write down the answer that was cut off last, if it came to nothing."""
        with self.transaction() as transaction:
            left = transaction.left_over()
            if left is not None:
                transaction.fail(left)

    def resume(self, study: str) -> tuple[Attempt, ...]:
        """Let a study go on whose answers failed, and return what failed since the holder last looked."""
        with self.transaction() as transaction:
            failed = tuple(failure for failure in transaction.failures() if failure.study == study)
            if failed:
                transaction.note("resumed", study)
            return failed

    def look(self, study: Study) -> None:
        """Write down that everything was looked at without privacy, once for every study."""
        content = hashed_text(study.canonical())
        with self.transaction() as transaction:
            if content not in transaction.looked():
                transaction.note("looked", content)

    def write_event(
        self, what: Happening, said: Mapping[str, str | int], *, study: str, asker: str = "", question: str = ""
    ) -> bool:
        """Write down what happened, durably; see :mod:`panbayes.consortium.holder.ledger.events` for what is ``said``.

        That a question was answered is written with its charge and nowhere else. Repeats and refusals beyond so many
        a day are only counted; tells whether the event was written.
        """
        if what == "answered":
            raise InternalError("an answer is written down by the transaction that charges for it")
        with self.transaction() as transaction:
            if what in ("repeated", "refused") and transaction.events.today(what, study) >= DAILY:
                transaction.events.count_strangers(what, 1)
                return False
            transaction.events.write(what, said, study=study, asker=asker, question=question)
            return True

    def count_strangers(self, what: Stranger, number: int = 1) -> None:
        """Count so many that were not let in today, by kind: what they sent leaves nothing else behind.

        It takes a commit to disk, however many they are: in a flood, count them together.
        """
        with self.transaction() as transaction:
            transaction.events.count_strangers(what, number)

    def events(self) -> tuple[Event, ...]:
        """Return everything that happened, in order. For the holder's eyes only."""
        with self.transaction(write=False) as transaction:
            return tuple(transaction.events.all())

    def decisions(self, study: str) -> tuple[Event, ...]:
        """Return what was decided about the study with this hash, in order."""
        with self.transaction(write=False) as transaction:
            return tuple(transaction.events.decisions(study))

    def strangers(self) -> tuple[StrangerCount, ...]:
        """Return how many were not let in, by day and kind."""
        with self.transaction(write=False) as transaction:
            return tuple(transaction.events.strangers())

    def summary(self) -> Summary:
        """Return where the ledger stands."""
        with self.transaction(write=False) as transaction:
            spent, releases = transaction.spent(), transaction.releases()
            reserved, closed = transaction.reserved(), transaction.closed()
            pins = transaction.dataset.pins()
            studies = tuple(
                Spending(
                    study.hash,
                    study.name,
                    study.grant,
                    spent.get(study.hash, NOTHING),
                    reserved[study.hash],
                    releases.get(study.hash, 0),
                    study.hash in closed,
                    pins.get(study.hash),
                    study.delta,
                )
                for study in transaction.studies()
            )
            sequence, head = transaction.last()
            return Summary(
                studies,
                transaction.cap(),
                sequence,
                transaction.first(),
                head,
                tuple(transaction.looked().values()),
                tuple(transaction.failures()),
                transaction.left_behind(),
                transaction.dataset.declared(),
                transaction.dataset.blocks(),
                transaction.dataset.renumbered(),
            )

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry."""
        with self.transaction(write=False) as transaction:
            return tuple(transaction.entries())

    def close(self) -> None:
        """Let go of the file."""
        self._closed = True
        self._connection.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
