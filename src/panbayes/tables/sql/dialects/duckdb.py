"""DuckDB: texts are compared byte by byte under the collation "binary", time stamps are taken in UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
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

__all__ = ["DUCKDB"]

_KINDS: Final[dict[str, Kind]] = {
    "VARCHAR": Texts(),
    "BOOLEAN": Booleans(),
    **{f"{name}INT": Integers(-(2**bits), 2**bits - 1) for name, bits in (("TINY", 7), ("SMALL", 15), ("BIG", 63))},
    "INTEGER": Integers(-(2**31), 2**31 - 1),
    **{f"U{name}INT": Integers(0, 2**bits - 1) for name, bits in (("TINY", 8), ("SMALL", 16), ("BIG", 64))},
    "UINTEGER": Integers(0, 2**32 - 1),
    "FLOAT": Floats(),
    "DOUBLE": Floats(),
    "DATE": Days(),
    "TIMESTAMP": Stamps(),
    "TIMESTAMP WITH TIME ZONE": Stamps(zoned=True),
}
_DECIMAL: Final = re.compile(r"DECIMAL\(([0-9]+),([0-9]+)\)")
_AS_TEXT: Final = ("HUGEINT", "UHUGEINT", "BIGNUM", "BIT", "TIME WITH TIME ZONE", "INTERVAL", "UUID", "JSON")
"""Types that Arrow has not, or not all of: their values are read as DuckDB writes them."""


class _DuckDB(Dialect):
    name = "duckdb"
    collation = "binary"

    def kind(self, declared: str) -> Kind:
        found = _DECIMAL.fullmatch(declared)
        if found is not None:
            return Decimals(int(found[1]), int(found[2]))
        if declared.startswith("ENUM("):
            return Texts()
        return _KINDS.get(declared, Other())

    def raw(self, column: Expr, declared: str, /) -> Expr:
        from sqlglot import exp

        if declared == "VARCHAR":
            return self.text(column)
        return exp.cast(column, "VARCHAR") if declared in _AS_TEXT else column

    def text(self, column: Expr) -> Expr:
        from sqlglot import exp

        return super().text(exp.cast(column, "VARCHAR"))

    def listed(self, text: Expr, texts: Sequence[str], cells: Sequence[int], /) -> Expr | None:
        from sqlglot import exp

        # DuckDB applies a function once to what a column repeats, a CASE to every record.
        known = exp.Array(expressions=[exp.Literal.string(one) for one in texts])
        place = exp.Anonymous(this="list_position", expressions=[known, text])
        numbers = exp.Array(expressions=[exp.Literal.number(cell) for cell in cells])
        return exp.Anonymous(this="list_extract", expressions=[numbers, place])


DUCKDB: Final = _DuckDB()
