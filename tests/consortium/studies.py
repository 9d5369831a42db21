"""A study of every private strategy, in every variant that the strategy accepts; found, not listed.

A strategy that is added is in here, and in every test that runs over :data:`STUDIES`, by being in its folder.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final, get_args

import numpy as np

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.strategy import Strategy, strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import LINEAR, Degree
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.codec import decode_question, decode_reply
from panbayes.consortium.protocol.envelope import Question, Release
from panbayes.consortium.protocol.transport import Ask
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.loss import Loss
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

SIZES: Final = (2, 3, 2, 4, 2)
SCHEMA: Final = Schema(
    "chain", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES))
)
PRIVATE: Final = [strategy for strategy in strategies().values() if strategy.private]
MUCH, LITTLE = Fraction(8), Fraction(1, 8)
"""With much ε an adaptive strategy asks for all it may; with little for one choice, of the largest holder."""

DEGREES: tuple[Degree, ...] = (1, 2, "auto")


def variants(strategy: Strategy, epsilon: Fraction) -> Iterator[Study]:
    """Yield the studies that a strategy accepts, over adjacency, δ and, where it reads them, degree and score."""
    degrees = DEGREES if "degree" in strategy.reads else DEGREES[:1]
    deltas = (Fraction(0), Fraction(1, 10**9))
    kinds = ("I", LINEAR) if "score" in strategy.reads else ("I",)
    for adjacency, delta, degree, score in product(get_args(Adjacency), deltas, degrees, kinds):
        name = f"{strategy.name}, ε = {epsilon}, δ = {delta}, {adjacency}, degree {degree}"
        name += f", score {score}" if score != "I" else ""
        try:
            yield Study(
                name, SCHEMA, strategy.name, epsilon, adjacency=adjacency, delta=delta, degree=degree, score=score
            )
        except InputError:
            continue


STUDIES: Final = [
    study
    for strategy in PRIVATE
    for epsilon in (MUCH, LITTLE)
    for study in variants(strategy, epsilon)
    if epsilon == MUCH or study.degree == DEGREES[0]
]
KILLED: Final = [study for study in STUDIES if study.epsilon == MUCH and study.degree == DEGREES[0]]
"""Those whose runs are killed: one for every strategy, adjacency and class of privacy."""


def population() -> Network:
    """A chain in which each attribute follows the one before."""
    rng = np.random.default_rng(8)
    structure = Structure.of([(0, ()), *((i, (i - 1,)) for i in range(1, len(SIZES)))])
    tables = [rng.dirichlet(np.full(SIZES[0], 9.0))]
    tables += [rng.dirichlet(np.full(SIZES[i], 0.4), size=SIZES[i - 1]) for i in range(1, len(SIZES))]
    return Network(SCHEMA, structure, tuple(tables))


TABLES: Final = {
    name: population().sample_table(records, seed, independent=True)
    for seed, (name, records) in enumerate({"large": 1500, "small": 900}.items())
}


def tables_for(study: Study) -> dict[str, Table]:
    """The holders that a study's strategy can learn from."""
    return TABLES if study.how.several else {"large": TABLES["large"]}


def fixed(study: Study) -> bool:
    """Whether the study's plan says what every question costs."""
    return all(stage.loss is not None for stage in study.plan.stages)


class LostError(Exception):
    """The connection is lost."""


@dataclass
class Wire:
    """What lies between an analyst and the gates: it keeps what passes, and may break.

    After ``whole`` messages every further one is lost: on the way there, or with ``answered`` on the way back.
    """

    whole: int | None = None
    answered: bool = False
    asked: list[tuple[str, Question]] = field(default_factory=list)
    heads: dict[str, list[str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def between(self, gates: Mapping[str, Ask]) -> dict[str, Ask]:
        return {name: partial(self._reach, name, ask) for name, ask in gates.items()}

    def _reach(self, name: str, ask: Ask, data: bytes) -> bytes:
        with self.lock:
            lost = self.whole is not None and len(self.asked) >= self.whole
            self.asked.append((name, decode_question(data)))
        if lost and not self.answered:
            raise LostError
        reply = ask(data)
        release = decode_reply(reply)
        if isinstance(release, Release):
            with self.lock:
                self.heads.setdefault(name, []).append(release.ledger)
        if lost:
            raise LostError
        return reply

    @property
    def ids(self) -> set[tuple[str, str]]:
        return {(name, question.id) for name, question in self.asked}


def learn_over(
    wire: Wire, study: Study, tables: Mapping[str, Table], *, state: Path | None = None, simulate: int | None = None
) -> Network:
    """Learn through real gates, with ledgers on disk in ``state`` or else with simulated noise, over a wire."""
    with open_gates(study, tables, state=state, simulate=simulate) as gates:
        return learn_from(Federation(study, wire.between(gates), simulated=simulate is not None))


@dataclass(frozen=True)
class Books:
    """The ledgers of a state directory."""

    state: Path

    def entries(self, name: str) -> tuple[Entry, ...]:
        with Ledger.read(Cabinet.in_state(self.state).path(name)) as ledger:
            return ledger.entries()

    def spent(self, name: str) -> Loss:
        with Ledger.read(Cabinet.in_state(self.state).path(name)) as ledger:
            return ledger.summary().spent

    def faults(self, name: str, heads: list[str]) -> list[str]:
        with Ledger.read(Cabinet.in_state(self.state).path(name)) as ledger:
            return verify(ledger, heads=heads)
