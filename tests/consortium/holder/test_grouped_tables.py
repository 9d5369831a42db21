"""Tables of grouped values and choices among them: counts, sensitivities for both adjacencies, and what is refused."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Literal

import msgspec
import numpy as np
import pytest

from panbayes.consortium.holder.handlers import grouped_tables
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.answers import GroupedTablesAnswer, TableChoiceAnswer
from panbayes.consortium.protocol.cells import Cells, pack_cells, unpack_cells
from panbayes.consortium.protocol.queries import Count, GroupedTablesQuery, Grouping, TableCandidate, TableChoiceQuery
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency, TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.counting import block_counts
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer, check, loss_of

SCHEMA = Schema("two", (Attribute("a", categories=("x", "y")), Attribute("b", categories=("p", "q", "r"))))
RECORDS = list(product(range(2), range(3)))
GROUPINGS = (Grouping(0, ()), Grouping(1, ()), Grouping(1, (0, 1, 0)))
LOOK = "1/1000"
EXACT = "999"
"""So much loss that the noise is practically never anything but zero."""


def table_of(records: tuple[tuple[int, int], ...]) -> Table:
    return Table(SCHEMA, np.array(records, dtype=np.uint8).reshape(-1, 2).T.copy())


def tables_query(
    views: tuple[tuple[int, ...], ...] = ((), (0,), (1, 0), (0, 2)),
    *,
    weights: tuple[int, ...] | None = None,
    privacy: Literal["pure", "zcdp"] = "pure",
    adjacency: Adjacency = "replace",
    loss: str = "1",
) -> GroupedTablesQuery:
    return GroupedTablesQuery(privacy, adjacency, GROUPINGS, views, weights or (1,) * len(views), loss)


def choice_query(
    expected: tuple[int, ...],
    *,
    views: tuple[tuple[int, ...], ...] = ((0, 1),),
    penalties: tuple[int, ...] = (0,),
    rule: Literal["forest", "any"] = "forest",
    picks: int = 1,
    adjacency: Adjacency = "replace",
    privacy: Literal["pure", "zcdp"] = "pure",
    loss: str = EXACT,
    taken: tuple[tuple[int, int], ...] = (),
    groupings: tuple[Grouping, ...] = GROUPINGS,
) -> TableChoiceQuery:
    """A choice of ``picks``, whose look has a part so small of the loss that it says nothing."""
    candidates = tuple(TableCandidate(view, penalty, 0) for view, penalty in zip(views, penalties, strict=True))
    cells = pack_cells(np.array(expected, dtype=np.int64))
    counts = (Count(picks, 0),)
    return TableChoiceQuery(privacy, adjacency, groupings, candidates, cells, rule, taken, counts, 0, LOOK, loss)


def tables(query: GroupedTablesQuery, table: Table, seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    found = answer(query, table, noise=SimulatedNoise(seed))
    assert isinstance(found, GroupedTablesAnswer)
    return unpack_cells(found.cells)


def taken(query: TableChoiceQuery, table: Table, seed: int = 0) -> tuple[int, ...]:
    found = answer(query, table, noise=SimulatedNoise(seed))
    assert isinstance(found, TableChoiceAnswer)
    return found.taken


def test_tables_of_groups_are_the_brute_force_counts() -> None:
    records = tuple(RECORDS[i] for i in (0, 0, 1, 2, 2, 2, 5, 4, 3))
    found = tables(tables_query(loss=EXACT), table_of(records))
    counts = Counter(records)
    singles = [sum(counts[a, b] for b in range(3)) for a in range(2)]
    turned = [counts[a, b] for b in range(3) for a in range(2)]
    grouped = [sum(counts[a, b] for b in range(3) if (b == 1) == (g == 1)) for a in range(2) for g in range(2)]
    assert found.tolist() == [len(records), *singles, *turned, *grouped]


def test_centred_tables_are_those_without_margins_times_their_cells() -> None:
    """Sums of rows and columns are 0; what is left is the table less what its margins say, here by other words."""
    records = tuple(RECORDS[i] for i in (0, 0, 1, 2, 2, 2, 5, 4, 3))
    query = msgspec.structs.replace(tables_query(loss=EXACT), centred=True)
    found = tables(query, table_of(records))
    counts, number = Counter(records), len(records)
    assert found[:3].tolist() == [number, *(sum(counts[a, b] for b in range(3)) for a in range(2))]
    for cells, groups in ((found[3:9].reshape(3, 2).T, (0, 1, 2)), (found[9:].reshape(2, 2), (0, 1, 0))):
        table = {(a, g): sum(counts[a, b] for b in range(3) if groups[b] == g) for a in range(2) for g in set(groups)}
        many = len(set(groups))
        for a, g in table:
            row, column = sum(table[a, h] for h in set(groups)), table[0, g] + table[1, g]
            assert cells[a, g] == 2 * many * table[a, g] - 2 * row - many * column + number
        assert not cells.sum(axis=0).any()
        assert not cells.sum(axis=1).any()


def test_three_attributes_are_centred_by_their_single_margins_alone() -> None:
    """Of two by two by two: 8·c − 2·(three margins) + 2·n in every cell; pairs stay in."""
    schema = Schema("three", tuple(Attribute(name, categories=("x", "y")) for name in "abc"))
    codes = np.array([[0, 0, 1, 1, 1, 0, 1], [0, 1, 1, 0, 1, 0, 1], [0, 0, 1, 0, 1, 1, 0]], dtype=np.uint8)
    query = GroupedTablesQuery(
        "zcdp", "replace", tuple(Grouping(a, ()) for a in range(3)), ((0, 1, 2),), (1,), EXACT + "00", centred=True
    )
    found = tables(query, Table(schema, codes)).reshape(2, 2, 2)
    for cell in product(range(2), repeat=3):
        margins = [int((codes[axis] == value).sum()) for axis, value in enumerate(cell)]
        together = int((codes == np.array(cell)[:, None]).all(axis=0).sum())
        assert found[cell] == 8 * together - 2 * sum(margins) + 2 * 7


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_centred_tables_move_no_further_than_is_said_and_so_far(adjacency: Adjacency) -> None:
    """Exhaustive over all tables of three records; in L2 what is said is reached, and in L1 where one only comes."""
    query = msgspec.structs.replace(tables_query(((0, 1), (0, 2)), loss=EXACT), centred=True)
    for cells, shape in ((slice(0, 6), (2, 3)), (slice(6, 10), (2, 2))):
        moved = [tables(query, a)[cells] - tables(query, b)[cells] for a, b in neighbours(3, adjacency)]
        said = TableSensitivity.of_centred(shape, adjacency=adjacency)
        assert max(int((found**2).sum()) for found in moved) == said.l2_squared
        farthest = max(int(np.abs(found).sum()) for found in moved)
        assert farthest == said.l1 if adjacency == "add-remove" else farthest <= said.l1


def test_the_noise_of_a_centred_table_is_checked_by_its_own_shape() -> None:
    """At ρ = 2⁻⁶¹ for each of two tables a whole one has variance 2⁶⁰ and is served, a centred pair 12 times that."""
    query = tables_query(((0,), (0, 1)), privacy="zcdp", adjacency="add-remove", loss=f"1/{2**60}")
    check(query, SCHEMA, 0)
    with pytest.raises(InputError, match="deviation"):
        check(msgspec.structs.replace(query, centred=True), SCHEMA, 0)
    check(msgspec.structs.replace(query, weights=(1, 20), loss=f"21/{2**61}", centred=True), SCHEMA, 0)


def test_a_question_that_is_not_paid_for_yet_is_checked_once_for_each_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many weights it has, the noise of the lightest and of the heaviest table of a shape is looked at."""
    schema = Schema("many", tuple(Attribute(f"a{i}", categories=("x", "y")) for i in range(30)))
    views = tuple(combinations(range(30), 2))
    groupings = tuple(Grouping(a, ()) for a in range(30))
    weights = tuple(range(1, len(views) + 1))
    looked: list[object] = []
    monkeypatch.setattr(grouped_tables, "check_noise", looked.append)
    check(GroupedTablesQuery("zcdp", "add-remove", groupings, views, weights, "1", centred=True), schema, 0)
    assert len(looked) == 2


def neighbours(records: int, adjacency: Adjacency) -> list[tuple[Table, Table]]:
    """Every pair of neighbouring tables of this many records, up to their order."""
    pairs = []
    for rest in combinations_with_replacement(RECORDS, records - 1):
        if adjacency == "add-remove":
            pairs += [(table_of(rest), table_of((*rest, record))) for record in RECORDS]
        else:
            pairs += [(table_of((*rest, a)), table_of((*rest, b))) for a in RECORDS for b in RECORDS if a < b]
    return pairs


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_sensitivities_hold_for_every_pair_of_neighbours_and_are_attained(adjacency: Adjacency) -> None:
    """Exhaustive over all tables of three records, for tables in L1 and L2 and for scores against several e."""
    query = tables_query(((0, 1), (0, 2)), loss=EXACT)
    l1: set[int] = set()
    l2: set[int] = set()
    apart: set[int] = set()
    expectations = [np.zeros(6), np.array([5, 0, 0, 0, 0, 0]), np.array([1, 0, 1, 0, 1, 0]), np.full(6, 2**31 - 1)]
    for one, other in neighbours(3, adjacency):
        c, d = (tables(query, table) for table in (one, other))
        for part in (slice(0, 6), slice(6, 10)):
            l1.add(int(np.abs(c[part] - d[part]).sum()))
            l2.add(int(((c[part] - d[part]) ** 2).sum()))
        for e in expectations:
            apart.add(int(abs(np.abs(c[:6] - e).sum() - np.abs(d[:6] - e).sum())))
    moved = TableSensitivity.of(adjacency=adjacency)
    assert (max(l1), max(l2), max(apart)) == (moved.l1, moved.l2_squared, moved.l1)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_a_person_with_several_records_counts_as_often(adjacency: Adjacency) -> None:
    """All sets of two records against all others (or none): brute force over what one person may change."""
    people = [*combinations_with_replacement(RECORDS, 2), *((r,) for r in RECORDS), ()]
    counts = {person: np.array([Counter(person)[r] for r in RECORDS]) for person in people}
    others: list[tuple[tuple[int, int], ...]] = people if adjacency == "replace" else [()]
    moved = [counts[a] - counts[b] for a in people for b in others]
    most = TableSensitivity.of(adjacency=adjacency, max_records=2)
    assert max(int(np.abs(m).sum()) for m in moved) == most.l1
    assert max(int((m**2).sum()) for m in moved) == most.l2_squared


@pytest.mark.parametrize(("privacy", "adjacency"), list(product(("pure", "zcdp"), ("replace", "add-remove"))))
def test_the_noise_has_the_scale_that_the_share_pays_for(
    privacy: Literal["pure", "zcdp"], adjacency: Adjacency
) -> None:
    """Two tables at weights 1 and 3. Each variance is within 10 % of what the share asks for, so ±30 % would fail.

    20,000 draws of a cell: the relative error of a variance is below 2 %, so a false alarm has 5 sigmas.
    """
    big = Schema("big", (Attribute("a", bins=tuple(range(20_001))), Attribute("b", categories=("x", "y"))))
    table = Table(big, np.zeros((2, 0), dtype=np.uint16))
    query = GroupedTablesQuery(privacy, adjacency, (Grouping(0, ()), Grouping(1, ())), ((0,), (0, 1)), (1, 3), "1/10")
    found = unpack_cells(_tables(query, table))
    each = TableSensitivity.of(adjacency=adjacency).l1
    for weight, cells in ((1, found[:20_000]), (3, found[20_000:])):
        share = weight / 40
        variance = 2 * (each / share) ** 2 if privacy == "pure" else each / (2 * share)
        assert np.var(cells) == pytest.approx(variance, rel=0.1)


def _tables(query: GroupedTablesQuery, table: Table) -> Cells:
    found = answer(query, table, noise=SimulatedNoise(5))
    assert isinstance(found, GroupedTablesAnswer)
    return found.cells


def test_the_loss_is_what_is_asked_for_in_its_class() -> None:
    assert loss_of(tables_query(loss="1/3")) == Pure(Fraction(1, 3))
    assert loss_of(choice_query((0,) * 6, loss="1/7", privacy="zcdp")) == ZeroConcentrated(Fraction(1, 7))


def test_a_choice_takes_the_table_furthest_from_what_is_expected_or_none() -> None:
    records = table_of((RECORDS[0],) * 1000 + (RECORDS[5],) * 1000)
    fits = (1000, 0, 0, 0, 0, 1000)
    # The look has a loss of almost one, and so noise of scale two beside 2,000 and 0.
    assert taken(choice_query(fits, penalties=(1000,)), records) == ()
    assert taken(choice_query((0,) * 6), records) == (0,)
    assert taken(choice_query((0,) * 6, penalties=(1000,)), records) == (0,)
    assert taken(choice_query((0,) * 6, penalties=(3000,)), records) == ()


def test_a_choice_at_some_loss_follows_permute_and_flip_and_the_exponential_mechanism() -> None:
    """One candidate of score s against none at 0: chances in closed form, given that the look lets it, 5 sigmas.

    The look says yes to about half, for its noise is 2,000 times as large as the score.
    """
    records = table_of((RECORDS[0],) * 2)
    score, delta = 2, 2
    runs = 4_000
    pure = choice_query((0,) * 6, loss="1000/999")
    zcdp = choice_query((0,) * 6, loss="1000/7992", privacy="zcdp")
    # Both have ε = 1 for the pick (ε²/8 = 1/8): odds fall by e for every 2Δ/ε = 4 of the score.
    fall = math.exp(-score / (2 * delta))
    chances = {pure: 1 - fall / 2, zcdp: 1 / (1 + fall)}
    for query, chance in chances.items():
        found = [answer(query, records, noise=SimulatedNoise(seed)) for seed in range(runs)]
        looked = [each.taken for each in found if isinstance(each, TableChoiceAnswer) and each.count]
        times, let = sum(map(len, looked)), len(looked)
        assert abs(let - runs / 2) < 7 * math.sqrt(runs) / 2
        assert abs(times - let * chance) < 5 * math.sqrt(let * chance * (1 - chance))


def test_rules_are_kept() -> None:
    schema = Schema("four", tuple(Attribute(name, categories=("x", "y")) for name in "abcd"))
    records = Table(schema, np.zeros((4, 3000), dtype=np.uint8))
    groupings = tuple(Grouping(a, ()) for a in range(4))
    pairs = ((0, 1), (1, 2), (0, 2), (2, 3))
    forest = choice_query((0,) * 16, views=pairs, penalties=(0, 100, 200, 300), picks=3, groupings=groupings)
    assert sorted(taken(forest, records)) == [0, 1, 3]
    joined = msgspec.structs.replace(forest, taken=((0, 1), (1, 3)), counts=(Count(1, 0),))
    assert taken(joined, records) == (1,)
    every = msgspec.structs.replace(forest, rule="any")
    assert sorted(taken(every, records)) == [0, 1, 2]
    assert sorted(taken(msgspec.structs.replace(every, taken=((0, 1),)), records)) == [0, 1, 2]


def radii(groups: tuple[int, ...], query: GroupedTablesQuery | None = None) -> GroupedTablesQuery:
    return msgspec.structs.replace(query or tables_query(), radii=groups)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_one_person_moves_each_table_of_a_radius_by_what_is_said_and_no_sum_that_is_public(
    adjacency: Adjacency,
) -> None:
    """Exhaustive over all tables of three records; whole counts, of which no noise is drawn cell by cell."""
    query = tables_query(loss=EXACT, adjacency=adjacency)
    said = TableSensitivity.of(adjacency=adjacency).l1
    most = 0
    for one, other in neighbours(3, adjacency):
        moved = tables(query, one) - tables(query, other)
        of_each = [moved[:1], moved[1:3], moved[3:9], moved[9:]]
        most = max(most, *(int(np.abs(table).sum()) for table in of_each))
        assert [int(table.sum()) for table in of_each] == [0 if adjacency == "replace" else -1] * 4
    assert most == said


def test_a_table_may_share_a_radius_whose_own_noise_would_not_be_served() -> None:
    """Its own millionth of the loss calls for a scale of more than 2³¹, that of all four for 2."""
    query = tables_query(weights=(1, 2**31 - 1, 2**31 - 1, 2**31 - 1))
    with pytest.raises(InputError, match="found too little"):
        check(query, SCHEMA, 10)
    check(radii((4,), query), SCHEMA, 10)


def test_checking_radii_takes_time_in_proportion_to_their_number() -> None:
    """How often the weights are gone through as a whole does not depend on how many groups there are."""

    class Counted(tuple[int, ...]):
        passes = 0

        def __iter__(self) -> Iterator[int]:
            Counted.passes += 1
            return super().__iter__()

    passes = []
    for groups in ((4,), (1, 1, 1, 1)):
        query = msgspec.structs.replace(tables_query(), weights=Counted((1, 1, 1, 1)), radii=groups)
        Counted.passes = 0
        check(query, SCHEMA, 10)
        passes.append(Counted.passes)
    assert passes[0] == passes[1]


def test_tables_of_a_radius_may_have_so_many_cells_and_no_more() -> None:
    for values, allowed in ((32, True), (33, False)):
        schema = Schema(
            "s", (Attribute("a", categories=tuple(range(16))), Attribute("b", categories=tuple(range(values))))
        )
        query = GroupedTablesQuery(
            "pure", "replace", (Grouping(0, ()), Grouping(1, ())), ((1,), (0, 1)), (1, 1), "1", radii=(2,)
        )
        if allowed:
            check(query, schema, 10)
            continue
        with pytest.raises(InputError, match="radii: found a table of 528 cells; give tables of at most 512"):
            check(query, schema, 10)
        check(msgspec.structs.replace(query, radii=(1,)), schema, 10)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (tables_query(((0, 0),)), "an attribute twice"),
        (tables_query(((1, 2),)), "an attribute twice"),
        (tables_query(((3,),)), "a grouping that is not given"),
        (tables_query(((0,), (0,))), "the same table twice"),
        (tables_query(((0, 1), (1, 0))), "the same table twice"),
        (tables_query(((0,),), weights=(1, 1)), "2 for 1 tables"),
        (tables_query(((0,),), loss="1/1000000000000000"), "noise of scale"),
        (tables_query(((0,), (1,)), weights=(1, 2**31 - 1), loss="10000000"), "found too much: .* noise of scale"),
        (tables_query(((0,), (1,)), weights=(2**31 - 1, 1), loss="1"), "found too little: .* noise of scale"),
        (tables_query(((0,),), loss="1/10000000000000000000000000", privacy="zcdp"), "noise of deviation"),
        (GroupedTablesQuery("pure", "replace", (Grouping(2, ()),), ((0,),), (1,), "1"), "not in the schema"),
        (GroupedTablesQuery("pure", "replace", (Grouping(1, (0, 1)),), ((0,),), (1,), "1"), "another number of values"),
        (
            GroupedTablesQuery("pure", "replace", (Grouping(1, (0, 2, 0)),), ((0,),), (1,), "1"),
            "a group without values",
        ),
        (choice_query((0,) * 5), "another number of cells"),
        (choice_query((2**31, 0, 0, 0, 0, 0)), "a count out of range"),
        (choice_query((0,) * 6, taken=((0, 9),)), "not in the schema"),
        (choice_query((0,) * 6, taken=((9, 0),)), "not in the schema"),
        (choice_query((0,) * 6, taken=((0, 2),)), "not in the schema"),
        (choice_query((0,) * 6, taken=((2, 0),)), "not in the schema"),
        (radii((1,), tables_query(privacy="zcdp")), "radii.*not of pure privacy"),
        (radii((1,), msgspec.structs.replace(tables_query(), centred=True)), "radii.*centred"),
        (radii((3, 2)), "5 tables of 4"),
        (radii((4,), tables_query(loss="1/10000000000")), "found too little: .* noise of scale"),
        (radii((1,), tables_query(weights=(1, 1, 1, 2**31 - 1))), "found too little: .* noise of scale"),
        (radii((4,), tables_query(loss="2100000")), "found too much: .* noise of scale"),
        (msgspec.structs.replace(choice_query((0,) * 6), privacy="none"), "a class of privacy that is not known"),
        (msgspec.structs.replace(tables_query(), privacy="none"), "a class of privacy that is not known"),
    ],
)
def test_nonsense_is_refused_from_public_facts(query: GroupedTablesQuery | TableChoiceQuery, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(query, SCHEMA, 10)


@pytest.mark.parametrize("records", [0, 1, 99, 100, 101, 200, 250])
def test_records_are_counted_in_blocks_with_the_same_tables(records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(records)
    table = Table(SCHEMA, np.stack([rng.integers(0, 2, records), rng.integers(0, 3, records)]).astype(np.uint8))
    views = ((), (0,), (1, 0), (0, 2))
    whole = table.count(views, GROUPINGS)
    monkeypatch.setattr(block_counts, "MOST_RECORDS", 100)
    cut = table.count(views, GROUPINGS)
    assert cut.flat.tolist() == whole.flat.tolist()
    assert cut.offsets.tolist() == whole.offsets.tolist() == [0, 1, 3, 9, 13]
    counted = np.zeros((2, 3), dtype=np.int64)
    np.add.at(counted, (table.codes[0], table.codes[1]), 1)
    assert cut.flat[:9].tolist() == [records, *counted.sum(axis=1).tolist(), *counted.T.ravel().tolist()]


def peak_of(records: int, query: GroupedTablesQuery | TableChoiceQuery, schema: Schema) -> int:
    """The most memory that answering takes at once, the records themselves aside."""
    table = Table(schema, np.zeros((len(schema), records), dtype=np.uint8))
    counts = PrivateCounts(table)
    answer(query, counts, noise=SimulatedNoise(1))
    tracemalloc.start()
    try:
        answer(query, counts, noise=SimulatedNoise(1))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["tables", "choice", "interactions"])
def test_the_memory_of_an_answer_does_not_depend_on_the_number_of_records(kind: str) -> None:
    """Ten times as many records, the same memory to one part in a hundred: n is private under add-remove."""
    values = (0, 1) if kind == "interactions" else (0, 1, 2)
    schema = Schema("s", tuple(Attribute(f"a{i}", categories=values) for i in range(6)))
    groupings = tuple(Grouping(a, ()) for a in range(6))
    views: tuple[tuple[int, ...], ...] = tuple(combinations(range(6), 2))
    query: GroupedTablesQuery | TableChoiceQuery
    if kind == "tables":
        query = GroupedTablesQuery("pure", "add-remove", groupings, views, (1,) * 15, "1")
    elif kind == "interactions":
        # Each of its own groupings, so many that a block has fewer records: two blocks are held at once, of 16 MB each.
        groupings = groupings * 600
        views = tuple((6 * k, 6 * k + 1, 6 * k + 2 + k % 4) for k in range(600))
        query = choice_query(
            (0,) * 600, views=views, penalties=(0,) * 600, groupings=groupings, adjacency="add-remove", loss="1"
        )
    else:
        query = choice_query(
            (0,) * 135, views=views, penalties=(0,) * 15, groupings=groupings, adjacency="add-remove", loss="1"
        )
    numbers = (20_000, 200_000) if kind == "interactions" else (200_000, 2_000_000)
    few, many = (peak_of(records, query, schema) for records in numbers)
    assert many == pytest.approx(few, rel=0.01)
    assert many < (36_000_000 if kind == "interactions" else 4_000_000)


@pytest.mark.parametrize(
    "query",
    [
        choice_query((2**31 - 1,) * 6),
        choice_query((0,) * 6, taken=((0, 1), (1, 0))),
        choice_query((-(2**31) + 1, 0, 0, 0, 0, 0)),
    ],
)
def test_what_makes_sense_to_the_edge_is_not_refused(query: TableChoiceQuery) -> None:
    check(query, SCHEMA, 10)


def test_many_groupings_are_counted_in_blocks_with_the_same_tables() -> None:
    """Memory must not grow with what is asked: running out of it would tell about the number of records."""
    schema = Schema("s", (Attribute("a", categories=(0, 1)), Attribute("b", categories=(0, 1, 2))))
    rng = np.random.default_rng(2)
    table = Table(schema, np.stack([rng.integers(0, 2, 90), rng.integers(0, 3, 90)]).astype(np.uint8))
    groupings = (*(Grouping(1, (0, 0, 1)) for _ in range(600)), Grouping(0, ()), Grouping(1, ()))
    views = (*((g, 600) for g in range(600)), (600, 601))
    query = GroupedTablesQuery("pure", "replace", groupings, views, (1,) * 601, "600000")
    noisy = answer(query, table, noise=SimulatedNoise(1))
    assert isinstance(noisy, GroupedTablesAnswer)
    flat = unpack_cells(noisy.cells)
    exact = np.zeros((2, 3), dtype=np.int64)
    np.add.at(exact, (table.codes[0], table.codes[1]), 1)
    grouped = np.stack([exact[:, 0] + exact[:, 1], exact[:, 2]])
    # The noise has scale 2·601/600000 here: it is zero but for a chance below 1e-200.
    assert flat[:2400].reshape(600, 2, 2).tolist() == [grouped.tolist()] * 600
    assert flat[2400:].tolist() == exact.ravel().tolist()
