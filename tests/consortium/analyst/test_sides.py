"""Sides of attributes, and voting by the linear score from end to end."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduction.synthetic import cross_entropy, synthetic_network, synthetic_schema

from panbayes.consortium.agreement.strategies.majority_voting import every_single
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.sides import sides_of
from panbayes.consortium.local.learn import learn
from panbayes.consortium.protocol.queries import GroupedTablesQuery, LinearChoiceQuery, TablesQuery
from panbayes.errors import InputError
from tests.consortium.holder.examples import loss_of
from tests.consortium.studies import SCHEMA, TABLES, Wire, learn_over

LINEAR = "linear"


@given(st.lists(st.integers(-50, 1000), min_size=1, max_size=12), st.booleans())
def test_sides_are_as_even_as_their_values_allow(counts: list[int], ordered: bool) -> None:
    sides, mean = sides_of(np.array(counts, dtype=np.int64), ordered=ordered)
    kept = np.maximum(counts, 0) if max(counts) > 0 else np.ones(len(counts))
    law = kept / kept.sum()
    assert len(sides) == len(counts)
    assert mean == round(4096 * float(law @ (1 - 2 * np.array(sides))))
    assert abs(mean) <= 4096 * max(law) + 1, "no further from even than the most frequent value forces"
    if ordered:
        assert list(sides) == sorted(sides), "cut at one place"
        best = min((abs(2 * law[:cut].sum() - 1) for cut in range(1, len(counts))), default=1.0)
        assert abs(mean) == pytest.approx(4096 * best, abs=1)
    if len(counts) > 1:
        assert set(sides) == {0, 1} or not ordered


def linear_study(epsilon: int) -> Study:
    return Study("linear", SCHEMA, "noisy-majority-voting", epsilon, score=LINEAR)


def test_a_study_asks_for_singles_then_votes_then_tables() -> None:
    """At a tenth, four tenths in equal votes and a half of ε; means and sides are of the singles that came."""
    study, wire = linear_study(8), Wire()
    network = learn_over(wire, study, TABLES, simulate=3)
    asked = [question for name, question in wire.asked if name == "large"]
    assert [type(question.query) for question in asked] == [GroupedTablesQuery, *[LinearChoiceQuery] * 4, TablesQuery]
    assert [question.round for question in asked] == list(range(6))
    losses = [loss_of(question.query).amount for question in asked]
    assert losses == [Fraction(8, 10), *[Fraction(8 * 4, 10 * 4)] * 4, Fraction(4)]
    assert sum(losses) == study.grant.amount
    assert network.privacy is not None
    assert "4 choices of an attribute and its parents: ε = 3.2" in str(network.privacy)
    votes = [question.query for question in asked if isinstance(question.query, LinearChoiceQuery)]
    assert len({(vote.sides, vote.means) for vote in votes}) == 1
    assert len({query for name, q in wire.asked for query in [q.query]}) == len(asked), "all holders get the same"


def test_weak_dependencies_are_found_at_an_epsilon_at_which_mutual_information_does_not() -> None:
    """The thesis's data, three holders, ε = 0.1: 5.2 bits against 6.2; 5.12 are the entropy, 5.17 the best tree."""
    bits: dict[str, list[float]] = {"I": [], LINEAR: []}
    table = synthetic_network().sample_table(40_000, 1, independent=True)
    dealt = {f"holder {j}": table.select(slice(j, None, 3)) for j in range(3)}
    for seed in range(3):
        for score, found in bits.items():
            study = Study(f"run {seed}", synthetic_schema(), "noisy-majority-voting", Fraction(1, 10), score=score)
            found.append(cross_entropy(learn(study, dealt, simulate=seed)))
    means = {score: math.fsum(found) / 3 for score, found in bits.items()}
    assert means[LINEAR] < 5.4 < 5.7 < means["I"]


@pytest.mark.parametrize("strategy", ["noisy-model", "privbayes"])
def test_only_votes_know_the_linear_score(strategy: str) -> None:
    with pytest.raises(InputError, match='score: found "linear"; give "F" or "I" or "R"'):
        Study("s", SCHEMA, strategy, 1, score=LINEAR)


def test_a_holder_refuses_what_the_study_does_not_say() -> None:
    study = linear_study(1)
    singles, votes, _ = study.plan.stages
    sides = tuple((0,) * size for size in SCHEMA.sizes)
    good = votes.ask(placed=(0,), sides=sides, means=(0,) * 5)
    assert study.plan.complaint(good) is None
    every = every_single(5)
    assert study.plan.complaint(singles.ask(**every)) is None
    for field in every:
        fewer = singles.ask(**{**every, field: every[field][:-1]})
        assert study.plan.complaint(fewer) == "the study says tables: every attribute alone"
    for vote, words in (
        (votes.ask(placed=(0,), sides=sides[:-1], means=(0,) * 5), "sides and means: of its schema"),
        (votes.ask(placed=(0,), sides=sides, means=(0,) * 4), "sides and means: of its schema"),
        (votes.ask(placed=(1,), sides=sides, means=(0,) * 5), "first attribute 0"),
        (votes.ask(placed=(0, 1, 2, 3, 4), sides=sides, means=(0,) * 5), "each once, not all"),
    ):
        assert words in str(study.plan.complaint(vote))
    plain = Study("plain", SCHEMA, "noisy-majority-voting", 1)
    assert plain.plan.complaint(good) == "the study asks for votes and for one set of counts"
