"""A study's plan: what it may ask, how often, at which ε, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.protocol.queries import ParentChoiceQuery, Query, TableChoiceQuery, TablesQuery
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.events import Together
from panbayes.privacy.loss import Loss, total
from tests.consortium.holder.examples import (
    SCRIPTS,
    loss_of,
    model,
    pure,
    script,
    statistics,
    study,
    tables_of_votes,
    votes,
)


@pytest.mark.parametrize("strategy", SCRIPTS)
@pytest.mark.parametrize(("epsilon", "split"), [("1", "1/2"), ("1/10", "3/10"), ("7/3", "1/7")])
def test_a_strategy_may_ask_its_own_and_spends_all_of_epsilon(strategy: str, epsilon: str, split: str) -> None:
    agreed = study(strategy, epsilon, split=split)
    for query in script(agreed):
        assert agreed.plan.complaint(query) is None
    assert pure(total(map(loss_of, script(agreed)))) == Fraction(epsilon)


@pytest.mark.parametrize("strategy", SCRIPTS)
@pytest.mark.parametrize("other", SCRIPTS)
def test_no_strategy_may_ask_for_anothers(strategy: str, other: str) -> None:
    agreed = study(strategy)
    mine = {msgspec.msgpack.encode(query) for query in script(agreed)}
    for query in script(study(other)):
        if msgspec.msgpack.encode(query) not in mine:
            assert agreed.plan.complaint(query) is not None


def test_a_study_without_privacy_asks_holders_for_nothing() -> None:
    with pytest.raises(ValueError, match="asks holders for nothing"):
        _ = Study("test", study().schema, "non-private", epsilon=Fraction(1)).plan


def test_a_holder_that_drops_out_has_spent_what_it_was_asked() -> None:
    plan, asked = VOTING.plan, votes(VOTING)
    choices, tables = plan.stages
    assert plan.steps_after([]) == ()
    assert plan.steps_after([*asked, tables_of_votes(VOTING)]) == plan.steps
    assert plan.steps_after(asked) == choices.steps
    (step,) = plan.steps_after(asked[:2])
    assert (step.what, step.loss) == ("2 of 3 choices of an attribute and its parents", total(map(loss_of, asked[:2])))
    assert isinstance(step.event, Together)
    assert step.event.times == 2
    assert tables.steps_after(0) == ()
    assert tables.steps_after(1) == tables.steps


def test_steps_that_cannot_be_divided_count_in_full() -> None:
    """Rather more than less: where a step has no event for each question, or the loss of one is not known."""
    choices, tables = VOTING.plan.stages
    (step,) = choices.steps
    assert replace(tables, times=3).steps_after(1) == tables.steps
    assert replace(choices, times=4).steps_after(2) == choices.steps
    assert replace(choices, loss=None).steps_after(2) == choices.steps
    assert replace(choices, steps=(step, step)).steps_after(2) == (step, step)


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
    complaint = agreed.plan.complaint(query)
    assert complaint is not None
    assert complaint.startswith("the study ")
    assert reason in complaint


def test_sets_may_come_in_any_order() -> None:
    query = statistics(STATISTICS)
    turned = tuple(reversed([tuple(reversed(found)) for found in query.sets]))
    assert STATISTICS.plan.complaint(TablesQuery(turned, query.epsilon, query.clip)) is None


def test_auto_degree_takes_the_studys_theta() -> None:
    agreed = replace(MODEL, degree="auto")
    assert agreed.plan.complaint(changed(model(agreed), theta="4", degree=3)) is None
    for theta in (None, "3"):
        complaint = agreed.plan.complaint(changed(model(agreed), theta=theta, degree=3))
        assert complaint == "the study says theta 4"


def test_how_often() -> None:
    assert VOTING.plan.times("vote") == 3
    assert VOTING.plan.times("counts") == 1
    assert VOTING.plan.times("model") == 0


def stage(kind: Any, times: int, loss: Loss | None) -> Stage[Any]:
    return Stage(kind, times=times, words="something", most="little", loss=loss)


ONE = Pure(Fraction(1))


@pytest.mark.parametrize(
    ("stages", "grant", "fits"),
    [
        ([], ONE, True),
        ([(3, Pure(Fraction(1, 3)))], ONE, True),
        ([(3, Pure(Fraction(1, 3) + Fraction(1, 10**20)))], ONE, False),
        ([(2, Pure(Fraction(1, 4))), (1, Pure(Fraction(1, 2)))], ONE, True),
        ([(2, Pure(Fraction(1, 4))), (1, Pure(Fraction(501, 1000)))], ONE, False),
        ([(2, None), (1, ONE)], ONE, True),
        ([(2, None), (2, ONE)], ONE, False),
        ([(1, ONE)], ZeroConcentrated(Fraction(1, 2)), True),  # a pure ε counts ε²/2
        ([(1, ONE)], ZeroConcentrated(Fraction(499, 1000)), False),
        ([(1, ZeroConcentrated(Fraction(1, 100)))], ONE, False),
    ],
)
def test_a_plan_that_would_overspend_cannot_be_made(
    stages: list[tuple[int, Loss | None]], grant: Loss, fits: bool
) -> None:
    made = tuple(stage(kind, *rest) for kind, rest in zip((ParentChoiceQuery, TablesQuery), stages, strict=False))
    if fits:
        assert Plan(made, grant, "no").stages == made
        return
    with pytest.raises(ValueError, match="does not fit into"):
        Plan(made, grant, "no")


def test_a_plan_has_one_stage_of_a_kind() -> None:
    """The holder counts by kind, so two stages of one would share what each may ask."""
    half = stage(TablesQuery, 1, Pure(Fraction(1, 2)))
    with pytest.raises(ValueError, match="at most one stage of a kind"):
        Plan((half, half), ONE, "no")


def test_a_stage_asks_what_it_allows_and_says_which_field_is_another() -> None:
    fixed = {"epsilon": Fixed("ε:", "1/2"), "clip": Fixed("clipped:", True, "yes")}
    made = Stage(
        TablesQuery,
        times=1,
        words="tables",
        most="2 tables",
        fixed=fixed,
        rule=lambda query: None if len(query.sets) < 3 else "the study says sets: two",
    )
    asked = made.ask(sets=((0,), (1,)))
    assert asked == TablesQuery(((0,), (1,)), "1/2", clip=True)
    assert made.complaint(asked) is None
    assert made.complaint(changed(asked, epsilon="2/4")) == "the study says ε: 1/2"
    assert made.complaint(changed(asked, clip=False)) == "the study says clipped: yes"
    assert made.complaint(changed(asked, sets=((0,), (1,), (2,)))) == "the study says sets: two"
    with pytest.raises(TypeError, match="cannot judge a query of vote"):
        made.complaint(votes(VOTING)[0])


def test_a_query_of_another_kind_hears_what_the_study_asks_for() -> None:
    plan = Plan((stage(TablesQuery, 1, None),), ONE, "the study asks for tables")
    assert plan.complaint(votes(VOTING)[0]) == "the study asks for tables"
    assert plan.times(str(TableChoiceQuery.__struct_config__.tag)) == 0
