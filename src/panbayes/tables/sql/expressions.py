"""Branches as expressions of SQL: comparisons with public constants, in trees where there are many of them.

A chain of comparisons takes time that grows with its length, a tree of them the logarithm of that. What is not found
is NULL, so that alternatives follow each other in one COALESCE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from panbayes.tables.sql.branches import Branches
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.kinds import Days, Integers, Kind, Stamps, Texts, Value

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["cell_of", "choice", "lookup", "number", "stepped"]

CHAIN: Final = 8
"""So many comparisons stand one after the other."""


def number(value: int) -> Expr:
    """Write a number."""
    from sqlglot import exp

    return exp.Literal.number(value)


def cell_of(column: Expr, kind: Kind, branches: Branches, null: int, dialect: Dialect) -> Expr:
    """Return the number of the cell of a column's value."""
    from sqlglot import exp

    empty: Expr = exp.Is(this=column.copy(), expression=exp.null())
    nan = dialect.is_nan(column.copy(), kind)
    if nan is not None:
        empty = exp.Or(this=empty, expression=nan)
    found = _present(column, kind, branches, dialect)
    return exp.Case(ifs=[exp.If(this=empty, true=number(null))], default=found)


def _present(column: Expr, kind: Kind, branches: Branches, dialect: Dialect) -> Expr:
    """Return the cell of a value that is there."""
    from sqlglot import exp

    plain = dialect.text(column.copy()) if isinstance(kind, Texts) else dialect.compared(column.copy(), kind)
    points = _without_nul(branches.points) if dialect.without_nul else branches.points
    bare = _without_nul(branches.bare) if dialect.without_nul else branches.bare
    parts = [lookup(plain, points, kind, dialect)] if points else []
    if bare:
        parts.append(lookup(dialect.bare(column.copy()), bare, kind, dialect))
    if isinstance(kind, Days | Stamps):
        (first, base), *_ = branches.steps
        inside = stepped(plain, branches.steps[1:], base, kind, dialect)
        if branches.cycle is not None:
            cycle, cells = branches.cycle
            zoned = isinstance(kind, Stamps) and kind.zoned
            clock = dialect.in_utc(column.copy()) if zoned else column.copy()
            inside = choice(dialect.part(clock, cycle), cells)
        low = exp.LT(this=plain.copy(), expression=dialect.constant(first, kind))
        high = dialect.is_beyond(plain.copy(), kind)
        outside = exp.If(this=exp.Or(this=low, expression=high), true=number(branches.base))
        parts.append(exp.Case(ifs=[outside], default=inside))
    else:
        parts.append(stepped(plain, branches.steps, branches.base, kind, dialect))
    return parts[0] if len(parts) == 1 else exp.Coalesce(this=parts[0], expressions=parts[1:])


def _without_nul(points: Mapping[Value, int] | Mapping[str, int]) -> dict[Value, int]:
    return {value: cell for value, cell in points.items() if not (isinstance(value, str) and "\0" in value)}


def _order(value: Value) -> Value | bytes:
    """Return what texts are ordered by: their bytes."""
    return value.encode() if isinstance(value, str) else value


def lookup(this: Expr, points: Mapping[Value, int] | Mapping[str, int], kind: Kind, dialect: Dialect) -> Expr:
    """Return the cell of a point, NULL for whatever is none."""
    if isinstance(kind, Texts):
        found = dialect.listed(this.copy(), [str(text) for text in points], list(points.values()))
        if found is not None:
            return found
    if isinstance(kind, Texts) and not dialect.ordered_texts:
        return _chain(this, list(points.items()), kind, dialect)
    return _tree(this, sorted(points.items(), key=lambda point: _order(point[0])), kind, dialect)


def _chain(this: Expr, points: Sequence[tuple[Value, int]], kind: Kind, dialect: Dialect) -> Expr:
    from sqlglot import exp

    ifs = [exp.If(this=dialect.constant(value, kind), true=number(cell)) for value, cell in points]
    return exp.Case(this=this.copy(), ifs=ifs)


def _tree(this: Expr, points: Sequence[tuple[Value, int]], kind: Kind, dialect: Dialect) -> Expr:
    from sqlglot import exp

    if len(points) <= CHAIN:
        return _chain(this, points, kind, dialect)
    middle = len(points) // 2
    below = exp.LT(this=this.copy(), expression=dialect.constant(points[middle][0], kind))
    left, right = (_tree(this, half, kind, dialect) for half in (points[:middle], points[middle:]))
    return exp.Case(ifs=[exp.If(this=below, true=left)], default=right)


def stepped(this: Expr, steps: Sequence[tuple[Value, int]], base: int, kind: Kind, dialect: Dialect) -> Expr:
    """Return the cell of the last step at or below a value."""
    runs = _runs(steps) if isinstance(kind, Integers) and kind.high < 2**63 else [(*step, False) for step in steps]
    return _stepped(this, runs, number(base), lambda value: dialect.constant(value, kind))


def _runs(steps: Sequence[tuple[Value, int]]) -> list[tuple[Value, int, bool]]:
    """Put together whole numbers that follow each other, with cells that do: each is so much above its number."""
    found: list[tuple[Value, int, bool]] = []
    place = 0
    while place < len(steps):
        (start, cell), end = steps[place], place + 1
        while end < len(steps) and steps[end] == (_plus(start, end - place), cell + end - place):
            end += 1
        # The last of them goes on until the next step, wherever that is.
        many = end - place if end < len(steps) and steps[end][0] == _plus(start, end - place) else end - place - 1
        found.append((start, cell, many > 1))
        place += max(many, 1)
    return found


def _plus(value: Value, more: int) -> int:
    return (value if isinstance(value, int) else 0) + more


def _stepped(
    this: Expr, runs: Sequence[tuple[Value, int, bool]], base: Expr, constant: Callable[[Value], Expr]
) -> Expr:
    from sqlglot import exp

    if not runs:
        return base
    if len(runs) <= CHAIN:
        cells = [base, *(_cell(this, run) for run in runs)]
        ifs = [
            exp.If(this=exp.LT(this=this.copy(), expression=constant(value)), true=cell)
            for (value, _, _), cell in zip(runs, cells, strict=False)
        ]
        return exp.Case(ifs=ifs, default=cells[-1])
    middle = len(runs) // 2
    below = exp.LT(this=this.copy(), expression=constant(runs[middle][0]))
    left = _stepped(this, runs[:middle], base, constant)
    right = _stepped(this, runs[middle + 1 :], _cell(this, runs[middle]), constant)
    return exp.Case(ifs=[exp.If(this=below, true=left)], default=right)


def _cell(this: Expr, run: tuple[Value, int, bool]) -> Expr:
    from sqlglot import exp

    start, cell, rises = run
    return exp.Sub(this=this.copy(), expression=exp.paren(number(_plus(start, -cell)))) if rises else number(cell)


def choice(this: Expr, numbers: Sequence[int]) -> Expr:
    """Return ``numbers[this]`` of an expression whose values are places in the list."""
    steps: list[tuple[Value, int]] = [
        (place, numbers[place]) for place in range(1, len(numbers)) if numbers[place] != numbers[place - 1]
    ]
    return _stepped(this, _runs(steps), number(numbers[0]), lambda value: number(_plus(value, 0)))
