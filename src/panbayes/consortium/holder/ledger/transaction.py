"""One transaction with a ledger: every question that is put to its tables, and every row that is written to them.

What is read is checked for its type, and losses and studies are read back in full, so that a damaged ledger is a
:class:`panbayes.errors.LedgerError` and never a surprise further on.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from panbayes.consortium.holder.ledger.attempts import PAUSING, Attempt, AttemptLog, read_attempt
from panbayes.consortium.holder.ledger.binding import Bindings, Fingerprint, Size, keyed
from panbayes.consortium.holder.ledger.chain import Charge, Entry, commitment, first_head, loss_text, next_head
from panbayes.consortium.holder.ledger.clock import Clock
from panbayes.consortium.holder.ledger.dataset_table import DatasetTable
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.event_table import EventTable
from panbayes.consortium.holder.ledger.layout import Draw, Layout, layout_of
from panbayes.consortium.holder.ledger.note_table import NoteTable
from panbayes.consortium.holder.ledger.notes import Note, What
from panbayes.consortium.holder.ledger.rows import Rows
from panbayes.consortium.holder.ledger.stored_study import Promise, StoredStudy, read_name, read_study
from panbayes.errors import InputError, InternalError, LedgerError
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import loss_from_json
from panbayes.schema.declaration import hashed_text
from panbayes.tables.sources.address import OMOP, Address

__all__ = ["Agreed", "Transaction"]


class Agreed(Protocol):
    """What is charged for: a study, or a proposal."""

    def canonical(self) -> Mapping[str, object]:
        """Return its content; its hash is the one of this."""


class Transaction(Rows):
    """A ledger inside BEGIN … COMMIT, alone with it if it was opened for writing; ends with the ``with`` block."""

    def __init__(
        self, connection: sqlite3.Connection, name: str, draw: Draw, attempts: AttemptLog, clock: Clock
    ) -> None:
        """Work on a connection inside BEGIN … COMMIT.

        ``name`` is the ledger's in messages, ``draw`` gives secrets, ``attempts`` holds what was begun last, ``clock``
        says when something happens.
        """
        super().__init__(connection, name)
        self.events = EventTable(connection, name, clock)
        self.note_table = NoteTable(connection, name)
        self.dataset = DatasetTable(connection, name, self.note_table, clock)
        self._draw = draw
        self._attempts = attempts

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

    def stored(self, question: str) -> tuple[bytes, bytes] | None:
        """Return the bytes of the question with this id and of its reply, if it was answered before."""
        row = self._row("SELECT asked, replied FROM entries WHERE question = ?", bytes, bytes, given=(question,))
        return None if row is None else (row[0], row[1])

    def times(self, study: str, kind: str) -> int:
        """Count the study's charges for questions of one kind."""
        counting = "SELECT COUNT(*) FROM entries WHERE study = ? AND kind = ?"
        return sum(count for (count,) in self._rows(counting, int, given=(study, kind)))

    def asked(self, study: str, kind: str) -> Iterator[bytes]:
        """Yield the bytes of the study's questions of one kind that were answered."""
        answered = "SELECT asked FROM entries WHERE study = ? AND kind = ?"
        yield from (data for (data,) in self._rows(answered, bytes, given=(study, kind)))

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
        query = (
            "SELECT study, question, kind, loss, reply, sequence, head, secret, notes, events"
            " FROM entries ORDER BY sequence"
        )
        rows = self._rows(query, str, str, str, str, str, int, str, bytes, str, str)
        for study, question, kind, loss, *rest in rows:
            yield Entry(study, question, kind, self._loss(loss), *rest)

    def contents(self) -> Iterator[tuple[str, str]]:
        """Yield the hash and the stored text of every study, as they stand; see :meth:`studies`."""
        yield from self._rows("SELECT hash, content FROM studies ORDER BY rowid", str, str)

    def studies(self) -> Iterator[StoredStudy]:
        """Yield every study charged so far, in order of its first charge."""
        for study, content in self.contents():
            yield read_study(study, content, ledger=self._name)

    def promises(self) -> set[Promise]:
        """Return to whom the studies charged here promised their losses; see :data:`Promise`."""
        units = dict(self._rows("SELECT schema, unit FROM units", str, str | None))
        return {
            (
                study.adjacency,
                study.max_records,
                None if study.max_records is None else study.unit or units.get(study.schema) or "",
            )
            for study in self.studies()
        }

    def notes(self) -> list[Note]:
        """Return what the holder wrote, in order."""
        return self.note_table.all()

    def cap(self) -> Loss | None:
        """Return the cap in force."""
        caps = self.caps()
        return caps[-1][1] if caps else None

    def caps(self) -> list[tuple[int, Loss | None]]:
        """Return every cap there has been, each with the number of the entry after which it was set."""
        return [
            (note.after, None if note.content is None else self._loss(note.content))
            for note in self.notes()
            if note.what == "cap"
        ]

    def closed(self) -> set[str]:
        """Return the studies that the holder has closed, by their hashes."""
        return {note.content for note in self.notes() if note.what == "closed" and note.content is not None}

    def officers(self) -> list[str]:
        """Return every note of who decides about the account, in order; none if nobody does."""
        return self.note_table.of("officers")

    def failures(self) -> list[Attempt]:
        """Return the answers that failed since the holder last looked at their study, in order."""
        found: list[Attempt] = []
        for note in self.notes():
            if note.what == "resumed":
                found = [failure for failure in found if failure.study != note.content]
            elif note.what == "failed":
                found.append(self._attempt(note.content))
        return found

    def paused(self, study: str) -> bool:
        """Tell whether so many answers to a study have failed that the holder must look first."""
        return sum(failure.study == study for failure in self.failures()) >= PAUSING

    def left_over(self) -> Attempt | None:
        """Return the newest attempt if it came to nothing that was written down: it was cut off, and is a failure.

        The transaction must be one for writing: then nobody is at work on it, unless the caller is. Without the file of
        attempts, if there ever was one, nobody knows.
        """
        lost = self.left_behind()
        if lost is not None:
            raise LedgerError(
                self._name,
                found=f"was moved without {lost.name}, which says whether an answer was cut off",
                remedy=f"move that here too; if it is gone for good, run: touch {lost}",
            )
        newest = self._attempts.newest()
        if newest is None or self.stored(newest.question) is not None:
            return None
        noted = (self._attempt(note.content) for note in self.notes() if note.what == "failed")
        return None if any(failure.attempt == newest.attempt for failure in noted) else newest

    def left_behind(self) -> Path | None:
        """Return the file of attempts if it is missing although there was one when something was answered or failed."""
        return self._attempts.left_behind() if self.recorded("attempts") is not None else None

    def begin(self, attempt: Attempt) -> None:
        """Write down, durably and at once, that an answer is begun; whatever was begun before must be resolved."""
        self._attempts.begin(attempt)
        self._keep("attempts", "beside")

    def fail(self, attempt: Attempt) -> None:
        """Write down that an answer failed."""
        self.note("failed", attempt.text())
        self._keep("attempts", "beside")

    def looked(self) -> dict[str, str]:
        """Return the texts of the studies that looked at everything without privacy, each with its name."""
        texts = [note.content for note in self.notes() if note.what == "looked" and note.content is not None]
        return {text: read_name(text, ledger=self._name) for text in texts}

    def reserved(self) -> dict[str, Loss]:
        """Return what every study that has begun may come to: its grant, or what it had spent when it was closed."""
        spent, closed = self.spent(), self.closed()
        return {
            study.hash: spent.get(study.hash, NOTHING) if study.hash in closed else study.grant
            for study in self.studies()
        }

    def bindings(self) -> Bindings:
        """Return which records the ledger belongs to."""
        return Bindings(self.secret("key"), {digest for (digest,) in self._rows("SELECT digest FROM marks", bytes)})

    def layout(self) -> Layout:
        """Return the tables, indices and triggers of the file."""
        return layout_of(self.connection)

    def damage(self) -> str | None:
        """Return what SQLite finds wrong with the file, None if nothing."""
        (report,) = next(self._rows("PRAGMA integrity_check(1)", str))
        return None if report == "ok" else str(report)

    def set_cap(self, cap: Loss | None) -> None:
        """Put another cap in force; the earlier ones stay on record."""
        self.note("cap", None if cap is None else self._text(cap))

    def note(self, what: What, content: str | None) -> None:
        """Write down what the holder did; see :mod:`panbayes.consortium.holder.ledger.notes`."""
        self.note_table.write(what, content)

    def bind(self, schema: str, records: Fingerprint, *, placed: bool = False) -> None:
        """Bind the ledger to ``records`` under a schema's hash, or refuse if it has been used for others.

        A binding under which nothing has been charged gives way. A dataset that changes is known by the place of its
        table alone: ``placed`` records come from there. So is one whose records were counted where they lie, and are
        read for the first time. A fixed one has as many people under every schema.
        """
        dataset, bindings = self.dataset.declared(), self.bindings()
        changing = dataset is not None and dataset.changing
        if dataset is not None and changing and not placed:
            raise LedgerError(
                self._name,
                found=f"is the account of a dataset that changes, whose table is {dataset.source}",
                remedy="give that table itself, for what was read from it before is no edition of it; or give other "
                "people a name of their own",
            )
        if dataset is None and not records.marks:
            raise LedgerError(
                self._name,
                found="cannot tell whose records are counted where they lie",
                remedy="declare their dataset first: panbayes holder dataset declare NAME --source ADDRESS",
            )
        unread = placed and not self._marked(schema)
        known = changing or unread or not records.marks or bindings.belongs_to(records)
        if not known:
            if any(study.schema == schema for study in self.studies()):
                raise LedgerError(
                    self._name,
                    found="belongs to other records than those given",
                    remedy="give the records it was first used for, or other people a name of their own; if the "
                    "records have changed for good, give them a new name and keep this ledger: people in both have "
                    "then spent both; a table that changes is declared (panbayes holder dataset declare)",
                )
            self.connection.execute("DELETE FROM marks WHERE schema = ?", (schema,))
        if dataset is not None and not changing and placed:
            self._check_size(schema, records.size, dataset)
        key = self.secret("key")
        for mark in records.marks:
            self.connection.execute(
                "INSERT OR IGNORE INTO marks (schema, digest) VALUES (?, ?)", (schema, keyed(key, mark))
            )
        self.connection.execute("INSERT OR IGNORE INTO units (schema, unit) VALUES (?, ?)", (schema, records.unit))

    def _check_size(self, schema: str, size: Size | None, dataset: Dataset) -> None:
        """Refuse a fixed dataset that had another size when something was charged under another schema."""
        if size is None or (isinstance(dataset.source, Address) and dataset.source.scheme in OMOP):
            return  # Of an OMOP database a feature file says who is learned about.
        for other in {study.schema for study in self.studies()} - {schema}:
            if size.differs(self.recorded(f"size {other}") or ""):
                raise LedgerError(
                    self._name,
                    found=f"its table, {dataset.source}, is not the one that was declared fixed: it has another number "
                    f"of {'records' if dataset.unit is None else 'people'} than when it was answered before",
                    remedy="give the table as it was; one that changes is declared by a name of its own "
                    "(panbayes holder dataset declare --changing), and people in both have then spent both",
                )
        self._keep(f"size {schema}", size.text())

    def _marked(self, schema: str) -> bool:
        """Tell whether anything is known of the records under a schema's hash."""
        return self.connection.execute("SELECT 1 FROM marks WHERE schema = ?", (schema,)).fetchone() is not None

    def next_entry(self, charge: Charge) -> Entry:
        """Return the entry that the charge will be, with its head: the secret that hides it is drawn here."""
        sequence, previous = self.last()
        secret, notes = self._draw(), self._kept("notes")
        _, events = self.events.newest()
        committed = commitment(charge, secret=secret, notes=notes, events=events)
        head = next_head(committed, sequence=sequence + 1, previous=previous)
        said = (charge.study, charge.question, charge.kind, charge.loss, charge.reply)
        return Entry(*said, sequence + 1, head, secret, notes, events)

    def record(self, entry: Entry, *, study: Agreed, asked: bytes, replied: bytes, asker: str = "") -> None:
        """Append a charge together with the question and the reply it pays for, and the event that it was answered."""
        self.connection.execute(
            "INSERT OR IGNORE INTO studies (hash, content) VALUES (?, ?)", (entry.study, hashed_text(study.canonical()))
        )
        self.connection.execute(
            "INSERT INTO entries"
            " (sequence, study, question, kind, loss, reply, head, asked, replied, secret, notes, events)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
                entry.secret,
                entry.notes,
                entry.events,
            ),
        )
        # Kept apart as well, so that a ledger cut short by hand shows.
        self._keep("head", entry.head)
        said = {"entry": entry.sequence, "received": len(asked), "sent": len(replied)}
        self.events.write("answered", said, study=entry.study, asker=asker, question=entry.question)

    def _attempt(self, content: str | None) -> Attempt:
        found = None if content is None else read_attempt(content)
        if found is None:
            raise self._damaged("a note of a failure is not what panbayes writes")
        return found

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
