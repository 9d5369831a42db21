"""Noisy majority voting: N−1 votes on the next dependency at sε/(N−1) each, then N tables at (1−s)ε.

N is the number of attributes, s the study's ``split``, k its ``degree``.

Thesis: Algorithm "Noisy Majority Voting"; Theorem thm_noisy_mv_priv; Theorem thm_composition; see errata 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final

from panbayes.consortium.agreement.checks import check_degree, check_plain, check_score, fixed_degree, pure_grant
from panbayes.consortium.agreement.limits import cells_of_largest
from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.sets import tables_stage
from panbayes.consortium.agreement.strategy import Strategy, read_options
from panbayes.consortium.agreement.terms import Clip, Degree, Terms
from panbayes.consortium.protocol.queries import ParentChoiceQuery, TablesQuery, ratio
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Rule, Selection, Together

__all__ = ["MAJORITY_VOTING", "Options", "tables", "votes"]


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
    """Return the stage of the votes."""
    options, attributes, degree = read_options(Options, terms), len(terms.schema), fixed_degree(terms)
    all_votes = pure_grant(terms).part(options.split)
    loss = all_votes.part(Fraction(1, attributes - 1))
    one = Selection(options.mechanism, loss.amount**2)
    what = f"{attributes - 1} choices of an attribute and its parents"
    candidates = max((attributes - placed) * comb(placed, min(degree, placed)) for placed in range(1, attributes))
    return Stage(
        ParentChoiceQuery,
        times=attributes - 1,
        words=what,
        most=f"{candidates:,} candidates",
        loss=loss,
        fixed={
            "degree": Fixed("degree", degree),
            "score": Fixed("score", options.score),
            "mechanism": Fixed("mechanism", options.mechanism),
            "epsilon": Fixed("ε of a vote:", ratio(loss.amount)),
        },
        rule=lambda query: _placed(query, terms),
        steps=(Step.of(what, Together((one,), attributes - 1), loss=all_votes),),
        numbers=degree + 1,
    )


def _placed(query: ParentChoiceQuery, terms: Terms) -> str | None:
    attributes, placed = len(terms.schema), query.placed
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
    check_score(terms)


def _plan(terms: Terms) -> Plan:
    return Plan((votes(terms), tables(terms)), terms.grant, "the study asks for votes and for one set of counts")


MAJORITY_VOTING: Final = Strategy(
    name="noisy-majority-voting",
    summary="the holders vote on every dependency",
    asks="a vote on every dependency, then the tables that won",
    options=Options,
    check=_check,
    plan=_plan,
)
