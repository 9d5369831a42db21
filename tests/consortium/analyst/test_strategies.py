"""Strategies: what they ask, what they spend, and what they learn when the noise is small or large."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from panbayes.bayesnet.learning.search import greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Learner, Strategy, Study
from panbayes.consortium.analyst.pooled_counts import pool
from panbayes.consortium.analyst.strategies import learn_from
from panbayes.consortium.holder.agreement import check_query
from panbayes.consortium.holder.answers import answer, check, loss_of
from panbayes.consortium.protocol.messages import (
    ModelQuery,
    ParentChoiceQuery,
    Query,
    Release,
    TablesQuery,
    pack_cells,
    question,
)
from panbayes.dp.noise import SimulatedNoise
from panbayes.errors import InputError, InternalError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.loss import total
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table

SIZES = (2, 3, 2, 4, 3)
SCHEMA = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(SIZES)))
PRIVATE: tuple[Strategy, ...] = (
    "privbayes",
    "independent",
    "noisy-sufficient-statistics",
    "noisy-majority-voting",
    "noisy-model",
)


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

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.tables)

    def ask(self, query: Query, *, round_number: int, only: Collection[str] | None = None) -> dict[str, Release]:
        check_query(self.study, query)
        for table in self.tables.values():
            check(query, self.study.schema, table.size)
        self.asked.append((round_number, query))
        identity = question(query, study=self.study.hash, round_number=round_number).id
        noise = SimulatedNoise(self.seed)
        return {
            name: Release(
                identity,
                table.size,
                "0" * 64,
                False,
                answer(query, table, noise=noise.spawn(f"{name} {identity}".encode())),
            )
            for name, table in self.tables.items()
            if only is None or name in only
        }


def tables(number: int, records: int = 3000) -> dict[str, Table]:
    rng = np.random.default_rng(4)
    return {f"h{j}": population().sample(records + 500 * j, rng) for j in range(number)}


def holders_for(strategy: Strategy) -> dict[str, Table]:
    return tables(1 if strategy == "privbayes" else 3)


def study(strategy: Strategy, epsilon: str = "1", *, degree: int = 1, learner: Learner = "greedy") -> Study:
    return Study("t", SCHEMA, strategy, Fraction(epsilon), degree=degree, learner=learner)


@pytest.mark.parametrize("strategy", PRIVATE)
@pytest.mark.parametrize("degree", [1, 2])
def test_every_holder_spends_exactly_epsilon(strategy: Strategy, degree: int) -> None:
    agreed = study(strategy, "7/10", degree=degree)
    holders = Recorded(agreed, holders_for(strategy))
    network = learn_from(holders)
    assert total(loss_of(query) for _, query in holders.asked) == Pure(Fraction(7, 10))
    assert network.privacy is not None
    assert network.privacy.loss == Pure(Fraction(7, 10))
    assert not network.privacy.private  # simulated


def test_privbayes_with_several_holders_is_refused_before_anything_is_spent() -> None:
    holders = Recorded(study("privbayes"), tables(2))
    with pytest.raises(InputError, match="learns from one holder, found 2"):
        learn_from(holders)
    assert holders.asked == []


def test_what_each_strategy_asks() -> None:
    """Thesis: b = 2·C(N, k+1)/ε for statistics; N−1 votes at ε₁/(N−1), then N tables at ε₂/N; one model each."""
    asked: dict[str, list[Query]] = {}
    for strategy in PRIVATE:
        holders = Recorded(study(strategy, degree=2), holders_for(strategy))
        learn_from(holders)
        asked[strategy] = [query for _, query in holders.asked]
        assert len({number for number, _ in holders.asked}) == len(holders.asked)
    (counts,) = asked["noisy-sufficient-statistics"]
    assert isinstance(counts, TablesQuery)
    assert counts.sets == tuple(combinations(range(5), 3))
    assert Fraction(counts.epsilon) == 1
    *votes, last = asked["noisy-majority-voting"]
    assert all(isinstance(vote, ParentChoiceQuery) and Fraction(vote.epsilon) == Fraction(1, 8) for vote in votes)
    assert len(votes) == 4
    assert isinstance(last, TablesQuery)
    assert len(last.sets) == 5
    assert Fraction(last.epsilon) == Fraction(1, 2)
    for strategy in ("privbayes", "noisy-model"):
        (model,) = asked[strategy]
        assert isinstance(model, ModelQuery)
        assert Fraction(model.structure_epsilon) == Fraction(model.tables_epsilon) == Fraction(1, 2)


@pytest.mark.parametrize(
    "strategy", ["privbayes", "noisy-sufficient-statistics", "noisy-majority-voting", "noisy-model"]
)
@pytest.mark.parametrize("degree", [1, 2])
def test_with_little_noise_they_learn_what_the_data_says(strategy: Strategy, degree: int) -> None:
    holders = holders_for(strategy)
    network = learn_from(Recorded(study(strategy, "1000", degree=degree), holders))
    pooled = Table(SCHEMA, np.concatenate([table.codes for table in holders.values()], axis=1))
    structure = greedy(ExactCounts(pooled), degree)
    if strategy != "noisy-model":
        assert {(c, frozenset(p)) for c, p in network.structure.pairs} == {
            (c, frozenset(p)) for c, p in structure.pairs
        }
    test = population().sample(20_000, 99)
    lost = population().log_prob(test).mean() - network.log_prob(test).mean()
    assert lost < 0.03


@pytest.mark.parametrize("strategy", PRIVATE)
def test_a_resumed_run_asks_the_same_and_learns_the_same(strategy: Strategy) -> None:
    runs = []
    for _ in range(2):
        holders = Recorded(study(strategy, "1/2"), holders_for(strategy))
        runs.append((learn_from(holders), holders.asked))
    assert runs[0][1] == runs[1][1]
    assert runs[0][0] == runs[1][0]


def test_ties_are_broken_by_the_study_not_by_the_holders_order() -> None:
    """Two holders of equal size that vote for different pairs: the same pair wins whatever their order."""
    data = population().sample(400, 1)
    other = population().sample(400, 2)
    agreed = study("noisy-majority-voting", "1/10")
    one = learn_from(Recorded(agreed, {"a": data, "b": other}))
    two = learn_from(Recorded(agreed, {"b": other, "a": data}))
    assert one == two


def test_a_vote_weighs_as_much_as_its_holder_has_people() -> None:
    """One large holder with a clear structure outvotes two tiny ones whose votes are noise."""
    large = population().sample(30_000, 1)
    tiny = [population().sample(30, seed) for seed in (2, 3)]
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
    data = Table(schema, population().sample(300, 5).codes, persons=100)
    alone = learn_from(Recorded(Study("t", schema, "privbayes", Fraction(1)), {"a": data}))
    assert alone.privacy is not None
    text = "\n".join(alone.privacy.lines())
    assert "replacing one person by another; the number of persons is public" in text
    assert "At most 4 records of a person were used." in text


def test_learners_on_noisy_statistics() -> None:
    learners: tuple[Learner, ...] = ("greedy", "chow-liu", "penalised", "hill-climbing")
    for learner in learners:
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
