"""The linear score: what it is, that it adds up, and how far one person can move it, by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import msgspec
import numpy as np
import pytest

from panbayes.consortium.holder.handlers.linear_choice import linear_sums
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.answers import ParentChoiceAnswer
from panbayes.consortium.protocol.queries import LinearChoiceQuery
from panbayes.dp.sensitivity import linear_score
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.events import Rule
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer, check
from tests.consortium.holder.test_handlers_noise import KeptNoise

PARTS = 4096


def schema_of(sizes: tuple[int, ...], unit: Unit | None = None) -> Schema:
    return Schema(
        "s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(sizes)), unit=unit
    )


def table_of(records: tuple[tuple[int, ...], ...], schema: Schema) -> Table:
    codes = np.array(records, dtype=np.uint8).reshape(len(records), len(schema)).T
    return Table(schema, np.ascontiguousarray(codes))


def vote(
    sides: tuple[tuple[int, ...], ...],
    means: tuple[int, ...],
    *,
    placed: tuple[int, ...] = (0,),
    degree: int = 1,
    mechanism: Rule = "permute-and-flip",
) -> LinearChoiceQuery:
    return LinearChoiceQuery(placed, degree, sides, means, mechanism, "1/3")


def score(query: LinearChoiceQuery, table: Table, child: int) -> int:
    """The score of a child with all that is placed as its parents, as a holder draws by it."""
    noise = KeptScores(9)
    answer(query, table, noise=noise)
    (scores,) = noise.scores
    children = [a for a in range(len(table.schema)) if a not in query.placed]
    value = scores[children.index(child)]
    assert value == int(value)
    return int(value)


class KeptScores(SimulatedNoise):
    """Keeps the scores of what it selects."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.scores: list[list[float]] = []

    def select(
        self, scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]], *, scale: Fraction, mechanism: Rule
    ) -> int:
        self.scores.append(scores.tolist())
        return super().select(scores, scale=scale, mechanism=mechanism)


def test_the_score_is_what_signs_say_beyond_what_is_expected() -> None:
    """Σ s·(c − e), from the table and from an expectation of any laws that have the query's means."""
    schema = schema_of((2, 3, 4))
    generator = np.random.default_rng(3)
    codes = np.stack([generator.integers(0, size, 200) for size in schema.sizes]).astype(np.uint8)
    codes[1] = np.where(generator.random(200) < 0.6, codes[0] * 2, codes[1])
    table = Table(schema, codes)
    sides, means = ((0, 1), (1, 0, 0), (0, 1, 1, 0)), (1024, -2048, 300)
    signs = [1 - 2 * np.array(own) for own in sides]
    sums = linear_sums(vote(sides, means), PrivateCounts(table), (1, 2))
    for place, child in enumerate((1, 2)):
        counts = np.zeros((2, schema.sizes[child]))
        np.add.at(counts, (codes[0], codes[child]), 1)
        laws = []
        for attribute in (0, child):
            law = np.zeros(schema.sizes[attribute])
            up, down = (int(np.flatnonzero(signs[attribute] == side)[0]) for side in (1, -1))
            law[up], law[down] = (1 + means[attribute] / PARTS) / 2, (1 - means[attribute] / PARTS) / 2
            laws.append(law)
        expected = 200 * np.outer(*laws)
        value = (np.outer(signs[0], signs[child]) * (counts - expected)).sum()
        assert sums[0, place] / PARTS**2 == pytest.approx(value, abs=1e-9)
        assert score(vote(sides, means), table, child) == int(abs(value))


def test_it_adds_up_over_holders_and_the_distance_does_not() -> None:
    schema = schema_of((2, 2))
    query = vote(((0, 1), (0, 1)), (100, -70))
    alike, unlike = table_of(((0, 0), (1, 1)), schema), table_of(((0, 1), (1, 0), (0, 1)), schema)
    both = table_of(((0, 0), (1, 1), (0, 1), (1, 0), (0, 1)), schema)
    sums = [linear_sums(query, PrivateCounts(part), (1,)) for part in (alike, unlike, both)]
    assert sums[0] + sums[1] == sums[2]
    # ½‖c − e‖₁ of (1, −1) and of (−1, 1) is 1 each, and 0 of their sum.
    assert abs(1) + abs(-1) != abs(1 - 1)


@cache
def datasets(cells: int, records: int) -> tuple[tuple[int, ...], ...]:
    return tuple(combinations_with_replacement(range(cells), records))


def neighbours(
    cells: int, *, adjacency: str, most: int, common: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of datasets that differ in one person's up to ``most`` records, beside ``common`` ones of others."""
    own = [found for records in range(most + 1) for found in datasets(cells, records)]
    if adjacency == "replace" and most == 1:
        own = list(datasets(cells, 1))
    for others in datasets(cells, common):
        yield from (
            ((*others, *one), (*others, *other)) for one, other in product(own, own if adjacency == "replace" else [()])
        )


SIDES = [((0, 1), (1, 0, 0)), ((0, 0), (0, 1, 0))]
MEANS = [(0, 0), (PARTS, PARTS), (-PARTS, PARTS), (1000, -3000)]


@pytest.mark.parametrize(("adjacency", "most"), [("replace", 1), ("replace", 2), ("add-remove", 1), ("add-remove", 2)])
def test_nobody_moves_the_score_of_a_pair_further(adjacency: str, most: int) -> None:
    """Over all small tables of 2 × 3 values, and sides and means at the edges of what may be asked."""
    schema, largest = schema_of((2, 3)), 0
    values = list(product(range(2), range(3)))
    for sides, means in product(SIDES, MEANS):
        query, known = vote(sides, means), {}
        for common in range(3 if most == 1 else 2):
            for pair in neighbours(6, adjacency=adjacency, most=most, common=common):
                for found in pair:
                    key = tuple(sorted(found))
                    if key not in known:
                        known[key] = score(query, table_of(tuple(values[cell] for cell in key), schema), 1)
                largest = max(largest, abs(known[tuple(sorted(pair[0]))] - known[tuple(sorted(pair[1]))]))
    assert largest <= linear_score(max_records=most, parents=1)
    assert largest == 2 * most, "the bound is attained: nothing is wasted"


def test_nobody_moves_the_score_of_two_parents_further() -> None:
    """Over all tables of one or two records of three binary attributes; two parents that agree move it by 4."""
    schema, largest = schema_of((2, 2, 2)), 0
    values = list(product(range(2), repeat=3))
    for means in ((0, 0, 0), (PARTS, -PARTS, PARTS), (700, 800, -900)):
        query, known = vote(((0, 1),) * 3, means, placed=(0, 1), degree=2), {}
        for common in range(2):
            for pair in neighbours(8, adjacency="replace", most=1, common=common):
                for found in pair:
                    key = tuple(sorted(found))
                    if key not in known:
                        known[key] = score(query, table_of(tuple(values[cell] for cell in key), schema), 2)
                largest = max(largest, abs(known[tuple(sorted(pair[0]))] - known[tuple(sorted(pair[1]))]))
    assert largest == linear_score(max_records=1, parents=2) == 4


@pytest.mark.parametrize("rule", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize(("placed", "degree", "parents", "candidates"), [((2,), 2, 1, 3), ((0, 2, 1), 2, 2, 3)])
def test_a_vote_is_drawn_at_its_sensitivity(
    rule: Rule, records: int, placed: tuple[int, ...], degree: int, parents: int, candidates: int
) -> None:
    schema = schema_of((2, 3, 2, 4), Unit("who", records))
    sides, means = tuple((0,) + (1,) * (size - 1) for size in schema.sizes), (0, 5, -9, 40)
    table = table_of(((0, 1, 1, 3), (1, 2, 0, 0), (1, 0, 0, 2)), schema)
    noise = KeptNoise()
    found = answer(vote(sides, means, placed=placed, degree=degree, mechanism=rule), table, noise=noise)
    assert isinstance(found, ParentChoiceAnswer)
    assert noise.drawn == [(rule, candidates, 2 * Fraction(2 * records * parents) * 3)]


def test_the_likely_choice_is_the_pair_that_hangs_together() -> None:
    """Also where it hangs together the other way round, and where another is skewed and says nothing."""
    schema = schema_of((2, 2, 2))
    records = ((0, 1, 0),) * 450 + ((1, 0, 0),) * 450 + ((0, 0, 0), (1, 1, 0)) * 50
    query = vote(((0, 1),) * 3, (0, 0, PARTS))
    for seed in range(5):
        found = answer(query, table_of(records, schema), noise=SimulatedNoise(seed))
        assert isinstance(found, ParentChoiceAnswer)
        assert (found.pair.child, found.pair.parents) == (1, (0,))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sides": ((0, 1), (0, 1))}, "query, sides: found another number"),
        ({"sides": ((0, 1), (0, 1), (0, 1))}, "query, sides: found another number"),
        ({"means": (0, 0)}, "query, means: found another number"),
        ({"means": (0, 0, 0, 0)}, "query, means: found another number"),
        ({"placed": (0, 1, 2)}, "leave one to vote on"),
        ({"placed": (0, 0)}, "an attribute twice"),
        ({"placed": (0, 7)}, "not in the schema"),
        ({"degree": 0}, "query, degree: found 0"),
        ({"degree": 3}, "query, degree: found 3"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object], message: str) -> None:
    query = vote(((0, 1), (0, 1, 1), (1, 0)), (0, 0, 0))
    check(query, schema_of((2, 3, 2)), 10)
    with pytest.raises(InputError, match=message):
        check(msgspec.structs.replace(query, **changes), schema_of((2, 3, 2)), 10)


def test_too_many_candidates_are_refused() -> None:
    schema = schema_of((2,) * 120)
    query = vote(((0, 1),) * 120, (0,) * 120, degree=4)
    with pytest.raises(InputError, match="candidates in a step"):
        check(query, schema, 10)


def test_a_sensitivity_of_nothing_is_refused() -> None:
    for records, parents in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match="1 or more"):
            linear_score(max_records=records, parents=parents)
