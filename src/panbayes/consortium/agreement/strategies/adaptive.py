"""Adaptive: few well-chosen tables, decided while learning.

The analyst decides what is worth measuring and at which fraction of the grant; the guarantee does not depend on its
decisions, because every fraction is charged for and the total may not exceed the grant. Class of privacy (ε, or ρ where
the study has a delta) and adjacency must be the study's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.strategy import Strategy, read_options
from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.protocol.queries import GroupedTablesQuery, TableChoiceQuery
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.written import MAX_DIGITS

__all__ = ["ADAPTIVE", "Options", "choices", "tables"]

TABLES: Final = 4
"""Sets of tables that are measured: the total, single attributes, pairs, triples."""

CHOICES: Final = 2
"""Choices: of pairs, and of triples."""


MOST_DIGITS: Final = MAX_DIGITS - 9
"""Digits of the grant at most: fractions of it have nine more, and messages must carry them."""


@dataclass(frozen=True, slots=True)
class Options:
    """What it reads of a study."""

    adjacency: Adjacency
    delta: Fraction


def _fixed(terms: Terms) -> dict[str, Fixed]:
    options = read_options(Options, terms)
    return {
        "privacy": Fixed("privacy class, with delta", terms.grant.tag, options.delta),
        "adjacency": Fixed("adjacency", options.adjacency),
    }


def tables(terms: Terms) -> Stage[GroupedTablesQuery]:
    """Return the stage of the tables: of one to three attributes, or none (the total)."""
    return Stage(GroupedTablesQuery, times=TABLES, words="tables of grouped values", fixed=_fixed(terms))


def choices(terms: Terms) -> Stage[TableChoiceQuery]:
    """Return the stage of the choices among tables of two or three attributes."""

    def rule(query: TableChoiceQuery) -> str | None:
        if all(len(candidate.axes) in (2, 3) for candidate in query.candidates):
            return None
        return "the study says candidates: of two or three attributes"

    return Stage(TableChoiceQuery, times=CHOICES, words="choices of tables", fixed=_fixed(terms), rule=rule)


def _check(terms: Terms) -> None:
    try:
        amount = terms.grant.amount
    except InputError as error:
        raise terms.error(error.argument, error.found, error.remedy) from None
    if max(amount.numerator, amount.denominator) >= 10**MOST_DIGITS:
        raise terms.error("epsilon", f"found more than {MOST_DIGITS} digits", "give a number of fewer digits")


def _plan(terms: Terms) -> Plan:
    return Plan(
        (tables(terms), choices(terms)),
        terms.grant,
        "the study asks for tables of grouped values and for choices among them",
    )


ADAPTIVE: Final = Strategy(
    name="adaptive",
    summary="one-way tables, then only the few tables worth their noise: the one to use on real data",
    asks="one-way tables, then only the few tables worth their noise",
    options=Options,
    check=_check,
    plan=_plan,
)
