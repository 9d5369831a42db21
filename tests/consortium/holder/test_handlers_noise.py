"""What a holder draws is what the loss pays for, draw by draw: exact scales, the right number, each cell its own.

The noise is written down by hand for every kind of query, class of privacy, adjacency and number of records per person,
as theorems give it; the source of noise is one that keeps what it is asked for. So nothing here is statistical: a scale
that is off by any factor fails, and so does a draw too few or too many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Literal

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.bayesnet.learning.search import GreedySearch
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.holder.handler import handler_of
from panbayes.consortium.holder.handlers import local_model
from panbayes.consortium.holder.private_selection import private_score
from panbayes.consortium.protocol.answers import (
    Answer,
    GroupedTablesAnswer,
    ModelAnswer,
    TableChoiceAnswer,
    TablesAnswer,
)
from panbayes.consortium.protocol.cells import pack_cells, unpack_cells
from panbayes.consortium.protocol.queries import (
    Count,
    GroupedTablesQuery,
    Grouping,
    ModelQuery,
    Pair,
    ParentChoiceQuery,
    Query,
    TableCandidate,
    TableChoiceQuery,
    TablesQuery,
)
from panbayes.dp import sensitivity
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import Rule
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.counting.count_tables import contingency
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer

SIZES = (2, 3, 2, 4)
ATTRIBUTES = tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES))
PERSONS, RECORDS = 40, 90
CODES = np.stack([np.random.default_rng(1).integers(0, size, RECORDS) for size in SIZES]).astype(np.uint8)

Privacy = Literal["pure", "zcdp"]
PROMISES: list[tuple[Privacy, Adjacency]] = [
    ("pure", "replace"),
    ("pure", "add-remove"),
    ("zcdp", "replace"),
    ("zcdp", "add-remove"),
]
RULES: dict[Privacy, Rule] = {"pure": "permute-and-flip", "zcdp": "exponential"}
MOVES: dict[Adjacency, int] = {"replace": 2, "add-remove": 1}
"""Cells of a table that one record can change by one, under each adjacency."""


@dataclass
class KeptNoise:
    """A source that keeps what it is asked for and gives every cell another number: 1000, 1001, … over all draws."""

    drawn: list[tuple[str, int, Fraction]] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)
    given: int = 1000
    private: bool = False

    def _numbers(self, law: str, size: int, parameter: Fraction) -> NDArray[np.int64]:
        self.drawn.append((law, size, parameter))
        self.given += size
        return np.arange(self.given - size, self.given)

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        return self._numbers("laplace", size, scale)

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        return self._numbers("gaussian", size, variance)

    def one_radius(self, sizes: Sequence[int], *, scale: Fraction, balanced: bool) -> NDArray[np.int64]:
        return self._numbers("balanced radius" if balanced else "radius", sum(sizes), scale)

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        raise AssertionError(f"no query tosses {size} coins of {probability}")

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        self.drawn.append((mechanism, scores.size, scale))
        self.scores.append(scores.tolist())
        return 0

    def spawn(self, _key: bytes, /) -> KeptNoise:
        return self


def table(max_records: int | None) -> Table:
    """The same records: of anybody, or of persons with so many at most."""
    if max_records is None:
        return Table(Schema("s", ATTRIBUTES), CODES)
    return Table(Schema("s", ATTRIBUTES, unit=Unit("who", max_records)), CODES, PERSONS)


def drawn_for(query: Query, max_records: int | None = None) -> tuple[list[tuple[str, int, Fraction]], Answer]:
    noise = KeptNoise()
    found = answer(query, table(max_records), noise=noise)
    return noise.drawn, found


def exact(sets: list[tuple[int, ...]]) -> list[NDArray[np.int64]]:
    return [contingency(CODES, SIZES, attributes).ravel() for attributes in sets]


def assert_every_cell_has_its_own(noisy: NDArray[np.int64], counts: NDArray[np.int64], cells: int) -> None:
    """The numbers added are those drawn, each once, whatever their order."""
    assert np.sort(noisy - counts).tolist() == list(range(1000, 1000 + cells))


each_unit = pytest.mark.parametrize("max_records", [None, 1, 3], ids=["records", "one each", "three each"])
each_promise = pytest.mark.parametrize(("privacy", "adjacency"), PROMISES)


@each_unit
@pytest.mark.parametrize("sets", [((0, 1),), ((0, 1), (3,), (2, 1, 0))])
def test_tables_get_laplace_noise_of_scale_2mt_over_epsilon(
    sets: tuple[tuple[int, ...], ...], max_records: int | None
) -> None:
    epsilon = Fraction(1, 7)
    drawn, found = drawn_for(TablesQuery(sets, str(epsilon), clip=False), max_records)
    counts = np.concatenate(exact(list(sets)))
    assert drawn == [("laplace", counts.size, 2 * (max_records or 1) * len(sets) / epsilon)]
    assert isinstance(found, TablesAnswer)
    assert_every_cell_has_its_own(unpack_cells(found.cells), counts, counts.size)


GROUPINGS = (Grouping(0, ()), Grouping(1, ()), Grouping(3, (0, 1, 0, 1)))
VIEWS = ((), (0,), (1, 0), (2,))
WEIGHTS = (1, 3, 1, 2)


def tables_query(privacy: Privacy, adjacency: Adjacency, loss: Fraction) -> GroupedTablesQuery:
    return GroupedTablesQuery(privacy, adjacency, GROUPINGS, VIEWS, WEIGHTS, str(loss))


def table_noise(privacy: Privacy, adjacency: Adjacency, records: int, loss: Fraction) -> tuple[str, Fraction]:
    """Laplace noise of scale Δ₁/ε, or Gaussian noise of variance Δ₂²/(2ρ), for one table at a loss of its own."""
    moves = MOVES[adjacency]
    if privacy == "pure":
        return "laplace", moves * records / loss
    return "gaussian", moves * records**2 / (2 * loss)


@each_unit
@each_promise
def test_each_grouped_table_gets_the_noise_of_its_own_weight(
    privacy: Privacy, adjacency: Adjacency, max_records: int | None
) -> None:
    loss = Fraction(1, 5)
    drawn, found = drawn_for(tables_query(privacy, adjacency, loss), max_records)
    by_hand = exact([(), (0,), (1, 0)])
    counts = [*by_hand, np.bincount(CODES[3] % 2)]
    expected = []
    for weight in sorted(set(WEIGHTS)):
        law, parameter = table_noise(privacy, adjacency, max_records or 1, loss * weight / sum(WEIGHTS))
        cells = sum(table.size for table, w in zip(counts, WEIGHTS, strict=True) if w == weight)
        expected.append((law, cells, parameter))
    assert drawn == expected
    assert isinstance(found, GroupedTablesAnswer)
    flat = np.concatenate(counts)
    added = unpack_cells(found.cells) - flat
    assert_every_cell_has_its_own(unpack_cells(found.cells), flat, flat.size)
    # Which draw went where: the tables of weight 1 (the total, and the pair) had the first 1 + 6, and so on.
    assert added.tolist() == [1000, 1009, 1010, *range(1001, 1007), 1007, 1008]


@each_unit
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_tables_that_share_a_radius_get_the_noise_of_all_their_weights(
    adjacency: Adjacency, max_records: int | None
) -> None:
    """The total and the attribute share one with 4/7 of the loss, the pair has one with 1/7, the last table none.

    Neighbours have as many records where one is replaced by another; a person may have fewer than another, though.
    """
    loss, records = Fraction(1, 5), max_records or 1
    query = msgspec.structs.replace(tables_query("pure", adjacency, loss), radii=(2, 1))
    drawn, found = drawn_for(query, max_records)
    radius = "balanced radius" if adjacency == "replace" and max_records is None else "radius"
    moved = MOVES[adjacency] * records
    assert drawn == [
        (radius, 1 + 2, moved / (loss * 4 / 7)),
        (radius, 6, moved / (loss * 1 / 7)),
        ("laplace", 2, moved / (loss * 2 / 7)),
    ]
    assert isinstance(found, GroupedTablesAnswer)
    flat = np.concatenate([*exact([(), (0,), (1, 0)]), np.bincount(CODES[3] % 2)])
    assert (unpack_cells(found.cells) - flat).tolist() == list(range(1000, 1011))


@each_unit
@each_promise
def test_each_centred_table_gets_the_noise_of_its_own_shape(
    privacy: Privacy, adjacency: Adjacency, max_records: int | None
) -> None:
    """Only the pair is centred: its two by three groups come six times, without margins, the others as they are."""
    loss, records = Fraction(1, 5), max_records or 1
    query = msgspec.structs.replace(tables_query(privacy, adjacency, loss), centred=True)
    drawn, found = drawn_for(query, max_records)
    whole, pair = (
        table_noise(privacy, adjacency, records, loss / 7),
        {
            # ‖6·P·e‖₁ = 8: a cell of 2, two of its row of −1, one of its column of −2, two others of 1.
            "pure": MOVES[adjacency] * records * 8 / (loss / 7),
            # ‖6·P·e‖² = 36·(1/2)·(2/3) = 12; between two cells of a row 2·36·(1 − 2/6)/2 = 24 for each of the two.
            "zcdp": records**2 * {"add-remove": 12, "replace": 48}[adjacency] / (2 * loss / 7),
        }[privacy],
    )
    assert drawn[:2] == [(whole[0], 1, whole[1]), (whole[0], 6, pair)]
    assert drawn[2:] == [
        (law, 2, parameter)
        for law, parameter in (table_noise(privacy, adjacency, records, loss * weight / 7) for weight in (2, 3))
    ]
    assert isinstance(found, GroupedTablesAnswer)
    table = exact([(1, 0)])[0].reshape(3, 2).astype(float)
    centred = 6 * (table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean())
    answered = unpack_cells(found.cells)
    assert (answered[3:9] - np.rint(centred).ravel().astype(np.int64)).tolist() == list(range(1001, 1007))


@each_promise
def test_the_losses_of_grouped_tables_add_up_to_the_query(privacy: Privacy, adjacency: Adjacency) -> None:
    """Read back from the scales that were drawn at: Σ Δ₁/b = ε, Σ Δ₂²/(2σ²) = ρ, over the tables."""
    loss, moves = Fraction(3, 11), MOVES[adjacency]
    drawn, _ = drawn_for(tables_query(privacy, adjacency, loss))
    own = [moves / parameter if law == "laplace" else Fraction(moves) / (2 * parameter) for law, _, parameter in drawn]
    per_weight = [sum(w == weight for w in WEIGHTS) for weight in sorted(set(WEIGHTS))]
    assert sum(times * each for times, each in zip(per_weight, own, strict=True)) == loss


CHOICE_PAIRS = ((0, 1), (1, 2), (0, 2), (2, 3))
CHOICE_SETS = ((4, 5, 0), (5, 4, 0, 2))
CHOICE_GROUPINGS = (*(Grouping(a, ()) for a in range(4)), Grouping(1, (0, 1, 0)), Grouping(3, (0, 1, 0, 1)))


def choice_query(
    privacy: Privacy,
    adjacency: Adjacency,
    loss: Fraction,
    counts: tuple[Count, ...],
    *,
    look: Fraction | None = Fraction(1, 5),
    axes: tuple[tuple[int, ...], ...] = CHOICE_PAIRS,
    target: int | None = None,
) -> TableChoiceQuery:
    sizes = (2, 3, 2, 4)
    cells = sum(math.prod(sizes[a] for a in found) if len(found) == 2 else 1 for found in axes)
    return TableChoiceQuery(
        privacy,
        adjacency,
        CHOICE_GROUPINGS,
        tuple(TableCandidate(found, 0, 0) for found in axes),
        pack_cells(np.zeros(cells, dtype=np.int64)),
        "forest",
        (),
        counts,
        0,
        None if look is None else str(look),
        str(loss),
        target,
    )


@each_unit
@each_promise
@pytest.mark.parametrize("counts", [(1,), (2,), (2, 2), (3, 1), (1, 2, 3), (100, 2)])
def test_a_choice_spends_its_loss_on_the_look_and_on_as_many_picks_as_it_may_take(
    privacy: Privacy, adjacency: Adjacency, max_records: int | None, counts: tuple[int, ...]
) -> None:
    """L counts: Laplace noise of scale L·Δ₁/ε or Gaussian of variance L·Δ₁²/(2ρ), of a fifth of the loss, one for each.

    Then every pick at ε/T of the rest, or ρ/T, that is ε² = 8ρ/T; scores move by Δ₁. The largest count that can be had
    is taken, for the noise here is large; a hundred tables cannot be had.
    """
    most = max(count for count in counts if count < 100)
    # 8·(4/5)·ρ/T is a square for each T, so that its root is exact.
    loss = Fraction(1, 7) if privacy == "pure" else Fraction(5 * most, 4 * 8 * 25)
    drawn, found = drawn_for(
        choice_query(privacy, adjacency, loss, tuple(Count(count, 9) for count in counts)), max_records
    )
    moved = MOVES[adjacency] * (max_records or 1)
    spent, rest = loss / 5, loss * 4 / 5
    assert drawn[0] == (
        ("laplace", len(counts), len(counts) * moved / spent)
        if privacy == "pure"
        else ("gaussian", len(counts), len(counts) * moved**2 / (2 * spent))
    )
    epsilon = rest / most if privacy == "pure" else Fraction(1, 5)
    assert [(rule, scale) for rule, _, scale in drawn[1:]] == [(RULES[privacy], 2 * moved / epsilon)] * most
    # Four pairs and none; the third would close a cycle when two are taken.
    assert [candidates for _, candidates, _ in drawn[1:]] == [5, 4, 2][:most]
    assert found == TableChoiceAnswer(most, (0, 1, 3)[:most])
    # Read back from the scales that were drawn at, for every entry moves by Δ₁ at most, they add up to the loss.
    _, values, parameter = drawn[0]
    own = [2 * moved / scale for _, _, scale in drawn[1:]]
    if privacy == "pure":
        assert values * moved / parameter + sum(own) == loss
    else:
        assert Fraction(values * moved**2) / (2 * parameter) + sum(each**2 / 8 for each in own) == loss


@each_unit
@each_promise
@pytest.mark.parametrize("target", [None, 3])
@pytest.mark.parametrize("count", [1, 3, 9])
def test_without_a_look_the_whole_loss_goes_to_the_picks_also_to_those_that_find_nothing_left(
    privacy: Privacy, adjacency: Adjacency, max_records: int | None, count: int, target: int | None
) -> None:
    """A T-th of the loss for each of T picks, also where only none is left; a target makes no score move by less."""
    loss = Fraction(1, 7) if privacy == "pure" else Fraction(count, 8 * 25)
    query = choice_query(privacy, adjacency, loss, (Count(count, 0),), look=None, target=target)
    drawn, found = drawn_for(query, max_records)
    epsilon = loss / count if privacy == "pure" else Fraction(1, 5)
    scale = 2 * MOVES[adjacency] * (max_records or 1) / epsilon
    assert drawn == [(RULES[privacy], left, scale) for left in ([5, 4, 2] + [1] * 6)[:count]]
    assert found == TableChoiceAnswer(count, (0, 1, 3)[:count])


class NothingNoise(KeptNoise):
    """Noise that leaves no count above what is needed."""

    def _numbers(self, law: str, size: int, parameter: Fraction) -> NDArray[np.int64]:
        return -super()._numbers(law, size, parameter)


class NoneNoise(KeptNoise):
    """Takes none each time: it comes last."""

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        super().select(scores, scale=scale, mechanism=mechanism)
        return scores.size - 1


def test_where_no_count_is_above_the_least_only_the_look_is_drawn() -> None:
    query, noise = choice_query("pure", "replace", Fraction(1), (Count(1, 0), Count(3, 0))), NothingNoise()
    assert answer(query, table(None), noise=noise) == TableChoiceAnswer(0, ())
    assert [law for law, _, _ in noise.drawn] == ["laplace"]
    assert handler_of(query).loss(query) == Pure(Fraction(1)), "and is charged for all the same"


def test_a_pick_of_none_spends_its_part_and_leaves_the_others_theirs() -> None:
    query, noise = choice_query("pure", "replace", Fraction(1), (Count(3, 0),)), NoneNoise()
    assert answer(query, table(None), noise=noise) == TableChoiceAnswer(3, ())
    assert noise.drawn[1:] == [("permute-and-flip", 5, 2 * 2 / (Fraction(4, 5) / 3))] * 3


@each_unit
@pytest.mark.parametrize("rule", ["forest", "any"])
def test_a_pick_is_drawn_by_the_worth_of_every_table_that_is_allowed(
    rule: Literal["forest", "any"], max_records: int | None
) -> None:
    """‖c − e‖₁ or |s − e| less penalty and price·unit of each that is still allowed, in their order, and 0 for none."""
    axes = (*CHOICE_PAIRS[:2], CHOICE_SETS[0], *CHOICE_PAIRS[2:], CHOICE_SETS[1])
    penalties, prices, unit = (3, 0, 1, 40, 2, 5), (1, 2, 0, 3, 7, 4), 5
    signs = [(-1) ** row.astype(np.int64) for row in (CODES[0], CODES[1] % 2, CODES[2], CODES[3] % 2)]
    sums = iter([signs[1] * signs[3] * signs[0], signs[3] * signs[1] * signs[0] * signs[2]])
    counts = [exact([found])[0] if len(found) == 2 else next(sums).sum(keepdims=True) for found in axes]
    expected = [np.random.default_rng(table.size).integers(-9, 30, table.size) for table in counts]
    query = msgspec.structs.replace(
        choice_query("pure", "replace", Fraction(1), (Count(1, 0), Count(4, unit)), axes=axes),
        candidates=tuple(map(TableCandidate, axes, penalties, prices)),
        expected=pack_cells(np.concatenate(expected)),
        rule=rule,
    )
    own = [
        float(np.abs(table - e).sum() - penalty - price * unit)
        for table, e, penalty, price in zip(counts, expected, penalties, prices, strict=True)
    ]
    noise = KeptNoise()
    answer(query, table(max_records), noise=noise)
    # The first is taken each time; with forests, the fourth closes a cycle when the first two are.
    left = [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [2, 4, 5] if rule == "forest" else [2, 3, 4, 5]]
    left.append(left[-1][1:])
    assert noise.scores == [[*(own[place] for place in places), 0.0] for places in left]


def score_delta(score: str, pairs: set[tuple[int, int]], max_records: int | None) -> Fraction:
    """Δ of a step: for one record each by the number of people, for several per person."""
    if max_records is None:
        return Fraction(sensitivity.step_sensitivity(score, records=RECORDS, candidates=pairs))
    if max_records == 1:
        return Fraction(sensitivity.step_sensitivity(score, records=PERSONS, candidates=pairs))
    return Fraction(sensitivity.score_per_person(score, persons=PERSONS, max_records=max_records, candidates=pairs))


@each_unit
@pytest.mark.parametrize(("score", "rule"), list(product(("I", "R"), ("permute-and-flip", "exponential"))))
def test_a_vote_is_one_draw_at_the_whole_of_its_epsilon(score: str, rule: Rule, max_records: int | None) -> None:
    epsilon = Fraction(2, 9)
    drawn, _ = drawn_for(ParentChoiceQuery((1, 0), 1, score, rule, str(epsilon)), max_records)
    pairs = {(SIZES[child], SIZES[parent]) for child in (2, 3) for parent in (0, 1)}
    assert drawn == [(rule, 4, 2 * score_delta(score, pairs, max_records) / epsilon)]


@each_unit
@pytest.mark.parametrize("score", ["I", "R"])
def test_a_vote_is_drawn_by_the_scores_of_the_records(score: str, max_records: int | None) -> None:
    """Per person where there are persons: times records/persons, whatever the number of records each may have."""
    noise = KeptNoise()
    answer(ParentChoiceQuery((1, 0), 1, score, "exponential", "1"), table(max_records), noise=noise)
    search = GreedySearch(4, 1, 1)
    search.place(0, ())
    pairs = list(search.candidates)
    values = [scores()[score].value(contingency(CODES, SIZES, (child, *parents))) for child, parents in pairs]
    factor = 1 if max_records is None else RECORDS / PERSONS
    assert noise.scores == [pytest.approx([value * factor for value in values], rel=1e-12)]


def test_a_table_without_persons_has_scores_like_any_other() -> None:
    empty = Table(Schema("s", ATTRIBUTES, unit=Unit("who", 3)), np.zeros((4, 0), dtype=np.uint8), 0)
    assert private_score(empty.facts, "R")(ExactCounts(empty), [(0,)], [1, 2]).tolist() == [[0.0, 0.0]]


@each_unit
def test_a_model_divides_its_two_epsilons_among_its_votes_and_its_tables(max_records: int | None) -> None:
    """N−1 votes at ε₁/(N−1) each, then N tables at ε₂ together: 2·m·N/ε₂."""
    first, second = Fraction(1, 3), Fraction(2, 5)
    query = ModelQuery(1, 2, None, "I", "permute-and-flip", str(first), str(second), clip=False)
    drawn, found = drawn_for(query, max_records)
    assert isinstance(found, ModelAnswer)
    search, expected = GreedySearch(4, 2, 1), []
    for pair in found.pairs[1:]:
        candidates = list(search.candidates)
        sizes = {(SIZES[child], math.prod(SIZES[p] for p in parents)) for child, parents in candidates}
        delta = score_delta("I", sizes, max_records)
        expected.append(("permute-and-flip", len(candidates), 2 * delta / (first / 3)))
        search.place(pair.child, pair.parents)
    counts = np.concatenate(exact([(*pair.parents, pair.child) for pair in found.pairs]))
    expected.append(("laplace", counts.size, 2 * (max_records or 1) * 4 / second))
    assert drawn == expected
    assert_every_cell_has_its_own(unpack_cells(found.cells), counts, counts.size)


def test_a_model_whose_tables_are_too_large_together_loses_the_largest_parent_of_the_largest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = ModelQuery(1, 2, None, "I", "permute-and-flip", "1", "1", clip=False)
    _, whole = drawn_for(query)
    assert isinstance(whole, ModelAnswer)
    cells = [math.prod(SIZES[a] for a in (pair.child, *pair.parents)) for pair in whole.pairs]
    monkeypatch.setattr(local_model, "MAX_CELLS", sum(cells))
    assert drawn_for(query)[1] == whole
    monkeypatch.setattr(local_model, "MAX_CELLS", sum(cells) - 1)
    _, fitting = drawn_for(query)
    assert isinstance(fitting, ModelAnswer)
    place = cells.index(max(cells))
    large = whole.pairs[place]
    sizes = [SIZES[parent] for parent in large.parents]
    assert len(set(sizes)) == 2
    assert cells.count(max(cells)) == 1
    kept = tuple(parent for parent in large.parents if SIZES[parent] != max(sizes))
    assert fitting.pairs == (*whole.pairs[:place], Pair(large.child, kept), *whole.pairs[place + 1 :])


def test_clipping_comes_after_the_noise() -> None:
    counts = exact([(0, 1)])[0]
    least = -int(np.sort(counts)[3])
    found = answer(TablesQuery(((0, 1),), "1", clip=True), table(None), noise=KeptNoise(given=least))
    assert isinstance(found, TablesAnswer)
    noisy = counts + np.arange(least, least + 6)
    assert noisy.min() < 0 < noisy.max()
    assert unpack_cells(found.cells).tolist() == np.maximum(noisy, 0).tolist()
