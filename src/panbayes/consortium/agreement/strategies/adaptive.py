"""Adaptive: few well-chosen tables, decided while learning.

The analyst decides what is worth measuring and at which fraction of the grant; the guarantee does not depend on its
decisions, because every fraction is charged for and the total may not exceed the grant. Class of privacy (ε, or ρ where
the study has a delta) and adjacency must be the study's.

How much it may ask for in one question is bounded by the schema, with room for several times what it does ask for:
every attribute alone, and one table of :data:`TABLE_CELLS` cells with it (:mod:`panbayes.consortium.agreement.limits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.limits import cells_of_grouped, cells_text
from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.strategy import Strategy, read_options
from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.protocol.queries import GroupedTablesQuery, Grouping, TableChoiceQuery
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.written import MAX_DIGITS

__all__ = ["ADAPTIVE", "OFFERED_CELLS", "TABLE_CELLS", "Options", "choices", "tables"]

TABLES: Final = 4
"""Sets of tables that are measured: the total, single attributes, pairs, triples."""

CHOICES: Final = 2
"""Choices: of pairs, and of triples."""

TABLE_CELLS: Final = 512
"""Cells of a table of several attributes at most, as the analyst groups them; twice as many are allowed on average."""

OFFERED_CELLS: Final = 8_000_000
"""Cells of all tables offered in a choice, as the analyst groups them: they travel with the question."""


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
    sizes = terms.schema.sizes
    most, cells = 4 * len(sizes), sum(sizes) + 2 * TABLE_CELLS * len(sizes)

    def rule(query: GroupedTablesQuery) -> str | None:
        if max(len(query.tables), len(query.weights)) > most or len(query.groupings) > 3 * most:
            return f"the study says tables: at most {most:,}"
        return _too_many(query.tables, query.groupings, sizes, cells)

    return Stage(
        GroupedTablesQuery,
        times=TABLES,
        words="tables of grouped values",
        most=f"{most:,} tables of {cells_text(cells)}",
        fixed=_fixed(terms),
        rule=rule,
    )


def _too_many(
    tables: Sequence[tuple[int, ...]], groupings: Sequence[Grouping], sizes: Sequence[int], most: int
) -> str | None:
    cells = cells_of_grouped(tables, groupings, sizes)
    if cells is None:
        return "the study says tables: of attributes of its schema"
    return None if cells <= most else f"the study says tables: at most {most:,} cells together"


def choices(terms: Terms) -> Stage[TableChoiceQuery]:
    """Return the stage of the choices among tables of two or three attributes."""
    sizes = terms.schema.sizes
    picks, most, cells = len(sizes), len(sizes) ** 2, 2 * OFFERED_CELLS

    def rule(query: TableChoiceQuery) -> str | None:
        if query.picks > picks or len(query.taken) > picks:
            return f"the study says picks: at most {picks:,}"
        if len(query.candidates) > most or len(query.groupings) > 3 * most:
            return f"the study says candidates: at most {most:,}"
        tables = [candidate.axes for candidate in query.candidates]
        if not all(len(axes) in (2, 3) for axes in tables):
            return "the study says candidates: of two or three attributes"
        return _too_many(tables, query.groupings, sizes, cells)

    return Stage(
        TableChoiceQuery,
        times=CHOICES,
        words="choices of tables",
        most=f"{picks:,} among {most:,} tables of {cells_text(cells)}",
        fixed=_fixed(terms),
        rule=rule,
    )


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
