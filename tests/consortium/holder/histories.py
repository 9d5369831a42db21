"""Small histories of tables, played through by rules that can be broken: what one person is worth in all answers.

A person is, in each of three tables, absent or there with a record of some date. At each table somebody may ask about
any of the blocks there are so far, for a loss of 1 or of a half of it; the answer counts records by date, so that it
moves by the L1 distance of the counts: with Laplace noise that distance times the loss of the question is exactly what
the answer may reveal. An account lets a question through if no block that it names would come above the cap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations, product

from panbayes.consortium.holder.ledger.accounts import shares

TIMES = ("2026-01", "2026-02", "2026-03")
CAP = Fraction(1)

Table = Mapping[str, str]
"""The date of each person's record; who is absent has none."""

History = tuple[Table, ...]


@dataclass(frozen=True)
class Ask:
    """A question at a time (its number) about blocks, of a study that goes on under one name."""

    at: int
    study: str
    blocks: frozenset[str]
    loss: Fraction = CAP


Plan = tuple[Ask, ...]


@dataclass
class Rule:
    """How people get their blocks, and what a study sees: as it is meant. Broken rules are subclasses."""

    register: dict[str, str] = field(default_factory=dict)
    seen: dict[str, Counter[str]] = field(default_factory=dict)

    def read(self, table: Table, now: str) -> None:
        """Look at a table: whoever is new belongs to the block of now."""
        for person in table:
            self.register.setdefault(person, now)

    def block(self, person: str, _table: Table) -> str:
        return self.register[person]

    def answer(self, ask: Ask, table: Table, now: str) -> Counter[str]:
        """Return what a question counts: what its study saw at its first question."""
        if ask.study not in self.seen:
            self.read(table, now)
            self.seen[ask.study] = Counter(
                date for person, date in table.items() if self.block(person, table) in ask.blocks
            )
        return self.seen[ask.study]


class ByDate(Rule):
    """A person's block is the date of the record, which whoever writes records decides."""

    def block(self, person: str, table: Table) -> str:
        return table[person]


class Forgetting(Rule):
    """Whoever is deleted from the table is deleted from the register."""

    def read(self, table: Table, now: str) -> None:
        self.register = {person: block for person, block in self.register.items() if person in table}
        super().read(table, now)


class Newer(Rule):
    """A study that has begun goes on with the newest table, whoever is in it."""

    def answer(self, ask: Ask, table: Table, now: str) -> Counter[str]:
        if ask.study not in self.seen:
            return super().answer(ask, table, now)
        self.read(table, now)
        return Counter(table.values())


def plans() -> Iterator[Plan]:
    """Yield every way to ask at each time about some blocks there are, or nothing, of the cap at once."""
    each = [
        [None, *(Ask(at, f"study {at}", frozenset(some)) for some in subsets(TIMES[: at + 1]))]
        for at in range(len(TIMES))
    ]
    yield from (tuple(ask for ask in asks if ask is not None) for asks in product(*each))
    # Studies that go on: half of what they may spend at once, the other half later.
    half = CAP / 2
    for first, later in combinations(range(len(TIMES)), 2):
        going = tuple(Ask(at, "going on", frozenset(TIMES[: first + 1]), half) for at in (first, later))
        yield tuple(sorted((*going, Ask(later, "new", frozenset({TIMES[later]}))), key=lambda ask: ask.at))


def subsets(blocks: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield from chain.from_iterable(combinations(blocks, many) for many in range(1, len(blocks) + 1))


def allowed(plan: Plan) -> Plan:
    """Return what the account lets through: it follows from the questions alone."""
    passed: list[Ask] = []
    for ask in plan:
        spent = [(before.blocks, before.loss) for before in passed]
        if all(sum(found, ask.loss) <= CAP for found in shares(ask.blocks, spent)):
            passed.append(ask)
    return tuple(passed)


def histories(people: str, states: tuple[str | None, ...]) -> Iterator[History]:
    """Yield every history of these people, each absent (None) or with a record of some date in every table."""
    for rows in product(product(states, repeat=len(people)), repeat=len(TIMES)):
        yield tuple({who: date for who, date in zip(people, row, strict=True) if date is not None} for row in rows)


def without(history: History, person: str) -> History:
    return tuple({who: date for who, date in table.items() if who != person} for table in history)


def answers(history: History, plan: Plan, rule: Callable[[], Rule]) -> list[Counter[str]]:
    playing = rule()
    return [playing.answer(ask, history[ask.at], TIMES[ask.at]) for ask in allowed(plan)]


def worth(one: list[Counter[str]], other: list[Counter[str]], plan: Plan) -> Fraction:
    """Return what all answers together reveal between two histories."""
    moved = [sum(((a - b) + (b - a)).values()) for a, b in zip(one, other, strict=True)]
    return sum((ask.loss * many for ask, many in zip(allowed(plan), moved, strict=True)), Fraction(0))


def worst(people: str, states: tuple[str | None, ...], rule: Callable[[], Rule]) -> Fraction:
    """Return the most that any plan reveals about one person, over all histories."""
    most = Fraction(0)
    known = list(histories(people, states))
    for plan in plans():
        found = {_key(history): answers(history, plan, rule) for history in known}
        for history in known:
            for person in people:
                rest = found[_key(without(history, person))]
                most = max(most, worth(found[_key(history)], rest, plan))
    return most


def _key(history: History) -> tuple[tuple[tuple[str, str], ...], ...]:
    return tuple(tuple(sorted(table.items())) for table in history)
