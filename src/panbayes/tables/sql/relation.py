"""Statements that count: the records of a table, or each person's first ones, by cells of their columns.

Cells are computed once, in a common table that the database keeps for the statement; what is counted are codes or
groups of codes, which follow from the cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from panbayes.schema.blanks import stripped
from panbayes.tables.sql.coding import Coded, column_of
from panbayes.tables.sql.dialect import Dialect
from panbayes.tables.sql.expressions import choice, number
from panbayes.tables.sql.kinds import Integers, Texts
from panbayes.tables.sql.words import packed, word_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expr, Select

__all__ = ["Axis", "Person", "Relation", "person_of"]

_CELLS: Final = "panbayes cells"
_RANKED: Final = "panbayes ranked"
_AXES: Final = "panbayes axes"
_PERSON: Final = "panbayes person"
_RANK: Final = "panbayes rank"


@dataclass(frozen=True, slots=True)
class Axis:
    """What is counted of a column: for every cell, a number."""

    column: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """Whose record it is, and the condition that it says so; at most ``most`` records of each are counted."""

    identity: Expr
    named: Expr
    most: int


def person_of(
    column: str, declared: str, dialect: Dialect, missing_values: tuple[str, ...], most: int
) -> Person | None:
    """Return whose record it is; None for ids of a type whose text SQL does not give exactly."""
    from sqlglot import exp

    kind = dialect.kind(declared)
    texts = ["", *map(stripped, missing_values)]
    if not dialect.without_nul and any("\0" in text for text in texts):
        return None
    if isinstance(kind, Integers):
        identity: Expr = column_of(column)
        nobody = [number(int(text)) for text in texts if kind.of_text(text) is not None]
    elif isinstance(kind, Texts):
        identity = dialect.bare(column_of(column))
        nobody = [dialect.constant(text, kind) for text in texts if not (dialect.without_nul and "\0" in text)]
    else:
        return None
    named: Expr = exp.Not(this=exp.Is(this=identity.copy(), expression=exp.null()))
    if nobody:
        named = exp.And(this=named, expression=exp.Not(this=exp.In(this=identity.copy(), expressions=nobody)))
    return Person(identity, named, most)


def _name(prefix: str, place: int) -> str:
    return f"panbayes {prefix} {place}"


def _column(name: str) -> Expr:
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True))


def _named(expression: Expr, name: str) -> Expr:
    from sqlglot import exp

    return exp.alias_(expression, name, quoted=True)


def _whole(expression: Expr) -> Expr:
    from sqlglot import exp

    return exp.cast(expression, "BIGINT")


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A table in a database, its columns compiled, and whose records they are where the schema names a unit."""

    dialect: Dialect
    table: Expr
    columns: tuple[Coded, ...]
    person: Person | None
    order_by: tuple[str, ...]

    def sizes(self) -> str:
        """Return the statement that counts records and people."""
        from sqlglot import exp

        persons = number(0) if self.person is None else exp.Count(this=exp.Distinct(expressions=[_column(_PERSON)]))
        select = exp.select(_whole(exp.Count(this=exp.Star())), _whole(persons))
        return self._with(select.from_(self._source()), range(len(self.columns)))

    def grouping_sets(self, sets: Sequence[Sequence[int]], axes: Mapping[int, Axis]) -> str:
        """Return the statement that counts some tables at once.

        Its columns are a mask, the number of every axis (0 where it is not one of the table's) and how many records.
        In the mask the first axis has the highest bit, and the bits of the table's axes are 0.
        """
        from sqlglot import exp

        shown = [_column(_name("axis", axis)) for axis in axes]
        mask = exp.func("GROUPING", *(one.copy() for one in shown))
        numbers = [exp.Coalesce(this=_whole(one.copy()), expressions=[number(0)]) for one in shown]
        chosen = [exp.Tuple(expressions=[_column(_name("axis", axis)) for axis in members]) for members in sets]
        select = exp.select(_whole(mask), *map(_whole, numbers), _whole(exp.Count(this=exp.Star())))
        select = select.from_(exp.to_identifier(_AXES, quoted=True))
        select.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=chosen)]))
        return self._counted(select, axes)

    def one_by_one(self, sets: Sequence[Sequence[int]], axes: Mapping[int, Axis], sizes: Sequence[int]) -> str:
        """Return the statement that counts tables one after the other, where there are no GROUPING SETS.

        Its columns are the number of the table, of the cell in it, and how many records.
        """
        from sqlglot import exp

        selects = []
        for place, members in enumerate(sets):
            joint: Expr = number(0)
            for axis in members:
                times = exp.Mul(this=exp.paren(joint), expression=number(sizes[axis]))
                joint = exp.Add(this=times, expression=_column(_name("axis", axis)))
            one = exp.select(number(place), joint, exp.Count(this=exp.Star()))
            selects.append(one.from_(exp.to_identifier(_AXES, quoted=True)).group_by(joint.copy()))
        found: Expr = selects[0]
        for one in selects[1:]:
            found = exp.Union(this=found, expression=one, distinct=False)
        return self._counted(found, axes)

    def parities(self, sets: Sequence[Sequence[int]], axes: Mapping[int, Axis]) -> str:
        """Return the statement that sums (-1)^(x₁ + … + x_k) over the records, for every set of axes."""
        from sqlglot import exp

        sums = []
        for members in sets:
            ones: Expr = number(0)
            for axis in members:
                ones = exp.Add(this=ones, expression=_column(_name("axis", axis)))
            odd = exp.Mod(this=exp.paren(ones), expression=number(2))
            sign = exp.Sub(this=number(1), expression=exp.Mul(this=number(2), expression=exp.paren(odd)))
            sums.append(_whole(exp.Coalesce(this=exp.Sum(this=sign), expressions=[number(0)])))
        return self._counted(exp.select(*sums).from_(exp.to_identifier(_AXES, quoted=True)), axes)

    def _source(self) -> Expr:
        from sqlglot import exp

        return exp.to_identifier(_CELLS if self.person is None else _RANKED, quoted=True)

    def _counted(self, select: Expr, axes: Mapping[int, Axis]) -> str:
        """Put before a statement what it counts."""
        from sqlglot import exp

        numbers = [
            _named(choice(_column(_name("cell", axis.column)), axis.numbers), _name("axis", place))
            for place, axis in axes.items()
        ]
        before = exp.select(*numbers or [number(0)]).from_(self._source())
        return self._with(select, {axis.column for axis in axes.values()}, before)

    def _with(self, select: Expr, used: Sequence[int] | set[int] | range, axes: Select | None = None) -> str:
        from sqlglot import exp

        found: dict[str, Select] = {_CELLS: self._cells(used)}
        if self.person is not None:
            found[_RANKED] = self._ranked(self.person)
        if axes is not None:
            found[_AXES] = axes
        named = [
            exp.CTE(
                this=one,
                alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)),
                materialized=self.dialect.materialized or None,
            )
            for name, one in found.items()
        ]
        select.set("with_" if "with_" in type(select).arg_types else "with", exp.With(expressions=named))
        return select.sql(self.dialect.name)

    def _cells(self, used: Sequence[int] | set[int] | range) -> Select:
        """Return the cells of the used columns, of all where a person's records are put in order."""
        from sqlglot import exp

        chosen = range(len(self.columns)) if self.person is not None else sorted(used)
        cells = [_named(self.columns[place].expression.copy(), _name("cell", place)) for place in chosen]
        if self.person is None:
            return exp.select(*cells or [number(0)]).from_(self.table.copy())
        cells.append(_named(self.person.identity.copy(), _PERSON))
        cells += [_named(column_of(name), _name("order", place)) for place, name in enumerate(self.order_by)]
        return exp.select(*cells).from_(self.table.copy()).where(self.person.named.copy())

    def _ranked(self, person: Person) -> Select:
        """Return each person's first records, in the order that reading gives them."""
        from sqlglot import exp

        cells = [_column(_name("cell", place)) for place in range(len(self.columns))]
        words = [word_of(word, cells) for word in packed([one.size for one in self.columns])]
        keys = [*(_column(_name("order", place)) for place in range(len(self.order_by))), *words]
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[_column(_PERSON)],
            order=exp.Order(expressions=[exp.Ordered(this=key, nulls_first=True) for key in keys]),
        )
        ranked = exp.select(exp.Star(), _named(rank, _RANK)).from_(exp.to_identifier(_CELLS, quoted=True))
        first = exp.LTE(this=_column(_RANK), expression=number(person.most))
        return exp.select(exp.Star()).from_(ranked.subquery(_RANKED, copy=False)).where(first)
