"""What holders are offered: expectations against all records written out, prices and penalties as stated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.agreement.strategies import adaptive as agreement
from panbayes.consortium.agreement.strategies.adaptive import TABLE_CELLS
from panbayes.consortium.analyst.adaptive import interactions as interactions_module
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.choice import Choice
from panbayes.consortium.analyst.adaptive.division import Grant
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.interactions import interactions
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import GRAINS, Offer, pairs, price
from panbayes.privacy.losses import CLASSES
from tests.bayesnet.markov.laws import WrittenOut

Floats = NDArray[np.float64]
NOISE = NoiseLaw(True, ((30.0, 1),))
CHOOSING, LOOK = Fraction(27, 100), Fraction(2, 27)


def believed(sizes: tuple[int, ...], tables: list[Axes], *, records: float = 5_000.0, spread: float = 0.8) -> Belief:
    rng = np.random.default_rng(len(tables))
    laws = [rng.dirichlet(np.full(size, 3.0)) for size in sizes]
    known = []
    for axes in tables:
        cells = np.ones([count for _, count in axes])
        known.append(Known(axes, cells, NOISE, cells, cells, cells, rng.normal(0, spread, cells.shape)))
    return Belief(
        records,
        tuple(Estimate(law, np.ones(law.size)) for law in laws),
        tuple(Nested.of(law, ordered=place % 2 == 0) for place, law in enumerate(laws)),
        tuple(known),
    )


SIZES = (5, 4, 3, 1, 6)
TABLES: list[Axes] = [((0, 3), (1, 2)), ((1, 4), (2, 2)), ((0, 2), (2, 3))]


@pytest.mark.parametrize("tables", [[], TABLES], ids=["independent", "three tables"])
@pytest.mark.parametrize("deviation", [8.0, 40.0, 200.0, 5_000.0])
def test_pairs_expect_what_the_law_says_exactly(tables: list[Axes], deviation: float) -> None:
    """At groups finer and coarser than those the law speaks of, of attributes that it does not speak of as well."""
    belief = believed(SIZES, tables)
    whole = WrittenOut.of(belief.field, belief.parameters)
    found = list(pairs(belief, deviation))
    for offer in found:
        assert offer.expected == pytest.approx(whole.margin(offer.axes), abs=1e-12)
        assert offer.cells == offer.expected.size
        assert offer.deviation == 0.0
    reduced = belief.field.sizes
    if tables and deviation == 40.0:
        assert any(count > reduced[a] for offer in found for a, count in offer.axes if reduced[a] > 1)
    if tables and deviation == 5_000.0:
        assert any(count < reduced[a] for offer in found for a, count in offer.axes)


@pytest.mark.parametrize("deviation", [8.0, 40.0, 200.0])
def test_every_pair_is_offered_at_each_granularity_once_unless_it_is_known_as_fine(deviation: float) -> None:
    belief = believed(SIZES, TABLES)
    found = [offer.axes for offer in pairs(belief, deviation)]
    wanted = []
    for a, b in combinations(range(len(SIZES)), 2):
        every = []
        for grain in GRAINS:
            counts = groups_within((SIZES[a], SIZES[b]), max(4.0, 5_000.0 / (grain * deviation)))
            every.append(((a, counts[0]), (b, counts[1])))
        for axes in dict.fromkeys(every):
            known = [t for t in TABLES if tuple(v for v, _ in t) == (a, b)]
            if not any(all(x >= y for (_, x), (_, y) in zip(t, axes, strict=True)) for t in known):
                wanted.append(axes)
    assert found == wanted


@pytest.mark.parametrize(("room", "most"), [(29, 1), (30, 2), (44, 2), (45, 3), (1_000, 3)])
def test_pairs_are_offered_at_fewer_granularities_where_a_question_has_no_room(
    room: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six attributes of many values have fifteen pairs; there is room for them beside twenty interactions."""
    monkeypatch.setattr(agreement, "CANDIDATES", room + 20)
    monkeypatch.setattr(agreement, "INTERACTIONS", 20)
    belief = believed((40,) * 6, [])
    found = Counter(tuple(a for a, _ in offer.axes) for offer in pairs(belief, 10.0))
    assert set(found.values()) == {most}
    assert len(found) == 15


def test_tables_of_many_values_stay_within_what_a_study_allows() -> None:
    belief = believed((300, 300), [], records=1e9)
    assert [offer.cells for offer in pairs(belief, 1.0)] == [TABLE_CELLS]


def test_interactions_expect_the_mean_parity_of_the_law() -> None:
    """Counted in 50,000 drawn records: within five deviations of the exact mean, and so is their chance."""
    belief = believed((4, 3, 2, 5, 2), [((0, 2), (1, 2)), ((1, 3), (2, 2), (4, 2))], spread=2.5)
    whole = WrittenOut.of(belief.field, belief.parameters)
    found = interactions(belief, np.random.default_rng(1), fours=True)
    sets = [tuple(a for a, _ in offer.axes) for offer in found]
    linked = {(0, 1, 2), (0, 1, 4)}
    assert {s for s in sets if sets.count(s) > 1} == linked
    others = [s for s in combinations(range(5), 3) if s not in {(1, 2, 4), *linked}]
    assert sets[-len(others) - 5 :] == others + list(combinations(range(5), 4))
    values = np.indices([single.distribution.size for single in belief.singles])
    law = whole.law if hasattr(whole, "law") else whole.margin(tuple((a, s) for a, s in enumerate((4, 3, 2, 5, 2))))
    exact_all = []
    for offer, members in zip(found, sets, strict=True):
        assert all(count == 2 for _, count in offer.axes)
        bits = np.array([np.array(split)[values[a]] for a, split in zip(members, offer.splits, strict=True)])
        exact = float((law * (1 - 2 * (bits.sum(axis=0) % 2))).sum())
        assert offer.expected == pytest.approx([exact], abs=5 / math.sqrt(50_000))
        assert offer.cells == 2 * 2 ** len(members)
        squares = [float((law * (1 - 2 * own)).sum()) ** 2 for own in bits]
        others_of = [math.prod(squares[:i] + squares[i + 1 :]) for i in range(len(squares))]
        chance = 1 - math.prod(squares) - sum((1 - m) * o for m, o in zip(squares, others_of, strict=True))
        deviation = math.sqrt(chance * (1 + 5_000 / 50_000) + 30.0**2 / 5_000)
        assert offer.deviation == pytest.approx(deviation * math.sqrt(2 * math.log(len(found))), rel=0.03)
        exact_all.append(abs(exact))
    assert max(exact_all) > 0.15
    assert found[0].penalty(900.0, found[0].expected) == round(30.0 * found[0].deviation)
    triples = interactions(belief, np.random.default_rng(1), fours=False)
    assert {len(offer.axes) for offer in triples} == {3}


def test_sets_with_two_measured_pairs_are_offered_at_several_splits() -> None:
    """Halves, and each of the two most frequent values against the rest; every split once, and of two values one."""
    laws = ([0.1, 0.5, 0.2, 0.2], [0.7, 0.2, 0.1], [0.4, 0.6], [0.3, 0.3, 0.4])
    plain = believed((4, 3, 2, 3), [((0, 2), (1, 2)), ((1, 3), (2, 2))])
    singles = tuple(Estimate(np.array(law), np.ones(len(law))) for law in laws)
    nested = tuple(Nested.of(single.distribution, ordered=False) for single in singles)
    belief = replace(plain, singles=singles, nested=nested)
    found: dict[tuple[int, ...], set[tuple[tuple[int, ...], ...]]] = {}
    for offer in interactions(belief, np.random.default_rng(1), fours=False):
        found.setdefault(tuple(a for a, _ in offer.axes), set()).add(offer.splits)
    of_0, of_1 = {(0, 1, 0, 0), (0, 0, 1, 0)}, {(0, 1, 1), (0, 1, 0)}
    halves = [tuple(nested[a].groups(2).tolist()) for a in range(4)]
    assert found[0, 1, 2] == {(x, y, (0, 1)) for x in {halves[0], *of_0} for y in {halves[1], *of_1}}
    for other in ((0, 1, 3), (0, 2, 3), (1, 2, 3)):
        assert found[other] == {tuple(halves[a] for a in other)}
    known = replace(belief, idle=(((0, 4), (1, 3), (2, 2)),))
    assert (0, 1, 2) not in {
        tuple(a for a, _ in o.axes) for o in interactions(known, np.random.default_rng(1), fours=False)
    }


def test_interactions_are_of_attributes_that_vary_and_one_alone_has_its_chance_too() -> None:
    belief = believed((2, 1, 3, 2), [])
    (only,) = interactions(belief, np.random.default_rng(1), fours=True)
    assert only.axes == ((0, 2), (2, 2), (3, 2))
    assert only.deviation > 0.5
    assert interactions(believed((2, 1, 3), []), np.random.default_rng(1), fours=True) == []
    assert interactions(believed((2, 2, 3), [((0, 2), (1, 2), (2, 3))]), np.random.default_rng(1), fours=True) == []


def test_interactions_of_four_are_offered_for_few_attributes_and_too_many_are_thinned_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert any(len(o.axes) == 4 for o in interactions(believed((2,) * 16, []), np.random.default_rng(1), fours=True))
    many = believed((2,) * 17, [])
    assert {len(o.axes) for o in interactions(many, np.random.default_rng(1), fours=True)} == {3}
    monkeypatch.setattr(interactions_module, "INTERACTIONS", 50)
    thin = [o.axes for o in interactions(many, np.random.default_rng(1), fours=True)]
    assert len(set(thin)) == 50
    assert thin == sorted(thin)
    assert thin != [o.axes for o in interactions(many, np.random.default_rng(2), fours=True)]
    star: list[Axes] = [((0, 2), (a, 2)) for a in range(1, 17)]
    linked = [o.axes for o in interactions(believed((2,) * 17, star), np.random.default_rng(1), fours=True)]
    assert len(set(linked)) == 50
    assert sum(axes[0][0] == 0 for axes in linked) == 37, "three quarters are kept for sets with two measured pairs"


def test_chance_and_prices_are_as_stated() -> None:
    """Rows of 0.2 and 0.8, columns of 0.1 and 0.9; of two by two cells one is free."""
    expected = np.array([[40.0, 360.0], [160.0, 1_440.0]])
    deviations = np.sqrt(expected * np.array([[0.8], [0.2]]) * np.array([0.9, 0.1]))
    most = math.sqrt(2 * math.log(10))
    plain = Offer(((0, 2), (1, 2)), expected / 2_000, 4, among=10)
    chance = 0.8 * deviations.sum() + 0.6 * most * math.sqrt((deviations**2).sum() * 4)
    assert plain.penalty(2_000.0, expected) == round(chance)
    noisy = replace(plain, margins=(np.array([0.5, 0.25]), np.array([0.1, 0.2])))
    rows, columns = np.array([[0.2], [0.8]]), np.array([0.1, 0.9])
    variance = deviations**2 + 2_000 * (np.array([[0.5], [0.25]]) * columns**2 + np.array([0.1, 0.2]) * rows**2)
    louder = chance + 0.8 * (np.sqrt(variance) - deviations).sum()
    assert noisy.penalty(2_000.0, expected) == round(louder)
    assert louder > 1.2 * chance
    wide = Offer(((0, 3), (1, 2)), np.full((3, 2), 1 / 6), 6, among=10)
    own = math.sqrt(100 * 2 / 3 / 2)
    assert wide.penalty(600.0, np.full((3, 2), 100.0)) == round(0.8 * 6 * own + 0.6 * most * own * math.sqrt(6 * 3))
    assert price(0.0, first=False) == pytest.approx(0.5)
    assert price(1.0, first=False) == pytest.approx(0.8)
    assert price(1.0, first=True) == pytest.approx(0.4)


def test_pairs_know_the_noise_of_their_margins_and_how_many_they_are() -> None:
    belief = believed(SIZES, TABLES)
    spread = tuple(Estimate(s.distribution, np.arange(1.0, s.variance.size + 1)) for s in belief.singles)
    for offer in pairs(replace(belief, singles=spread), 40.0):
        assert offer.among == 10
        assert offer.margins is not None
        for (a, count), margin in zip(offer.axes, offer.margins, strict=True):
            wanted = np.bincount(belief.nested[a].groups(count), spread[a].variance) / 5_000
            assert margin == pytest.approx(wanted)


@pytest.mark.parametrize("sizes", [(2, 2), (4, 4), (2, 6)])
def test_chance_alone_stays_below_its_penalty_and_rare_values_have_little(sizes: tuple[int, int]) -> None:
    """Scores of records whose attributes are independent, against what their own margins make one expect.

    The mean of 300 is 0.8·Σs. Of so many pairs about one may come close to the penalty, and no more are above it.
    """
    rng = np.random.default_rng(4)
    laws = [np.append(np.full(size - 1, 0.05), 1 - 0.05 * (size - 1)) for size in sizes]
    scores, penalties, means, before = [], [], [], []
    for _ in range(300):
        one, other = (rng.choice(law.size, 4_000, p=law) for law in laws)
        counts = np.zeros(sizes)
        np.add.at(counts, (one, other), 1)
        rows, columns = counts.sum(axis=1, keepdims=True) / 4_000, counts.sum(axis=0) / 4_000
        expected = 4_000 * rows * columns
        offer = Offer(((0, sizes[0]), (1, sizes[1])), expected / 4_000, 16, among=300)
        scores.append(np.abs(counts - expected).sum())
        penalties.append(offer.penalty(4_000.0, expected))
        means.append(0.8 * np.sqrt(expected * (1 - rows) * (1 - columns)).sum())
        before.append(0.8 * np.sqrt(expected).sum() + 1.2 * math.sqrt(4_000))
    assert np.mean(scores) == pytest.approx(np.mean(means), rel=0.2)
    assert np.count_nonzero(np.array(scores) > np.array(penalties)) <= 5
    assert np.mean(penalties) < 0.6 * np.mean(before), "what it would be if the margins were not known"


def plenty(attributes: int) -> list[Offer]:
    sets = [*combinations(range(attributes), 2), *islice(combinations(range(attributes), 3), 100)]
    return [Offer(tuple((a, 2) for a in found), np.zeros(1), 4, 1.0) for found in sets]


def choice(
    records: dict[str, float],
    *,
    number: int = 4,
    attributes: int = 9,
    tag: str = "zcdp",
    offers: Sequence[Offer] | None = None,
    in_turns: bool = False,
) -> Choice:
    """Return a round; unless there are ``offers``, of as many sets as anybody may take, none of which is judged."""
    belief = believed((3,) * attributes, [])
    common = [single.distribution for single in belief.singles]
    own = {name: common if place == 0 else [law[::-1] for law in common] for place, name in enumerate(sorted(records))}
    grant = Grant(CLASSES[tag].with_amount(Fraction(1)), "replace")
    return Choice(
        grant=grant,
        offers=plenty(attributes) if offers is None else offers,
        in_turns=in_turns,
        records=records,
        own=own,
        common=common,
        nested=belief.nested,
        price=0.5,
        fraction=Fraction(1, 10),
        choosing=CHOOSING,
        number=number,
        rule="any" if number else "forest",
        rng=np.random.default_rng(5),
    )


@pytest.mark.parametrize("noisy", [False, True])
def test_in_the_last_round_chance_is_deducted_as_far_as_noise_is_not_below_it(noisy: bool) -> None:
    """By a tenth of the noise's variance against that of chance, and no more than all of it; never of interactions."""
    held = {"a": 600.0 if noisy else 2e6, "b": 200.0 if noisy else 5e5}
    belief = believed((3,) * 9, [])
    offers = list(pairs(belief, 1.0))
    before = choice(held, offers=offers)
    after = replace(before, last=True)
    parts = []
    for name, records in held.items():
        share = records / sum(held.values())
        tables = round(before.counts(name)[-1][0] / share)
        noise = share * before.grant.law(Fraction(1, 10) * (1 - CHOOSING) / tables, holders=2).deviation
        for offer in offers[:20]:
            expected = records * offer.expected
            whole = offer.penalty(records, expected)
            assert before.penalty(name, offer, expected) == whole
            part = min(1.0, 0.1 * noise**2 * offer.cells / records)
            parts.append(part)
            assert after.penalty(name, offer, expected) == round(whole * part)
        interaction = Offer(((0, 2), (1, 2), (2, 2)), np.array([0.1]), 16, 2.0)
        assert after.penalty(name, interaction, np.array([100.0])) == round(2 * math.sqrt(records))
    assert min(parts) < 0.9
    assert (max(parts) == 1.0) is noisy


def offer_of(*axes: tuple[int, int]) -> Offer:
    return Offer(axes, np.full(4, 0.25), 4)


EVERY = [offer_of((a, n), (b, n)) for a, b in combinations(range(9), 2) for n in (2, 3)] + [
    offer_of(*((a, 2) for a in found)) for found in combinations(range(9), 3)
]


def sets_of(offers: Iterable[Offer]) -> set[tuple[int, ...]]:
    return {tuple(a for a, _ in offer.axes) for offer in offers}


def test_together_all_are_asked_at_once_and_offers_are_dealt_out_by_sets_of_attributes() -> None:
    here = choice({"c": 3_000.0, "a": 2_000.0, "b": 1_000.0}, offers=EVERY)
    assert here.turns == [("a", "b", "c")]
    dealt = here.offered(here.turns[0], [])
    assert sorted(map(id, EVERY)) == sorted(id(offer) for offers in dealt.values() for offer in offers)
    parts = {name: sets_of(offers) for name, offers in dealt.items()}
    assert sum(len(part) for part in parts.values()) == len(sets_of(EVERY)) == 36 + 84
    assert {name: len(part) for name, part in parts.items()} == {"a": 40, "b": 20, "c": 60}
    assert any(len(members) == 2 for members in parts["b"])
    assert any(len(members) == 3 for members in parts["b"])


def test_in_turns_the_largest_is_asked_first_and_the_next_is_offered_what_is_left() -> None:
    here = choice({"c": 3_000.0, "a": 2_000.0, "b": 3_000.0}, offers=EVERY, in_turns=True)
    assert here.turns == [("b",), ("c",), ("a",)]
    assert here.offered(("b",), []) == {"b": EVERY}
    taken = [((0, 2), (1, 2)), ((1, 2), (2, 2)), ((3, 2), (4, 2), (5, 2))]
    (left,) = here.offered(("c",), taken).values()
    assert sets_of(EVERY) - sets_of(left) == {(0, 1), (1, 2), (3, 4, 5)}
    forest = choice({"a": 1.0, "b": 1.0}, number=0, offers=EVERY[:72], in_turns=True)
    (left,) = forest.offered(("b",), taken[:2]).values()
    assert sets_of(EVERY[:72]) - sets_of(left) == {(0, 1), (1, 2), (0, 2)}
    assert forest.offered(("b",), [((a, 2), (8, 2)) for a in range(8)]) == {}, "a tree has no room for more"


def furthest(expected: Floats) -> float:
    """The largest ‖c − e‖₁ of all tables with the margins of e: for every choice of signs a linear programme."""
    rows, columns = expected.shape
    sums = [np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))]
    margins = np.concatenate([expected.sum(axis=1), expected.sum(axis=0)])
    best = 0.0
    for signs in product((-1.0, 1.0), repeat=expected.size):
        found = linprog(-np.array(signs), A_eq=np.vstack(sums), b_eq=margins)
        assert found.x is not None
        best = max(best, float(np.array(signs) @ (found.x - expected.ravel())))
    return best


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2)])
def test_no_table_is_further_from_what_is_expected_than_said(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    for _ in range(6):
        expected = 100 * rng.dirichlet(np.full(6, 0.6))[: math.prod(shape)].reshape(shape)
        assert Offer.furthest(expected) >= furthest(expected) - 1e-6
    assert Offer.furthest(np.full((2, 2), 25.0)) == pytest.approx(furthest(np.full((2, 2), 25.0))) == pytest.approx(100)
    rare = 100 * np.outer([0.02, 0.98], [0.5, 0.3, 0.2])
    assert Offer.furthest(rare) == pytest.approx(4 * 2 * 0.8) == pytest.approx(Offer.furthest(rare.T))


def test_under_pure_privacy_no_pair_is_offered_that_cannot_be_worth_its_price() -> None:
    """Ten records in 10,000 cannot pay for four cells of noise; a thousand can, and an interaction is never judged."""
    laws = [np.array([part, 1 - part]) for part in (0.5, 0.3, 0.1, 0.001, 0.0005)]
    offers = [Offer(((a, 2), (b, 2)), np.outer(laws[a], laws[b]), 4) for a, b in combinations(range(len(laws)), 2)] + [
        Offer(((0, 2), (3, 2), (4, 2)), np.array([0.0]), 16, 2.0)
    ]
    held = {"a": 10_000.0}
    pure = replace(choice(held, tag="pure", offers=offers, attributes=5), common=laws)
    zcdp = replace(choice(held, tag="zcdp", offers=offers, attributes=5), common=laws)
    assert zcdp.offered(("a",), []) == {"a": offers}
    (wanted,) = pure.offered(("a",), []).values()
    assert sets_of(wanted) == {(0, 1), (0, 2), (1, 2), (0, 3, 4)}
    # Two tables are half a tree.
    noise = pure.grant.law(Fraction(1, 10) * (1 - CHOOSING) / 2, tables=2).deviation
    for offer in offers[:-1]:
        expected = 10_000 * offer.expected
        priced = 0.5 * noise * np.minimum(1.0, expected / noise).sum() + offer.penalty(10_000.0, expected)
        assert (offer in wanted) is bool(Offer.furthest(expected) > priced)
    assert sets_of(replace(pure, records={"a": 1e7}).offered(("a",), [])["a"]) == sets_of(offers)
    assert replace(pure, offers=offers[-2:-1]).offered(("a",), []) == {}


def test_what_is_offered_under_pure_privacy_is_judged_at_half_a_tree_by_what_the_holder_has() -> None:
    """Of 21 attributes: ten tables. Chance, the target's half price and the holder's own margins are all counted."""
    law, rare = np.array([0.5, 0.5]), np.array([0.03, 0.97])
    laws = [law, *[rare] * 20]
    offer = Offer(((0, 2), (1, 2)), np.outer(law, rare), 4)
    seen = replace(
        choice({"a": 1.0}, tag="pure", offers=[offer], attributes=21),
        common=laws,
        own={"a": laws},
        nested=[Nested.of(found, ordered=True) for found in laws],
    )

    def pays(records: float, tables: int, *, part: float = 1.0, chance: bool = True) -> bool:
        expected = records * offer.expected
        noise = seen.grant.law(Fraction(1, 10) * (1 - CHOOSING) / tables, tables=tables).deviation
        priced = 0.5 * noise * part * np.minimum(1.0, expected / noise).sum()
        return bool(Offer.furthest(expected) > priced + (offer.penalty(records, expected) if chance else 0))

    def edge(tables: int, *, part: float = 1.0, chance: bool = True) -> float:
        every = map(float, np.geomspace(10, 1e6, 4_000))
        return next(n for n in every if pays(n, tables, part=part, chance=chance))

    for target, part in ((None, 1.0), (1, 0.5)):
        least = edge(10, part=part)
        apart = {edge(20, part=part), edge(1, part=part), edge(10, part=part, chance=False), edge(10, part=1.5 - part)}
        assert min(abs(math.log(other / least)) for other in apart) > 0.01
        for factor, wanted in ((1.003, True), (0.997, False)):
            here = replace(seen, records={"a": least * factor}, target=target)
            assert here.offered(("a",), []) == ({"a": [offer]} if wanted else {})
    few = edge(10) / 2
    even = [law] * 21
    both = replace(seen, records={"a": few, "b": few}, own={"a": laws, "b": even}, in_turns=True)
    assert both.offered(("a",), []) == {}, "nearly all of its records have one value"
    assert both.offered(("b",), []) == {"b": [offer]}, "its own have both values"
    common = replace(both, common=even, offers=[replace(offer, expected=np.full((2, 2), 0.25))])
    assert common.offered(("a",), []) == {}, "though others have both"


@pytest.mark.parametrize(("attributes", "tables"), [(21, 10), (22, 10), (3, 1), (2, 1)])
def test_each_of_two_holders_bears_half_of_what_half_a_tree_costs(attributes: int, tables: int) -> None:
    """⌊(N − 1)/2⌋ tables, one at least; their noise is that of both holders, of which each bears its share."""
    rare = np.array([0.03, 0.97])
    laws = [np.array([0.5, 0.5]), *[rare] * (attributes - 1)]
    offer = Offer(((0, 2), (1, 2)), np.outer(laws[0], rare), 4)
    seen = replace(
        choice({"a": 1.0}, tag="pure", offers=[offer], attributes=attributes, in_turns=True),
        common=laws,
        own={"a": laws, "b": laws},
        nested=[Nested.of(found, ordered=True) for found in laws],
    )
    noise = seen.grant.law(Fraction(1, 10) * (1 - CHOOSING) / tables, holders=2, tables=tables).deviation / 2

    def pays(records: float) -> bool:
        expected = records * offer.expected
        priced = 0.5 * noise * np.minimum(1.0, expected / noise).sum() + offer.penalty(records, expected)
        return bool(Offer.furthest(expected) > priced)

    least = next(n for n in map(float, np.geomspace(10, 1e6, 4_000)) if pays(n))
    for factor, wanted in ((1.003, True), (0.997, False)):
        here = replace(seen, records={"a": least * factor, "b": least * factor})
        assert here.offered(("a",), []) == ({"a": [offer]} if wanted else {})


def test_a_holder_is_judged_by_its_own_margins_where_it_is_expected_to_have_others() -> None:
    """What is expected of a holder is scaled, and has not quite its margins: that may be a distance too."""
    joint = np.array([[0.28, 0.02], [0.02, 0.68]])
    common = [joint.sum(axis=1), joint.sum(axis=0), *[np.array([0.5, 0.5])] * 7]
    own = [np.array([0.004, 0.996]), *common[1:]]
    offer = Offer(((0, 2), (1, 2)), joint, 4)
    here = replace(
        choice({"a": 4_000.0, "b": 4_000.0}, tag="pure", offers=[offer], in_turns=True),
        common=common,
        own={"a": common, "b": own},
        nested=[Nested.of(law, ordered=True) for law in common],
    )
    expected = here.expected("b", offer)
    assert expected.sum(axis=0)[0] < 200 < 4_000 * 0.3
    noise = here.grant.law(Fraction(1, 10) * (1 - CHOOSING) / 4, holders=2, tables=4).deviation
    priced = 0.25 * noise * np.minimum(1.0, expected / noise).sum() + offer.penalty(4_000.0, expected)
    assert Offer.furthest(expected) < priced < np.abs(expected.sum(axis=0) - 4_000 * own[1]).sum()
    assert here.offered(("b",), []) == {"b": [offer]}


@pytest.mark.parametrize("tag", ["pure", "zcdp"])
def test_no_more_tables_may_be_taken_than_there_are_to_take(tag: str) -> None:
    """Three pairs of three attributes, each twice: two of them in a forest, three without; choices are among six."""
    pairs_of_three = [Offer(((a, n), (b, n)), np.zeros(1), 4, 1.0) for a, b in ((0, 1), (1, 2), (0, 2)) for n in (2, 3)]
    for number, most in ((0, 2), (4, 3)):
        here = choice({"a": 1e6}, number=number, tag=tag, offers=pairs_of_three)
        assert [tables for tables, _ in here.counts("a")] == list(range(1, most + 1))
    rare = np.array([1e-9, 1 - 1e-9])
    idle = [Offer(((a, 2), (b, 2)), np.outer(rare, rare), 4) for a, b in combinations(range(9), 2)]
    here = replace(choice({"a": 1e6}, tag=tag, offers=[*pairs_of_three, *idle]), common=[rare] * 9)
    assert max(tables for tables, _ in here.counts("a")) == (3 if tag == "pure" else 36)
    if tag == "pure":  # three choices can be told from chance among six offers, and not among 42
        scale = 4 * 3 / float(Fraction(1, 10) * CHOOSING * (1 - LOOK))
        told = replace(here, records={"a": 1.001 * scale * math.log(6) / 0.6})
        assert [tables for tables, _ in told.counts("a")][-1] == 3


def test_tables_of_the_target_have_half_the_price() -> None:
    plain = replace(choice({"a": 1.0}), price=20.0)
    aimed = replace(plain, target=2)
    sizes = [offer_of((1, 3), (2, 5)), offer_of((0, 2), (1, 2)), Offer(((2, 1), (3, 1)), np.ones(1), 1)]
    many = 1e9  # far more than there is noise, so that every cell is charged for
    assert [plain.cells("a", offer, many * offer.expected) for offer in sizes] == [4, 4, 1]
    assert [aimed.cells("a", offer, many * offer.expected) for offer in sizes] == [2, 4, 1]


@pytest.mark.parametrize("level", [0.02, 0.1, 1.0, 30.0])
def test_cheap_cells_have_prices_below_half_a_record(level: float) -> None:
    """A table of 12,000 cells costs what its noise says, to a few percent, however little that is for one cell."""
    here = replace(choice({"a": 4_000.0}), price=level)
    wide = Offer(((0, 100), (1, 120)), np.full((100, 120), 1 / 12_000), 12_000)
    for tables, unit in here.counts("a"):
        rho = Fraction(1, 10) * (1 - CHOOSING) / tables
        wanted = 12_000 * level * math.sqrt(2 / (2 * float(rho)))
        assert unit * here.cells("a", wide, 1e9 * wide.expected) == pytest.approx(wanted, rel=0.13, abs=8.0)
        assert unit >= 8


def test_a_cell_costs_no_more_than_what_is_expected_in_it() -> None:
    """Three cells have many records, one half as many as the noise deviates by, and a hundred next to none."""
    expected = np.array([400.0, 90.0, 50.0, 5.0, *([0.01] * 100)]).reshape(8, 13)
    offer = Offer(((0, 8), (1, 13)), expected / expected.sum(), expected.size)
    assert offer.costly(expected, 10.0) == pytest.approx(3 + 0.5 + 100 * 0.001)
    assert offer.costly(expected, 1e-3) == pytest.approx(expected.size)
    assert Offer(((0, 2), (1, 2), (2, 2)), np.array([0.2]), 16, 1.0).costly(np.array([-3.0]), 10.0) == 16


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_noise_is_set_against_what_a_holder_expects_at_the_most_tables_it_may_take(share: float) -> None:
    here = choice({"a": 4_000.0 * share} if share == 1 else {"a": 1_000.0, "b": 3_000.0})
    most = round(here.counts("a")[-1][0] / share)
    holders = 1 if share == 1 else 2
    rho = Fraction(1, 10) * (1 - CHOOSING) / most
    deviation = math.sqrt(2 / (2 * float(rho)) * holders) * share
    even = Offer(((0, 3), (1, 3)), np.full((3, 3), 1 / 9), 9)
    wide = Offer(((0, 30), (1, 30)), np.full((30, 30), 1 / 900), 900)
    full = here.cells("a", wide, np.full((30, 30), 10 * deviation))
    assert here.cells("a", wide, np.full((30, 30), deviation / 2)) == pytest.approx(full / 2, rel=0.05)
    assert here.cells("a", even, np.full((3, 3), 10 * deviation)) == pytest.approx(full / 100, rel=0.1, abs=1)


def test_what_holders_took_is_put_together_pick_by_pick_and_a_forest_stays_one() -> None:
    pair = {f"{a}{b}": ((a, 2), (b, 2)) for a, b in combinations(range(4), 2)}
    taken = [[pair["01"], pair["12"], pair["03"]], [], [pair["02"], pair["13"]]]
    assert choice({"a": 1.0}).merged(taken) == [pair[key] for key in ("01", "02", "12", "13", "03")]
    assert choice({"a": 1.0}, number=0).merged(taken) == [pair[key] for key in ("01", "02", "13")]
    triple = ((0, 2), (1, 2), (2, 2))
    assert choice({"a": 1.0}, number=0).merged([[pair["01"], triple], [pair["12"]]])[-1] == triple


@pytest.mark.parametrize(("number", "most"), [(0, 8), (1, 8), (2, 16), (3, 32), (4, 64), (7, 64)])
def test_one_holder_looks_at_numbers_of_tables_up_to_the_rounds_most(number: int, most: int) -> None:
    """Of eight edges: an eighth, a quarter, … of them; the unit is what a cell's noise then costs."""
    here = replace(choice({"a": 8_000.0}, number=number), price=5.0)
    found = here.counts("a")
    assert [tables for tables, _ in found] == [t for t in (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64) if t <= most]
    for tables, unit in found:
        rho = Fraction(1, 10) * (1 - CHOOSING) / tables
        assert unit == math.ceil(5.0 * math.sqrt(2 / (2 * float(rho))))


@pytest.mark.parametrize(
    ("number", "numbers"), [(1, [2, 4, 8, 12, 16]), (2, [1, 4, 8, 16, 32]), (4, [1, 4, 8, 16, 32, 64, 128])]
)
def test_under_pure_privacy_later_rounds_look_at_doublings_from_one_table(number: int, numbers: list[int]) -> None:
    """Of sixteen edges. A single interaction may be all that is left to see."""
    here = choice({"a": 1e9}, number=number, attributes=17, tag="pure")
    assert [tables for tables, _ in here.counts("a")] == numbers


def test_no_more_tables_are_taken_than_the_study_lets_be_chosen() -> None:
    """Of 400 attributes 3,192 would be looked at; among so many candidates no more than 769 may be chosen."""
    found = choice({"a": 1e12}, attributes=400).counts("a")
    assert max(tables for tables, _ in found) == 769
    assert [tables for tables, _ in found] == sorted({tables for tables, _ in found})


def test_several_holders_take_their_parts_at_the_price_of_all_tables() -> None:
    here = replace(choice({"a": 6_000.0, "b": 2_000.0}, number=2), price=5.0)
    assert [tables for tables, _ in here.counts("a")] == [1, 2, 3, 4, 6, 9, 12]
    for name, part, step in (("a", 0.75, 2.0), ("b", 0.25, 2.0)):
        tables, unit = here.counts(name)[-1]
        assert tables == round(step * 8 * part)
        rho = Fraction(1, 10) * (1 - CHOOSING) / 16
        deviation = math.sqrt(2) * math.sqrt(2 / (2 * float(rho)))
        assert unit == math.ceil(5.0 * deviation * part)
    tiny = choice({"a": 1e6, "b": 1.0}).counts("b")
    assert [tables for tables, _ in tiny] == [1]


def test_a_holder_expects_its_own_single_attributes() -> None:
    here = choice({"a": 3_000.0, "b": 1_000.0})
    joint = np.array([[0.2, 0.1, 0.1], [0.05, 0.2, 0.05], [0.1, 0.1, 0.1]])
    offer = Offer(((0, 3), (1, 3)), joint, 9)
    assert here.expected("a", offer) == pytest.approx(3_000 * joint)
    laws = here.common
    ratio = np.outer(laws[0][::-1] / laws[0], laws[1][::-1] / laws[1])
    by_hand = joint * ratio / (joint * ratio).sum() * 1_000
    assert here.expected("b", offer) == pytest.approx(by_hand)
    parity = Offer(((0, 2), (1, 2), (2, 2)), np.array([-0.3]), 16, 2.0)
    assert here.expected("b", parity) == pytest.approx([-300.0])
    alone = choice({"a": 500.0})
    assert alone.expected("a", offer) == pytest.approx(500 * joint)


def test_those_that_are_left_take_the_parts_of_one_that_dropped_out_and_expect_their_own() -> None:
    """As if it had never been there, but for what its records say of the others' attributes."""
    here = choice({"a": 3_000.0, "b": 1_000.0, "c": 1_000.0}, number=2, offers=EVERY, in_turns=True)
    assert here.among({"a", "b", "c"}) is here
    left = here.among({"b", "c"})
    assert left.turns == [("b",), ("c",)]
    fresh = choice({"b": 1_000.0, "c": 1_000.0}, number=2, offers=EVERY, in_turns=True)
    assert left.counts("b") == fresh.counts("b") != here.counts("b")
    offer = Offer(((0, 3), (1, 3)), np.full((3, 3), 1 / 9), 9)
    assert left.cells("c", offer, 1_000 * offer.expected) == fresh.cells("c", offer, 1_000 * offer.expected)
    alone = here.among({"b"})
    assert (
        alone.expected("b", offer) == pytest.approx(here.expected("b", offer)) != pytest.approx(1_000 * offer.expected)
    )


@pytest.mark.parametrize("tag", ["pure", "zcdp"])
def test_the_least_worth_is_one_deviation_of_the_noise_of_a_look_at_all_numbers(tag: str) -> None:
    here = choice({"a": 3e6, "b": 1e6}, number=0, tag=tag)
    for name in here.records:
        values = len(here.counts(name))
        loss = float(Fraction(1, 10) * CHOOSING * LOOK)
        moved = 2 * values  # one person moves every number by two
        pure, zcdp = math.sqrt(2) * moved / loss, math.sqrt(4 * values / (2 * loss))
        assert here.look(name) == LOOK
        assert here.least(name) == round(pure if tag == "pure" else zcdp)


@pytest.mark.parametrize("tag", ["pure", "zcdp"])
def test_a_look_that_would_drown_is_not_taken(tag: str) -> None:
    """At four numbers its noise is at most a tenth of the records; or the largest number is taken unseen."""
    loss = float(Fraction(1, 10) * CHOOSING * LOOK)
    edge = 10 * (math.sqrt(2) * 2 * 4 / loss if tag == "pure" else math.sqrt(4 * 4 / (2 * loss)))
    seen, unseen = (choice({"a": edge * factor}, tag=tag) for factor in (1.001, 0.999))
    assert seen.look("a") == LOOK
    assert not unseen.look("a")
    assert unseen.least("a") == 0
    assert unseen.counts("a") == seen.counts("a")[-1:]
    assert len(seen.counts("a")) > 1


@pytest.mark.parametrize("tag", ["pure", "zcdp"])
def test_no_more_tables_are_taken_than_choices_can_be_told_from_chance(tag: str) -> None:
    """The scale of a choice, 2·Δ₁/ε of its part, times the logarithm of the offers is at most 0.6 of the records."""
    spent = float(Fraction(1, 10) * CHOOSING * (1 - LOOK))

    def least(tables: int) -> float:
        epsilon = spent / tables if tag == "pure" else math.sqrt(8 * spent / tables)
        return 4 / epsilon * math.log(100) / 0.6

    for tables in (1, 2, 5, 12, 30):
        for factor in (1.001, 0.999):
            here = choice({"a": least(tables) * factor}, number=0, attributes=101, tag=tag)
            here = replace(here, offers=[Offer(((a, 2), (a + 1, 2)), np.zeros(1), 4, 1.0) for a in range(100)])
            most = max(number for number, _ in here.counts("a"))
            allowed = tables if factor > 1 else max(1, tables - 1)
            assert most == max([t for t in (12, 25, 50, 75, 100) if t <= allowed], default=allowed)
