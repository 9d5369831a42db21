"""How many tables are worth measuring, and which: worths and looks by brute force, and how far one person moves them.

Four attributes of three, two, two and two values; pairs at several granularities, interactions of three and of four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import floor, prod
from typing import Literal

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.consortium.holder.handlers import table_choice
from panbayes.consortium.protocol.answers import TableChoiceAnswer
from panbayes.consortium.protocol.cells import Cells, pack_cells, unpack_cells
from panbayes.consortium.protocol.queries import Count, Grouping, TableCandidate, TableChoiceQuery
from panbayes.dp.noise import Noise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency, TableSensitivity
from panbayes.privacy.events import Event
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.counting import block_counts
from panbayes.tables.counting.parities import parities
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer, check
from tests.effort import some

SIZES = (3, 2, 2, 2)
ATTRIBUTES = tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES))
SCHEMA = Schema("four", ATTRIBUTES)
EVERYBODY = list(product(*map(range, SIZES)))
Record = tuple[int, ...]
Rule = Literal["forest", "any"]

GROUPINGS = (
    Grouping(0, ()),
    Grouping(0, (0, 0, 1)),
    Grouping(0, (0, 1, 1)),
    Grouping(1, ()),
    Grouping(2, (1, 0)),
    Grouping(3, ()),
)
PAIRS = ((0, 3), (1, 3), (3, 4), (4, 1), (4, 5), (3, 5))
INTERACTIONS = ((1, 3, 4), (2, 4, 3), (3, 4, 5), (5, 1, 3, 4))
MIXED = (PAIRS[0], INTERACTIONS[0], *PAIRS[1:4], INTERACTIONS[3], *PAIRS[4:], *INTERACTIONS[1:3])
"""Pairs and interactions in turn, so that what is expected of one must not be taken for that of the next."""


def table_of(records: tuple[Record, ...], schema: Schema = SCHEMA, persons: int | None = None) -> Table:
    codes = np.array(records, dtype=np.uint8).reshape(-1, 4).T.copy()
    return Table(schema, codes, persons)


def length(axes: tuple[int, ...]) -> int:
    sizes = [max(g.groups) + 1 if g.groups else SIZES[g.attribute] for g in GROUPINGS]
    return prod(sizes[g] for g in axes) if len(axes) == 2 else 1


def choices(
    seed: int = 0,
    *,
    rule: Rule = "forest",
    axes: tuple[tuple[int, ...], ...] = MIXED,
    counts: tuple[Count, ...] = (Count(2, 1), Count(1, 3), Count(3, 0), Count(5, 2)),
    taken: tuple[tuple[int, int], ...] = (),
    adjacency: Adjacency = "replace",
    most: int = 3,
    loss: str = "1",
    target: int | None = None,
) -> TableChoiceQuery:
    """A query that expects up to ``most`` in every cell, with penalties and prices, drawn by ``seed``."""
    rng = np.random.default_rng(seed)
    expected = [rng.integers(0 if len(found) == 2 else -most, most + 1, length(found)) for found in axes]
    candidates = tuple(
        TableCandidate(found, penalty, price)
        for found, (penalty, price) in zip(axes, rng.integers(0, 3, (len(axes), 2)).tolist(), strict=True)
    )
    cells = pack_cells(np.concatenate(expected))
    parts = ("pure", adjacency, GROUPINGS, candidates, cells, rule, taken, counts, 0, "1/10", loss)
    return TableChoiceQuery(*parts, target=target)


def looked(query: TableChoiceQuery, records: Table) -> NDArray[np.int64]:
    """What the look sees before there is noise on it."""
    seen: list[NDArray[np.int64]] = []

    def watched(counts: NDArray[np.int64], *, event: Event, noise: Noise) -> NDArray[np.int64]:
        del event, noise
        seen.append(counts.copy())
        return np.full_like(counts, -1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_choice, "noisy_counts", watched)
        assert answer(query, records, noise=SimulatedNoise(0)) == TableChoiceAnswer(0, ())
    (vector,) = seen
    return vector


def group(grouping: Grouping, record: Record) -> int:
    value = record[grouping.attribute]
    return grouping.groups[value] if grouping.groups else value


def scores_by_hand(query: TableChoiceQuery, records: tuple[Record, ...]) -> list[int]:
    """‖c − e‖₁ of every pair and |s − e| of every interaction, cell by cell and record by record."""
    assert query.expected is not None
    expected, start, found = unpack_cells(query.expected).tolist(), 0, []
    for candidate in query.candidates:
        axes = [query.groupings[g] for g in candidate.axes]
        own = expected[start : start + length(candidate.axes)]
        start += length(candidate.axes)
        if len(axes) == 2:
            columns = length(candidate.axes) // (
                max(axes[0].groups) + 1 if axes[0].groups else SIZES[axes[0].attribute]
            )
            counts = [0] * len(own)
            for record in records:
                counts[group(axes[0], record) * columns + group(axes[1], record)] += 1
            found.append(sum(abs(c - e) for c, e in zip(counts, own, strict=True)))
        else:
            parity = sum((-1) ** sum(group(g, record) for g in axes) for record in records)
            found.append(abs(parity - own[0]))
    return found


def worths_by_hand(query: TableChoiceQuery, records: tuple[Record, ...], unit: int) -> list[int]:
    found = []
    for place, (score, candidate) in enumerate(zip(scores_by_hand(query, records), query.candidates, strict=True)):
        worth = score - candidate.penalty - candidate.price * unit
        other = query.target is not None and query.target not in members(query, place)
        found.append(floor(worth / 4) if other else worth)
    return found


def members(query: TableChoiceQuery, place: int) -> tuple[int, ...]:
    return tuple(query.groupings[g].attribute for g in query.candidates[place].axes)


def allowed_together(query: TableChoiceQuery, places: tuple[int, ...]) -> bool:
    """One of each set of attributes; with forests, fewer parts with every pair that comes to those taken before."""
    sets = [frozenset(members(query, place)) for place in places]
    if len(set(sets)) != len(sets):
        return False
    if query.rule == "any":
        return True
    edges = [tuple(found) for found in sets if len(found) == 2]
    return parts((*query.taken, *edges)) == parts(query.taken) - len(edges)


def parts(edges: tuple[tuple[int, ...], ...]) -> int:
    """Count the parts that four attributes fall into, by letting labels spread."""
    labels = list(range(4))
    for _ in range(4):
        for edge in edges:
            lowest = min(labels[a] for a in edge)
            for a in edge:
                labels[a] = lowest
    return len(set(labels))


@cache
def bases(query: TableChoiceQuery) -> list[tuple[int, ...]]:
    """All largest sets that may be taken together."""
    every = range(len(query.candidates))
    for size in range(len(every), -1, -1):
        found = [places for places in combinations(every, size) if allowed_together(query, places)]
        if found:
            return found
    raise AssertionError("nothing can be taken, not even nothing")


def look_by_hand(query: TableChoiceQuery, records: tuple[Record, ...]) -> list[int]:
    """The T-th best worth in a basis of the largest worth, all bases tried; −2⁵² if it has fewer."""
    found = []
    for count in query.counts:
        worths = worths_by_hand(query, records, count.unit)
        best = max(bases(query), key=lambda places: sum(worths[place] for place in places))
        ordered = sorted((worths[place] for place in best), reverse=True)
        found.append(ordered[count.tables - 1] if count.tables <= len(ordered) else -(2**52))
    return found


RULES: tuple[Rule, ...] = ("forest", "any")
TAKEN: list[tuple[tuple[int, int], ...]] = [(), ((0, 1),), ((2, 3), (3, 1)), ((1, 2), (0, 3), (3, 1)), ((2, 2),)]
QUERIES = [
    *(choices(seed, rule=rule) for seed, rule in product((1, 2), RULES)),
    *(choices(3, taken=taken) for taken in TAKEN),
    choices(4, rule="any", taken=((0, 1),)),
    choices(5, axes=PAIRS),
    choices(6, axes=PAIRS, rule="any"),
    choices(7, axes=INTERACTIONS),
    choices(8, axes=INTERACTIONS, rule="any"),
    choices(9, counts=(Count(4, 0),), most=0),
    choices(10, counts=tuple(Count(tables, 7 * tables) for tables in range(1, 9))),
    choices(11, target=0),
    choices(12, rule="any", target=3),
]


def some_records(seed: int, number: int) -> tuple[Record, ...]:
    rng = np.random.default_rng(seed)
    return tuple(EVERYBODY[place] for place in (len(EVERYBODY) * rng.random(number) ** 2).astype(int).tolist())


@pytest.mark.parametrize("query", QUERIES)
def test_the_look_sees_the_best_bases_by_brute_force(query: TableChoiceQuery) -> None:
    for seed, number in enumerate((0, 1, 2, 5, 9, 30, 31)):
        records = some_records(seed, number)
        assert looked(query, table_of(records)).tolist() == look_by_hand(query, records)


def test_bases_differ_where_the_rules_do() -> None:
    """Or the test above would show less than it says."""
    sizes = {
        (query.rule, query.taken): len(bases(query)[0]) for query in QUERIES if len(query.candidates) == len(MIXED)
    }
    assert sizes["forest", ()] == 3 + 3
    assert sizes["forest", ((0, 1),)] == 2 + 3
    assert sizes["forest", ((1, 2), (0, 3), (3, 1))] == 3
    assert sizes["forest", ((2, 2),)] == 3 + 3
    assert sizes["any", ()] == sizes["any", ((0, 1),)] == 5 + 3


def persons(most: int) -> list[tuple[Record, ...]]:
    """What one person may have: up to so many records."""
    return [held for number in range(most + 1) for held in combinations_with_replacement(EVERYBODY, number)]


def neighbours(adjacency: Adjacency, max_records: int) -> Iterator[tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """Every pair of tables that differ in one person, beside nobody and beside one record that stays."""
    for rest in ((), *((record,) for record in EVERYBODY)) if max_records == 1 else ((EVERYBODY[5],),):
        held = persons(max_records) if max_records > 1 else [(record,) for record in EVERYBODY]
        if adjacency == "add-remove":
            yield from ((rest, (*rest, *person)) for person in held)
        else:
            yield from (((*rest, *one), (*rest, *other)) for one, other in combinations(held, 2))


@pytest.mark.parametrize("max_records", [1, 2])
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_one_person_moves_no_entry_of_the_look_by_more_than_its_sensitivity(
    adjacency: Adjacency, max_records: int
) -> None:
    """Exhaustive over pairs of neighbours, for both rules, with and without interactions and pairs taken before."""
    most = TableSensitivity.of(adjacency=adjacency, max_records=max_records).l1
    assert most == {"replace": 2, "add-remove": 1}[adjacency] * max_records
    pairs = [(tuple(sorted(one)), tuple(sorted(other))) for one, other in neighbours(adjacency, max_records)]
    names = sorted({records for pair in pairs for records in pair})
    place = {records: number for number, records in enumerate(names)}
    first, second = (np.array([place[pair[side]] for pair in pairs]) for side in (0, 1))
    made = [table_of(records) for records in names]
    queries = some(QUERIES if max_records == 1 else QUERIES[::4], 4)
    moved = []
    for query in queries:
        vectors = np.array([looked(query, table) for table in made])
        moved.append(np.abs(vectors[first] - vectors[second]).max(axis=0))
    assert max(int(found.max()) for found in moved) == most
    assert sum(bool((found == most).any()) for found in moved) > len(moved) // 2, "it is attained, and not by chance"


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("axes", INTERACTIONS)
def test_one_record_moves_an_interaction_by_its_sensitivity(adjacency: Adjacency, axes: tuple[int, ...]) -> None:
    """|s − e| for several e, read off a look at one candidate alone."""
    moved = set()
    for expected in (0, 1, -2, 5):
        query = msgspec.structs.replace(
            choices(axes=(axes,), counts=(Count(1, 0),)),
            candidates=(TableCandidate(axes, 0, 0),),
            expected=pack_cells(np.array([expected])),
        )
        scores = {person: int(looked(query, table_of((person,)))[0]) for person in EVERYBODY}
        none = int(looked(query, table_of(()))[0])
        assert none == abs(expected)
        others = scores.values() if adjacency == "replace" else [none]
        moved |= {abs(one - other) for one in scores.values() for other in others}
    assert max(moved) == TableSensitivity.of(adjacency=adjacency).l1


def test_tables_without_the_target_are_worth_a_quarter() -> None:
    """Of two pairs that deviate alike, the one with the target; of others, one that deviates five times as much."""
    records = tuple((value % 2, value % 2, value % 2, value % 2) for value in range(40))
    axes = ((1, 3), (4, 5))
    plain = choices(axes=axes, rule="any", counts=(Count(1, 0),), most=0)
    asked = msgspec.structs.replace(plain, candidates=tuple(TableCandidate(found, 0, 0) for found in axes))
    assert [chosen(msgspec.structs.replace(asked, target=t), records).taken for t in (0, 1, 2, 3)] == [
        (0,),
        (0,),
        (1,),
        (1,),
    ]
    for penalty, taken in ((29, (0,)), (31, (1,))):
        dear = (TableCandidate(axes[0], penalty, 0), TableCandidate(axes[1], 0, 0))
        assert chosen(msgspec.structs.replace(asked, candidates=dear, target=0), records).taken == taken


class ExactNoise(SimulatedNoise):
    """No noise on the look, and the best choice each time, the last of equals: so that none wins a tie."""

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        assert scale > 0
        return np.zeros(size, dtype=np.int64)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: object) -> int:
        assert scale > 0
        assert mechanism == "permute-and-flip"
        return int(scores.size - 1 - np.argmax(scores[::-1]))


def chosen(query: TableChoiceQuery, records: tuple[Record, ...]) -> TableChoiceAnswer:
    found = answer(query, table_of(records), noise=ExactNoise(0))
    assert isinstance(found, TableChoiceAnswer)
    return found


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("least", [0, 3, 12])
def test_the_largest_count_above_the_least_is_taken_and_the_best_allowed_are(
    query: TableChoiceQuery, least: int
) -> None:
    """Step by step by hand: the largest count, then the best that is allowed and above none, each time."""
    asked = msgspec.structs.replace(query, least=least)
    kinds = set()
    for seed in range(8):
        records = some_records(seed, 3 + 4 * seed)
        above = [count for count, w in zip(asked.counts, look_by_hand(asked, records), strict=True) if w > least]
        found = chosen(asked, records)
        kinds.add(bool(above))
        if not above:
            assert found == TableChoiceAnswer(0, ())
            continue
        count = max(above, key=lambda count: count.tables)
        worths, taken = worths_by_hand(asked, records, count.unit), list[int]()
        for _ in range(count.tables):
            left = [
                place
                for place in range(len(worths))
                if place not in taken and allowed_together(asked, (*taken, place)) and worths[place] > 0
            ]
            if left:
                taken.append(max(left, key=lambda place: (worths[place], place)))
        assert found == TableChoiceAnswer(count.tables, tuple(taken))
        assert len(taken) == count.tables, "without noise all that were seen can be had"
    assert True in kinds or least == 12


@pytest.mark.parametrize("query", QUERIES)
def test_whatever_the_noise_what_is_taken_obeys_the_rule(query: TableChoiceQuery) -> None:
    """With noise much larger than the table, so that anything is chosen, and none among it."""
    asked, records, fewer = msgspec.structs.replace(query, loss="1/50"), table_of(tuple(EVERYBODY[:9])), 0
    for seed in range(60):
        found = answer(asked, records, noise=SimulatedNoise(seed))
        assert isinstance(found, TableChoiceAnswer)
        assert allowed_together(query, found.taken)
        assert len(found.taken) <= found.count
        assert found.count in (0, *(count.tables for count in query.counts))
        fewer += len(found.taken) < found.count
    assert fewer, "none was chosen some time"


def test_equals_to_the_least_are_not_above_it_and_nothing_is_taken() -> None:
    query = choices(1, counts=(Count(1, 0),))
    records = some_records(3, 20)
    (best,) = look_by_hand(query, records)
    assert chosen(msgspec.structs.replace(query, least=best), records) == TableChoiceAnswer(0, ())
    assert chosen(msgspec.structs.replace(query, least=best - 1), records).count == 1


def test_at_a_count_its_own_unit_is_reckoned_with() -> None:
    """Two candidates: the dear one is better where a unit costs nothing, the cheap one where it does."""
    axes = (PAIRS[2], PAIRS[4])
    query = msgspec.structs.replace(
        choices(axes=axes, most=0), candidates=(TableCandidate(axes[0], 0, 5), TableCandidate(axes[1], 1, 0))
    )
    records = some_records(1, 20)
    for unit, best in ((0, 0), (1, 1)):
        assert chosen(msgspec.structs.replace(query, counts=(Count(1, unit),)), records).taken == (best,)


def test_of_equal_counts_the_first_is_taken() -> None:
    """With its own unit: so the choice follows from the look and the query alone, the same wherever it is reckoned."""
    axes = (PAIRS[2], PAIRS[4])
    query = msgspec.structs.replace(
        choices(axes=axes, most=0), candidates=(TableCandidate(axes[0], 0, 5), TableCandidate(axes[1], 1, 0))
    )
    records = some_records(1, 20)
    for units, best in (((0, 1), 0), ((1, 0), 1)):
        counts = tuple(Count(1, unit) for unit in units)
        assert chosen(msgspec.structs.replace(query, counts=counts), records) == TableChoiceAnswer(1, (best,))


@pytest.mark.parametrize("records", [0, 1, 99, 100, 101, 200, 250])
def test_parities_are_counted_in_blocks_with_the_same_sums(records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    held = some_records(records, records)
    by_hand = [sum((-1) ** sum(group(GROUPINGS[g], record) for g in axes) for record in held) for axes in INTERACTIONS]
    assert table_of(held).parities(INTERACTIONS, GROUPINGS).tolist() == by_hand
    monkeypatch.setattr(block_counts, "LEAST_RECORDS", 100)
    monkeypatch.setattr(block_counts, "BLOCK_CELLS", 500)
    assert table_of(held).parities(INTERACTIONS, GROUPINGS).tolist() == by_hand
    assert table_of(held).parities([], GROUPINGS).tolist() == []


def test_the_memory_for_parities_does_not_follow_the_number_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits are counted block by block: each holds so many bits at most, however many people there are."""
    held, blocks = some_records(5, 1000), list[int]()

    def recorded(bits: NDArray[np.uint8], members: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        blocks.append(bits.size)
        return parities(bits, members)

    monkeypatch.setattr(block_counts, "parities", recorded)
    monkeypatch.setattr(block_counts, "LEAST_RECORDS", 10)
    monkeypatch.setattr(block_counts, "BLOCK_CELLS", 500)
    table_of(held).parities(INTERACTIONS, GROUPINGS)
    assert sum(blocks) == len({g for axes in INTERACTIONS for g in axes}) * len(held)
    assert max(blocks) <= 500


def changed(**changes: object) -> TableChoiceQuery:
    return msgspec.structs.replace(choices(), **changes)


CELLS = sum(map(length, MIXED))


def expecting(*values: int) -> Cells:
    """The cells of :data:`MIXED`, of which the last are these."""
    cells = np.zeros(CELLS, dtype=np.int64)
    cells[cells.size - len(values) :] = values
    return Cells(8, cells.astype("<i8").tobytes())


def alone(*axes: int, penalty: int = 0, price: int = 0) -> TableChoiceQuery:
    cells = pack_cells(np.zeros(length(axes) if axes else 1, dtype=np.int64))
    return changed(candidates=(TableCandidate(axes, penalty, price),), expected=cells)


def beside_others(axes: tuple[int, ...], place: int) -> TableChoiceQuery:
    """A table that makes no sense, at some place among two interactions that do."""
    tables = [INTERACTIONS[0], INTERACTIONS[3]]
    tables.insert(place, axes)
    return choices(axes=tuple(tables))


def one_group() -> TableChoiceQuery:
    """An interaction of attributes one of which has all its values in one group."""
    return msgspec.structs.replace(alone(3, 4, 6), groupings=(*GROUPINGS, Grouping(0, (0, 0, 0))))


def dear_at(place: int, *, penalty: int = 0, price: int = 0, others: int = 0) -> TableChoiceQuery:
    """Prices up to the edge for all, and one candidate beyond it, at any place."""
    candidates = [TableCandidate(axes, 0, others) for axes in MIXED]
    candidates[place] = TableCandidate(MIXED[place], penalty, price)
    return changed(candidates=tuple(candidates), counts=(Count(1, 2**30), Count(2, 1)))


NEITHER = "neither a pair nor an interaction"
EDGE = 2**31 - 1


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (alone(), NEITHER),
        (alone(3), NEITHER),
        (alone(0, 3, 4), NEITHER),
        (alone(3, 4, 5, 0), NEITHER),
        (beside_others((0, 3, 4), 0), NEITHER),
        (beside_others((3, 0, 4), 1), NEITHER),
        (beside_others((3, 4, 5, 0), 2), NEITHER),
        (beside_others((3,), 1), NEITHER),
        (one_group(), NEITHER),
        (alone(3, 3), "an attribute twice"),
        (alone(1, 2, 3), "an attribute twice"),
        (changed(candidates=(TableCandidate((1, 9), 0, 0),)), "a grouping that is not given"),
        (changed(candidates=(TableCandidate((1, 3, 9), 0, 0),)), "a grouping that is not given"),
        (choices(axes=(PAIRS[0], PAIRS[0])), "the same table twice"),
        (choices(axes=(INTERACTIONS[0], (3, 4, 1))), "the same table twice"),
        (changed(groupings=(*GROUPINGS, Grouping(4, ()))), "not in the schema"),
        (changed(groupings=(*GROUPINGS, Grouping(0, (0, 1)))), "another number of values"),
        (changed(groupings=(*GROUPINGS, Grouping(0, (0, 2, 0)))), "a group without values"),
        (changed(expected=pack_cells(np.zeros(CELLS - 1, dtype=np.int64))), "another number of cells"),
        (changed(expected=pack_cells(np.zeros(CELLS + 1, dtype=np.int64))), "another number of cells"),
        (changed(expected=expecting(2**31)), "a count out of range"),
        (changed(expected=expecting(-(2**31))), "a count out of range"),
        (changed(expected=expecting(-(2**63))), "a count out of range"),
        (changed(expected=expecting(-(2**63), EDGE, 0)), "a count out of range"),
        (msgspec.structs.replace(alone(1, 3, price=2**22), counts=(Count(1, 2**30),)), "prices beyond"),
        (msgspec.structs.replace(alone(1, 3, price=EDGE), counts=(Count(1, EDGE),)), "prices beyond"),
        (
            msgspec.structs.replace(
                alone(1, 3, penalty=2**30 + 2**22 - 1, price=2**22 - 1), counts=(Count(1, 2**30 - 1),)
            ),
            "prices beyond",
        ),
        (msgspec.structs.replace(alone(1, 3, price=EDGE), counts=(Count(1, 0), Count(2, 2**21 + 1))), "prices beyond"),
        *((dear_at(place, price=2**22), "prices beyond") for place in range(len(MIXED))),
        *((dear_at(place, penalty=2**30, others=2**22 - 1), "prices beyond") for place in range(len(MIXED))),
        (changed(taken=((0, 4),)), "not in the schema"),
        (changed(taken=((4, 0),)), "not in the schema"),
        (changed(taken=((0, 1), (0, 4))), "not in the schema"),
        (changed(taken=((0, 1), (4, 0), (2, 3))), "not in the schema"),
        (changed(look="3/2"), "more than the whole loss"),
        (changed(look=None), "no look at several counts"),
        (changed(look=None, counts=(Count(1, 0), Count(2, 0))), "no look at several counts"),
        (changed(privacy="none"), "a class of privacy that is not known"),
        (changed(loss="1/1000000000000000"), "noise of scale"),
        (changed(look="1/1000000000000000"), "noise of scale"),
        (changed(privacy="zcdp", loss="1/10000000000000000000000000"), "noise of deviation"),
        (changed(loss="10000000000000000"), "found too much"),
    ],
)
def test_nonsense_is_refused_from_public_facts(query: TableChoiceQuery, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(query, SCHEMA, 10)


@pytest.mark.parametrize(
    "query",
    [
        *QUERIES,
        changed(expected=expecting(EDGE, -EDGE)),
        changed(taken=((0, 3), (3, 0))),
        changed(look="999999/1000000"),
        msgspec.structs.replace(alone(1, 3, penalty=2**30 + 2**22 - 2, price=2**22 - 1), counts=(Count(1, 2**30 - 1),)),
        alone(1, 3, 4, 5),
        alone(0, 3),
    ],
)
def test_what_makes_sense_to_the_edge_is_answered(query: TableChoiceQuery) -> None:
    """Numbers are exact to there: the look is what it is by hand, in integers of any size."""
    check(query, SCHEMA, 10)
    records = some_records(4, 10)
    assert looked(query, table_of(records)).tolist() == look_by_hand(query, records)


def test_a_single_count_goes_without_a_look() -> None:
    query = changed(look=None, counts=(Count(2, 1),))
    check(query, SCHEMA, 10)
    records = some_records(4, 10)
    worths = worths_by_hand(query, records, 1)
    assert chosen(query, records).count == 2
    assert chosen(query, records).taken[0] == max(range(len(worths)), key=lambda place: (worths[place], place))


def test_a_count_that_cannot_be_had_is_never_taken() -> None:
    """Not with any noise that is served: the deviation of the largest is 2³¹, and what is missing is 2⁵²."""
    query = choices(axes=PAIRS, counts=(Count(4, 0), Count(100_000, 0)), loss="1/25000000")
    check(query, SCHEMA, 10)
    counts = {answer(query, table_of(some_records(1, 20)), noise=SimulatedNoise(seed)) for seed in range(40)}
    assert counts == {TableChoiceAnswer(0, ())}


def test_people_with_several_records_are_looked_at_with_more_noise() -> None:
    """The event of the look, by hand: four counts, three records each, a tenth of ε = 1."""
    seen: list[Event] = []

    def watched(counts: NDArray[np.int64], *, event: Event, noise: Noise) -> NDArray[np.int64]:
        del noise
        seen.append(event)
        return np.full_like(counts, -1)

    schema = Schema("four", ATTRIBUTES, unit=Unit("who", 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_choice, "noisy_counts", watched)
        answer(choices(), table_of(some_records(1, 9), schema, 4), noise=SimulatedNoise(0))
    assert [getattr(event, "scale", None) for event in seen] == [Fraction(4 * 2 * 3 * 10)]
