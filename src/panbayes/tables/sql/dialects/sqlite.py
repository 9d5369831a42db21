"""SQLite: every value has a type of its own, whatever the column declares, unless the table is STRICT.

Its reader of decimal fractions is not exact, so that floats are written as a whole number times a power of two, which
every step of the arithmetic holds exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.kinds import Dynamic, Floats, Integers, Kind, Other, Texts, Value

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["STRICT", "Sqlite"]

STRICT: Final = "STRICT "
"""Stands before the declared types of a table that keeps to them."""

_KEPT: Final[dict[str, Kind]] = {
    "INT": Integers(),
    "INTEGER": Integers(),
    "REAL": Floats(),
    "TEXT": Texts(),
    "BLOB": Other(),
}
_STEP: Final = 2**60


@dataclass(frozen=True)
class Sqlite(Dialect):
    """SQLite; a file may keep its texts in UTF-16, whose bytes come in another order."""

    ordered_texts: bool = True
    name = "sqlite"
    collation = "BINARY"
    grouping = 0
    most = 400_000

    def kind(self, declared: str) -> Kind:
        """Return what a column holds: anything, unless the table is strict."""
        if not declared.startswith(STRICT):
            return Dynamic()
        return _KEPT.get(declared.removeprefix(STRICT).upper(), Dynamic())

    def raw(self, column: Expr, _declared: str, /) -> Expr:
        """Return a column as it is."""
        return super().text(column)

    def text(self, column: Expr) -> Expr:
        """Return texts, which are never taken for numbers."""
        from sqlglot import exp

        return super().text(exp.cast(column, "TEXT"))

    def compared(self, column: Expr, _kind: Kind, /) -> Expr:
        """Return a column as it is."""
        return column

    def constant(self, value: Value, kind: Kind) -> Expr:
        """Write a value, a float as m·2^e."""
        from sqlglot import exp

        if not isinstance(value, float):
            return super().constant(value, kind)
        if math.isinf(value):
            return exp.Literal.number("9e999" if value > 0 else "-9e999")
        top, bottom = value.as_integer_ratio()
        times: type[exp.Mul | exp.Div] = exp.Mul
        power = 0
        if bottom == 1:
            while top and top % 2 == 0 and abs(top) >= 2**53:
                top, power = top // 2, power + 1
        else:
            times, power = exp.Div, bottom.bit_length() - 1
        found: Expr = exp.cast(exp.Literal.number(top), "DOUBLE")
        for _ in range(power // 60):
            found = times(this=found, expression=exp.cast(exp.Literal.number(_STEP), "DOUBLE"))
        if power % 60:
            found = times(this=found, expression=exp.cast(exp.Literal.number(2 ** (power % 60)), "DOUBLE"))
        return exp.paren(found) if power else found

    def is_nan(self, _column: Expr, _kind: Kind, /) -> Expr | None:
        """Have none: SQLite keeps NULL instead."""
        return None
