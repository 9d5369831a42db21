"""The one door between a holder's records and everybody else.

:meth:`Gate.ask` takes bytes and gives bytes. What happens in between, in this order:

1. **decode**, strictly;
2. **check** against public facts: study and schema are the ones agreed on and approved, the query is one of the study's
   and no larger than it says (its :class:`~panbayes.consortium.agreement.plan.Plan`), could be paid for, and can be
   computed (its :class:`~panbayes.consortium.holder.handler.Handler`). The time this takes follows the length of the
   question, so that nobody can make a holder work for what is not charged;
3. take the ledger for writing, alone. If the question was answered before, the same bytes go out again, free;
4. **charge**: the ledger still belongs to these records, which are what the study saw before, the study is neither
   closed nor paused and has not asked this kind of question too often, its spending stays within its ε, and the *whole*
   study fits under the holder's cap, so that a study that cannot be finished is refused before it has spent anything.
   All compared as exact fractions;
5. write down that an answer is begun, pin what the study sees if the table changes, **draw** the answer with its noise,
   **store** the reply with the charge, **commit** to disk, and only then
6. **release**.

Steps 3 to 5 are one transaction: an error, a crash or a power cut anywhere in it leaves nothing charged and nothing
released; after it, the reply is on disk and any repetition returns it. The question's id is the hash of study, round
and query, never of data, so who asks again cannot get fresh noise.

What fails in step 5 may have failed because of the records, and nothing was charged for telling so. It is therefore
counted, whatever ended it (:mod:`panbayes.consortium.holder.ledger.attempts`), and the third time pauses the study
until the holder looks. What steps 1 to 4 refuse depends on public facts, and does not count.

A gate between institutions has a :class:`~panbayes.consortium.holder.consent.Consent`. It is asked in the transaction
of step 3, before anything else, and before a refusal is told: without consent, whatever was asked, and whether it was
answered before, is `unavailable`. In one process, where whoever runs it is the holder, there is none to ask; an account
about which officers decide answers nothing there.

Whatever arrives, :meth:`Gate.ask` returns bytes: a release or a refusal. The text of a refusal depends on public facts:
the question, the study, the schema, what this study has spent. What goes wrong inside (a full disk, a ledger of other
records, a bug) is `unavailable` to the asker and told in full to ``report`` only, for the holder's eyes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.budget import RefusedError, Wanted, check_budget
from panbayes.consortium.holder.consent import Consent, NoConsentError, is_given
from panbayes.consortium.holder.edition import Edition
from panbayes.consortium.holder.handler import handler_of
from panbayes.consortium.holder.ledger.attempts import Attempt
from panbayes.consortium.holder.ledger.binding import Fingerprint
from panbayes.consortium.holder.ledger.chain import Charge, reply_digest
from panbayes.consortium.holder.ledger.fingerprints import anybodys, fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.stored_study import promise_of
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.codec import MalformedError, WrongIdError, decode_question, encode, round_of
from panbayes.consortium.protocol.envelope import Question, Refusal, RefusalCode, Release
from panbayes.dp.noise import Noise
from panbayes.errors import InputError
from panbayes.privacy.loss import Loss
from panbayes.tables.counter import Counter
from panbayes.tables.kept import KeptTable
from panbayes.tables.reading import SpooledTable
from panbayes.tables.table import Table

__all__ = ["Gate", "Outcome", "Report"]

Report: TypeAlias = Callable[[BaseException], None]
"""Who on the holder's side is told what went wrong."""

MAX_TEXT = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a ``question`` (its id), for whoever carries the ``reply``; ``code`` is that of a refusal.

    Only what was "answered" has been written down; for the others there is
    :meth:`~panbayes.consortium.holder.ledger.ledger.Ledger.write_event`.
    """

    reply: bytes
    what: Literal["answered", "repeated", "refused"]
    question: str
    code: RefusalCode | None = None

    @property
    def withheld(self) -> bool:
        """Whether another institution is told nothing: its question waits until the holder's side has changed."""
        return self.code in ("unavailable", "paused")


class _UnavailableError(Exception):
    """Something went wrong inside; the cause is for the holder only."""


def _silent(_error: BaseException) -> None:
    """Leave an error unreported."""


class Gate:
    """The door to one table for one study.

    A durable ledger takes secure noise only, one in memory simulated noise only: what is private is always
    accounted for, and what is accounted for is private. Raises a ``LedgerError`` for the holder if the ledger has
    been used for other records.
    """

    def __init__(
        self,
        counter: Counter,
        study: Study,
        ledger: Ledger,
        noise: Noise,
        *,
        report: Report = _silent,
        records: Fingerprint | None = None,
        consent: Consent | None = None,
        placed: bool = False,
        edition: Edition | None = None,
    ) -> None:
        """Stand between the records that ``counter`` counts and the askers of ``study``.

        ``records`` is what they are known by; only records at hand, a table or a spooled one, need not say.
        ``consent`` says whether the study may be answered; None where whoever runs this process has decided that.
        ``placed`` records come from the place of their declared dataset; ``edition`` is what they are of one that
        changes, None where they are those of a fixed one.
        """
        if ledger.durable != noise.private:
            raise ValueError("a durable ledger and secure noise go together, as do one in memory and simulated noise")
        facts = counter.facts
        if facts.schema.unit is not None and facts.persons is None:
            raise ValueError("a schema with a privacy unit needs a table that knows its number of persons")
        self._facts = facts
        self._counts = PrivateCounts(counter)
        self._study = study
        self._ledger = ledger
        self._noise = noise
        self._report = report
        self._consent = consent
        self._records = records or _known_by(counter, durable=ledger.durable)
        self._placed = placed or edition is not None
        self._edition = edition
        ledger.bind(facts.schema.hash, self._records, placed=self._placed)

    def ask(self, data: bytes, *, asker: str = "") -> bytes:
        """Answer a question; see the module. Never raises for anything that ``data`` may hold."""
        return self.settle(data, asker=asker).reply

    def settle(self, data: bytes, *, asker: str = "") -> Outcome:
        """Answer a question of ``asker``, by the fingerprint of a key, and tell what became of it."""
        question_id = ""
        try:
            try:
                question = decode_question(data)
                question_id = question.id
                self._check(question)
                return self._settle(question, asker)
            except WrongIdError as error:
                return self._refuse(error.id, "wrong-id", str(error))
            except MalformedError as error:
                return self._refuse("", "malformed", str(error))
            except RefusedError as refused:
                return self._refuse(question_id, refused.code, refused.text)
        except _UnavailableError as failure:
            self._report(failure.__cause__ or failure)
            return _refusal(question_id, "unavailable", "this holder cannot answer now; ask again later")

    def _check(self, question: Question) -> None:
        """Check everything that depends on public facts alone."""
        study, schema = self._study, self._facts.schema
        if question.study != study.hash:
            raise RefusedError("unknown-study", "this holder has not agreed to a study with this hash")
        if schema.hash != study.schema.hash:
            raise RefusedError(
                "wrong-schema", f"this holder's schema is {schema.hash}, the study's is {study.schema.hash}"
            )
        if "draft" in (schema.status, study.schema.status):
            raise RefusedError("wrong-schema", "this holder has not approved the schema: it is a draft")
        chosen, edition = study.chosen_blocks, self._edition
        if chosen is not None and (edition is None or edition.pin.blocks != frozenset(chosen)):
            raise RefusedError(
                "not-in-study", "this holder does not know its people by the blocks that the study names"
            )
        if not study.private:
            raise RefusedError("not-in-study", f'a study of strategy "{study.strategy}" is not answered here')
        complaint = study.plan.complaint(question.query)
        if complaint is not None:
            raise RefusedError("not-in-study", complaint)
        handler = handler_of(question.query)
        try:
            loss = handler.loss(question.query)
            if not loss.implies(study.grant):
                # What can never be paid for is looked at no further; what has been spent is compared in the ledger.
                raise RefusedError("over-budget", f"the study grants {study.grant}; this question costs {loss}")
            handler.check(question.query, schema, self._facts.size)
        except InputError as error:
            raise RefusedError("too-large", str(error)) from None

    def _refuse(self, question: str, code: RefusalCode, text: str) -> Outcome:
        """Tell a refusal, unless the study may be told nothing."""
        if self._consent is not None:
            try:
                with self._ledger.transaction(write=False) as transaction:
                    self._see_consent(transaction)
            except Exception as error:
                raise _UnavailableError from error
        return _refusal(question, code, text)

    def _see_consent(self, transaction: Transaction) -> None:
        if not is_given(self._consent, transaction, self._study.hash):
            raise NoConsentError("the study is not approved here, or it was declined or stopped, or has ended")

    def _settle(self, question: Question, asker: str) -> Outcome:
        """Charge, draw, store and commit in one transaction, or return what was stored before."""
        kind = handler_of(question.query).kind
        attempt = Attempt.now(study=question.study, name=self._study.name, question=question.id, kind=kind)
        try:
            reply, new = self._ledger.settle(
                attempt,
                before=lambda transaction: self._answered_before(transaction, question),
                answer=lambda transaction: self._answer(transaction, question, attempt, asker),
            )
        except RefusedError:
            raise
        except Exception as error:
            raise _UnavailableError from error
        return Outcome(reply, "answered" if new else "repeated", question.id)

    def _answered_before(self, transaction: Transaction, question: Question) -> bytes | None:
        self._see_consent(transaction)
        stored = transaction.stored(question.id)
        if stored is None:
            return None
        asked, replied = stored
        if asked != encode(question):
            raise RefusedError("wrong-id", "this id was used for another question")
        return replied

    def _answer(self, transaction: Transaction, question: Question, attempt: Attempt, asker: str) -> bytes:
        edition, known = self._edition, self._records.kept
        if edition is not None and edition.gone is not None:
            raise edition.gone
        transaction.bind(self._facts.schema.hash, self._records, placed=self._placed)
        pinned = edition is None or transaction.dataset.check_pin(edition.pin, known)
        handler = handler_of(question.query)
        loss = handler.loss(question.query)
        self._check_course(transaction, question.round, handler.kind)
        self._check_budget(transaction, handler.kind, loss)
        transaction.begin(attempt)
        if edition is not None and not pinned:
            edition.keep()
            transaction.dataset.write_pin(edition.pin, known)
        answer = handler.answer(question.query, self._counts, noise=self._noise.spawn(question.id.encode()))
        _, previous = transaction.last()
        # Under add-remove the number of people is itself private, and leaves in noisy form only.
        size = self._facts.size if self._study.adjacency == "replace" else None
        release = Release(question.id, size, previous, self._noise.private, answer)
        digest = reply_digest(release, previous=previous)
        entry = transaction.next_entry(Charge(question.study, question.id, handler.kind, loss, digest))
        reply = encode(msgspec.structs.replace(release, ledger=entry.head))
        transaction.record(entry, study=self._study, asked=encode(question), replied=reply, asker=asker)
        return reply

    def _check_course(self, transaction: Transaction, number: int, kind: str) -> None:
        """Refuse a question that the run which began the study would not ask, before it spends what is left for that.

        Where the asker divides the grant as it goes, it asks one question of a kind in a round.
        """
        study = self._study
        free = any(stage.loss is None for stage in study.plan.stages)
        if free and any(round_of(data) == number for data in transaction.asked(study.hash, kind)):
            raise RefusedError(
                "not-in-study",
                f"another question for {kind} was answered in round {number} of this study, on another kind of "
                "processor: finish it there, or have the holders close it (panbayes holder ledger close) and agree on "
                "a new one",
            )

    def _check_budget(self, transaction: Transaction, kind: str, loss: Loss) -> None:
        study = self._study
        most = study.plan.times(kind)
        if transaction.times(study.hash, kind) >= most:
            raise RefusedError("not-in-study", f"the study asks for {kind} {most} times, and has")
        promise = promise_of(study.adjacency, study.schema.unit)
        blocks = None if self._edition is None else self._edition.pin.blocks
        check_budget(transaction, Wanted(study.hash, study.grant, promise, blocks), loss)


def _known_by(counter: Counter, *, durable: bool) -> Fingerprint:
    """Return what records are known by, where nobody said."""
    if not durable:
        return anybodys(counter.facts)
    if not isinstance(counter, Table | SpooledTable | KeptTable):
        raise ValueError("records that are not at hand need their fingerprint")
    return fingerprint(counter)


def _refusal(question: str, code: RefusalCode, text: str) -> Outcome:
    return Outcome(encode(Refusal(question, code, text[:MAX_TEXT])), "refused", question, code)
