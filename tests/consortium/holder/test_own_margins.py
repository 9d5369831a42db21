"""Pairs whose own margins say what to expect: scores by hand, how far one person moves them, and a look alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import floor

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.consortium.holder.handlers import table_choice
from panbayes.consortium.protocol.answers import TableChoiceAnswer
from panbayes.consortium.protocol.queries import Count, Grouping, TableCandidate, TableChoiceQuery
from panbayes.dp.noise import Noise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency, TableSensitivity, dependence_sensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import Event
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.counting.block_counts import Counted
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer, check

SIZES = (3, 2, 4)
SCHEMA = Schema("three", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES)))
GROUPINGS = (Grouping(0, ()), Grouping(1, ()), Grouping(2, (0, 1, 1, 0)), Grouping(2, ()), Grouping(0, (0, 1, 1)))
PAIRS = ((0, 1), (1, 2), (3, 0))
Record = tuple[int, ...]


def query(
    *,
    axes: tuple[tuple[int, ...], ...] = PAIRS,
    look: str | None = "1",
    least: int = 0,
    counts: tuple[Count, ...] = (Count(1, 0),),
    adjacency: Adjacency = "replace",
    loss: str = "1",
) -> TableChoiceQuery:
    candidates = tuple(TableCandidate(found, 0, 0) for found in axes)
    return TableChoiceQuery("pure", adjacency, GROUPINGS, candidates, None, "any", (), counts, least, look, loss)


def table_of(records: tuple[Record, ...], schema: Schema = SCHEMA, persons: int | None = None) -> Table:
    return Table(schema, np.array(records, dtype=np.uint8).reshape(-1, 3).T.copy(), persons)


def group(grouping: Grouping, record: Record) -> int:
    value = record[grouping.attribute]
    return grouping.groups[value] if grouping.groups else value


def distance(axes: tuple[int, ...], records: tuple[Record, ...]) -> Fraction:
    """D in exact arithmetic, cell by cell."""
    first, second = (GROUPINGS[g] for g in axes)
    found = Fraction(0)
    for a, b in product(range(4), range(4)):
        both = sum(group(first, r) == a and group(second, r) == b for r in records)
        of_a, of_b = sum(group(first, r) == a for r in records), sum(group(second, r) == b for r in records)
        found += abs(both - Fraction(of_a * of_b, max(len(records), 1)))
    return found


class Looks:
    """The looks of a test without their noise: what was looked at, and by which event."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: list[int] = []
        self.events: list[Event] = []
        patch.setattr(table_choice, "noisy_counts", self._noisy)

    def _noisy(self, counts: NDArray[np.int64], *, event: Event, noise: Noise) -> NDArray[np.int64]:
        del noise
        self.seen += counts.tolist()
        self.events.append(event)
        return counts


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@pytest.mark.parametrize("seed", range(12))
def test_scores_are_distances_from_independence_rounded_down(seed: int, looks: Looks) -> None:
    rng = np.random.default_rng(seed)
    records = tuple(map(tuple, (rng.integers(0, 10**6, (seed * 3, 3)) % SIZES).tolist()))
    for axes in PAIRS:
        answer(query(axes=(axes,)), table_of(records), noise=SimulatedNoise(1))
    assert looks.seen == [floor(distance(axes, records)) for axes in PAIRS]


def test_a_distance_of_two_thousand_million_records_does_not_overflow(
    monkeypatch: pytest.MonkeyPatch, looks: Looks
) -> None:
    many = 2**31 - 1
    flat = np.array([many // 2, 0, 0, many - many // 2, 0, 0])
    monkeypatch.setattr(Table, "count", lambda *_: Counted(flat, np.array([0, 6])))
    answer(query(axes=PAIRS[:1]), table_of(()), noise=SimulatedNoise(1))
    assert looks.seen == [many - 1]


def neighbours(adjacency: Adjacency, most: int) -> Iterator[tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """Tables of few records of two attributes, and the same with another person's up to ``most`` records."""
    everybody = [(a, b, 0) for a in range(2) for b in range(2)]
    mine = [p for m in range(1, most + 1) for p in combinations_with_replacement(everybody, m)]
    for others in range(8 if most == 1 else 4):
        for rest in combinations_with_replacement(everybody, others):
            if adjacency == "add-remove":
                yield from ((rest, (*rest, *person)) for person in mine)
            else:
                yield from (((*rest, *one), (*rest, *other)) for one, other in product(mine, mine))


@pytest.mark.parametrize(("adjacency", "most"), [("replace", 1), ("add-remove", 1), ("replace", 2), ("add-remove", 2)])
def test_one_person_moves_a_distance_by_no_more_than_its_sensitivity(adjacency: Adjacency, most: int) -> None:
    known: dict[tuple[Record, ...], Fraction] = {}

    def of(records: tuple[Record, ...]) -> Fraction:
        key = tuple(sorted(records))
        if key not in known:
            known[key] = distance((0, 1), key)
        return known[key]

    moved = max(abs(of(one) - of(other)) for one, other in neighbours(adjacency, most))
    assert moved <= dependence_sensitivity(adjacency=adjacency, max_records=most)


def records_of(table: tuple[tuple[int, ...], ...]) -> tuple[Record, ...]:
    return tuple((a, b, 0) for b, row in enumerate(table) for a, many in enumerate(row) for _ in range(many))


def test_sensitivities_are_nearly_reached() -> None:
    """One record far from all others is almost four apart from independence; to move one can cost more than five."""
    few = records_of(((80, 0, 0), (0, 0, 0)))
    assert distance((0, 1), (*few, (1, 1, 0))) - distance((0, 1), few) > Fraction(39, 10)
    table = ((1, 0, 0), (0, 3, 18), (0, 0, 8))
    axes = (3, 0)  # four values by three
    here = tuple((b, 0, a) for a, row in enumerate(table) for b, many in enumerate(row) for _ in range(many))
    there = (*(record for record in here if record != (0, 0, 0)), (1, 0, 2))
    assert len(here) == len(there)
    assert abs(distance(axes, here) - distance(axes, there)) > 5


@pytest.mark.parametrize(
    ("adjacency", "unit", "moved"),
    [
        ("replace", None, 6),
        ("add-remove", None, 4),
        ("replace", Unit("who", 1), 6),
        ("replace", Unit("who", 3), 24),
        ("add-remove", Unit("who", 3), 12),
    ],
)
def test_a_look_has_the_noise_of_distances(adjacency: Adjacency, unit: Unit | None, moved: int, looks: Looks) -> None:
    schema = Schema("three", SCHEMA.attributes, unit=unit)
    asked = query(adjacency=adjacency, counts=(Count(1, 0), Count(2, 0)), loss="1/7")
    found = answer(
        asked, table_of(((0, 0, 0), (1, 1, 1)), schema, None if unit is None else 2), noise=SimulatedNoise(1)
    )
    assert isinstance(found, TableChoiceAnswer)
    assert looks.events == [Pure(Fraction(1, 7)).tables_event(TableSensitivity(2 * moved, 2 * moved**2))]


def test_choices_by_distances_have_their_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def select(worth: object, *, sensitivity: Fraction, event: object, noise: object) -> int:
        del worth, event, noise
        asked.append(sensitivity)
        return 0

    monkeypatch.setattr(table_choice, "select", select)
    answer(query(look=None), table_of(((0, 0, 0), (1, 1, 1))), noise=SimulatedNoise(1))
    assert asked == [6]


@pytest.mark.usefixtures("looks")
def test_with_a_look_of_one_nothing_is_chosen() -> None:
    records = ((0, 0, 0), (1, 1, 1)) * 8
    assert answer(query(), table_of(records), noise=SimulatedNoise(1)) == TableChoiceAnswer(1, ())
    assert answer(query(least=15), table_of(records), noise=SimulatedNoise(1)) == TableChoiceAnswer(1, ())
    assert answer(query(least=16), table_of(records), noise=SimulatedNoise(1)) == TableChoiceAnswer(0, ())


def test_nothing_expected_of_an_interaction_and_a_look_above_one_are_refused() -> None:
    with pytest.raises(InputError, match="nothing of an interaction; give numbers, or offer pairs only"):
        check(query(axes=((1, 2), (1, 2, 4))), SCHEMA, 5)
    with pytest.raises(InputError, match="more than the whole loss; give a ratio of at most 1"):
        check(query(look="11/10"), SCHEMA, 5)
