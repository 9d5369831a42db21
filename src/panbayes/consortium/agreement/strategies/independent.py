"""Every attribute alone: one noisy table each, at ε/N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from panbayes.consortium.agreement.checks import check_plain, pure_grant
from panbayes.consortium.agreement.limits import cells_of_all
from panbayes.consortium.agreement.plan import Plan, Stage
from panbayes.consortium.agreement.sets import all_sets, tables_stage
from panbayes.consortium.agreement.strategy import Strategy
from panbayes.consortium.agreement.terms import Clip, Terms
from panbayes.consortium.protocol.queries import TablesQuery

__all__ = ["INDEPENDENT", "Options", "tables"]


@dataclass(frozen=True, slots=True)
class Options:
    """What it reads of a study."""

    clip: Clip


def tables(terms: Terms) -> Stage[TablesQuery]:
    """Return the one stage: the tables of every attribute alone, at all of ε."""
    attributes = len(terms.schema)
    wanted = all_sets(attributes, 1)
    return tables_stage(
        terms,
        pure_grant(terms),
        tables=attributes,
        cells=cells_of_all(terms.schema.sizes, 1),
        what=f"counts of {attributes} attributes",
        rule=lambda query: None if wanted(query.sets) else "the study says sets: every attribute alone, once",
    )


def _plan(terms: Terms) -> Plan:
    return Plan((tables(terms),), terms.grant, "the study asks for one set of counts and nothing else")


INDEPENDENT: Final = Strategy(
    name="independent",
    summary="every attribute alone, no dependencies",
    asks="one noisy table per attribute",
    options=Options,
    check=check_plain,
    plan=_plan,
)
