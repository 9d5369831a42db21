"""Expressions that no value can make fail: comparisons with public constants, and CASE.

A database that stops at one person's value tells that the value is there. So nothing here casts a value, and arithmetic
is done only on what a comparison has let through: days from 1900 to 2099 and plausible years of birth.

Numbers are written with an exponent, as ``65e-1``: PostgreSQL reads that as an exact number, and compares an exact
column without turning it into a float, which fails for what a float cannot hold; DuckDB reads it as a float, and
compares a wide decimal without stretching the decimal, which fails too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from sqlglot import exp

from panbayes.schema.omop.feature_kinds import Groups

__all__ = [
    "LARGEST",
    "alias",
    "between",
    "binned",
    "case",
    "constant",
    "day",
    "field",
    "grouped",
    "later",
    "listed",
    "named",
    "number",
    "one_of",
    "table",
    "together",
]

LARGEST: Final = 1e300
"""Beyond it, and where a float is no number, there is no value."""

_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


def field(of: str, name: str) -> exp.Column:
    """Return a column, by the name that the data model or this package gives it."""
    return exp.column(name, table=of)


def alias(value: exp.Expr, name: str) -> exp.Alias:
    """Give a value a name of ours."""
    return exp.Alias(this=value, alias=exp.to_identifier(name))


def named(value: exp.Expr, name: str) -> exp.Alias:
    """Give a value a name that people chose, whatever characters it has."""
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def table(name: str, *, schema: str) -> exp.Table:
    """Return a table of the data model; its name is written without quotes, as the model's own scripts create it.

    So is that of the schema, unless it has other letters than small ones.
    """
    quoted = _PLAIN.fullmatch(schema) is None
    return exp.Table(this=exp.to_identifier(name), db=exp.to_identifier(schema, quoted=quoted))


def constant(value: str | int) -> exp.Expr:
    """Return a public text or whole number."""
    return exp.convert(value)


def number(value: float) -> exp.Expr:
    """Return a public number to compare with, written with an exponent.

    >>> [number(value).sql() for value in (6.5, 40, -0.1, 1e300)]
    ['65e-1', '40e0', '-1e-1', '1e300']
    """
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    literal = exp.Literal.number(f"{''.join(map(str, digits))}e{exponent}")
    return exp.Neg(this=literal) if sign else literal


def day(text: str) -> exp.Expr:
    """Return a public day."""
    return exp.cast(exp.Literal.string(text), "date")


def later(start: exp.Expr, days: int) -> exp.Expr:
    """Return the day so many days after another, before it if they are negative.

    It is a date again, and not a moment: to compare a date with a moment turns that date into one, which fails for
    days that no moment reaches.
    """
    if not days:
        return start
    return exp.cast(exp.DateAdd(this=start, expression=exp.convert(days), unit=exp.var("DAY")), "date")


def between(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Tell whether a value lies between two others, both included."""
    return exp.Between(this=value, low=low, high=high)


def one_of(value: exp.Expr, ids: Iterable[int]) -> exp.Expr:
    """Tell whether a value is one of some whole numbers."""
    return exp.In(this=value, expressions=[exp.convert(one) for one in sorted(set(ids))])


def together(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Tell whether all of some conditions hold."""
    return exp.and_(*conditions)


def case(ways: Iterable[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr | None) -> exp.Case:
    """Return the value of the first condition that holds, else another, else nothing."""
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in ways], default=otherwise)


def grouped(value: exp.Expr, groups: Groups, *, other: exp.Expr, labels: bool) -> exp.Case:
    """Return the label (or the place) of the group that a concept is in, ``other`` if it is in none, NULL for NULL."""
    return case(
        [
            *(
                (one_of(value.copy(), ids), constant(label if labels else place))
                for place, (label, ids) in enumerate(groups)
            ),
            (exp.Is(this=value.copy(), expression=exp.Not(this=exp.null())), other),
        ],
        None,
    )


def binned(value: exp.Expr, edges: Sequence[int | float], *, whole: bool, exact: bool) -> exp.Case:
    """Return the lower edge of the bin that a number is in, and for what lies beyond all bins a number beyond them.

    So no number leaves the database but public ones, and each has the code that the number itself would have. Numbers
    that are ``whole`` by their nature are compared as such; where all edges are ``exact``, whole numbers leave.
    """
    compared = [constant(edge) if whole and isinstance(edge, int) else number(edge) for edge in edges]
    out = [_given(edge, exact=exact) for edge in (edges[0] - 1, *edges[:-1], edges[-1] + 1)]
    ways: list[tuple[exp.Expr, exp.Expr]] = [
        *((exp.LT(this=value.copy(), expression=edge), out[place]) for place, edge in enumerate(compared[:-1])),
        (exp.LTE(this=value.copy(), expression=compared[-1]), out[-2]),
        (exp.GT(this=value.copy(), expression=compared[-1].copy()), out[-1]),
    ]
    return case(ways, None)


def _given(value: float, *, exact: bool) -> exp.Expr:
    """Return a public number that leaves the database: whole if all that leave are, else a float."""
    return constant(int(value)) if exact else exp.cast(number(value), "double")


def listed(found: Sequence[exp.Expr], source: exp.Expr) -> exp.Select:
    """Select some values of a table."""
    return exp.select(*found).from_(source)
