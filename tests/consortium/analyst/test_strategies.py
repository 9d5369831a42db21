"""Strategies: what they ask, what they spend, and what they learn when the noise is small or large."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations

import msgspec
import numpy as np
import pytest

from panbayes.bayesnet.learning.search import greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import LEARNERS, Learner
from panbayes.consortium.analyst.attendance import Asked
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.analyst.pooled_counts import pool
from panbayes.consortium.analyst.result import finish
from panbayes.consortium.analyst.strategies import local_models
from panbayes.consortium.protocol.cells import pack_cells
from panbayes.consortium.protocol.envelope import Release, question
from panbayes.consortium.protocol.queries import ModelQuery, ParentChoiceQuery, Query, TablesQuery
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError, InternalError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.loss import total
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import answer, check, loss_of

SIZES = (2, 3, 2, 4, 3)
SCHEMA = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES)))


def population() -> Network:
    """A chain in which each attribute follows the one before."""
    rng = np.random.default_rng(8)
    structure = Structure.of([(0, ()), *((i, (i - 1,)) for i in range(1, len(SIZES)))])
    tables = [rng.dirichlet(np.full(SIZES[0], 9.0))]
    tables += [rng.dirichlet(np.full(SIZES[i], 0.4), size=SIZES[i - 1]) for i in range(1, len(SIZES))]
    return Network(SCHEMA, structure, tuple(tables))


class Recorded:
    """Holders in this process that answer with simulated noise, check what they are asked, and remember it."""

    def __init__(self, study: Study, tables: Mapping[str, Table], seed: int = 0) -> None:
        self.study = study
        self.tables = tables
        self.seed = seed
        self.asked: list[tuple[int, Query]] = []
        self.attendance: dict[str, list[Asked]] = {name: [] for name in tables}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.tables)

    def ask(self, query: Query, *, round_number: int) -> dict[str, Release]:
        return self.ask_each(dict.fromkeys(self.tables, query), round_number=round_number)

    def ask_each(self, queries: Mapping[str, Query], *, round_number: int) -> dict[str, Release]:
        found = {}
        for name, query in queries.items():
            assert self.study.plan.complaint(query) is None
            table = self.tables[name]
            check(query, self.study.schema, table.size)
            if (round_number, query) not in self.asked[-1:]:
                self.asked.append((round_number, query))
            self.attendance[name].append(Asked(round_number, query, True))
            identity = question(query, study=self.study.hash, round_number=round_number).id
            noise = SimulatedNoise(self.seed).spawn(f"{name} {identity}".encode())
            found[name] = Release(identity, table.size, "0" * 64, False, answer(query, table, noise=noise))
        return found


def tables(number: int, records: int = 3000) -> dict[str, Table]:
    rng = np.random.default_rng(4)
    return {f"h{j}": population().sample_table(records + 500 * j, rng, independent=True) for j in range(number)}


def holders_for(strategy: str) -> dict[str, Table]:
    return tables(3 if strategies()[strategy].several else 1)


def study(strategy: str, epsilon: str = "1", *, degree: int = 1, learner: Learner = "greedy") -> Study:
    return Study("t", SCHEMA, strategy, Fraction(epsilon), degree=degree, learner=learner)


PRIVATE = [name for name, strategy in strategies().items() if strategy.private]
FIXED = [name for name in PRIVATE if all(stage.loss is not None for stage in study(name).plan.stages)]
"""Strategies whose plans fix every loss."""

SEARCHING = [name for name in PRIVATE if "degree" in strategies()[name].reads]
"""Strategies that look for up to ``degree`` parents."""


@pytest.mark.parametrize("strategy", FIXED)
@pytest.mark.parametrize("degree", [1, 2])
def test_every_holder_spends_exactly_epsilon(strategy: str, degree: int) -> None:
    agreed = study(strategy, "7/10", degree=degree)
    holders = Recorded(agreed, holders_for(strategy))
    network = learn_from(holders)
    assert total(loss_of(query) for _, query in holders.asked) == Pure(Fraction(7, 10))
    assert network.privacy is not None
    assert network.privacy.loss == Pure(Fraction(7, 10))
    assert not network.privacy.private  # simulated


@pytest.mark.parametrize("strategy", PRIVATE)
def test_several_holders_are_learned_from_or_refused_before_anything_is_spent(strategy: str) -> None:
    holders = Recorded(study(strategy), tables(2))
    if strategies()[strategy].several:
        assert learn_from(holders).about["holders"] == "h0, h1"
        return
    with pytest.raises(InputError, match=f'"{strategy}" learns from one holder, found 2'):
        learn_from(holders)
    assert holders.asked == []


def asked_by(strategy: str) -> list[Query]:
    """What a strategy asks with two parents at ε = 1, each in a round of its own."""
    holders = Recorded(study(strategy, degree=2), holders_for(strategy))
    learn_from(holders)
    assert len({number for number, _ in holders.asked}) == len(holders.asked)
    return [query for _, query in holders.asked]


def test_independent_asks_for_every_attribute_alone() -> None:
    assert asked_by("independent") == [TablesQuery(tuple((i,) for i in range(5)), "1", clip=True)]


def test_noisy_sufficient_statistics_ask_for_all_sets() -> None:
    """Thesis: b = 2·C(N, k+1)/ε."""
    assert asked_by("noisy-sufficient-statistics") == [TablesQuery(tuple(combinations(range(5), 3)), "1", clip=True)]


def test_noisy_majority_voting_asks_for_votes_and_then_tables() -> None:
    """Thesis: N−1 votes at ε₁/(N−1), then N tables at ε₂/N."""
    *votes, last = asked_by("noisy-majority-voting")
    assert len(votes) == 4
    for placed, vote in enumerate(votes, start=1):
        assert isinstance(vote, ParentChoiceQuery)
        assert len(vote.placed) == placed
        assert Fraction(vote.epsilon) == Fraction(1, 8)
    assert isinstance(last, TablesQuery)
    assert len(last.sets) == 5
    assert Fraction(last.epsilon) == Fraction(1, 2)


class Boastful(Recorded):
    """Holders of which the first says that it has more people than it has."""

    said = 10**8

    def ask(self, query: Query, *, round_number: int) -> dict[str, Release]:
        found = super().ask(query, round_number=round_number)
        first = min(found)
        return {**found, first: msgspec.structs.replace(found[first], size=self.said)}


@pytest.mark.parametrize("said", [900, 10**8, 2**31 - 1])
def test_no_holder_can_make_the_analyst_pool_more_records_than_fit_by_its_word(
    said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small limits in the place of the real ones: the pool has what they say, in proportion to what was said."""
    pools: list[Table] = []

    def counted(table: Table) -> ExactCounts:
        pools.append(table)
        return ExactCounts(table)

    monkeypatch.setattr(local_models, "ExactCounts", counted)
    monkeypatch.setattr(local_models, "POOLED_RECORDS", 20_000)
    monkeypatch.setattr(local_models, "POOLED_CODES", 15_000 * len(SIZES))
    holders = Boastful(study("noisy-model"), tables(3))
    holders.said = said
    learn_from(holders)
    whole = said + 3500 + 4000
    exact = [said, 3500, 4000] if whole <= 15_000 else [n * 15_000 // whole for n in (said, 3500, 4000)]
    assert [table.records for table in pools] == [sum(exact)]
    assert sum(exact) <= 15_000


def test_a_small_pool_has_a_record_for_every_person() -> None:
    assert local_models.POOLED_RECORDS == 2**24
    assert local_models.POOLED_CODES // 43 > 10**7


@pytest.mark.parametrize("strategy", ["privbayes", "noisy-model"])
def test_local_models_are_asked_for_once(strategy: str) -> None:
    assert asked_by(strategy) == [ModelQuery(0, 2, None, "I", "permute-and-flip", "1/2", "1/2", clip=True)]


@pytest.mark.parametrize("strategy", SEARCHING)
@pytest.mark.parametrize("degree", [1, 2])
def test_with_little_noise_they_learn_what_the_data_says(strategy: str, degree: int) -> None:
    holders = holders_for(strategy)
    network = learn_from(Recorded(study(strategy, "1000", degree=degree), holders))
    pooled = Table(SCHEMA, np.concatenate([table.codes for table in holders.values()], axis=1))
    structure = greedy(ExactCounts(pooled), degree)
    if strategy != "noisy-model":
        assert {(c, frozenset(p)) for c, p in network.structure.pairs} == {
            (c, frozenset(p)) for c, p in structure.pairs
        }
    test = population().sample_table(20_000, 99, independent=True)
    lost = population().log_prob(test).mean() - network.log_prob(test).mean()
    assert lost < 0.03


@pytest.mark.parametrize("strategy", PRIVATE)
def test_a_resumed_run_asks_the_same_and_learns_the_same(strategy: str) -> None:
    runs = []
    for _ in range(2):
        holders = Recorded(study(strategy, "1/2"), holders_for(strategy))
        runs.append((learn_from(holders), holders.asked))
    assert runs[0][1] == runs[1][1]
    assert runs[0][0] == runs[1][0]


def test_ties_are_broken_by_the_study_not_by_the_holders_order() -> None:
    """Two holders of equal size that vote for different pairs: the same pair wins whatever their order."""
    data = population().sample_table(400, 1, independent=True)
    other = population().sample_table(400, 2, independent=True)
    agreed = study("noisy-majority-voting", "1/10")
    one = learn_from(Recorded(agreed, {"a": data, "b": other}))
    two = learn_from(Recorded(agreed, {"b": other, "a": data}))
    assert one == two


def test_a_vote_weighs_as_much_as_its_holder_has_people() -> None:
    """One large holder with a clear structure outvotes two tiny ones whose votes are noise."""
    large = population().sample_table(30_000, 1, independent=True)
    tiny = [population().sample_table(30, seed, independent=True) for seed in (2, 3)]
    holders = {"large": large, "tiny 1": tiny[0], "tiny 2": tiny[1]}
    network = learn_from(Recorded(study("noisy-majority-voting", "100"), holders))
    assert {(c, frozenset(p)) for c, p in network.structure.pairs} == {
        (c, frozenset(p)) for c, p in greedy(ExactCounts(large), 1).pairs
    }


def test_the_statement_speaks_of_holders_and_persons() -> None:
    network = learn_from(Recorded(study("independent"), tables(3)))
    assert network.privacy is not None
    text = "\n".join(network.privacy.lines())
    assert "A person held by h of the holders is protected at h times this loss." in text
    assert "replacing one record by another" in text
    schema = Schema("s", SCHEMA.attributes, unit=Unit("who", 4))
    data = Table(schema, population().sample_table(300, 5, independent=True).codes, persons=100)
    alone = learn_from(Recorded(Study("t", schema, "privbayes", Fraction(1)), {"a": data}))
    assert alone.privacy is not None
    text = "\n".join(alone.privacy.lines())
    assert "replacing one person by another; the number of persons is public" in text
    assert "At most 4 records of a person were used." in text


def test_learners_on_noisy_statistics() -> None:
    for learner in LEARNERS:
        agreed = study("noisy-sufficient-statistics", "100", learner=learner)
        network = learn_from(Recorded(agreed, tables(2)))
        assert 3 <= len(network.structure.edges) <= 4


def test_margins_are_averaged_over_all_tables_that_contain_them() -> None:
    sets = [(0, 1), (0, 2)]
    first = np.array([[1, 2, 3], [4, 5, 6]])
    second = np.array([[7, 1], [2, 3]])
    cells = pack_cells(np.concatenate([first.ravel(), second.ravel()]))
    counts = pool([cells, cells], sets, sizes=(2, 3, 2), total=10)
    (margin,) = counts.tables([(0,)])
    expected = (first.sum(axis=1) / 3 + second.sum(axis=1) / 2) * 2 / (1 / 3 + 1 / 2)
    assert margin == pytest.approx(expected)
    (flipped,) = counts.tables([(1, 0)])
    assert flipped.tolist() == (2 * first.T).tolist()
    with pytest.raises(InternalError, match="no released table"):
        counts.tables([(1, 2)])


def test_a_strategy_that_forgets_what_a_holder_was_asked_gives_no_network() -> None:
    """A statement that leaves a holder out would promise its people too much."""
    agreed = study("independent")
    holders = Recorded(agreed, tables(2))
    network = learn_from(holders)
    spent = dict.fromkeys(holders.names, agreed.plan.steps)
    finish(holders, network.structure, network.tables, spent, private=False)
    for wrong in ({"h0": spent["h0"]}, {**spent, "h2": spent["h0"]}):
        with pytest.raises(InternalError, match="was asked and is not said to have spent anything"):
            finish(holders, network.structure, network.tables, wrong, private=False)
