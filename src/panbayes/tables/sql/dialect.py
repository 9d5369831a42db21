"""What differs from one database to the next: names of types, how a constant is written, what a blank text is.

A dialect says nothing that depends on data: :meth:`Dialect.kind` takes the declared type of a column, and everything
that is compiled follows from it and from the schema. Expressions never fail on a value: they compare with constants,
and cast constants only, or to text.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from panbayes.schema.blanks import BLANKS
from panbayes.tables.sql.branches import Cycle
from panbayes.tables.sql.kinds import Days, Floats, Kind, Moments, Stamps, Value

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["Dialect"]


class Dialect(ABC):
    """One way to write SQL."""

    name: str
    """What the compiler calls it."""

    collation: str = ""
    """The collation under which texts are compared byte by byte; none where they always are."""

    grouping: int = 31
    """So many attributes can be told apart in GROUPING SETS; 0 where there are none."""

    materialized: bool = True
    """Whether a common table may be asked to be kept for the statement."""

    most: int = 2**23
    """So many letters may a statement have."""

    without_nul: bool = False
    """Whether no text of a table can hold the character NUL; that of a statement cannot, anywhere."""

    ordered_texts: bool = True
    """Whether texts come in the order of their bytes in UTF-8."""

    @abstractmethod
    def kind(self, declared: str) -> Kind:
        """Return what values a column of this declared type has."""

    @abstractmethod
    def raw(self, column: Expr, declared: str, /) -> Expr:
        """Return how a column is read as it is, so that no value makes that fail.

        Texts are ordered byte by byte, whatever the collation: under another, two of them might be told apart by
        nothing but where their records lie.
        """

    def text(self, column: Expr) -> Expr:
        """Return a column of texts as texts that are compared byte by byte."""
        from sqlglot import exp

        if not self.collation:
            return column
        return exp.Collate(this=column, expression=exp.to_identifier(self.collation, quoted=True))

    def bare(self, column: Expr) -> Expr:
        """Return the same without blanks around it."""
        from sqlglot import exp

        return exp.Trim(this=self.text(column), expression=exp.Literal.string(BLANKS))

    def listed(self, _text: Expr, _texts: Sequence[str], _cells: Sequence[int], /) -> Expr | None:
        """Return the cell of a text that is listed, NULL for others; None where a tree of comparisons is faster."""
        return None

    def compared(self, column: Expr, kind: Kind, /) -> Expr:
        """Return a column as it is compared with constants of its kind."""
        from sqlglot import exp

        return exp.cast(column, "DOUBLE") if isinstance(kind, Floats) else column

    def constant(self, value: Value, kind: Kind) -> Expr:
        """Write a value of a kind, exactly."""
        from sqlglot import exp

        if isinstance(value, bool):
            return exp.true() if value else exp.false()
        if isinstance(value, str):
            return exp.Literal.string(value)
        if isinstance(value, int):
            return exp.Literal.number(value)
        if isinstance(value, float):
            return exp.cast(exp.Literal.string(repr(value)), "DOUBLE")
        if isinstance(value, Decimal):
            return exp.cast(exp.Literal.string(f"{value:f}"), f"DECIMAL(38, {-int(value.as_tuple().exponent)})")
        return self.moment(value, kind)

    def moment(self, value: dt.date | dt.datetime, kind: Kind) -> Expr:
        """Write a day or a time stamp."""
        from sqlglot import exp

        zoned = isinstance(kind, Stamps) and kind.zoned
        return exp.cast(exp.Literal.string(value.isoformat()), _type(kind, zoned=zoned))

    def is_beyond(self, column: Expr, kind: Moments) -> Expr:
        """Return the condition that a moment comes after the year 9999."""
        from sqlglot import exp

        return exp.GTE(this=column, expression=self.beyond(kind))

    def beyond(self, kind: Moments) -> Expr:
        """Write the first moment after the year 9999."""
        from sqlglot import exp

        if isinstance(kind, Days):
            return exp.cast(exp.Literal.string("10000-01-01"), "DATE")
        offset = "+00:00" if kind.zoned else ""
        return exp.cast(exp.Literal.string(f"10000-01-01T00:00:00{offset}"), _type(kind, zoned=kind.zoned))

    def in_utc(self, column: Expr) -> Expr:
        """Return an instant as the time stamp that a clock shows in UTC; by itself where the session is there."""
        return column

    def part(self, column: Expr, cycle: Cycle) -> Expr:
        """Return the hour of a moment, or its day of the week counted from 0 on Monday."""
        from sqlglot import exp

        name, first = ("hour", 0) if cycle == "hour" else ("isodow", 1)
        found = exp.cast(exp.Extract(this=exp.var(name), expression=column), "INT")
        return exp.Sub(this=found, expression=exp.Literal.number(first)) if first else found

    def is_nan(self, column: Expr, kind: Kind, /) -> Expr | None:
        """Return the condition that a number is none, where there are such."""
        from sqlglot import exp

        if not isinstance(kind, Floats):
            return None
        return exp.EQ(this=self.compared(column, kind), expression=exp.cast(exp.Literal.string("NaN"), "DOUBLE"))


def _type(kind: Kind, *, zoned: bool) -> str:
    return "TIMESTAMPTZ" if zoned else "TIMESTAMP" if isinstance(kind, Stamps) else "DATE"
