"""PostgreSQL, from version 14 on: texts are compared under the collation "C", time stamps are taken in UTC.

Numbers, days, time stamps and truth values are compared as what they are. Every other type, but for bytes, is the text
that the database writes of it, which no value makes fail.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.kinds import (
    Booleans,
    Days,
    Decimals,
    Floats,
    Integers,
    Kind,
    Other,
    Stamps,
    Texts,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["POSTGRESQL"]

_KINDS: Final[dict[str, Kind]] = {
    "boolean": Booleans(),
    "smallint": Integers(-(2**15), 2**15 - 1),
    "integer": Integers(-(2**31), 2**31 - 1),
    "bigint": Integers(),
    "real": Floats(),
    "double precision": Floats(),
    "date": Days(),
    "bytea": Other(),
}
_NUMERIC: Final = re.compile(r"numeric(?:\(([0-9]+),(-?[0-9]+)\))?")
_STAMP: Final = re.compile(r"timestamp(?:\([0-9]\))? (with|without) time zone")
_MOST_DIGITS: Final = 38


class _PostgreSQL(Dialect):
    name = "postgres"
    collation = "C"
    without_nul = True

    def kind(self, declared: str) -> Kind:
        number = _NUMERIC.fullmatch(declared)
        if number is not None:
            digits, scale = int(number[1] or 0), int(number[2] or 0)
            return Decimals(digits, scale) if 0 <= scale <= digits <= _MOST_DIGITS and digits else Other()
        stamp = _STAMP.fullmatch(declared)
        if stamp is not None:
            return Stamps(zoned=stamp[1] == "with")
        return _KINDS.get(declared, Texts())

    def raw(self, column: Expr, declared: str, /) -> Expr:
        from sqlglot import exp

        kind = self.kind(declared)
        if _NUMERIC.fullmatch(declared):
            return _number_text(column)
        if isinstance(kind, Texts):
            return self.text(column)
        if not isinstance(kind, Days | Stamps):
            return column
        # Drivers do not hold all moments; one that no calendar here holds stands for every other such.
        low = exp.GTE(this=column.copy(), expression=self.constant(kind.lowest, kind))
        high = exp.LT(this=column.copy(), expression=self.beyond(kind))
        there = exp.Not(this=exp.Is(this=column.copy(), expression=exp.null()))
        inside = exp.If(this=exp.And(this=low, expression=high), true=column)
        return exp.Case(ifs=[inside, exp.If(this=there, true=self.beyond(kind))])

    def text(self, column: Expr) -> Expr:
        from sqlglot import exp

        return super().text(exp.cast(column, "TEXT"))

    def in_utc(self, column: Expr) -> Expr:
        from sqlglot import exp

        return exp.AtTimeZone(this=column, zone=exp.Literal.string("UTC"))

    def is_nan(self, column: Expr, kind: Kind, /) -> Expr | None:
        from sqlglot import exp

        if isinstance(kind, Decimals):
            return exp.EQ(this=column, expression=exp.cast(exp.Literal.string("NaN"), "DECIMAL"))
        return super().is_nan(column, kind)


def _number_text(column: Expr) -> Expr:
    """Write a number without zeros at its end, as all numbers are written here."""
    from sqlglot import exp

    words = {"NaN": exp.null(), "Infinity": exp.Literal.string("inf"), "-Infinity": exp.Literal.string("-inf")}
    ifs = [exp.If(this=exp.cast(exp.Literal.string(word), "DECIMAL"), true=text) for word, text in words.items()]
    return exp.Case(this=column.copy(), ifs=ifs, default=exp.cast(exp.func("trim_scale", column), "TEXT"))


POSTGRESQL: Final = _PostgreSQL()
