"""What the agent does with what has arrived, one question at a time.

A question's letter is checked (:mod:`panbayes.consortium.agent.checking`), computed in a process of its own behind the
gate (:mod:`panbayes.consortium.agent.worker`), put into a letter, and handed to the carrier at its slot
(:mod:`panbayes.consortium.agent.slots`), with one last look whether the officers still agree. Whatever is wrong with a
question, nothing leaves, and no reason is given: unapproved, declined, stopped, over, unknown, unsigned and paused look
the same from outside, and so does a holder that is switched off. What the gate refuses on public grounds leaves as an
answer like any other. Nor is a letter fetched again because of what officers decide, unless that was to answer it:
whoever keeps the mailbox would see that they did. The holder's file is read again before each letter: who is taken out
of it has no say from then on.

The answer's letter follows from the question's and from the reply, which the ledger keeps. So whatever ends the agent,
and wherever, the same question gets the same letter again, unless it is sealed, which no two letters are alike.
What is turned away is counted by kind, each letter once (:mod:`panbayes.consortium.agent.strangers`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from panbayes.consortium.agent.carrier import Arrived, Carrier, CarrierError
from panbayes.consortium.agent.checking import Asked, agreed_to, is_agreed, read_question
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.decisions import approval_letter
from panbayes.consortium.agent.holds import FIRM, MAX_HELD, Holds
from panbayes.consortium.agent.overruns import write_overrun
from panbayes.consortium.agent.pipe import Done, Job, Promise, Said, Taken
from panbayes.consortium.agent.slots import Slot
from panbayes.consortium.agent.strangers import Strangers
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.study_letters import NotArrivedError, ProposedStudy
from panbayes.consortium.holder.ledger.events import Stranger
from panbayes.consortium.post.letters import Header, Letter, Signed
from panbayes.consortium.post.sealing import seal
from panbayes.errors import InputError, InternalError, PanbayesError

__all__ = ["Agent", "Clock", "Computes", "Did"]

_FLUSHED: Final = 60.0
"""Seconds between two writes of how many were turned away."""

_MOST_LATE: Final = 8
"""Answers that wait for room at most, before no further question is taken up."""

_RETRY: Final = 5.0
"""Seconds that a carrier is waited for at most while answers wait for room."""


class Clock(Protocol):
    """The monotonic clock, and waiting by it."""

    def monotonic(self) -> float:
        """Return seconds since some moment."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""


class Computes(Protocol):
    """Who computes an answer."""

    def work(self, job: Job) -> Iterator[Said]:
        """Yield what is said about a question, what became of it last."""


@dataclass(slots=True)
class Did:
    """What an agent has done since it began: answers that left, by what became of the question, and what waits."""

    left: Counter[str] = field(default_factory=Counter)
    waiting: set[str] = field(default_factory=set)
    studies: int = 0
    turned_away: int = 0


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """An answer on its way: to which letter, for which study, and what is said of it."""

    arrived: Arrived
    proposed: ProposedStudy
    header: Header
    letter: Signed
    became: str


class Agent:
    """Answers for one holder; ``say`` takes lines for its eyes about what goes wrong, ``note`` about what was done."""

    def __init__(
        self,
        holder: HolderFile,
        carrier: Carrier,
        worker: Computes,
        *,
        say: Callable[[str], None],
        note: Callable[[str], None],
        simulated: bool = False,
        again: bool = True,
        clock: Clock = time,
    ) -> None:
        """Do nothing yet. With ``again``, what waits is tried again by itself."""
        self.did = Did()
        self.failed: CarrierError | None = None  # why something that should have left still waits
        self._holder = holder
        self._carrier = carrier
        self._worker = worker
        self._say = say
        self._note = note
        self._simulated = simulated
        self._clock = clock
        self._studies = Studies(holder)
        self._again = again
        self._kept = holder.post("studies").path
        self._holds = Holds(clock.monotonic, again=again)
        self._strangers = Strangers(holder)
        self._flushed = clock.monotonic()
        self._late: list[_Outgoing] = []
        self._awaited: dict[str, Header] = {}
        self._told: set[str] = set()
        self._seen: object = self._look()

    @property
    def studies_waiting(self) -> int:
        """Of how many studies questions wait, for officers or for better times."""
        return len({header.study for header in self._awaited.values()})

    def turn(self, *, seconds: float) -> bool:
        """Take what has arrived, waiting up to ``seconds`` for it, and deal with it; tell whether anything had.

        Raises a :class:`CarrierError` if there is no getting at the carrier now.
        """
        self._reread()
        self._look_around()
        self._tell_approvals()
        self._deliver_late()
        if self._late:
            seconds = min(seconds, _RETRY)
        letters = self._carrier.collect(self._holds.resting(), seconds=seconds)
        for arrived in letters:
            if arrived.kind == "study":
                self._keep(arrived)
            elif arrived.kind == "question":
                if self._settle(arrived):
                    break  # One is computed in a turn; the others come again.
            else:
                self._turn_away(arrived, "unreadable")
        if self._clock.monotonic() - self._flushed >= _FLUSHED:
            self.flush()
        return bool(letters)

    def flush(self) -> None:
        """Write down how many were turned away."""
        self._flushed = self._clock.monotonic()
        if self._simulated:
            return
        try:
            self._strangers.write(self._holder)
        except PanbayesError as error:
            self._say(str(error))

    def _reread(self) -> None:
        """Take over what the holder's file says now."""
        found = self._holder.reread()
        if found is not self._holder:
            if found.analysts != self._holder.analysts:  # What was nobody's before may be somebody's now.
                self._holds = Holds(self._clock.monotonic, again=self._again)
            self._holder, self._studies, self._seen = found, Studies(found), None

    def _look_around(self) -> None:
        """Let what waits come again whose study is agreed to, if the ledger has changed since, or a study has come."""
        seen = self._look()
        if seen == self._seen:
            return
        self._seen = seen
        if self._awaited:
            with self._holder.ledger() as ledger:
                studies = {(header.study, header.analyst): header for header in self._awaited.values()}
                agreed = {
                    asked
                    for asked, header in studies.items()
                    if agreed_to(header, self._holder, self._studies, ledger) is not None
                }
            for letter, header in self._awaited.items():
                if (header.study, header.analyst) in agreed:
                    self._holds.release(letter)

    def _look(self) -> object:
        """Return what changes with the holder's ledger and the studies that are kept."""
        return [_state(path) for path in (*self._holder.cabinet.files(), self._kept)]

    def _tell_approvals(self) -> None:
        """Hand over the letters that tell of approvals, each once while this process lasts, if they still hold."""
        outgoing = self._holder.post("outgoing")
        for name in outgoing.names("from"):
            for stem in outgoing.stems("from", name, "approval"):
                letter = outgoing.get("from", name, stem, "approval")
                if letter is None or letter.digest in self._told:
                    continue
                header = self._approval(letter)
                if header is not None:
                    try:
                        self._carrier.deliver(name, header, letter)
                    except CarrierError as error:
                        self._fail(error)
                        return
                    self.did.left["approved"] += 1
                    self._told.add(letter.digest)

    def _approval(self, letter: Signed) -> Header | None:
        """Return the header of a letter that tells of an approval; None if the study is not approved so now."""
        opened = letter.open(self._holder.public, "approval")
        if opened is not None:
            with self._holder.ledger() as ledger:
                for kept in self._studies.of(opened.header.study):
                    if approval_letter(kept.proposed, self._holder, ledger) == (opened.header, letter):
                        return opened.header
        return None

    def _keep(self, arrived: Arrived) -> None:
        """Keep a letter that proposes a study, for an officer to decide."""
        before = self._look()
        try:
            study = self._studies.keep(arrived.letter).study
        except NotArrivedError as error:
            self._turn_away(arrived, error.what)
        except PanbayesError as error:
            self._say(str(error))
            self._holds.for_now(arrived.known_by)
        else:
            self._holds.for_good(arrived.known_by)
            if self._look() != before:
                self.did.studies += 1
                self._note(f"a study has come: {study.name} ({study.hash[:12]}); look with panbayes holder pending")

    def _settle(self, arrived: Arrived) -> bool:
        """Answer a question, or do not; tell whether it was taken up."""
        try:
            asked = read_question(arrived, self._holder)
        except NotArrivedError as error:
            self._turn_away(arrived, error.what)
            return False
        try:
            return self._ask(arrived, asked)
        except PanbayesError as error:
            self._say(str(error))
            self._wait(arrived, asked.header, firmly=True)
            return True

    def _ask(self, arrived: Arrived, asked: Asked) -> bool:
        with self._holder.ledger() as ledger:
            proposed = agreed_to(asked.header, self._holder, self._studies, ledger)
        if proposed is None:
            self._strangers.count("unapproved", arrived)
            self._wait(arrived, asked.header)
            return False
        if self._holder.seal and not proposed.body.sealing:
            raise InputError(
                f"{self._holder.file}, seal",
                found="is true, and the study's letter has no key to seal to",
                remedy="ask the analyst for a study with one, or set seal = false",
            )
        done, slot = self._compute(proposed, asked)
        if done.trouble:
            self._say(done.trouble)
        if done.became == "misaddressed":
            self._turn_away(arrived, "misaddressed")
            return False
        ready = None
        try:
            outgoing = None if done.became == "withheld" else self._letter(arrived, proposed, asked, done)
            # A process that died without a word was ended by somebody, or counts as a failure in the ledger.
            if not self._simulated and (outgoing is not None or done.trouble):
                ready = self._write_down(asked, done, slot)
        finally:
            leaves = slot.leaves(ready=ready or self._clock.monotonic())
            self._clock.sleep(max(leaves - self._clock.monotonic(), 0.0))
        if outgoing is None:
            self._wait(arrived, asked.header, firmly=True)
        else:
            self._hand_over(outgoing)
        return True

    def _compute(self, proposed: ProposedStudy, asked: Asked) -> tuple[Done, Slot]:
        """Have a question computed; return what became of it, and its slot, of one grid if nothing was promised."""
        header = asked.header
        job = Job(proposed.study.hash, proposed.letter.digest, header.round, header.analyst, asked.body)
        taken_up, promised = self._clock.monotonic(), 0.0
        for said in self._worker.work(job):
            match said:
                case Taken():
                    taken_up = self._clock.monotonic()
                case Promise(seconds):
                    promised = seconds
                case Done():
                    return said, Slot.promised(taken_up=taken_up, seconds=promised, grid=float(self._holder.time.grid))
        raise InternalError("the process that computes ended without a word")

    def _letter(self, arrived: Arrived, proposed: ProposedStudy, asked: Asked, done: Done) -> _Outgoing:
        """Put a reply into a letter, sealed if the holder's file says so."""
        asking, sealed = asked.header, self._holder.seal
        header = Header(
            "answer", asking.study, asking.analyst, asking.holder, asking.round, asking.sequence, asked.digest, sealed
        )
        body = done.reply
        if sealed:
            body = seal(body, to=proposed.body.sealing, header=header.encode())
        return _Outgoing(arrived, proposed, header, Letter(header, body).signed_by(self._holder.private), done.became)

    def _write_down(self, asked: Asked, done: Done, slot: Slot) -> float:
        """Write into the ledger what the gate has not, also if nothing leaves; return when all is ready.

        That moment decides both whether the answer is late and when it leaves: only an overrun is written after it.
        Whatever is asked next waits until this slot is over, and who asks that may see how long it is.
        """
        study, asker, question = asked.header.study, asked.header.analyst, done.question
        if done.became in ("repeated", "refused"):
            code: dict[str, str | int] = {"code": done.code} if done.became == "refused" else {}
            said = code | {"received": len(asked.body), "sent": len(done.reply)}
            with self._holder.ledger() as ledger:
                ledger.write_event(done.became, said, study=study, asker=asker, question=question)
        ready = self._clock.monotonic()
        slots = max(slot.number(ready=ready), done.stuck)
        if slots == 1:
            return ready
        with self._holder.ledger() as ledger:
            self._say(write_overrun(ledger, study=study, asker=asker, question=question, slots=slots))
        return self._clock.monotonic()

    def _hand_over(self, outgoing: _Outgoing) -> None:
        """Hand an answer to the carrier, if the officers still agree; one that it does not take goes later."""
        try:
            self._deliver(outgoing)
        except CarrierError as error:
            self._late.append(outgoing)
            self._holds.for_good(outgoing.arrived.known_by)
            self._fail(error)

    def _deliver_late(self) -> None:
        """Hand over what could not be before."""
        self.failed = None
        try:
            while self._late:
                self._deliver(self._late[0])
                self._late.pop(0)
        except CarrierError as error:
            self._fail(error)
            if len(self._late) >= _MOST_LATE:
                raise

    def _fail(self, error: CarrierError) -> None:
        self.failed = error
        self._say(str(error))

    def _deliver(self, outgoing: _Outgoing) -> None:
        arrived, study = outgoing.arrived, outgoing.proposed.study
        self._reread()
        with self._holder.ledger() as ledger:
            agreed = is_agreed(outgoing.proposed, self._holder, ledger)
        if not agreed:
            self._wait(arrived, outgoing.header)
            return
        self._carrier.deliver(arrived.name, outgoing.header, outgoing.letter)
        self.did.left[outgoing.became] += 1
        self.did.waiting.discard(arrived.known_by)
        self._awaited.pop(arrived.known_by, None)
        # The carrier knows that it is answered; should it bring it again, the answer was lost there: soon, not at once.
        self._holds.for_now(arrived.known_by, firmly=True, longest=FIRM)
        self._note(
            f"{outgoing.became} {arrived.stem}: {study.name}, round {outgoing.header.round}, "
            f"{len(outgoing.letter.data):,} bytes"
        )

    def _wait(self, arrived: Arrived, header: Header, *, firmly: bool = False) -> None:
        """Let a question wait, with what its letter's ``header`` says: its study is what it waits for."""
        self.did.waiting.add(arrived.known_by)
        self._awaited[arrived.known_by] = header
        while len(self._awaited) > MAX_HELD:
            self.did.waiting.discard(oldest := next(iter(self._awaited)))
            del self._awaited[oldest]
        self._holds.for_now(arrived.known_by, firmly=firmly)

    def _turn_away(self, arrived: Arrived, what: Stranger) -> None:
        """Count a letter that counts as not arrived."""
        self.did.turned_away += 1
        self._strangers.count(what, arrived)
        self._holds.for_good(arrived.known_by)


def _state(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), found.st_mtime_ns, found.st_size
