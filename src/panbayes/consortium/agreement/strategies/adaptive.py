"""Adaptive: few well-chosen tables, decided while learning.

The analyst decides what is worth measuring and at which fraction of the grant; the guarantee does not depend on its
decisions, because every fraction is charged for and the total may not exceed the grant. Class of privacy (ε, or ρ where
the study has a delta) and adjacency must be the study's.

How much it may ask for in one question is bounded by the schema, with room for several times what it does ask for:
every attribute alone, and :data:`MEASURED_CELLS` with it (:mod:`panbayes.consortium.agreement.limits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.limits import MAX_CELLS, cells_of_grouped, cells_text
from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.strategy import Strategy, read_options
from panbayes.consortium.agreement.terms import Choices, Terms
from panbayes.consortium.protocol.queries import GroupedTablesQuery, Grouping, TableChoiceQuery
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.written import MAX_DIGITS

__all__ = [
    "ADAPTIVE",
    "INTERACTIONS",
    "MEASURED",
    "MEASURED_CELLS",
    "OFFERED_CELLS",
    "ROUNDS",
    "TABLE_CELLS",
    "Options",
    "choices",
    "granularities",
    "most_picks",
    "tables",
]

ROUNDS: Final = 5
"""Rounds at most: in each, tables are chosen and then measured."""

TABLES: Final = 2 + ROUNDS
"""Sets of tables that are measured: the total, single attributes, and in every round; or these again, and one less."""

TURNS: Final = 2
"""Rounds in which holders choose one after another, where the study has them take turns: the first ones."""

TABLE_CELLS: Final = 16_384
"""Cells of a table of several attributes at most, as the analyst groups them."""

MEASURED: Final = 16
"""So many tables for each attribute may be measured in one question."""

MEASURED_CELLS: Final = 16_384
"""So many cells for each attribute, beside its values, may be measured in one question."""

OFFERED_CELLS: Final = 6_000_000
"""Cells of all tables offered in a choice, as the analyst groups them: they travel with the question."""

INTERACTIONS: Final = 20_000
"""Interactions offered in a choice at most."""

GRANULARITIES: Final = 3
"""A pair is offered at so many granularities, if that many candidates fit into a question."""

CANDIDATES: Final = 1_000_000
"""Candidates of a choice at most: so many fit into a question."""

PICKS: Final = 8
"""So many tables for each attribute may be chosen in one question."""

WORK: Final = 2 * 10**8
"""Choices in one question times the candidates they are made among, at most: each goes through all of them."""

COUNTS: Final = 16
"""So many numbers of tables may be looked at in one question."""

MOST_DIGITS: Final = MAX_DIGITS - 9
"""Digits of the grant at most: fractions of it have nine more, and messages must carry them."""


@dataclass(frozen=True, slots=True)
class Options:
    """What it reads of a study."""

    adjacency: Adjacency
    delta: Fraction
    target: str | None
    choices: Choices


def _fixed(terms: Terms) -> dict[str, Fixed]:
    options = read_options(Options, terms)
    return {
        "privacy": Fixed("privacy class, with delta", terms.grant.tag, options.delta),
        "adjacency": Fixed("adjacency", options.adjacency),
    }


def tables(terms: Terms) -> Stage[GroupedTablesQuery]:
    """Return the stage of the tables: of one to four attributes, or none (the total)."""
    sizes = terms.schema.sizes
    most, cells = MEASURED * len(sizes), sum(sizes) + MEASURED_CELLS * len(sizes)

    def rule(query: GroupedTablesQuery) -> str | None:
        if max(len(query.tables), len(query.weights)) > most or len(query.groupings) > 4 * most:
            return f"the study says tables: at most {most:,}"
        return _too_many(query.tables, query.groupings, sizes, cells)

    return Stage(
        GroupedTablesQuery,
        times=TABLES,
        words="tables of grouped values",
        most=f"{most:,} tables of {cells_text(cells)}",
        fixed=_fixed(terms),
        rule=rule,
        numbers=min(cells, MAX_CELLS),
    )


def _too_many(
    tables: Sequence[tuple[int, ...]], groupings: Sequence[Grouping], sizes: Sequence[int], most: int
) -> str | None:
    cells = cells_of_grouped(tables, groupings, sizes)
    if cells is None:
        return "the study says tables: of attributes of its schema"
    return None if cells <= most else f"the study says tables: at most {most:,} cells together"


def choices(terms: Terms) -> Stage[TableChoiceQuery]:
    """Return the stage of the choices among pairs, and among interactions of three or four attributes."""
    sizes = terms.schema.sizes
    attributes = len(sizes)
    picks, cells = most_picks(attributes), 2 * OFFERED_CELLS
    most = _most_candidates(attributes)

    def rule(query: TableChoiceQuery) -> str | None:
        if len(query.counts) > COUNTS:
            return f"the study says counts: at most {COUNTS}"
        if max(*(count.tables for count in query.counts), len(query.taken)) > picks:
            return f"the study says picks: at most {picks:,}"
        if len(query.candidates) > most or len(query.groupings) > 4 * most:
            return f"the study says candidates: at most {most:,}"
        tables = [candidate.axes for candidate in query.candidates]
        if not all(len(axes) in (2, 3, 4) for axes in tables):
            return "the study says candidates: of two to four attributes"
        return _too_many(tables, query.groupings, sizes, cells)

    return Stage(
        TableChoiceQuery,
        times=ROUNDS,
        words="choices of tables" + (f", for predicting {terms.target}" if terms.target is not None else ""),
        most=f"{picks:,} among {most:,} tables of {cells_text(cells)}",
        fixed={**_fixed(terms), "target": Fixed("target", terms.target_attribute, terms.target or "none")},
        rule=rule,
        turns=TURNS if terms.choices == "turns" else 0,
        numbers=1 + picks,
    )


def most_picks(attributes: int) -> int:
    """Return how many tables may be chosen in one question: fewer for each attribute where there are many candidates.

    >>> most_picks(43), most_picks(120), most_picks(400), most_picks(1_400)
    (344, 960, 769, 200)
    """
    return min(PICKS * attributes, WORK // _most_candidates(attributes))


def _most_candidates(attributes: int) -> int:
    return min(GRANULARITIES * attributes**2 // 2 + INTERACTIONS, CANDIDATES)


def granularities(attributes: int) -> int:
    """Return at how many granularities every pair can be offered beside interactions; 0 if there are too many pairs.

    >>> granularities(43), granularities(900), granularities(1_400), granularities(1_401)
    (3, 2, 1, 0)
    """
    pairs = max(1, attributes * (attributes - 1) // 2)
    return min(GRANULARITIES, (CANDIDATES - INTERACTIONS) // pairs)


def _check(terms: Terms) -> None:
    if not granularities(len(terms.schema)):
        raise terms.error(
            "schema",
            f"has {len(terms.schema):,} attributes, and so more pairs than a question can offer",
            'leave some out, or use strategy "independent"',
        )
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
