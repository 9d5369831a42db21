"""The adaptive strategy: it learns, abstains, stays within its grant and asks the same when resumed."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, count, pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.consortium.agreement.strategies import adaptive as agreement
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import Choices
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.hidden import no_surer_than_noise
from panbayes.consortium.analyst.adaptive.offers import pairs
from panbayes.consortium.analyst.adaptive.replicates import draw_replicates
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.analyst.reply_checks import MAX_TOTAL
from panbayes.consortium.analyst.strategies import adaptive as strategy
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.local.learn import learn
from panbayes.consortium.protocol.answers import GroupedTablesAnswer
from panbayes.consortium.protocol.cells import pack_cells, unpack_cells
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import GroupedTablesQuery, TableChoiceQuery
from panbayes.consortium.protocol.transport import Ask
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import HolderFailedError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.composition import Parallel, PostProcessed, Sequential, loss_of
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.consortium.studies import Wire, learn_over
from tests.effort import soak, some

SIZES = (2, 3, 12, 2, 4, 2, 3, 5)
SCHEMA = Schema(
    "chain",
    tuple(
        Attribute(f"x{i}", bins=tuple(range(size + 1)))
        if size > 10
        else Attribute(f"x{i}", categories=tuple(f"v{value}" for value in range(size)))
        for i, size in enumerate(SIZES)
    ),
)
SETTINGS: list[tuple[Adjacency, Fraction]] = [
    ("replace", Fraction(0)),
    ("add-remove", Fraction(0)),
    ("replace", Fraction(1, 10**9)),
    ("add-remove", Fraction(1, 10**9)),
]


def population(*, dependent: bool = True) -> Network:
    """A tree with strong dependencies, or the same attributes without any."""
    rng = np.random.default_rng(4)
    parents = (None, 0, 0, 1, 1, 2, 2, 5)
    pairs = [(i, () if p is None or not dependent else (p,)) for i, p in enumerate(parents)]
    tables = [
        rng.dirichlet(np.full(SIZES[i], 0.5 if pa else 2.0), size=SIZES[pa[0]] if pa else None) for i, pa in pairs
    ]
    return Network(SCHEMA, Structure.of(pairs), tuple(tables))


TRUTH = population()
TRAINING, TEST = TRUTH.sample_table(12_000, 1, independent=True), TRUTH.sample_table(6_000, 2, independent=True)


def study(
    epsilon: str = "1", adjacency: Adjacency = "replace", delta: Fraction = Fraction(0), choices: Choices = "turns"
) -> Study:
    return Study("test", SCHEMA, "adaptive", Fraction(epsilon), adjacency=adjacency, delta=delta, choices=choices)


def holders(table: Table, count: int) -> dict[str, Table]:
    return {f"h{j}": table.select(slice(j, None, count)) for j in range(count)}


def bits(network: Network, test: Table = TEST) -> float:
    return float(network.log_prob(test).mean()) / -math.log(2)


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS, 2))
@pytest.mark.parametrize("count", [1, 3])
def test_it_finds_dependencies_and_stays_within_its_grant(adjacency: Adjacency, delta: Fraction, count: int) -> None:
    """At ε = 1 it closes most of the gap between independence and the truth (2.6 bits), in every setting."""
    agreed = study("1", adjacency, delta)
    network = learn(agreed, holders(TRAINING, count), simulate=7)
    truth = bits(TRUTH)
    alone = bits(learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7))
    assert bits(network) < truth + 0.35 * (alone - truth)
    assert network.structure.degree >= 1
    assert network.privacy is not None
    assert network.privacy.loss.implies(agreed.grant)
    assert not network.privacy.private
    assert ("the number of records" in network.privacy.public) == (adjacency == "replace")
    lines = "\n".join(network.privacy.lines())
    assert ("(ε, δ) = (1, 1e-09)" in lines) == bool(delta)


@pytest.mark.parametrize("epsilon", some(["1/200", "1/50", "1/20", "1/5", "1", "5"], 3))
@pytest.mark.parametrize("dependent", [True, False])
def test_it_is_never_much_worse_than_private_independence(epsilon: str, dependent: bool) -> None:
    """Within 0.3 bits at every ε, with dependencies to be tempted by and without; means of four runs."""
    truth = population(dependent=dependent)
    training, test = truth.sample_table(12_000, 1, independent=True), truth.sample_table(4_000, 2, independent=True)
    alone = Study("i", SCHEMA, "independent", Fraction(epsilon), clip="analyst")
    mine, theirs = (
        np.mean([bits(learn(s, training, simulate=seed), test) for seed in range(4)]) for s in (study(epsilon), alone)
    )
    assert mine < theirs + 0.3


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS, 2))
@pytest.mark.parametrize("many", [1, 3])
def test_where_nothing_hangs_together_a_first_look_leaves_nearly_all_to_single_attributes(
    adjacency: Adjacency, delta: Fraction, many: int
) -> None:
    truth = population(dependent=False)
    agreed, wire = study("1/10", adjacency, delta), Wire()
    network = learn_over(wire, agreed, holders(truth.sample_table(12_000, 1, independent=True), many), simulate=4)
    assert network.structure.degree == 0
    asked = [question.query for name, question in wire.asked if name == "h0"]
    assert [type(query) for query in asked] == [GroupedTablesQuery, TableChoiceQuery, GroupedTablesQuery]
    assert asked_for(wire, "h0") == agreed.grant.amount
    look = asked[1]
    assert isinstance(look, TableChoiceQuery)
    assert (look.expected, look.look) == (None, "1")
    assert Fraction(look.loss) / agreed.grant.amount == Fraction(3, 100)
    assert paid(network) == [agreed.grant.amount] * many
    assert network.privacy is not None
    assert any("a look whether attributes hang together" in line for line in network.privacy.lines())
    given = network.posterior("x1", {"x0": "v0"}).interval_texts()
    alone = network.posterior("x1").interval_texts()
    assert len(given) == len(alone) == 3
    assert all(_width(there) > 1.5 * _width(here) for here, there in zip(alone, given, strict=True)), "may depend"


def _width(interval: str) -> float:
    low, high = map(float, interval.split(" to "))
    return high - low


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS, 2))
def test_where_attributes_hang_together_the_first_look_says_so(adjacency: Adjacency, delta: Fraction) -> None:
    wire = Wire()
    network = learn_over(wire, study("1/10", adjacency, delta), holders(TRAINING, 1), simulate=4)
    first = next(question.query for _, question in wire.asked if isinstance(question.query, TableChoiceQuery))
    assert first.expected is None
    assert network.structure.degree > 0


def test_with_a_target_there_is_no_first_look() -> None:
    wire = Wire()
    agreed = Study("test", SCHEMA, "adaptive", Fraction(1, 5), target=SCHEMA.names[0])
    learn_over(wire, agreed, holders(TRAINING, 1), simulate=4)
    choices = [question.query for _, question in wire.asked if isinstance(question.query, TableChoiceQuery)]
    assert choices
    assert all(query.expected is not None for query in choices)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 2, 1)])
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_attributes_of_which_nothing_is_ever_taken_are_learned_all_the_same(
    sizes: tuple[int, ...], adjacency: Adjacency
) -> None:
    """Two that vary and do not depend: no round takes anything, and the last has no tables to measure again."""
    schema = Schema("s", tuple(Attribute(f"x{i}", categories=tuple(range(size))) for i, size in enumerate(sizes)))
    codes = np.array([np.random.default_rng(7 + i).integers(0, size, 50_000) for i, size in enumerate(sizes)])
    agreed = Study("s", schema, "adaptive", Fraction(1, 2), adjacency=adjacency, delta=Fraction(1, 10**9))
    network = learn(agreed, Table(schema, codes.astype(np.uint8)), simulate=1)
    assert paid(network) == [agreed.grant.amount]
    assert all(network.structure.parents(v) == () or sizes[v] > 1 for v in range(len(sizes)))


def test_in_the_last_round_less_is_deducted_for_chance_and_what_was_taken_is_held() -> None:
    """At an ε at which chance is what is left to see, where every round finds something."""
    wire = Wire()
    rng = np.random.default_rng(2)
    links, codes = np.triu(rng.normal(0, 0.25, (12, 12)), 1), rng.choice([-1, 1], (12, 8_000))
    for _ in range(15):
        for v in range(12):
            pull = 2 * (links[v] + links[:, v]) @ codes
            codes[v] = np.where(rng.random(8_000) < 1 / (1 + np.exp(-pull)), 1, -1)
    schema = Schema("dense", tuple(Attribute(f"x{i}", categories=("no", "yes")) for i in range(12)))
    agreed = Study("dense", schema, "adaptive", Fraction(10), adjacency="add-remove", delta=Fraction(1, 10**9))
    table = Table(schema, (codes > 0).astype(np.uint8))
    network = learn_over(wire, agreed, holders(table, 1), simulate=1)
    choices = [question.query for _, question in wire.asked if isinstance(question.query, TableChoiceQuery)]
    assert len(choices) == agreement.ROUNDS
    penalties = [max(c.penalty for c in query.candidates if len(c.axes) == 2) for query in choices]
    assert penalties[-1] < min(penalties[:-1]) / 3
    tables = [question.query for _, question in wire.asked if isinstance(question.query, GroupedTablesQuery)]
    known = {pair for query in tables[:-1] for pair in sets_of(query, query.tables)}
    late = [pair for pair in sets_of(tables[-1], tables[-1].tables) if len(pair) == 2 and pair not in known]
    assert late, "chance alone was worth measuring"
    held = {frozenset((v, u)) for v in range(12) for u in network.structure.parents(v)}
    assert all(frozenset(pair) in held for pair in late)


def test_rows_are_smoothed_by_up_to_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    smoothed = []
    network_of = Belief.network

    def kept(self: Belief, smoothing: float) -> Any:
        smoothed.append(smoothing)
        return network_of(self, smoothing)

    monkeypatch.setattr(Belief, "network", kept)
    learn(study("1", "add-remove", Fraction(1, 10**9)), TRAINING, simulate=1)
    assert smoothed[-1] == 1.0


def test_it_abstains_where_the_noise_would_win() -> None:
    network = learn(study("1/500"), TRAINING, simulate=1)
    assert network.structure.degree == 0
    assert network.privacy is not None
    assert network.privacy.loss == study("1/500").grant


@pytest.mark.parametrize(
    ("adjacency", "delta", "added"),
    [("replace", Fraction(0), True), ("add-remove", Fraction(0), False), ("replace", Fraction(1, 10**9), True)],
)
def test_replicates_know_whether_single_attributes_were_added_up(
    adjacency: Adjacency, delta: Fraction, added: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Balanced noise of one radius adds up by itself, Gaussian noise is made to, and other noise does not."""
    told: list[object] = []

    def drawn(*given: Any, added_up: bool, **others: Any) -> Replicates:
        told.append(added_up)
        return draw_replicates(*given, added_up=added_up, **others)

    monkeypatch.setattr("panbayes.consortium.analyst.adaptive.hidden.draw_replicates", drawn)
    learn(study("1", adjacency, delta), TRAINING, simulate=1)
    assert told == [added]


@pytest.mark.parametrize(
    ("adjacency", "delta", "alone"),
    [("add-remove", Fraction(1, 10**9), True), ("replace", Fraction(1, 10**9), False), ("replace", Fraction(0), False)],
)
def test_single_attributes_are_held_to_their_noise_where_nothing_else_tells_of_them(
    adjacency: Adjacency, delta: Fraction, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Centred tables do not; whole ones know them better than their own noise."""
    told: list[Belief] = []

    def held(belief: Belief) -> Belief:
        told.append(belief)
        return no_surer_than_noise(belief)

    monkeypatch.setattr("panbayes.consortium.analyst.adaptive.hidden.no_surer_than_noise", held)
    learn(study("1", adjacency, delta), TRAINING, simulate=1)
    assert len(told) == alone


def test_centred_tables_share_the_grant_by_the_noise_that_counts() -> None:
    """Of the first question for pairs: the weight of one of k cells is in proportion to √k·(1 − 1/k₁)·(1 − 1/k₂)."""
    wire = Wire()
    learn_over(wire, study("1", "add-remove", Fraction(1, 10**9)), holders(TRAINING, 1), simulate=4)
    asked = [question.query for _, question in wire.asked if isinstance(question.query, GroupedTablesQuery)]
    query = next(query for query in asked if query.centred)
    sizes = [max(grouping.groups) + 1 if grouping.groups else SIZES[grouping.attribute] for grouping in query.groupings]
    shares = {}
    for axes, weight in zip(query.tables, query.weights, strict=True):
        if len(axes) == 2:
            one, other = (sizes[g] for g in axes)
            shares[one, other] = weight / (math.sqrt(one * other) * (1 - 1 / one) * (1 - 1 / other))
    assert len(shares) > 2
    assert max(shares.values()) < 1.01 * min(shares.values())


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("adjacency", "delta"), SETTINGS[2:])
def test_in_the_end_all_tables_have_had_what_is_due_to_their_cells(
    adjacency: Adjacency, delta: Fraction, count: int
) -> None:
    """Under zCDP, over all questions: those that got something in the last one are even, and no other had less."""
    wire = Wire()
    learn_over(wire, study("1", adjacency, delta), holders(TRAINING, count), simulate=4)
    asked = [question.query for name, question in wire.asked if name == "h0"]
    spent: dict[tuple[tuple[int, tuple[int, ...]], ...], float] = {}
    last = {}
    for query in asked:
        if isinstance(query, GroupedTablesQuery):
            whole = sum(query.weights)
            last = {
                tuple((query.groupings[g].attribute, query.groupings[g].groups) for g in axes): weight
                for axes, weight in zip(query.tables, query.weights, strict=True)
            }
            for axes, weight in last.items():
                spent[axes] = spent.get(axes, 0.0) + float(Fraction(query.loss)) * weight / whole
    assert len(last) >= 4
    had = {}
    for axes, weight in last.items():
        shape = [max(groups) + 1 if groups else SIZES[a] for a, groups in axes]
        left = math.prod(1 - 1 / size for size in shape) if adjacency == "add-remove" else 1.0
        had[axes] = (spent[axes] / (math.sqrt(math.prod(shape)) * left), weight > 100)
    given = [part for part, more in had.values() if more]
    assert len(given) >= 3
    assert max(given) < 1.01 * min(given)
    assert all(part > 0.99 * min(given) for part, _ in had.values())


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_under_pure_privacy_new_tables_and_known_ones_again_are_divided_by_themselves(adjacency: Adjacency) -> None:
    """Half of a part twice is less than all of it at once: what a table had does not count."""
    wire = Wire()
    learn_over(wire, study("5", adjacency), holders(TRAINING, 1), simulate=4)
    asked = [question.query for _, question in wire.asked if isinstance(question.query, GroupedTablesQuery)]
    assert len(asked) >= 4
    query, known = asked[-1], {pair for earlier in asked[:-1] for pair in sets_of(earlier, earlier.tables)}
    sizes = [max(grouping.groups) + 1 if grouping.groups else SIZES[grouping.attribute] for grouping in query.groupings]
    shares: dict[bool, list[float]] = {}
    for axes, pair, weight in zip(query.tables, sets_of(query, query.tables), query.weights, strict=True):
        shares.setdefault(pair in known, []).append(weight / math.sqrt(math.prod(sizes[g] for g in axes)))
    assert len(shares[True]) >= 3
    for found in shares.values():
        assert max(found) < 1.01 * min(found)


@pytest.mark.parametrize(("adjacency", "delta"), SETTINGS[1:])
def test_independent_attributes_stay_independent(adjacency: Adjacency, delta: Fraction) -> None:
    """Whatever tables were tempting, the law says next to nothing of dependencies: within 0.04 bits of the truth.

    That is the mean of three runs; none is further than 0.1.
    """
    truth = population(dependent=False)
    test = truth.sample_table(6_000, 2, independent=True)
    above = []
    for seed in range(3):
        network = learn(
            study("1", adjacency, delta), truth.sample_table(12_000, 11 + seed, independent=True), simulate=1 + seed
        )
        above.append(bits(network, test) - bits(truth, test))
    assert max(above) < 0.1
    assert sum(above) / 3 < 0.04


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_an_interaction_of_three_that_no_pair_shows_is_found(delta: Fraction) -> None:
    """Exclusive or, wrong once in ten: 0.53 of 6 bits can be known, and nine tenths of that are learned."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, (6, 20_000))
    values[4] = values[1] ^ values[2] ^ (rng.random(20_000) < 0.1)
    schema = Schema("xor", tuple(Attribute(f"x{i}", categories=("no", "yes")) for i in range(6)))
    training, test = (
        Table(schema, values[:, part].astype(np.uint8)) for part in (slice(0, None, 2), slice(1, None, 2))
    )
    agreed = Study("xor", schema, "adaptive", Fraction(1), adjacency="add-remove", delta=delta)
    network = learn(agreed, training, simulate=1)
    assert bits(network, test) < 6 - 0.9 * (1 + 0.1 * math.log2(0.1) + 0.9 * math.log2(0.9))


def gate(records: int) -> Table:
    """Which value goes with two others is drawn anew for all sixteen: parities of two groups show little of it."""
    rng = np.random.default_rng(11)
    law = rng.dirichlet(np.full(4, 0.7), (4, 4))
    values = rng.integers(0, 4, (6, records))
    values[1] = np.where(rng.random(records) < 0.3, values[0], values[1])
    values[2] = (rng.random(records)[:, None] > law[values[0], values[1]].cumsum(axis=1)).sum(axis=1).clip(0, 3)
    schema = Schema("gate", tuple(Attribute(f"x{i}", categories=("a", "b", "c", "d")) for i in range(6)))
    return Table(schema, values.astype(np.uint8))


def sets_of(query: GroupedTablesQuery | TableChoiceQuery, places: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    return [tuple(query.groupings[g].attribute for g in axes) for axes in places]


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
@pytest.mark.parametrize("early", [False, True])
def test_triples_whose_pairs_are_known_are_measured_in_the_end_and_held(
    monkeypatch: pytest.MonkeyPatch, delta: Fraction, early: bool
) -> None:
    """Where no interaction is offered, and hardly any noise: in the last round, or after one that found nothing.

    Under pure privacy there are none.
    """
    monkeypatch.setattr(strategy, "interactions", lambda *_, **__: [])
    if early:
        monkeypatch.setattr(strategy, "pairs", lambda belief, noise: [] if belief.known[2:] else pairs(belief, noise))
    wire = Wire()
    training = gate(8_000)
    agreed = Study("gate", training.schema, "adaptive", Fraction(1000), adjacency="add-remove", delta=delta)
    network = learn_over(wire, agreed, holders(training, 1), simulate=1)
    asked = [question.query for _, question in wire.asked]
    measured = [query for query in asked if isinstance(query, GroupedTablesQuery)]
    triples = [sets_of(query, [axes for axes in query.tables if len(axes) == 3]) for query in measured]
    assert not any(triples[:-1])
    assert ((0, 1, 2) in triples[-1]) == (delta > 0)
    if delta:
        exact = np.zeros((4, 4, 4))
        np.add.at(exact, tuple(training.codes[:3]), 1 / training.records)
        found = network.engine.posterior((0, 1, 2), {})
        assert np.abs(found - exact).sum() < 0.02, "the triple is held; of its pairs alone the law would be 0.3 off"


def paid(network: Network) -> list[Fraction]:
    """What every holder spent by the steps of the statement, in the order of their names."""
    assert network.privacy is not None
    whole = network.privacy.composition
    assert isinstance(whole, PostProcessed)
    found = []
    for part in whole.part.parts if isinstance(whole.part, Parallel) else (whole.part,):
        assert isinstance(part, Sequential)
        found.append(sum((loss_of(step).amount for step in part.parts), Fraction(0)))
    return found


def asked_for(wire: Wire, name: str) -> Fraction:
    """What a holder was asked to spend."""
    queries = [question.query for holder, question in wire.asked if holder == name]
    assert all(isinstance(query, GroupedTablesQuery | TableChoiceQuery) for query in queries)
    return sum((Fraction(q.loss) for q in queries if isinstance(q, GroupedTablesQuery | TableChoiceQuery)), Fraction(0))


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS, 2))
@pytest.mark.parametrize("epsilon", ["1/500", "1/10", "1", "77/3"])
def test_one_holder_spends_its_grant_to_the_last_fraction_in_twelve_questions_at_most(
    epsilon: str, adjacency: Adjacency, delta: Fraction
) -> None:
    agreed, wire = study(epsilon, adjacency, delta), Wire()
    network = learn_over(wire, agreed, {"all": TRAINING}, simulate=2)
    assert paid(network) == [agreed.grant.amount]
    assert len(wire.asked) <= 12
    asked = Counter(type(question.query) for _, question in wire.asked)
    assert asked[GroupedTablesQuery] <= 7
    assert asked[TableChoiceQuery] <= 5
    assert asked_for(wire, "all") == agreed.grant.amount
    assert [question.round for _, question in wire.asked] == sorted({question.round for _, question in wire.asked})


CUTS = {"a": slice(0, 9_000), "b": slice(9_000, 11_900), "c": slice(11_900, None)}


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS, 2))
def test_three_uneven_holders_are_offered_their_parts_and_pay_for_what_they_were_offered(
    adjacency: Adjacency, delta: Fraction
) -> None:
    """9,000, 2,900 and 100 records: the offers of a round are disjoint, in proportion, and of all pairs at first.

    A holder that was offered nothing in a round keeps what the choice would have cost, and the statement says so.
    """
    agreed, wire = study("1", adjacency, delta, "together"), Wire()
    network = learn_over(wire, agreed, {name: TRAINING.select(cut) for name, cut in CUTS.items()}, simulate=7)
    assert len({question.round for _, question in wire.asked}) <= agreed.plan.round_trips(3) == 12
    rounds: dict[int, dict[str, set[tuple[int, ...]]]] = {}
    for name, question in wire.asked:
        if isinstance(question.query, TableChoiceQuery) and question.query.expected is not None:
            groups = question.query.groupings
            sets = {tuple(groups[g].attribute for g in found.axes) for found in question.query.candidates}
            rounds.setdefault(question.round, {})[name] = sets
    assert set().union(*rounds[4].values()) == set(combinations(range(len(SIZES)), 2))
    for dealt in rounds.values():
        every = [members for sets in dealt.values() for members in sets]
        assert len(every) == len(set(every))
        for name, records in (("a", 9_000), ("b", 2_900), ("c", 100)):
            assert abs(len(dealt.get(name, ())) - len(every) * records / 12_000) < 1.5
    spent = paid(network)
    assert spent == [asked_for(wire, name) for name in CUTS]
    assert spent[0] == spent[1] == agreed.grant.amount
    assert spent[2] < agreed.grant.amount
    assert network.privacy is not None
    assert network.privacy.loss == agreed.grant
    assert bits(network) < bits(TRUTH) + 1


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS, 2))
def test_in_turns_a_holder_knows_what_others_took_and_is_offered_the_rest(
    adjacency: Adjacency, delta: Fraction
) -> None:
    """The first two rounds go from the largest to the smallest: at first a forest, whose pairs all others know."""
    agreed, wire = study("4", adjacency, delta), Wire()
    network = learn_over(wire, agreed, {name: TRAINING.select(cut) for name, cut in CUTS.items()}, simulate=7)
    rounds: dict[int, list[tuple[str, TableChoiceQuery]]] = {}
    for name, question in wire.asked:
        if isinstance(question.query, TableChoiceQuery) and question.query.expected is not None:
            rounds.setdefault(question.round, []).append((name, question.query))
    sets = {number: [offered(query) for _, query in queries] for number, queries in rounds.items()}
    assert [name for name, _ in rounds[4]] == list("abc")[: len(rounds[4])]
    assert len(rounds[4]) > 1
    assert [query.rule for _, query in rounds[4]] == ["forest"] * len(rounds[4])
    assert rounds[4][0][1].taken == ()
    for (_, before), (_, after) in pairwise(rounds[4]):
        assert set(after.taken) >= set(before.taken)
        assert len(after.taken) > len(before.taken)
        assert not set(after.taken) & offered(after)
    assert sets[4][0] == set(combinations(range(len(SIZES)), 2))
    assert all(later <= earlier for earlier, later in pairwise(sets[6]))
    assert all(not query.taken for number in rounds if number > 4 for _, query in rounds[number])
    for number in set(rounds) - {4, 6}:
        every = [members for found in sets[number] for members in found]
        assert len(every) == len(set(every)), "dealt out"
    assert paid(network) == [asked_for(wire, name) for name in CUTS]
    trips = sum(len(found) if number in (4, 6) else 1 for number, found in rounds.items())
    assert trips + 8 <= agreed.plan.round_trips(3) == 16


def offered(query: TableChoiceQuery) -> set[tuple[int, ...]]:
    return {tuple(query.groupings[g].attribute for g in found.axes) for found in query.candidates}


def about(wire: Wire, attribute: int) -> float:
    """The part of the tables of several attributes measured that have this one."""
    measured = [
        {query.groupings[g].attribute for g in axes}
        for _, question in wire.asked
        if isinstance(query := question.query, GroupedTablesQuery)
        for axes in query.tables
        if len(axes) > 1
    ]
    return sum(attribute in found for found in measured) / len(measured)


def test_a_target_draws_choices_to_its_tables_and_is_said() -> None:
    """A leaf of the tree: of ten runs, more of what is measured is about it; every choice names it, and the model."""
    leaf = SIZES.index(4)
    plain = study("1", "add-remove", Fraction(1, 10**9))
    aimed = replace(plain, target=SCHEMA.names[leaf])
    parts = []
    for agreed in (plain, aimed):
        wires = [Wire() for _ in range(10)]
        networks = [learn_over(wire, agreed, {"all": TRAINING}, simulate=seed) for seed, wire in enumerate(wires)]
        parts.append(np.mean([about(wire, leaf) for wire in wires]))
        for wire, network in zip(wires, networks, strict=True):
            named = [q.query.target for _, q in wire.asked if isinstance(q.query, TableChoiceQuery)]
            assert named
            assert set(named) == {agreed.target_attribute}
            assert network.privacy is not None
            assert network.privacy.loss == agreed.grant
            assert network.about.get("target") == agreed.target
            assert ("choices of a table, for predicting x4" in "\n".join(network.privacy.lines())) == (agreed is aimed)
    assert parts[1] > 1.3 * parts[0]


@pytest.mark.parametrize(("tables", "cells"), [(1, 1_000), (16, 4)], ids=["tables", "cells"])
def test_no_more_tables_are_measured_than_the_study_says(
    tables: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for one table, or for four cells, for each attribute: what is beyond is passed over, not refused."""
    monkeypatch.setattr(agreement, "MEASURED", tables)
    monkeypatch.setattr(agreement, "MEASURED_CELLS", cells)
    agreed, wire = study("20", "add-remove", Fraction(1, 10**9)), Wire()
    network = learn_over(wire, agreed, {"all": TRAINING}, simulate=2)
    most = max(len(q.query.tables) for _, q in wire.asked if isinstance(q.query, GroupedTablesQuery))
    assert most <= tables * len(SIZES)
    assert len(network.structure.edges) > 1


def test_two_attributes_that_are_known_at_once_leave_nothing_unspent() -> None:
    """Nothing is left to be offered in the second round: what its choice would cost measures the table again."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 20_000)
    codes = np.stack([first, first ^ (rng.random(20_000) < 0.1)]).astype(np.uint8)
    schema = Schema("two", tuple(Attribute(f"x{i}", categories=("no", "yes")) for i in range(2)))
    agreed, wire = Study("two", schema, "adaptive", Fraction(1), delta=Fraction(1, 10**9)), Wire()
    network = learn_over(wire, agreed, {"all": Table(schema, codes)}, simulate=1)
    assert paid(network) == [agreed.grant.amount]
    assert asked_for(wire, "all") == agreed.grant.amount
    assert len(wire.asked) == 5
    for what in ("one choice of a table: ", "one table of pairs and more: ", "one table again: "):
        assert what in str(network.privacy)


def test_where_no_pair_is_worth_offering_any_more_nothing_is_left_unspent() -> None:
    """Rare values under pure privacy: in the second round nobody is asked, and what that cost measures again."""
    schema = Schema("rare", tuple(Attribute(f"x{i}", categories=("no", "yes")) for i in range(40)))
    codes = (np.random.default_rng(3).random((40, 20_000)) < 0.003).astype(np.uint8)
    agreed, wire = Study("rare", schema, "adaptive", Fraction(1), target="x0"), Wire()
    network = learn_over(wire, agreed, {"all": Table(schema, codes)}, simulate=1)
    assert [type(question.query) for _, question in wire.asked].count(TableChoiceQuery) == 1
    assert paid(network) == [agreed.grant.amount] == [asked_for(wire, "all")]


def test_a_pair_with_many_values_is_measured() -> None:
    """Two attributes of 100 values, many records, much ε: the finest table there is, within the study's limits."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 100, 60_000)
    codes = np.stack([first, (first + rng.integers(0, 5, 60_000)) % 100]).astype(np.uint8)
    schema = Schema("wide", tuple(Attribute(f"x{i}", categories=tuple(range(100))) for i in range(2)))
    table = Table(schema, codes)
    network = learn(Study("wide", schema, "adaptive", Fraction(20)), table, simulate=1)
    assert bits(network, table) < 2 * math.log2(100) - 3


def test_labels_that_differ_between_holders_do_not_break_it() -> None:
    """A split by the value of an attribute: holders disagree about every distribution."""
    values = TRAINING.codes[1]
    split = {f"h{v}": TRAINING.select(np.flatnonzero(values == v)) for v in range(3)}
    agreed = study("1", "add-remove", Fraction(1, 10**9))
    alone = bits(learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7))
    assert bits(learn(agreed, split, simulate=3)) < alone - 1


def test_a_person_may_have_several_records() -> None:
    schema = replace(SCHEMA, unit=Unit("person", 2))
    table = Table(schema, TRAINING.codes, persons=7_000)
    network = learn(replace(study("2"), schema=schema), table, simulate=1)
    assert network.privacy is not None
    assert network.privacy.unit == "person"
    assert bits(replace(network, schema=SCHEMA)) < bits(
        learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7)
    )


@pytest.mark.parametrize("sizes", some([(2,), (5,), (2, 2), (1, 2, 1), (300, 2, 2), (2, 2, 2), (1, 3, 2, 2, 1)], 4))
@pytest.mark.parametrize("records", [0, 1, 500])
def test_small_and_odd_tables(sizes: tuple[int, ...], records: int) -> None:
    attributes = [Attribute(f"x{i}", categories=tuple(f"v{v}" for v in range(size))) for i, size in enumerate(sizes)]
    schema = Schema("odd", tuple(attributes))
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, records) for size in sizes])
    table = Table(schema, codes.astype(np.uint16 if max(sizes) > 256 else np.uint8))
    for adjacency, delta in SETTINGS:
        agreed = Study("odd", schema, "adaptive", Fraction(1), adjacency=adjacency, delta=delta)
        network = learn(agreed, holders(table, 2), simulate=2)
        assert all(np.all(table > 0) for table in network.tables)


@pytest.mark.parametrize(
    ("epsilon", "adjacency", "delta"),
    some([(epsilon, *setting) for epsilon, setting in zip(("1", "30", "30", "1"), SETTINGS, strict=True)], 1),
)
def test_attributes_that_never_vary_and_one_with_two_thousand_values(
    epsilon: str, adjacency: Adjacency, delta: Fraction
) -> None:
    rng = np.random.default_rng(1)
    wide = rng.integers(0, 2_000, 3_000)
    codes = np.stack([wide, wide // 1_000, np.full(3_000, 2), np.zeros(3_000, dtype=int)]).astype(np.uint16)
    sizes = (2_000, 2, 4, 2)
    schema = Schema("odd", tuple(Attribute(f"x{i}", categories=tuple(range(size))) for i, size in enumerate(sizes)))
    table = Table(schema, codes)
    agreed = Study("odd", schema, "adaptive", Fraction(epsilon), adjacency=adjacency, delta=delta)
    network = learn(agreed, holders(table, 2), simulate=2)
    assert all(np.all(table > 0) for table in network.tables)
    assert bits(network, table) < math.log2(2_000) + 2 + (epsilon == "1")
    if epsilon == "30":
        assert set(network.structure.edges) & {(0, 1), (1, 0)}


class _StopsError(Exception):
    """The connection is lost."""


def test_a_resumed_run_asks_the_same_questions_and_gets_the_same_network() -> None:
    """Lose the connection after each number of messages in turn; with the same ledgers the run ends the same way."""
    agreed = study("1", "add-remove", Fraction(1, 10**9))
    tables = holders(TRAINING, 2)
    with open_gates(agreed, tables, simulate=5) as gates:
        whole = learn_from(Federation(agreed, gates, simulated=True))
    ledgers = {name: Ledger.in_memory() for name in tables}
    doors = {
        name: Gate(table, agreed, ledgers[name], SimulatedNoise(5).spawn(f"holder {name}".encode()))
        for name, table in tables.items()
    }
    for stop in (1, 3, 5, 8):
        with pytest.raises(HolderFailedError):
            learn_from(Federation(agreed, _failing(doors, stop), simulated=True))
    resumed = learn_from(Federation(agreed, {name: door.ask for name, door in doors.items()}, simulated=True))
    assert resumed == whole
    for ledger in ledgers.values():
        assert ledger.summary().spent.implies(agreed.grant)
        ledger.close()


def _failing(doors: Mapping[str, Gate], stop: int) -> dict[str, Ask]:
    messages = [0]

    def reach(name: str, data: bytes) -> bytes:
        messages[0] += 1
        if messages[0] > stop:
            raise _StopsError
        return doors[name].ask(data)

    return {name: partial(reach, name) for name in doors}


def test_with_secure_noise_the_ledger_is_spent_and_the_same_study_is_free(tmp_path: object) -> None:
    agreed = study("1", "add-remove", Fraction(1, 10**9))
    first = learn(agreed, holders(TRAINING, 2), state=str(tmp_path))
    again = learn(agreed, holders(TRAINING, 2), state=str(tmp_path))
    assert first == again
    assert first.privacy is not None
    assert first.privacy.private
    assert bits(first) < bits(learn(Study("i", SCHEMA, "independent", Fraction(1)), TRAINING, simulate=7))


LEARN_AND_TELL = """
import json
from itertools import combinations
from tests.consortium.studies import STUDIES, Wire, learn_over, tables_for
for study in STUDIES:
    if study.strategy == "adaptive":
        wire = Wire()
        network = learn_over(wire, study, tables_for(study), simulate=3)
        asked = sorted((question.round, name, question.id) for name, question in wire.asked)
        pairs = [network.posterior(pair).probabilities.ravel().tolist() for pair in combinations(study.schema.names, 2)]
        print(json.dumps([asked, pairs]))
"""


@soak
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the settings below are names of x86 processors")
def test_an_older_processor_asks_the_same_until_a_law_is_fitted_and_then_differs_little() -> None:
    """Without AVX2, AVX-512 and FMA, in NumPy, in its linear algebra and in the C library.

    What is asked after a fit may differ in a count just at a half; most studies here ask the same to the end.
    """
    older = {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL",
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    }
    told = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LEARN_AND_TELL],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).resolve().parents[3],
            env={**os.environ, **more},
        ).stdout.splitlines()
        for more in ({}, older)
    ]
    assert len(told[0]) == len(told[1]) > 3
    same = 0
    for here, there in zip(*told, strict=True):
        (asked, pairs), (asked_there, pairs_there) = json.loads(here), json.loads(there)
        first, first_there = ([question for question in found if question[0] <= 3] for found in (asked, asked_there))
        assert first == first_there
        if asked == asked_there:
            same += 1
            for pair, other in zip(pairs, pairs_there, strict=True):
                assert other == pytest.approx(pair, abs=1e-3)
    assert same > len(told[0]) / 2


Lie = Callable[[int, int], NDArray[np.int64] | None]
"""What a holder says in its answer of this number with so many cells; None where it tells the truth."""


@pytest.mark.parametrize(("adjacency", "delta"), some(SETTINGS[1:3], 1))
def test_a_holder_that_lies_about_its_counts_is_named_or_believed_and_never_ends_the_run(
    adjacency: Adjacency, delta: Fraction
) -> None:
    """One of two holders answers every question for tables, or the total alone, with absurd counts."""
    agreed = study("1", adjacency, delta)

    def of_total(said: int) -> Lie:
        return lambda number, cells: None if number else np.full(cells, said)

    def of_tables(said: int) -> Lie:
        return lambda number, cells: np.full(cells, said) if number else None

    def learned(lie: Lie) -> None:
        with ExitStack() as stack:
            doors = {
                name: Gate(table, agreed, stack.enter_context(Ledger.in_memory()), SimulatedNoise(1)).ask
                for name, table in holders(TRAINING, 2).items()
            }
            honest, number = doors["h1"], count()

            def lying(data: bytes) -> bytes:
                reply = decode_reply(honest(data))
                assert isinstance(reply, Release), reply
                if isinstance(reply.answer, GroupedTablesAnswer):
                    said = lie(next(number), unpack_cells(reply.answer.cells).size)
                    if said is not None:
                        reply = msgspec.structs.replace(reply, answer=GroupedTablesAnswer(pack_cells(said)))
                return encode(reply)

            learn_from(Federation(agreed, {**doors, "h1": lying}, simulated=True))

    for total in (MAX_TOTAL + 1, -MAX_TOTAL - 1, 10**15):
        with pytest.raises(HolderFailedError, match=r"^holder h1: answered garbage: it says it has over"):
            learned(of_total(total))
    for total in (MAX_TOTAL, -MAX_TOTAL):
        learned(of_total(total))
    learned(of_tables(10**15))
