"""A holder and an analyst that exchange letters through a folder, for tests of the agent in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from panbayes.consortium.agent import decisions
from panbayes.consortium.agent.answering import Agent, Did
from panbayes.consortium.agent.carrier import FolderCarrier
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.pipe import Job, Said
from panbayes.consortium.agent.serving import answer_all
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.agent.worker import Worker
from panbayes.consortium.agent.working import Working
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.post.bodies import StudyBody
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.letters import Header, Letter, Signed, stem_of
from panbayes.consortium.post.sealing import sealing_key
from panbayes.consortium.post.signatures import sign
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.envelope import Reply, question
from panbayes.consortium.protocol.queries import Query, TablesQuery, ratio
from tests.consortium.agent.houses import SCHEMA, House, key, letter, study_body, study_of
from tests.running import run_here

VOTING: Final = """\
version = 1
name = "three clinics"
schema = "clinic.toml"
epsilon = 1
strategy = "noisy-sufficient-statistics"
"""
"""A study that asks one kind of question, all tables of two attributes."""

AT_ONCE: Final = "[time]\ngrid = 0\n"


def tables(study: Study) -> TablesQuery:
    """The one question that such a study may ask."""
    return TablesQuery(sets=((0, 1),), epsilon=ratio(study.epsilon or Fraction(1)), clip=study.clip == "holder")


class Here(Worker):
    """Computes in this process what a worker has computed by another; after it was closed, from the beginning."""

    def __init__(self, holder: HolderFile, *, simulate: int | None = None) -> None:
        """Have read nothing yet."""
        super().__init__(holder, simulate=simulate)
        self._new = partial(Working, holder, simulate=simulate)
        self._working = self._new()

    def work(self, job: Job) -> Iterator[Said]:
        """Yield what is said about a question."""
        yield from self._working.work(job)

    def close(self) -> int | None:
        """Let go of the records."""
        self._working.close()
        self._working = self._new()
        return None


@dataclass
class Exchange:
    """A house, and a folder of letters between it and the analyst "uni"."""

    root: Path
    rest: str = AT_ONCE
    top: str = ""
    text: str = VOTING
    schema: str = SCHEMA
    name: str = "north"
    officers: tuple[str, ...] = ("mary",)
    analysts: tuple[str, ...] = ("uni",)
    house: House = field(init=False)
    holder: HolderFile = field(init=False)
    folder: Folder = field(init=False)

    def __post_init__(self) -> None:
        self.house = House(self.root / "north")
        people = [{name: key(name).public.line for name in names} for names in (self.officers, self.analysts)]
        self.holder = self.house.write(rest=self.rest, top=self.top, officers=people[0], analysts=people[1])
        self.folder = Folder.at(self.root / "post", make=True)

    @property
    def study(self) -> Study:
        return study_of(self.body)

    @property
    def body(self) -> StudyBody:
        body = study_body(self.text, self.schema)
        return StudyBody(body.study, body.schema, body.holders, body.analyst, sealing_key(key("uni")))

    @property
    def carrier(self) -> FolderCarrier:
        return FolderCarrier(self.folder, self.holder.public)

    def propose(self, **header: Any) -> ProposedStudy:
        """Put the letter that proposes the study into the folder, and keep it."""
        signed = letter(self.body, **header)
        self.folder.put("to", self.name, Letter.decode(signed.data).header, signed)
        return Studies(self.holder).keep(signed)

    def approve(self, proposed: ProposedStudy | None = None, officer: str = "mary") -> ProposedStudy:
        """Have an officer approve the study."""
        found = self.propose() if proposed is None else proposed
        with self.holder.ledger() as ledger:
            statement = decisions.statement_now(found, self.holder, ledger)
            signature = sign(key(officer), "panbayes-approval", statement.encode())
            decisions.approve(found, self.holder, ledger, signature, argument="--key")
        return found

    def decide(self, what: Any, proposed: ProposedStudy) -> None:
        """Decline, stop or resume the study."""
        with self.holder.ledger() as ledger:
            ledger.write_event(what, {"by": "mary", "reason": "a test"}, study=proposed.study.hash)

    def question(
        self, query: Query | None = None, *, number: int = 1, by: str = "uni", body: bytes | None = None, **header: Any
    ) -> tuple[Header, Signed]:
        """A signed letter with a question, and what its header says."""
        study = self.study
        fields = {
            "kind": "question",
            "study": study.hash,
            "analyst": key(by).public.fingerprint,
            "holder": key("north").public.fingerprint,
            "round": 0,
            "sequence": number,
            **header,
        }
        inner = question(query or tables(study), study=study.hash, round_number=fields["round"])
        head = Header(**fields)
        return head, Letter(head, encode(inner) if body is None else body).signed_by(key(by))

    def put(self, head: Header, signed: Signed) -> str:
        """Put a letter to the holder into the folder; return its stem."""
        self.folder.put("to", self.name, head, signed)
        return stem_of(head)

    def ask(self, *arguments: Any, **options: Any) -> str:
        """Put a question into the folder; return its stem."""
        return self.put(*self.question(*arguments, **options))

    def answer(self, stem: str) -> Signed | None:
        """The answer's letter that lies in the folder, if there is one."""
        return self.folder.get("from", self.name, stem, "answer")

    def reply(self, stem: str) -> Reply:
        """What the answer's letter holds, which the holder signed."""
        found = self.answer(stem)
        assert found is not None, "there is an answer"
        opened = found.open(key("north").public, "answer")
        assert opened is not None, "the holder has signed it"
        return decode_reply(opened.body)

    def entries(self) -> int:
        """How many answers the ledger has charged for."""
        with self.holder.ledger() as ledger:
            return len(ledger.entries())

    def happened(self) -> list[str]:
        """What the ledger's events say, in order."""
        with self.holder.ledger() as ledger:
            return [event.what for event in ledger.events()]

    def strangers(self) -> dict[str, int]:
        """How many were turned away, by kind."""
        with self.holder.ledger() as ledger:
            return {count.what: count.count for count in ledger.strangers()}

    def command(self, *arguments: str) -> list[str]:
        """A command of the holder's."""
        return [sys.executable, "-m", "panbayes", "holder", *arguments, "--config", str(self.house.config)]

    def run(self, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the holder's to its end."""
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **(more or {})},
        )

    def run_here(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the holder's to its end in this process; what computes for it is another, as ever."""
        given = ("holder", *arguments, "--config", str(self.house.config))
        return run_here(*given, folder=self.root, more=os.environ)

    @cached_property
    def worker(self) -> Here:
        """What computes for the agent in this process."""
        return Here(self.holder)

    def answer_here(self) -> Did:
        """Answer everything by an agent in this process, and say what it did."""
        agent = Agent(self.holder, self.carrier, self.worker, say=lambda _: None, note=lambda _: None, again=False)
        answer_all(agent)
        return agent.did

    def answer_all(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run ``panbayes holder answer``."""
        return self.run("answer", str(self.folder.path), *options)
