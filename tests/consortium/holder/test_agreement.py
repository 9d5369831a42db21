"""A study asks what it says, at the ε it says, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from panbayes.consortium.agreement.study import Strategy, Study
from panbayes.consortium.holder.agreement import NotInStudyError, check_query, times_allowed
from panbayes.consortium.holder.answers import loss_of
from panbayes.consortium.protocol.messages import ParentChoiceQuery, Query, TablesQuery
from panbayes.privacy.loss import total
from tests.consortium.holder.examples import model, pure, script, singles, statistics, study, tables_of_votes, votes

STRATEGIES: tuple[Strategy, ...] = (
    "privbayes",
    "independent",
    "noisy-sufficient-statistics",
    "noisy-majority-voting",
    "noisy-model",
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("epsilon", "split"), [("1", "1/2"), ("1/10", "3/10"), ("7/3", "1/7")])
def test_every_strategy_may_ask_its_own_and_spends_all_of_epsilon(strategy: Strategy, epsilon: str, split: str) -> None:
    agreed = study(strategy, epsilon, split=split)
    for query in script(agreed):
        check_query(agreed, query)
    assert pure(total(map(loss_of, script(agreed)))) == Fraction(epsilon)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("other", STRATEGIES)
def test_no_strategy_may_ask_for_anothers(strategy: Strategy, other: Strategy) -> None:
    agreed = study(strategy)
    mine = {msgspec.msgpack.encode(query) for query in script(agreed)}
    for query in script(study(other)):
        if msgspec.msgpack.encode(query) not in mine:
            with pytest.raises(NotInStudyError):
                check_query(agreed, query)


def test_a_study_without_privacy_is_never_answered() -> None:
    agreed = Study("test", study().schema, "non-private", epsilon=Fraction(1))
    queries: list[Query] = [singles(study()), *votes(study()), model(study())]
    for query in queries:
        with pytest.raises(NotInStudyError, match="not answered here"):
            check_query(agreed, query)


def changed(query: Query, **fields: object) -> Query:
    return msgspec.structs.replace(query, **fields)


MODEL = study("privbayes")
VOTING = study("noisy-majority-voting")
STATISTICS = study("noisy-sufficient-statistics")


@pytest.mark.parametrize(
    ("agreed", "query", "reason"),
    [
        (MODEL, changed(model(MODEL), score="I"), "score R"),
        (MODEL, changed(model(MODEL), mechanism="exponential"), "mechanism permute-and-flip"),
        (MODEL, changed(model(MODEL), degree=2), "degree 1"),
        (MODEL, changed(model(MODEL), first=1), "first attribute 0"),
        (MODEL, changed(model(MODEL), clip=True), "clipped by the analyst"),
        (MODEL, changed(model(MODEL), theta="4"), "theta None"),
        (MODEL, changed(model(MODEL), structure_epsilon="500001/1000000"), "ε of the structure: 1/2"),
        (MODEL, changed(model(MODEL), tables_epsilon="499999/1000000"), "ε of the tables: 1/2"),
        (MODEL, changed(model(MODEL), tables_epsilon="2/4"), "ε of the tables: 1/2"),
        (VOTING, changed(votes(VOTING)[0], score="I"), "score R"),
        (VOTING, changed(votes(VOTING)[0], placed=(1,)), "first attribute 0"),
        (VOTING, changed(votes(VOTING)[0], placed=(0, 0)), "each once"),
        (VOTING, changed(votes(VOTING)[0], placed=(0, 9)), "each once"),
        (VOTING, changed(votes(VOTING)[0], placed=(0, 1, 2, 3)), "not all"),
        (VOTING, changed(votes(VOTING)[0], epsilon="1/5"), "ε of a vote: 1/6"),
        (VOTING, changed(tables_of_votes(VOTING), sets=((0,),)), "sets: 4"),
        (VOTING, changed(tables_of_votes(VOTING), sets=((0, 1, 2), (0,), (1,), (2,))), "at most 2"),
        (VOTING, changed(tables_of_votes(VOTING), clip=True), "clipped by the analyst"),
        (VOTING, changed(tables_of_votes(VOTING), epsilon="1"), "ε of the counts: 1/2"),
        (VOTING, model(VOTING), "counts"),
        (STATISTICS, statistics(STATISTICS, 3), "all of 2 attributes"),
        (STATISTICS, changed(statistics(STATISTICS), sets=((0, 1),) * 6), "all of 2 attributes"),
        (STATISTICS, changed(statistics(STATISTICS), sets=statistics(STATISTICS).sets[1:]), "all of 2 attributes"),
        (STATISTICS, changed(statistics(STATISTICS), epsilon="999999/1000000"), "ε of the counts: 1"),
    ],
)
def test_what_is_outside_the_study(agreed: Study, query: Query, reason: str) -> None:
    with pytest.raises(NotInStudyError, match="the study"):
        check_query(agreed, query)
    with pytest.raises(NotInStudyError) as caught:
        check_query(agreed, query)
    assert reason in str(caught.value)


def test_sets_may_come_in_any_order() -> None:
    query = statistics(STATISTICS)
    turned = tuple(reversed([tuple(reversed(found)) for found in query.sets]))
    check_query(STATISTICS, TablesQuery(turned, query.epsilon, query.clip))


def test_auto_degree_takes_the_studys_theta() -> None:
    agreed = replace(MODEL, degree="auto")
    check_query(agreed, changed(model(agreed), theta="4", degree=3))
    for theta in (None, "3"):
        with pytest.raises(NotInStudyError, match="theta 4"):
            check_query(agreed, changed(model(agreed), theta=theta, degree=3))


def test_how_often() -> None:
    assert isinstance(votes(VOTING)[0], ParentChoiceQuery)
    assert times_allowed(VOTING, votes(VOTING)[0]) == 3
    assert times_allowed(VOTING, tables_of_votes(VOTING)) == 1
