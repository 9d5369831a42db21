"""Noisy sufficient statistics: the tables of all sets of k+1 attributes, at all of ε.

Thesis: Algorithm "Sharing the Noisy Sufficient Statistics"; Theorem thm_noisy_ss_priv; see errata 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Final

from panbayes.consortium.agreement.checks import check_degree, check_plain, fixed_degree, pure_grant
from panbayes.consortium.agreement.limits import cells_of_all
from panbayes.consortium.agreement.plan import Plan, Stage
from panbayes.consortium.agreement.sets import all_sets, tables_stage
from panbayes.consortium.agreement.strategy import Strategy
from panbayes.consortium.agreement.terms import Clip, Degree, Learner, Terms
from panbayes.consortium.protocol.queries import TablesQuery

__all__ = ["SUFFICIENT_STATISTICS", "Options", "tables"]


@dataclass(frozen=True, slots=True)
class Options:
    """What it reads of a study."""

    degree: Degree
    clip: Clip
    first: str | None
    learner: Learner


def tables(terms: Terms) -> Stage[TablesQuery]:
    """Return the one stage: the tables of all C(N, k + 1) sets."""
    attributes, size = len(terms.schema), fixed_degree(terms) + 1
    wanted = all_sets(attributes, size)
    return tables_stage(
        terms,
        pure_grant(terms),
        tables=comb(attributes, size),
        cells=cells_of_all(terms.schema.sizes, size),
        what=f"counts of all {comb(attributes, size)} sets of {size} attributes",
        rule=lambda query: None if wanted(query.sets) else f"the study says sets: all of {size} attributes, once each",
    )


def _check(terms: Terms) -> None:
    check_plain(terms)
    check_degree(terms)


def _plan(terms: Terms) -> Plan:
    return Plan((tables(terms),), terms.grant, "the study asks for one set of counts and nothing else")


SUFFICIENT_STATISTICS: Final = Strategy(
    name="noisy-sufficient-statistics",
    summary="learns from noisy tables of all sets of k+1 attributes",
    asks="noisy tables of all sets of k+1 attributes",
    options=Options,
    check=_check,
    plan=_plan,
)
