"""Runs in which holders drop out: a course that is kept, and a wire over which some holders fall silent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.codec import decode_question
from panbayes.consortium.protocol.envelope import Question
from panbayes.consortium.protocol.transport import Ask
from panbayes.errors import HolderWaitingError
from panbayes.tables.table import Table


@dataclass
class Kept:
    """A course in memory that outlives its federations; time is over at every asking, or at those in ``late`` alone."""

    late: Collection[int] | None = None
    took_part: dict[int, tuple[str, ...]] = field(default_factory=dict)
    place: int = -1
    waited: list[int] = field(default_factory=list)

    def settled(self, place: int, /) -> tuple[str, ...] | None:
        self.place = place
        return self.took_part.get(place)

    def settle(self, place: int, names: Sequence[str], /) -> None:
        assert place == len(self.took_part), "askings are settled one after another, each once"
        self.took_part[place] = tuple(names)

    def overdue(self, place: int, /) -> bool:
        assert place == self.place
        self.waited.append(place)
        return self.late is None or place in self.late

    def unusable(self, _name: str, _question: str, /) -> str:
        return ""


@dataclass
class Silence:
    """A wire over which holders are ``silent`` at some askings: the question arrives, the answer does not."""

    course: Kept
    silent: Collection[tuple[str, int]] = ()
    asked: list[tuple[int, str, Question]] = field(default_factory=list)

    def between(self, gates: Mapping[str, Ask]) -> dict[str, Ask]:
        return {name: partial(self._reach, name, ask) for name, ask in gates.items()}

    def _reach(self, name: str, ask: Ask, data: bytes) -> bytes:
        self.asked.append((self.course.place, name, decode_question(data)))
        reply = ask(data)
        if (name, self.course.place) in self.silent:
            raise HolderWaitingError(name)
        return reply

    def of(self, name: str) -> list[Question]:
        return [question for _, holder, question in self.asked if holder == name]

    @property
    def ids(self) -> set[tuple[str, str]]:
        return {(name, question.id) for _, name, question in self.asked}


def learn_without(study: Study, tables: Mapping[str, Table], wire: Silence, *, simulate: int = 5) -> Network:
    """Learn through real gates with simulated noise, over the wire."""
    with open_gates(study, tables, simulate=simulate) as gates:
        return learn_from(Federation(study, wire.between(gates), simulated=True, course=wire.course))
