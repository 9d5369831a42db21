"""Every number of every strategy's plan, by the formulas of the thesis: times, losses, sizes, steps.

The schema has a unit of three records a person, so that nothing that forgets it passes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Any, Literal

import msgspec
import pytest

from panbayes.consortium.agreement.checks import fixed_degree, pure_grant
from panbayes.consortium.agreement.plan import Stage
from panbayes.consortium.agreement.strategies.adaptive import MOST_DIGITS
from panbayes.consortium.agreement.strategies.local_models import AUTO_DEGREE
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.protocol.queries import ModelQuery, ParentChoiceQuery, TablesQuery, ratio
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.composition import Step
from panbayes.privacy.events import DiscreteLaplace, Rule, Selection, Together
from panbayes.privacy.written import MAX_DIGITS
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit

SIZES = (2, 3, 5, 4, 2)
NUMBER, RECORDS = len(SIZES), 3
EPSILON, SPLIT = Fraction(7, 3), Fraction(2, 5)


def schema(*sizes: int, unit: Unit | None = None) -> Schema:
    attributes = tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate(sizes))
    return Schema("s", attributes, unit=unit)


def study(strategy: str, **more: Any) -> Study:
    return Study("s", schema(*SIZES, unit=Unit("who", RECORDS)), strategy, EPSILON, split=SPLIT, **more)


def laplace(loss: Fraction, tables: int) -> DiscreteLaplace:
    """Scale 2·m·T/ε on T tables that one person moves by 2·m·T."""
    return DiscreteLaplace(2 * RECORDS * tables / loss, 2 * RECORDS * tables)


def largest(length: int) -> int:
    return max(prod(found) for found in combinations(SIZES, length))


def only(agreed: Study) -> Stage[Any]:
    (stage,) = agreed.plan.stages
    return stage


def test_independent_attributes_get_all_of_epsilon_in_one_question() -> None:
    stage = only(study("independent"))
    assert (stage.query, stage.times, stage.loss) == (TablesQuery, 1, Pure(EPSILON))
    assert stage.most == f"{sum(SIZES)} cells"
    what = f"counts of {NUMBER} attributes"
    assert stage.steps == (Step(what, "discrete Laplace", Pure(EPSILON), laplace(EPSILON, NUMBER)),)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_sufficient_statistics_are_the_tables_of_all_sets_at_all_of_epsilon(degree: int) -> None:
    stage, number = only(study("noisy-sufficient-statistics", degree=degree)), comb(NUMBER, degree + 1)
    assert (stage.query, stage.times, stage.loss) == (TablesQuery, 1, Pure(EPSILON))
    assert stage.most == f"{sum(prod(found) for found in combinations(SIZES, degree + 1)):,} cells"
    what = f"counts of all {number} sets of {degree + 1} attributes"
    assert stage.steps == (Step(what, "discrete Laplace", Pure(EPSILON), laplace(EPSILON, number)),)


@pytest.mark.parametrize("rule", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_voting_divides_its_part_among_the_votes_and_gives_the_rest_to_the_tables(degree: int, rule: Rule) -> None:
    agreed = study("noisy-majority-voting", degree=degree, mechanism=rule)
    votes, tables = agreed.plan.stages
    all_votes, one = EPSILON * SPLIT, EPSILON * SPLIT / (NUMBER - 1)
    assert (votes.query, votes.times, votes.loss) == (ParentChoiceQuery, NUMBER - 1, Pure(one))
    candidates = [(NUMBER - placed) * comb(placed, min(degree, placed)) for placed in range(1, NUMBER)]
    assert votes.most == f"{max(candidates)} candidates"
    assert {name: fixed.value for name, fixed in votes.fixed.items()} == {
        "degree": degree,
        "score": "I",
        "mechanism": rule,
        "epsilon": ratio(one),
    }
    event = Together((Selection(rule, one**2),), NUMBER - 1)
    what = f"{NUMBER - 1} choices of an attribute and its parents"
    assert votes.steps == (Step(what, event.mechanism, Pure(all_votes), event),)
    rest = EPSILON * (1 - SPLIT)
    assert (tables.query, tables.times, tables.loss) == (TablesQuery, 1, Pure(rest))
    assert tables.most == f"{NUMBER * largest(degree + 1)} cells"
    what = f"counts of {NUMBER} tables"
    assert tables.steps == (Step(what, "discrete Laplace", Pure(rest), laplace(rest, NUMBER)),)


def test_the_first_of_a_few_votes_may_have_the_most_candidates() -> None:
    """Of three attributes the first vote takes one parent of one, for either child; the second two of two."""
    agreed = Study("s", schema(2, 3, 2), "noisy-majority-voting", 1, degree=2)
    assert agreed.plan.stages[0].most == "2 candidates"


@pytest.mark.parametrize("strategy", ["privbayes", "noisy-model"])
@pytest.mark.parametrize("degree", [1, 2, "auto"])
def test_a_model_is_one_question_whose_steps_divide_epsilon(strategy: str, degree: Literal["auto"] | int) -> None:
    stage = only(study(strategy, degree=degree, mechanism="exponential", first="a2", theta="3/2"))
    structure, rest = EPSILON * SPLIT, EPSILON * (1 - SPLIT)
    assert (stage.query, stage.times, stage.loss) == (ModelQuery, 1, Pure(EPSILON))
    most = AUTO_DEGREE if degree == "auto" else degree
    assert stage.most == f"{NUMBER * largest(most + 1):,} cells"
    fixed: dict[str, object] = {} if degree == "auto" else {"degree": degree}
    assert {name: wanted.value for name, wanted in stage.fixed.items()} == fixed | {
        "score": "I",
        "mechanism": "exponential",
        "theta": "3/2" if degree == "auto" else None,
        "first": 2,
        "clip": True,
        "structure_epsilon": ratio(structure),
        "tables_epsilon": ratio(rest),
    }
    event = Together((Selection("exponential", (structure / (NUMBER - 1)) ** 2),), NUMBER - 1)
    assert stage.steps == (
        Step(f"{NUMBER - 1} choices of an attribute and its parents", event.mechanism, Pure(structure), event),
        Step(f"counts of {NUMBER} tables", "discrete Laplace", Pure(rest), laplace(rest, NUMBER)),
    )


def test_where_the_degree_is_automatic_the_asker_may_go_as_far_as_stated() -> None:
    agreed = study("privbayes", degree="auto")
    assert AUTO_DEGREE == 4
    for degree in range(1, 7):
        complaint = agreed.plan.complaint(only(agreed).ask(degree=degree))
        assert complaint == (None if degree <= 4 else "the study says degree: at most 4")


@pytest.mark.parametrize(("delta", "privacy"), [("0", "pure"), ("1/1000000000", "zcdp")])
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_an_adaptive_study_fixes_its_class_and_adjacency_and_bounds_the_rest(
    delta: str, privacy: str, adjacency: Literal["replace", "add-remove"]
) -> None:
    tables, choices = study("adaptive", delta=delta, adjacency=adjacency).plan.stages
    assert (tables.times, choices.times) == (7, 5)
    assert tables.loss is None
    assert choices.loss is None
    cells = sum(SIZES) + 16_384 * NUMBER
    assert tables.most == f"{16 * NUMBER} tables of {cells:,} cells"
    candidates = 3 * NUMBER**2 // 2 + 20_000
    assert choices.most == f"{8 * NUMBER} among {candidates:,} tables of 12,000,000 cells"
    fixed = {"privacy": privacy, "adjacency": adjacency}
    assert {name: found.value for name, found in tables.fixed.items()} == fixed
    assert {name: found.value for name, found in choices.fixed.items()} == {**fixed, "target": None}


def test_a_schema_of_too_many_attributes_is_refused_before_anything_is_asked() -> None:
    """All pairs must fit into one question, a million candidates, beside 20,000 interactions."""
    choices = Study("s", schema(*(2,) * 1_400), "adaptive", 1).plan.stages[1]
    assert choices.most == "200 among 1,000,000 tables of 12,000,000 cells"
    with pytest.raises(InputError, match=r"study, schema: has 1,401 attributes, and so more pairs than .*independent"):
        Study("s", schema(*(2,) * 1_401), "adaptive", 1)
    Study("s", schema(*(2,) * 1_401), "independent", 1)


def test_a_target_is_fixed_and_said_where_it_matters() -> None:
    agreed = study("adaptive", target="a2")
    tables, choices = agreed.plan.stages
    assert choices.fixed["target"].value == 2
    assert choices.fixed["target"].complaint == "the study says target a2"
    assert choices.words == "choices of tables, for predicting a2"
    assert "target" not in tables.fixed
    assert study("adaptive").plan.stages[1].fixed["target"].complaint == "the study says target none"


def test_round_trips_grow_with_holders_only_where_they_choose_in_turns() -> None:
    """Twelve together, whatever the number of holders; in turns, the first two choices go from one to the next."""
    together, turns = (study("adaptive", choices=how).plan for how in ("together", "turns"))
    assert [together.round_trips(holders) for holders in (1, 2, 50)] == [12, 12, 12]
    assert [turns.round_trips(holders) for holders in (1, 2, 50)] == [12, 14, 110]
    assert study("adaptive").plan.round_trips(3) == 16
    assert study("noisy-majority-voting").plan.round_trips(9) == NUMBER
    assert study("independent").plan.round_trips(9) == 1


def test_sets_come_once_each_and_attributes_are_those_of_the_schema() -> None:
    agreed = study("noisy-sufficient-statistics")
    asked = only(agreed).ask(sets=tuple(combinations(range(NUMBER), 2)))
    assert agreed.plan.complaint(asked) is None
    twice = msgspec.structs.replace(asked, sets=(*asked.sets, (0, 1)))
    assert agreed.plan.complaint(twice) == "the study says sets: all of 2 attributes, once each"
    voting = study("noisy-majority-voting")
    votes = voting.plan.stages[0]
    assert voting.plan.complaint(votes.ask(placed=(0, NUMBER - 1))) is None
    complaint = voting.plan.complaint(votes.ask(placed=(0, NUMBER)))
    assert complaint == "the study says attributes placed: each once, not all"


def test_a_stage_without_a_rule_judges_by_its_fixed_fields_alone() -> None:
    stage = Stage(TablesQuery, times=1, words="tables", most="little")
    assert stage.complaint(TablesQuery(((0,),), "1", clip=False)) is None


@pytest.mark.parametrize("name", [name for name in strategies() if name != "adaptive"])
def test_strategies_that_know_one_adjacency_and_pure_epsilon_say_so(name: str) -> None:
    with pytest.raises(InputError, match='study, adjacency: found "add-remove"; give "replace"'):
        study(name, adjacency="add-remove")
    with pytest.raises(InputError, match='study, delta: found 1e-09; give 0, or use strategy "adaptive"'):
        study(name, delta=1e-9)


@pytest.mark.parametrize("name", [name for name, found in strategies().items() if "degree" in found.reads])
def test_a_degree_is_one_to_eight_and_leaves_room_for_a_child(name: str) -> None:
    wide = schema(*[2] * 10)
    for degree in (0, 9, -1):
        with pytest.raises(InputError, match=rf"study, degree: found {degree}; give 1 to 8"):
            Study("s", wide, name, 1, degree=degree)
    assert Study("s", wide, name, 1, degree=8).degree == 8
    with pytest.raises(InputError, match="study, degree: found 5, and the schema has 5 attributes; give at most 4"):
        Study("s", schema(*SIZES), name, 1, degree=5)
    with pytest.raises(InputError, match="the schema has one attribute"):
        Study("s", schema(2), name, 1)
    if name in ("privbayes", "noisy-model"):
        assert Study("s", wide, name, 1, degree="auto").degree == "auto"
    else:
        with pytest.raises(InputError, match='study, degree: found "auto" with strategy'):
            Study("s", wide, name, 1, degree="auto")


@pytest.mark.parametrize("name", [name for name, found in strategies().items() if "score" in found.reads])
def test_a_score_of_binary_children_needs_a_schema_of_binary_attributes(name: str) -> None:
    assert Study("s", schema(2, 2, 2), name, 1, score="F").score == "F"
    with pytest.raises(InputError, match=r'study, score: "F" needs binary attributes.*; give "I" or "R" instead'):
        Study("s", schema(2, 3, 2), name, 1, score="F")


def test_no_share_of_epsilon_has_more_digits_than_a_message_carries() -> None:
    """ε·s/(N−1), the ε of one vote, is the longest; 10³⁰ has 31 digits, one less has 30."""
    voting, three = "noisy-majority-voting", schema(2, 2, 2)
    assert MAX_DIGITS == 30
    text = "too many digits in split, epsilon and theta together"
    with pytest.raises(InputError, match=text):
        Study("s", schema(2, 2, 2, 2), voting, 1, split=Fraction(1, 9 * 10**29))
    with pytest.raises(InputError, match=text):
        Study("s", three, voting, 1, split=Fraction(1, 5 * 10**29))
    assert Study("s", three, voting, 1, split=Fraction(1, 4 * 10**29)).split == Fraction(1, 4 * 10**29)
    assert Study("s", three, "independent", Fraction(1, 10**30 - 1)).epsilon == Fraction(1, 10**30 - 1)
    with pytest.raises(InputError, match=text):
        Study("s", three, "privbayes", 1, theta=Fraction(3 * 10**30 + 1, 10**29))


def test_the_grant_of_an_adaptive_study_leaves_room_for_nine_more_digits() -> None:
    assert MOST_DIGITS == MAX_DIGITS - 9
    most = Fraction(1, 10**MOST_DIGITS - 1)
    assert Study("s", schema(2, 2), "adaptive", most).epsilon == most
    for more in (Fraction(1, 10**MOST_DIGITS), Fraction(10**MOST_DIGITS, 10**MOST_DIGITS - 1)):
        with pytest.raises(InputError, match=r"study, epsilon: found more than 21 digits"):
            Study("s", schema(2, 2), "adaptive", more)


def test_what_a_check_has_seen_to_is_not_taken_on_trust() -> None:
    with pytest.raises(ValueError, match='degree "auto" reached'):
        fixed_degree(study("privbayes", degree="auto"))
    with pytest.raises(ValueError, match="asks at a pure ε"):
        pure_grant(study("adaptive", delta=1e-9))
    assert pure_grant(replace(study("adaptive"))) == Pure(EPSILON)
