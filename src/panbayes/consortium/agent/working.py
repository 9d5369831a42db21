"""The process that computes: reads the records, stands behind the gate, and answers one question after another.

It is started by the agent when there is something to compute (:mod:`panbayes.consortium.agent.worker`), takes
:class:`~panbayes.consortium.agent.pipe.Job`\\ s from its standard input, and ends by itself when there is none for a
while or when the agent is gone. Signals that ask processes to stop do not end it in the middle of an answer: what it is
at work on is answered, charged and kept in the ledger, so that an agent that comes back finds it there. If it is
killed, the ledger counts an answer that failed.

Before a question is *taken up*, everything that takes time and has nothing to do with the records is done: modules are
loaded, and the question is rehearsed on made-up records, so that what is compiled once is compiled by then. From there
on the time may depend on the records, and is hidden by the agent's slots.

Whatever goes wrong is told to the agent, for the holder's eyes, in panbayes's own words or by the name of its kind:
nothing else is known not to quote a record.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from traceback import print_exception
from typing import IO, Final

import numpy as np

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import consent_to
from panbayes.consortium.agent.effort import effort_of, public_sizes, seconds
from panbayes.consortium.agent.pipe import Done, Job, Promise, Said, Taken, receive_job, send
from panbayes.consortium.agent.slots import check_grid
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.consent import Consent, NoConsentError
from panbayes.consortium.holder.dataset import see
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.records import Records, read_for
from panbayes.consortium.protocol.codec import MalformedError, decode_question
from panbayes.consortium.protocol.envelope import Question
from panbayes.consortium.protocol.queries import kind_of
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError, LedgerError, PanbayesError
from panbayes.tables.codes import code_type
from panbayes.tables.remote import RemoteTable
from panbayes.tables.spool import BLOCK_RECORDS
from panbayes.tables.table import Table

__all__ = ["IDLE_SECONDS", "Working", "main"]

IDLE_SECONDS: Final = 60.0
"""So long it waits for another question, with the records at hand."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The gate of one study, as one letter proposed it; ``stack`` closes what is behind it.

    ``blocks`` tells whether a register says who is let in.
    """

    letter: str
    gate: Gate
    records: Records
    blocks: bool
    stack: ExitStack


class _Elsewhere:
    """The consent that stands in the ledger on disk, for a gate whose own ledger is in memory."""

    def __init__(self, consent: Consent, ledger: Ledger) -> None:
        self._consent = consent
        self._ledger = ledger

    def given(self, _transaction: Transaction, study: str) -> bool:
        with self._ledger.transaction(write=False) as transaction:
            return self._consent.given(transaction, study)


class _Trouble:
    """What has gone wrong; as a block, whatever goes wrong in it goes no further."""

    def __init__(self) -> None:
        self.told = ""
        self.failed = False

    def report(self, error: BaseException) -> None:
        """Take an error down."""
        if os.environ.get("PANBAYES_DEBUG"):
            print_exception(error)
        if isinstance(error, PanbayesError):
            self.told = str(error)
        elif not isinstance(error, NoConsentError):  # The agent tells what waits for an officer.
            self.told = f"an answer failed by an internal error, {type(error).__name__}"

    def __enter__(self) -> _Trouble:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, Exception):
            self.failed = True
            self.report(error)
        return self.failed


class Working:
    """Answers the questions of one holder."""

    def __init__(self, holder: HolderFile, *, simulate: int | None) -> None:
        """Have read nothing yet; with ``simulate``, noise comes from that seed and nothing is private."""
        self._holder = holder
        self._simulate = simulate
        self._opened: _Opened | None = None
        self._rehearsed: set[tuple[str, str]] = set()
        self._trouble = _Trouble()

    def work(self, job: Job) -> Iterator[Said]:
        """Yield what is said about a question; whatever goes wrong, the last is what became of it."""
        self._trouble = _Trouble()
        with self._trouble as trouble:
            self._reread()
            yield from self._work(job)
        if trouble.failed:
            yield Done("withheld", trouble=trouble.told)

    def _reread(self) -> None:
        """Take over what the holder's file says now, and open the gate anew by it."""
        found = self._holder.reread()
        if found is not self._holder:
            self.close()
            self._holder = found

    def _work(self, job: Job) -> Iterator[Said]:
        proposed = self._proposed(job)
        study, question = proposed.study, _read(job.body)
        if question is not None and (question.study, question.round) != (job.study, job.round):
            yield Done("misaddressed", question.id)
            return
        time = self._holder.time
        check_grid(study, grid=float(time.grid), bound=time.rows_bound, argument=f"{self._holder.file}, rows_bound")
        if time.grid:
            self._rehearse(proposed, question, job)
        yield Taken()
        at_hand = self._opened is not None and self._opened.letter == job.letter
        opened = self._open(proposed, job.letter)
        # What the study does not ask for is refused before it costs anything.
        asks = question is not None and study.plan.complaint(question.query) is None
        query = question.query if question is not None and asks else None
        size = None if study.adjacency == "add-remove" else opened.records.facts.size
        yield Promise(
            seconds(
                effort_of(query, study.schema, length=len(job.body)),
                sizes=public_sizes(study.schema, size=size, bound=time.rows_bound),
                schema=study.schema,
                read=at_hand,
                blocks=opened.blocks,
                there=isinstance(opened.records, RemoteTable),
            )
        )
        outcome = opened.gate.settle(job.body, asker=job.asker)
        told, code = self._trouble.told or self._beyond_bound(opened.records), outcome.code or ""
        if outcome.withheld:
            yield Done("withheld", outcome.question, code, trouble=told)
        else:
            yield Done(outcome.what, outcome.question, code, outcome.reply, told)

    def _proposed(self, job: Job) -> ProposedStudy:
        """Return the letter that the job names."""
        for arrived in Studies(self._holder).of(job.study):
            if arrived.proposed.letter.digest == job.letter:
                return arrived.proposed
        raise InputError("study", found="its letter is no longer kept", remedy="have the analyst send it again")

    def _beyond_bound(self, records: Records) -> str:
        """Return what the holder, and nobody else, is told of a table with more rows than were declared."""
        bound = self._holder.time.rows_bound
        if bound is None or records.facts.records <= bound:
            return ""
        error = InputError(
            f"{self._holder.file}, rows_bound",
            found="your table has more rows than it says, and answers may be late",
            remedy="give a number that the rows will never exceed",
        )
        return str(error)

    def _open(self, proposed: ProposedStudy, letter: str) -> _Opened:
        """Return the gate of a study; the one before is kept, if it is the same."""
        if self._opened is not None and self._opened.letter == letter:
            return self._opened
        self.close()
        with ExitStack() as stack:
            records, gate, blocks = self._behind(proposed, stack)
            self._opened = _Opened(letter, gate, records, blocks, stack.pop_all())
        return self._opened

    def _behind(self, proposed: ProposedStudy, stack: ExitStack) -> tuple[Records, Gate, bool]:
        """Return the records that a study sees, the gate before them, and whether people have blocks."""
        holder, study = self._holder, proposed.study
        consent, argument, edition = consent_to(holder, proposed), f"{holder.file}, source", None
        if self._simulate is not None:
            decided = stack.enter_context(holder.ledger())
            made_up = read_for(study, holder.data, argument=argument, stack=stack)
            gate = Gate(
                made_up,
                study,
                stack.enter_context(Ledger.in_memory()),
                SimulatedNoise(self._simulate).spawn(f"holder {proposed.called}".encode()),
                report=self._report,
                consent=_Elsewhere(consent, decided),
            )
            return made_up, gate, False
        holder.ledger().close()  # Makes it where there is none, with its cap.
        declared = holder.cabinet.declared_at(holder.data, argument=argument)
        records: Records
        if declared is not None:
            ledger = stack.enter_context(Ledger.open(declared))
            seen = see(study, ledger, holder.data, argument=argument, stack=stack)
            records, edition, known = seen.records, seen.edition, fingerprint(seen.records)
            if records.facts.records:  # All empty tables are alike.
                holder.cabinet.check_apart({declared: known})
        else:
            records = read_for(study, holder.data, argument=argument, stack=stack)
            known = fingerprint(records)
            found = holder.cabinet.open({holder.name: (study.schema.hash, known)})
            ledger = stack.enter_context(found[holder.name])
        if ledger.path != holder.cabinet.path(holder.name):
            raise LedgerError(
                ledger.name,
                found=f'has been used for these records, and is not the ledger of a holder "{holder.name}"',
                remedy="name the holder as before, or give it its own records",
            )
        gate = Gate(
            records,
            study,
            ledger,
            SecureNoise(),
            report=self._report,
            records=known,
            consent=consent,
            placed=declared is not None,
            edition=edition,
        )
        return records, gate, edition is not None and edition.pin.blocks is not None

    def _report(self, error: BaseException) -> None:
        """Take down what went wrong behind the gate."""
        self._trouble.report(error)

    def _rehearse(self, proposed: ProposedStudy, question: Question | None, job: Job) -> None:
        """Answer such a question once on made-up records, so that nothing is compiled while real ones are looked at."""
        kind = "" if question is None else kind_of(question.query)
        if (job.study, kind) in self._rehearsed:
            return
        self._rehearsed.add((job.study, kind))
        # What fails here has nothing to do with the records, and shows again where it counts.
        with suppress(Exception):
            self._answer_made_up(proposed.study, job.body)

    def _answer_made_up(self, study: Study, body: bytes) -> None:
        schema = study.schema
        codes = np.zeros((len(schema), BLOCK_RECORDS + 1), dtype=code_type(schema))
        made_up = Table(schema, codes, None if schema.unit is None else codes.shape[1])
        fingerprint(made_up)
        with Ledger.in_memory() as ledger:
            Gate(made_up, study, ledger, SimulatedNoise(0)).ask(body)

    def close(self) -> None:
        """Let go of the records."""
        if self._opened is not None:
            self._opened.stack.close()
            self._opened = None


def main(arguments: list[str]) -> None:
    """Answer what comes in at standard input until there is nothing more to do.

    The arguments are the holder's file, and the seed if the noise is to be simulated.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    jobs, said = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Whatever else prints does not speak to the agent.
    sys.excepthook = _end
    holder = HolderFile.load(arguments[0])
    working = Working(holder, simulate=int(arguments[1]) if len(arguments) > 1 else None)
    with jobs, said:
        while (job := _next(jobs)) is not None:
            for message in working.work(job):
                send(said, message)
            del job
    working.close()


def _next(jobs: IO[bytes]) -> Job | None:
    """Wait for a job; None if there is none for a while, or there will be none."""
    ready, _, _ = select.select([jobs], [], [], IDLE_SECONDS)
    return receive_job(jobs) if ready else None


def _end(_kind: object, error: BaseException, _trace: object) -> None:
    """Say on standard error what ended the process."""
    trouble = _Trouble()
    trouble.report(error)
    sys.stderr.write(f"{trouble.told}\n")


def _read(body: bytes) -> Question | None:
    """Read a question; None if it cannot be read, which the gate will say."""
    try:
        return decode_question(body)
    except MalformedError:
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
