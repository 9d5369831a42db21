"""Noisy majority voting: N−1 votes on the next dependency at sε/(N−1) each, then N tables at (1−s)ε.

N is the number of attributes, s the study's ``split``, k its ``degree``. With the linear score the tables of all single
attributes come first, at a fifth of sε, because it needs to know what to expect; the votes have the rest of sε.

Thesis: Algorithm "Noisy Majority Voting"; Theorem thm_noisy_mv_priv; Theorem thm_composition; see errata 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, Final

from panbayes.consortium.agreement.checks import check_degree, check_plain, check_score, fixed_degree, pure_grant
from panbayes.consortium.agreement.limits import MAX_CELLS, cells_of_largest, cells_text
from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.sets import tables_stage, tables_step
from panbayes.consortium.agreement.strategy import Strategy, read_options
from panbayes.consortium.agreement.terms import LINEAR, Clip, Degree, Terms
from panbayes.consortium.protocol.queries import (
    GroupedTablesQuery,
    Grouping,
    LinearChoiceQuery,
    ParentChoiceQuery,
    TablesQuery,
    ratio,
)
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Rule, Selection, Together

__all__ = ["MAJORITY_VOTING", "Options", "every_single", "linear_votes", "singles", "tables", "votes"]

SINGLES: Final = Fraction(1, 5)
"""The part of the votes' ε that the linear score takes for the tables of single attributes."""


@dataclass(frozen=True, slots=True)
class Options:
    """What it reads of a study."""

    degree: Degree
    split: Fraction
    score: str
    mechanism: Rule
    clip: Clip
    first: str | None


def votes(terms: Terms) -> Stage[ParentChoiceQuery]:
    """Return the stage of the votes by a score of a table."""
    all_votes = pure_grant(terms).part(read_options(Options, terms).split)
    loss, what, most, steps = _votes(terms, all_votes)
    return Stage(
        ParentChoiceQuery,
        times=len(terms.schema) - 1,
        words=what,
        most=most,
        loss=loss,
        fixed=_fixed(terms, loss, score=Fixed("score", terms.score)),
        rule=lambda query: _placed(query.placed, terms),
        steps=steps,
        numbers=fixed_degree(terms) + 1,
    )


def linear_votes(terms: Terms) -> Stage[LinearChoiceQuery]:
    """Return the stage of the votes by the linear score; which sides and means it goes by is the analyst's business."""
    all_votes = pure_grant(terms).part(read_options(Options, terms).split * (1 - SINGLES))
    loss, what, most, steps = _votes(terms, all_votes)
    sizes = terms.schema.sizes

    def rule(query: LinearChoiceQuery) -> str | None:
        if tuple(map(len, query.sides)) != sizes or len(query.means) != len(sizes):
            return "the study says sides and means: of its schema"
        return _placed(query.placed, terms)

    return Stage(
        LinearChoiceQuery,
        times=len(sizes) - 1,
        words=f"{what}, by the linear score",
        most=most,
        loss=loss,
        fixed=_fixed(terms, loss),
        rule=rule,
        steps=steps,
        numbers=fixed_degree(terms) + 1,
    )


def singles(terms: Terms) -> Stage[GroupedTablesQuery]:
    """Return the stage of the tables of single attributes, from which the linear score takes what is expected."""
    loss = pure_grant(terms).part(read_options(Options, terms).split * SINGLES)
    attributes, cells = len(terms.schema), sum(terms.schema.sizes)
    what = f"counts of {attributes} single attributes"
    return Stage(
        GroupedTablesQuery,
        times=1,
        words=what,
        most=cells_text(cells),
        loss=loss,
        fixed={
            "privacy": Fixed("privacy class", loss.tag),
            "adjacency": Fixed("adjacency", terms.adjacency),
            "loss": Fixed("ε of the single attributes:", ratio(loss.amount)),
        },
        rule=lambda query: None if _are_singles(query, attributes) else "the study says tables: every attribute alone",
        steps=(tables_step(terms, loss, tables=attributes, what=what),),
        numbers=min(cells, MAX_CELLS),
    )


def every_single(attributes: int) -> dict[str, Any]:
    """Return what is free in the question for single attributes: each alone, with all its values, all alike."""
    every = range(attributes)
    return {
        "groupings": tuple(Grouping(attribute, ()) for attribute in every),
        "tables": tuple((attribute,) for attribute in every),
        "weights": (1,) * attributes,
    }


def _are_singles(query: GroupedTablesQuery, attributes: int) -> bool:
    return all(getattr(query, field) == value for field, value in every_single(attributes).items())


def _votes(terms: Terms, all_votes: Pure) -> tuple[Pure, str, str, tuple[Step, ...]]:
    """Return the loss of a vote, words for all, how many candidates there are at most, and the step."""
    attributes, degree = len(terms.schema), fixed_degree(terms)
    loss = all_votes.part(Fraction(1, attributes - 1))
    one = Selection(terms.mechanism, loss.amount**2)
    what = f"{attributes - 1} choices of an attribute and its parents"
    candidates = max((attributes - placed) * comb(placed, min(degree, placed)) for placed in range(1, attributes))
    steps = (Step.of(what, Together((one,), attributes - 1), loss=all_votes),)
    return loss, what, f"{candidates:,} candidates", steps


def _fixed(terms: Terms, loss: Pure, **more: Fixed) -> dict[str, Fixed]:
    return {
        "degree": Fixed("degree", fixed_degree(terms)),
        **more,
        "mechanism": Fixed("mechanism", terms.mechanism),
        "epsilon": Fixed("ε of a vote:", ratio(loss.amount)),
    }


def _placed(placed: tuple[int, ...], terms: Terms) -> str | None:
    attributes = len(terms.schema)
    if placed[0] != terms.first_attribute:
        return f"the study says first attribute {terms.first_attribute}"
    if not (len(set(placed)) == len(placed) < attributes and max(placed) < attributes):
        return "the study says attributes placed: each once, not all"
    return None


def tables(terms: Terms) -> Stage[TablesQuery]:
    """Return the stage of the tables that won."""
    attributes, size = len(terms.schema), fixed_degree(terms) + 1

    def rule(query: TablesQuery) -> str | None:
        if len(query.sets) != attributes:
            return f"the study says sets: {attributes}"
        return None if max(map(len, query.sets)) <= size else f"the study says sets: of at most {size} attributes"

    return tables_stage(
        terms,
        pure_grant(terms).part(1 - read_options(Options, terms).split),
        tables=attributes,
        cells=attributes * cells_of_largest(terms.schema.sizes, size),
        what=f"counts of {attributes} tables",
        rule=rule,
    )


def _check(terms: Terms) -> None:
    check_plain(terms)
    check_degree(terms)
    if terms.score != LINEAR:
        check_score(terms)


def _plan(terms: Terms) -> Plan:
    if terms.score == LINEAR:
        stages = (singles(terms), linear_votes(terms), tables(terms))
        return Plan(stages, terms.grant, "the study asks for single attributes, votes by the linear score and counts")
    return Plan((votes(terms), tables(terms)), terms.grant, "the study asks for votes and for one set of counts")


MAJORITY_VOTING: Final = Strategy(
    name="noisy-majority-voting",
    summary="the holders vote on every dependency",
    asks="a vote on every dependency, then the tables that won",
    options=Options,
    check=_check,
    plan=_plan,
)
