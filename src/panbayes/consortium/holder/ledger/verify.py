"""Whether a ledger holds together: everything in it is recomputed from everything else.

=============================================== =====================================================================
checked                                         so that it shows if somebody
=============================================== =====================================================================
SQLite's own integrity                          cut or overwrote the file
its tables, and the triggers on them            took away what guards them, or added something
numbers 1, 2, 3, … and the newest head          removed entries from the middle or the end
every head from the entry and the head before   edited, swapped or inserted an entry
every note (caps, closed studies), by their     edited, removed or inserted a cap
digest in each entry and by the newest one
every event, by its number, its digest, the     edited, removed, inserted or cut off an approval, a stop or
digest in each entry and the newest one         another event
every entry against the event of its answer     answered unseen, or wrote down an answer that was none
every question: its id, its study, its kind     put another question under a charge
every loss against the question                 charged less than was asked for
every reply: its digest, its head, its stamp    exchanged a reply, or kept a simulated one
every study's content against its hash          changed what a study was granted
spending of each study, and of all at each time spent more than agreed, of whichever block, or of δ
what was declared, blocks, what studies see,    moved people to another block, or let a study see another state of
and the register's blocks                       the table than it began with
the register, by sums kept beside it            lost or removed people from it, or added some, by hand or by a slip
answers after a study was closed or paused, and went on all the same
to others after it was stopped or declined
heads that others received                      restored an older copy, or wrote a new history
=============================================== =====================================================================

The register is in no chain, for heads must not depend on records: whoever can write to the file can write sums that
fit.

Only the last needs help from outside: a complete copy of an older ledger is a perfectly good ledger. Ask the analysts
for the heads that came with their releases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise

from panbayes.consortium.holder.handler import handler_of
from panbayes.consortium.holder.ledger.attempts import PAUSING, read_attempt
from panbayes.consortium.holder.ledger.chain import Entry, reply_digest
from panbayes.consortium.holder.ledger.layout import Layout, expected_layout
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.notes import WHATS, Note, notes_digest
from panbayes.consortium.holder.ledger.proposal import KIND, read_proposal
from panbayes.consortium.holder.ledger.stored_study import StoredStudy, read_study
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.ledger.verify_datasets import charge_faults, note_faults, register_faults
from panbayes.consortium.holder.ledger.verify_events import event_faults, stranger_faults
from panbayes.consortium.protocol.codec import MalformedError, decode_question, decode_reply
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Query
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss

__all__ = ["verify"]


def verify(ledger: Ledger, *, heads: Iterable[str] = ()) -> list[str]:
    """Return what is wrong with a ledger, one line each; empty if nothing is.

    ``heads`` are heads received with releases; each must be in the chain.
    """
    try:
        with ledger.transaction(write=False) as transaction:
            return list(_faults(transaction, ledger, heads))
    except InputError as error:
        return [error.found]


def _price(query: Query) -> tuple[str, Loss]:
    """Return what an entry for this query must say: its kind and its loss."""
    handler = handler_of(query)
    return handler.kind, handler.loss(query)


def _faults(transaction: Transaction, ledger: Ledger, heads: Iterable[str]) -> Iterator[str]:
    damage = transaction.damage()
    if damage is not None:
        yield f"the file is damaged: {damage}"
        return
    yield from _layout_faults(transaction.layout())
    studies: dict[str, StoredStudy] = {}
    for study, content in transaction.contents():
        try:
            studies[study] = read_study(study, content, ledger=ledger.name)
        except InputError as error:
            yield error.found
    first = head = transaction.first()
    chain = {first}
    spent: dict[str, Loss] = {}
    notes, caps = transaction.notes(), transaction.caps()
    entries = list(transaction.entries())
    for number, entry in enumerate(entries, start=1):
        where = f"entry {entry.sequence}"
        if entry.sequence != number:
            yield f"entry {number} is missing"
            return
        yield from (f"{where}: {fault}" for fault in _entry_faults(transaction, entry, head, private=ledger.durable))
        before = [note for note in notes if note.after < number]
        if entry.notes != notes_digest(before):
            yield f"{where}: a cap or another note before it has been changed, or is missing"
        spent[entry.study] = entry.loss.add(spent.get(entry.study, NOTHING))
        if entry.study not in studies or not spent[entry.study].implies(studies[entry.study].grant):
            yield f"{where}: its study has spent more than it was granted"
        if any(note.what == "closed" and note.content == entry.study for note in before):
            yield f"{where}: its study had been closed"
        if _paused(before, entry.study):
            yield f"{where}: its study had been paused"
        cap = next((loss for after, loss in reversed(caps) if after < number), None)
        charged = charge_faults(entry, before, spent=spent, cap=cap, studies=studies)
        yield from (f"{where}: {fault}" for fault in charged)
        head = entry.head
        chain.add(head)
    if (transaction.recorded("head") or first) != head:
        yield "the newest entries are missing"
    yield from _note_faults(notes, transaction.recorded("notes"))
    yield from note_faults(notes)
    yield from register_faults(transaction.dataset, notes)
    yield from event_faults(transaction.events.all(), entries, transaction.recorded("events"))
    yield from stranger_faults(transaction.events.strangers())
    for received in heads:
        if received not in chain:
            yield f"head {received[:12]}… was given out and is not here: an older copy was restored, or it is forged"


def _paused(notes: list[Note], study: str) -> bool:
    """Tell whether the notes leave a study paused."""
    failures = 0
    for note in notes:
        if note.what == "resumed" and note.content == study:
            failures = 0
        elif note.what == "failed":
            failed = read_attempt(note.content or "")
            failures += failed is not None and failed.study == study
    return failures >= PAUSING


def _layout_faults(found: Layout) -> Iterator[str]:
    expected = expected_layout()
    for kind, name in sorted({*found, *expected}):
        if (kind, name) not in found:
            yield f"the {kind} {name} is missing: what it guards can be changed by a slip"
        elif (kind, name) not in expected:
            yield f"the {kind} {name} is none of panbayes's"
        elif found[kind, name] != expected[kind, name]:
            yield f"the {kind} {name} has been changed"


def _note_faults(notes: list[Note], recorded: str | None) -> Iterator[str]:
    if recorded != notes_digest(notes):
        yield "a cap or another note has been changed, or is missing"
    if any(later.after < earlier.after for earlier, later in pairwise(notes)):
        yield "the notes are not in order"
    yield from (f"there is a note of an unknown kind ({note.what})" for note in notes if note.what not in WHATS)
    if any(note.what == "failed" and read_attempt(note.content or "") is None for note in notes):
        yield "a note of a failure cannot be read"


def _entry_faults(transaction: Transaction, entry: Entry, previous: str, *, private: bool) -> Iterator[str]:
    if entry.expected_head(previous) != entry.head:
        yield "its head does not follow from it and the one before"
    stored = transaction.stored(entry.question)
    if stored is None:
        yield "its question is missing"
        return
    if entry.kind == KIND:
        yield from _proposal_faults(entry, *stored)
        return
    try:
        question = decode_question(stored[0])
        reply = decode_reply(stored[1])
    except MalformedError:
        yield "its question or reply cannot be read"
        return
    if (question.id, question.study) != (entry.question, entry.study):
        yield "its question is another one"
    if (entry.kind, entry.loss) != _price(question.query):
        yield "it was charged for something else than was asked"
    if not isinstance(reply, Release) or reply.id != entry.question or reply.ledger != entry.head:
        yield "its reply is another one"
    elif reply_digest(reply, previous=previous) != entry.reply:
        yield "its reply has been changed"
    elif reply.private != private:
        yield "its reply has simulated noise"


def _proposal_faults(entry: Entry, asked: bytes, replied: bytes) -> Iterator[str]:
    proposal = read_proposal(asked.decode(errors="replace"))
    if proposal is None:
        yield "its question or reply cannot be read"
        return
    if {entry.question, entry.study} != {proposal.hash}:
        yield "its question is another one"
    if entry.loss != proposal.grant:
        yield "it was charged for something else than was asked"
    if hashlib.sha256(replied).hexdigest() != entry.reply:
        yield "its reply has been changed"
