"""A first draft of a schema, read off a table. It is not public: a person must make it so.

The draft saves typing, nothing more. Categories that occur once and the extremes of a column are themselves private
facts, so the draft is marked ``status = "draft"``, says so in its first lines, and is refused by whatever learns. Every
attribute is marked too, ``drafted = true``, so that approving it without a look shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Final

import polars as pl

from panbayes.errors import InputError, nearest
from panbayes.schema.attribute import Attribute, Scalar
from panbayes.schema.drafting import Drafter
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Schema, Unit, dump_schema
from panbayes.tables.encoding import as_numbers
from panbayes.tables.sources.dispatch import read_frame
from panbayes.tables.texts import as_text

__all__ = ["DRAFTER", "MAX_CATEGORIES", "Proposal", "draft_schema", "propose"]

MAX_CATEGORIES: Final = 256
"""Up to so many distinct values become categories; more become bins, or are left out if they are texts."""

BINS: Final = 20
"""About so many equal-width bins are proposed."""

_NO_NUMBER: Final = re.compile(r"[+-]?0[0-9]|\s*(true|false)\s*$", re.IGNORECASE)

_HEADER: Final = (
    "DRAFT, read off private data. Do not share it, and do not learn under it as it stands.",
    "Approving it does not make it private: a rare category, or a lowest or highest value, can betray a person.",
    "Before you set status to approved, replace what the data told by what is publicly known:",
    "  1. remove attributes that identify people (names, numbers, addresses, free text);",
    "  2. give every attribute the categories or the range that its public documentation gives,",
    "     not those that happen to occur here; drop or merge rare ones (other = true takes the rest);",
    "  3. set bins from public knowledge (an age is 0 to 120), not from the extremes of the data;",
    "  4. if one person can have several records, add a [unit] table with column and max_records;",
    "  5. remove the line drafted = true from every attribute that you have checked: learning warns of the others.",
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed: attributes, remarks about some of them by name, and which columns are left out and why."""

    attributes: tuple[Attribute, ...]
    remarks: dict[str, str]
    left_out: tuple[str, ...]


def draft_schema(
    source: object,
    *,
    name: str,
    other: Sequence[str] = (),
    missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES,
    unit: Unit | None = None,
    argument: str = "data",
) -> str:
    """Return the text of a draft schema of a file or data frame, for ``panbayes schema draft``.

    ``other`` lists the attributes that get ``other = true`` ("*" for all); ``missing`` is declared where values are
    missing. The ``unit``'s id column is left out of the attributes.
    """
    found = propose(
        source,
        other=other,
        missing_values=missing_values,
        unit_column=unit.column if unit else None,
        argument=argument,
        flag="--",
    )
    schema = Schema(name, found.attributes, "draft", missing_values, unit)
    return dump_schema(schema, header=_HEADER, remarks=found.remarks, footer=found.left_out)


def propose(
    source: object,
    *,
    other: Sequence[str],
    missing_values: tuple[str, ...],
    unit_column: str | None,
    argument: str = "data",
    flag: str = "",
) -> Proposal:
    """Propose an attribute for every column that a schema can describe.

    ``argument`` names the data in errors; ``flag`` stands before the names of the other arguments.
    """
    argument = str(source) if isinstance(source, str | Path) else argument
    frame = read_frame(source, argument=argument)
    for column in [*other, *([unit_column] if unit_column is not None else [])]:
        if column != "*" and column not in frame.columns:
            raise InputError(
                f"{flag}{'other' if column in other else 'unit'}",
                found=f'"{column}" is not a column of the data',
                remedy=nearest(column, frame.columns),
            )
    if frame.height == 0:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    attributes: list[Attribute] = []
    remarks: dict[str, str] = {}
    left_out: list[str] = []
    for column in frame.columns:
        if column == unit_column:
            continue
        if not column.strip():
            left_out.append("left out: a column without a name (row numbers?)")
            continue
        attribute, remark = _attribute(
            frame[column], missing_values=missing_values, other="*" in other or column in other
        )
        if attribute is None:
            left_out.append(f'left out: "{column}" ({remark})')
            continue
        attributes.append(attribute)
        if remark:
            remarks[column] = remark
    if not attributes:
        raise InputError(argument, found="has no column that a schema can describe", remedy="; ".join(left_out))
    return Proposal(tuple(attributes), remarks, tuple(left_out))


def _propose_attributes(
    data: object, *, other: Sequence[str], missing_values: tuple[str, ...], unit_column: str | None
) -> tuple[Attribute, ...]:
    return propose(data, other=other, missing_values=missing_values, unit_column=unit_column).attributes


DRAFTER: Final = Drafter(_propose_attributes)
"""What ``Schema.draft`` finds."""


def _attribute(
    values: pl.Series, *, missing_values: tuple[str, ...], other: bool
) -> tuple[Attribute | None, str | None]:
    """Propose an attribute and a remark about it; or None and why it is left out."""
    text = as_text(values)
    gone = text.is_null() | text.is_in(missing_values).fill_null(value=True)
    present = values.filter(~gone)
    missing = "missing" if gone.any() else None
    if present.len() == 0:
        return None, "every value is missing"
    label = _free_label("other", text) if other else None
    missing = _free_label(missing, text) if missing else None
    distinct = as_text(present).unique()
    numbers = _numbers(present, distinct)
    if distinct.len() <= MAX_CATEGORIES:
        remark = "one value only: it carries no information, consider removing it" if distinct.len() == 1 else None
        categories: tuple[Scalar, ...]
        if numbers is not None:
            categories = tuple(int(v) if v.is_integer() else v for v in sorted(set(numbers.to_list())))
        elif values.dtype == pl.Boolean:
            categories = (False, True)
        else:
            categories = tuple(sorted(distinct.to_list()))
        return Attribute(values.name, categories=categories, other=label, missing=missing, drafted=True), remark
    if numbers is None:
        return None, f"{distinct.len()} distinct texts: an identifier or free text?"
    finite = numbers.filter(numbers.is_finite())
    remark = f"{distinct.len()} distinct numbers, cut into equal bins between the extremes of the data"
    if distinct.len() == present.len():
        remark += "; all different: an identifier? Then remove it"
    bins = _equal_bins(float(str(finite.min())), float(str(finite.max())), whole=bool((finite == finite.round()).all()))
    return Attribute(values.name, bins=bins, other=label, missing=missing, drafted=True), remark


def _numbers(present: pl.Series, distinct: pl.Series) -> pl.Series | None:
    """Return the values as numbers if all are numbers, and none is true, false or a code such as 007, else None."""
    if present.dtype == pl.Boolean or any(_NO_NUMBER.match(text) for text in distinct.to_list()):
        return None
    numbers = as_numbers(present)
    exact = numbers.is_finite() & (numbers.abs() < 2.0**53)
    return numbers if numbers.null_count() == 0 and exact.all() else None


def _free_label(label: str, text: pl.Series) -> str:
    """Avoid a label that is also a value."""
    return f"({label})" if (text == label).any() else label


def _equal_bins(low: float, high: float, *, whole: bool) -> tuple[int | float, ...]:
    """Cut [low, high] into about twenty bins of one round width.

    >>> _equal_bins(3, 997, whole=True)[:4]
    (0, 50, 100, 150)
    """
    rough = Decimal((high - low) / BINS)
    magnitude = Decimal(1).scaleb(rough.adjusted())
    width = next(step * magnitude for step in map(Decimal, ("1", "2", "2.5", "5", "10")) if step * magnitude >= rough)
    if whole:
        width = width.to_integral_value(ROUND_CEILING)
    first, last = math.floor(Decimal(low) / width), math.ceil(Decimal(high) / width)
    edges = [k * width for k in range(first, max(last, first + 1) + 1)]
    return tuple(int(edge) if whole else float(edge) for edge in edges)
