"""One transaction with a ledger: every question that is put to its tables, and every row that is written to them.

What is read is checked for its type, and losses and studies are read back in full, so that a damaged ledger is a
:class:`panbayes.errors.LedgerError` and never a surprise further on.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from types import UnionType
from typing import Any

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.ledger.binding import Bindings, keyed
from panbayes.consortium.holder.ledger.chain import Entry, first_head, loss_text
from panbayes.consortium.holder.ledger.stored_study import Promise, StoredStudy, read_study
from panbayes.errors import InputError, InternalError, LedgerError
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import loss_from_json
from panbayes.schema.declaration import hashed_text

__all__ = ["Transaction"]


class Transaction:
    """A ledger inside BEGIN … COMMIT, alone with it if it was opened for writing; ends with the ``with`` block."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        """Work on a connection inside BEGIN … COMMIT; ``name`` is the ledger's in messages."""
        self.connection = connection
        self._name = name

    def secret(self, key: str) -> bytes:
        """Return the ledger's random number ("ledger", behind the first head) or its binding "key"."""
        value = self._meta(key)
        if value is None:
            raise self._damaged(f'its secret "{key}" is missing')
        return value

    def first(self) -> str:
        """Return the head before the first entry."""
        return first_head(self.secret("ledger"))

    def last(self) -> tuple[int, str]:
        """Return the sequence number and the head of the newest entry."""
        row = self._row("SELECT sequence, head FROM entries ORDER BY sequence DESC LIMIT 1", int, str)
        return (0, self.first()) if row is None else (row[0], row[1])

    def recorded_head(self) -> str | None:
        """Return the newest head as it is kept beside the entries, None before the first."""
        value = self._meta("head")
        return None if value is None else value.decode()

    def stored(self, question: str) -> tuple[bytes, bytes] | None:
        """Return the bytes of the question with this id and of its reply, if it was answered before."""
        row = self._row("SELECT asked, replied FROM entries WHERE question = ?", bytes, bytes, given=(question,))
        return None if row is None else (row[0], row[1])

    def times(self, study: str, kind: str) -> int:
        """Count the study's charges for questions of one kind."""
        counting = "SELECT COUNT(*) FROM entries WHERE study = ? AND kind = ?"
        return sum(count for (count,) in self._rows(counting, int, given=(study, kind)))

    def spent(self) -> dict[str, Loss]:
        """Return the exact spending of every study charged so far, by its hash."""
        rows = self._rows("SELECT study, loss, COUNT(*) FROM entries GROUP BY study, loss", str, str, int)
        sums: dict[str, Loss] = {}
        for study, loss, times in rows:
            sums[study] = self._loss(loss).times(times).add(sums.get(study, NOTHING))
        return sums

    def releases(self) -> dict[str, int]:
        """Count the charges of every study, by its hash."""
        return dict(self._rows("SELECT study, COUNT(*) FROM entries GROUP BY study", str, int))

    def entries(self) -> Iterator[Entry]:
        """Yield every entry in order."""
        query = "SELECT sequence, study, question, kind, loss, reply, head FROM entries ORDER BY sequence"
        rows = self._rows(query, int, str, str, str, str, str, str)
        for sequence, study, question, kind, loss, reply, head in rows:
            yield Entry(sequence, study, question, kind, self._loss(loss), reply, head)

    def contents(self) -> Iterator[tuple[str, str]]:
        """Yield the hash and the stored text of every study, as they stand; see :meth:`studies`."""
        yield from self._rows("SELECT hash, content FROM studies ORDER BY rowid", str, str)

    def studies(self) -> Iterator[StoredStudy]:
        """Yield every study charged so far, in order of its first charge."""
        for study, content in self.contents():
            yield read_study(study, content, ledger=self._name)

    def promises(self) -> set[Promise]:
        """Return to whom the studies charged here promised their losses: adjacency, and records per person."""
        return {study.promise for study in self.studies()}

    def cap(self) -> Loss | None:
        """Return the cap in force."""
        row = self._row("SELECT loss FROM caps ORDER BY position DESC LIMIT 1", str | None)
        return None if row is None or row[0] is None else self._loss(row[0])

    def caps(self) -> list[tuple[int, Loss | None]]:
        """Return every cap there has been, each with the number of the entry after which it was set."""
        rows = self._rows("SELECT after, loss FROM caps ORDER BY position", int, str | None)
        return [(after, None if loss is None else self._loss(loss)) for after, loss in rows]

    def bindings(self) -> Bindings:
        """Return which records the ledger belongs to."""
        digests = dict(self._rows("SELECT schema, digest FROM bindings", str, bytes))
        return Bindings(self.secret("key"), digests)

    def damage(self) -> str | None:
        """Return what SQLite finds wrong with the file, None if nothing."""
        (report,) = next(self._rows("PRAGMA integrity_check(1)", str))
        return None if report == "ok" else str(report)

    def set_cap(self, cap: Loss | None) -> None:
        """Put another cap in force; the earlier ones stay on record."""
        text = None if cap is None else self._text(cap)
        self.connection.execute("INSERT INTO caps (after, loss) VALUES (?, ?)", (self.last()[0], text))

    def bind(self, schema: str, records: bytes) -> None:
        """Bind the ledger to ``records`` (a fingerprint), or refuse if it has been used for others.

        A binding under which nothing has been charged gives way.
        """
        if self.bindings().belongs_to(schema, records):
            return
        if any(study.schema == schema for study in self.studies()):
            raise LedgerError(
                self._name,
                found="belongs to other records than those given",
                remedy="give the records it was first used for, or other people a name of their own; if the records "
                "have changed for good, give them a new name and keep this ledger: people in both have then spent both",
            )
        digest = keyed(self.secret("key"), records)
        self.connection.execute("INSERT OR REPLACE INTO bindings (schema, digest) VALUES (?, ?)", (schema, digest))

    def record(self, entry: Entry, *, study: Study, asked: bytes, replied: bytes) -> None:
        """Append a charge together with the question and the reply it pays for."""
        self.connection.execute(
            "INSERT OR IGNORE INTO studies (hash, content) VALUES (?, ?)", (entry.study, hashed_text(study.canonical()))
        )
        self.connection.execute(
            "INSERT INTO entries (sequence, study, question, kind, loss, reply, head, asked, replied)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        self.connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('head', ?)", (entry.head.encode(),))

    def _meta(self, key: str) -> bytes | None:
        row = self._row("SELECT value FROM meta WHERE key = ?", bytes, given=(key,))
        return None if row is None else bytes(row[0])

    def _rows(self, statement: str, *types: type | UnionType, given: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query whose columns have these ``types``."""
        for row in self.connection.execute(statement, given):
            if not all(map(isinstance, row, types)):
                raise self._damaged("something in it is not what panbayes writes")
            yield row

    def _row(self, statement: str, *types: type | UnionType, given: tuple[str, ...] = ()) -> tuple[Any, ...] | None:
        return next(self._rows(statement, *types, given=given), None)

    def _text(self, loss: Loss) -> str:
        """Write a loss, and see that it can be read again: a ledger must never hold what it cannot add up."""
        text = loss_text(loss)
        if self._loss(text) != loss:
            raise InternalError("a loss does not survive being written")
        return text

    def _loss(self, text: str) -> Loss:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        try:
            return loss_from_json(data, argument=self._name)
        except InputError as error:
            raise LedgerError(error.argument, found=error.found, remedy=error.remedy) from None

    def _damaged(self, found: str) -> LedgerError:
        return LedgerError(self._name, found=found, remedy="run `panbayes holder ledger verify`")
