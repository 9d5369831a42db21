"""Snowflake, BigQuery, SQL Server and Databricks: the same statements in their words.

They follow the services' manuals, and are held by files of expected text. None was ever run by the service itself.
What a column holds is told by the type that its driver gives it in Arrow.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final

from panbayes.schema.blanks import BLANKS
from panbayes.tables.sql.branches import Cycle
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.kinds import (
    Booleans,
    Days,
    Decimals,
    Floats,
    Integers,
    Kind,
    Moments,
    Other,
    Stamps,
    Texts,
    Value,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["BIGQUERY", "DATABRICKS", "SNOWFLAKE", "SQL_SERVER"]

_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("string", "large_string", "string_view"), Texts()),
    "bool": Booleans(),
    **{f"int{bits}": Integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    "uint8": Integers(0, 255),
    "float": Floats(),
    "double": Floats(),
    "date32[day]": Days(),
    "timestamp[us]": Stamps(),
    "timestamp[us, tz=UTC]": Stamps(zoned=True),
}
_DECIMAL: Final = re.compile(r"decimal128\(([0-9]+), ([0-9]+)\)")


class _Service(Dialect):
    grouping = 0
    materialized = False
    most = 900_000
    week = "dayofweek_iso"

    def __init__(self, name: str) -> None:
        self.name = name

    def kind(self, declared: str) -> Kind:
        found = _DECIMAL.fullmatch(declared)
        return _KINDS.get(declared, Other()) if found is None else Decimals(int(found[1]), int(found[2]))

    def raw(self, column: Expr, declared: str, /) -> Expr:
        return self.collated(column) if isinstance(self.kind(declared), Texts) else column

    def collated(self, column: Expr) -> Expr:
        """Return a text that is ordered byte by byte; where nothing is said, it is."""
        return column

    def is_beyond(self, column: Expr, kind: Moments) -> Expr:
        """Compare with the last moment: a constant of the year 10000 is none here."""
        from sqlglot import exp

        zone = dt.UTC if isinstance(kind, Stamps) and kind.zoned else None
        last: Value = dt.date.max if isinstance(kind, Days) else dt.datetime.max.replace(tzinfo=zone)
        return exp.GT(this=column, expression=self.constant(last, kind))

    def part(self, column: Expr, cycle: Cycle) -> Expr:
        from sqlglot import exp

        if cycle == "hour":
            return super().part(column, cycle)
        day = exp.Extract(this=exp.var(self.week), expression=column)
        return exp.Sub(this=day, expression=exp.Literal.number(1))


class _Snowflake(_Service):
    def collated(self, column: Expr) -> Expr:
        from sqlglot import exp

        return exp.Collate(this=column, expression=exp.Literal.string("utf8"))

    def text(self, column: Expr) -> Expr:
        return self.collated(column)


class _BigQuery(_Service):
    def is_nan(self, column: Expr, kind: Kind, /) -> Expr | None:
        """Ask for it: NaN equals nothing here."""
        from sqlglot import exp

        return exp.IsNan(this=column) if isinstance(kind, Floats) else None

    def part(self, column: Expr, cycle: Cycle) -> Expr:
        """Count from Sunday, which is 1 here."""
        from sqlglot import exp

        if cycle == "hour":
            return super().part(column, cycle)
        day = exp.Extract(this=exp.var("dayofweek"), expression=column)
        return exp.Mod(this=exp.Add(this=day, expression=exp.Literal.number(5)), expression=exp.Literal.number(7))


class _SqlServer(_Service):
    """Blanks at the end of a text say nothing to it, so that every text is compared with a full stop after it."""

    ordered_texts = False

    def collated(self, column: Expr) -> Expr:
        from sqlglot import exp

        return exp.Collate(this=column, expression=exp.to_identifier("Latin1_General_100_BIN2"))

    def _stopped(self, text: Expr) -> Expr:
        from sqlglot import exp

        return self.collated(exp.paren(exp.Add(this=text, expression=exp.National(this="."))))

    def text(self, column: Expr) -> Expr:
        from sqlglot import exp

        return self._stopped(exp.cast(column, "NVARCHAR(MAX)", dialect="tsql"))

    def bare(self, column: Expr) -> Expr:
        from sqlglot import exp

        text = exp.cast(column, "NVARCHAR(MAX)", dialect="tsql")
        return self._stopped(exp.Trim(this=text, expression=exp.National(this=BLANKS)))

    def constant(self, value: Value, kind: Kind) -> Expr:
        from sqlglot import exp

        if isinstance(value, bool):
            return exp.Literal.number(int(value))
        return exp.National(this=f"{value}.") if isinstance(value, str) else super().constant(value, kind)

    def is_nan(self, _column: Expr, _kind: Kind, /) -> Expr | None:
        """Have none."""
        return None

    def in_utc(self, column: Expr) -> Expr:
        from sqlglot import exp

        return exp.AtTimeZone(this=column, zone=exp.Literal.string("UTC"))

    def part(self, column: Expr, cycle: Cycle) -> Expr:
        """Count days from the first one, a Monday."""
        from sqlglot import exp

        if cycle == "hour":
            return super().part(column, cycle)
        first = exp.cast(exp.Literal.string("0001-01-01"), "DATE")
        days = exp.Anonymous(this="DATEDIFF", expressions=[exp.var("DAY"), first, column])
        return exp.Mod(this=days, expression=exp.Literal.number(7))


SNOWFLAKE: Final = _Snowflake("snowflake")
BIGQUERY: Final = _BigQuery("bigquery")
SQL_SERVER: Final = _SqlServer("tsql")
DATABRICKS: Final = _Service("databricks")
