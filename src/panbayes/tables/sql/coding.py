"""A column of a database as the number of a cell, and what that number says.

Where a column's type says what its values are, all of them are compiled, or none is. A column of SQLite holds values of
any type, each with its own: what is compiled of them is, and the others *escape*: their number says so, and the value
comes beside it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from panbayes.schema.attribute import Attribute
from panbayes.tables.sql.branches import Branches, Cells, branches_of
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.expressions import cell_of, number
from panbayes.tables.sql.kinds import Dynamic, Floats, Integers, Kind, Texts

if TYPE_CHECKING:
    from sqlglot.expressions import Expr, Select

__all__ = ["Coded", "coded", "column_of", "named_select", "named_table", "plain_table"]

_TABLE: Final = "panbayes table"
"""A name that no table is likely to have; columns are named with it."""


def plain_table(parts: Sequence[str]) -> Expr:
    """Return a table by its name."""
    from sqlglot import exp

    *above, name = (exp.to_identifier(part, quoted=True) for part in parts)
    schema, catalog = (above[-1] if above else None), (above[-2] if len(above) > 1 else None)
    return exp.Table(this=name, db=schema, catalog=catalog)


def named_table(parts: Sequence[str]) -> Expr:
    """Return a table under a name of our own."""
    from sqlglot import exp

    return exp.alias_(plain_table(parts), _TABLE, quoted=True, table=True)


def named_select(select: Select) -> Expr:
    """Return what a statement gives in the place of a table, under the same name."""
    from sqlglot import exp

    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(_TABLE, quoted=True)))


def column_of(name: str) -> Expr:
    """Return a column of the table."""
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(_TABLE, quoted=True))


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column that comes as numbers of cells, each with a text that the encoder puts there, and its code.

    Where there is an ``escape``, one more number says that the value comes as it is, under this condition.
    """

    name: str
    expression: Expr
    texts: pl.Series
    codes: tuple[int, ...]
    escape: Expr | None = None

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.codes) + (self.escape is not None)


def coded(
    attribute: Attribute, column: str, declared: str, dialect: Dialect, missing_values: tuple[str, ...]
) -> Coded | None:
    """Compile a column of a declared type; None if it is to be read as it is."""
    kind = dialect.kind(declared)
    cells = Cells(attribute, missing_values)
    if isinstance(kind, Dynamic):
        return _dynamic(attribute, column, dialect, missing_values, cells)
    found = branches_of(kind, attribute, missing_values, cells)
    if found is None or not _can_be_written(found, dialect):
        return None
    expression = cell_of(column_of(column), kind, found, cells.null, dialect)
    return Coded(attribute.name, expression, cells.texts, cells.codes)


def _can_be_written(branches: Branches, dialect: Dialect) -> bool:
    """Tell whether a statement can hold every text; where no table can hold it either, it is left out."""
    return dialect.without_nul or not any("\0" in text for text in branches.points if isinstance(text, str))


def _dynamic(
    attribute: Attribute, column: str, dialect: Dialect, missing_values: tuple[str, ...], cells: Cells
) -> Coded | None:
    from sqlglot import exp

    kinds: dict[str, Kind] = {"integer": Integers(), "real": Floats(), "text": Texts()}
    branches = {name: branches_of(kind, attribute, missing_values, cells) for name, kind in kinds.items()}
    compiled = {
        name: found for name, found in branches.items() if found is not None and _can_be_written(found, dialect)
    }
    if not compiled:
        return None
    known = [
        exp.If(this=exp.Literal.string(name), true=cell_of(column_of(column), kinds[name], found, cells.null, dialect))
        for name, found in compiled.items()
    ]
    known.append(exp.If(this=exp.Literal.string("null"), true=number(cells.null)))
    of = exp.func("typeof", column_of(column), dialect=dialect.name)
    expression = exp.Case(this=of, ifs=known, default=number(len(cells.codes)))
    names = [exp.Literal.string(name) for name in (*compiled, "null")]
    return Coded(
        attribute.name, expression, cells.texts, cells.codes, exp.Not(this=exp.In(this=of.copy(), expressions=names))
    )
