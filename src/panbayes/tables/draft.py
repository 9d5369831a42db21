"""A first draft of a schema, read off a table. It is not public: a person must make it so.

The draft saves typing, nothing more. Categories that occur once and the extremes of a column are themselves private
facts, so the draft is marked ``status = "draft"``, says so in its first lines, and is refused by whatever learns. Every
attribute is marked too, ``drafted = true``, so that approving it without a look shows.

A table is read once, batch by batch, in bounded memory (:mod:`panbayes.tables.draft_summary`); what is suggested for a
column is decided in :mod:`panbayes.tables.draft_choice`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from panbayes.errors import InputError, nearest
from panbayes.schema.attribute import Attribute
from panbayes.schema.drafting import Drafter
from panbayes.schema.schema import DEFAULT_MISSING_VALUES, Schema, Unit, dump_schema
from panbayes.tables.draft_advice import reading_advice
from panbayes.tables.draft_choice import choose, person_column
from panbayes.tables.draft_summary import ColumnSummary
from panbayes.tables.sources.dispatch import open_source
from panbayes.tables.sources.file import is_file, name_of

__all__ = ["DRAFTER", "Draft", "Suggestion", "draft_schema", "suggest"]

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
class Suggestion:
    """What is suggested: attributes, remarks about some, which columns are left out and why, and what to try."""

    attributes: tuple[Attribute, ...]
    remarks: Mapping[str, str]
    left_out: Mapping[str, str]
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of a draft schema, and the suggestion it was written from."""

    text: str
    suggestion: Suggestion


def draft_schema(
    source: object,
    *,
    name: str,
    other: Sequence[str] = (),
    missing_values: tuple[str, ...] = DEFAULT_MISSING_VALUES,
    unit: Unit | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    argument: str = "data",
) -> Draft:
    """Draft a schema of a file or data frame, for ``panbayes schema draft``.

    Columns are those to ``keep`` (all, if none are named) but for those to ``drop`` and the ``unit``'s id. ``other``
    lists attributes that get ``other = true`` ("*" for all), beside those with more than a few texts; ``missing`` is
    declared where values are missing.
    """
    found = suggest(
        source,
        other=other,
        missing_values=missing_values,
        unit_column=unit.column if unit else None,
        keep=keep,
        drop=drop,
        argument=argument,
        flag="--",
    )
    schema = Schema(name, found.attributes, "draft", missing_values, unit)
    footer = [*(_left_out(column, why) for column, why in found.left_out.items()), *found.advice]
    return Draft(dump_schema(schema, header=_HEADER, remarks=found.remarks, footer=footer), found)


def _left_out(column: str, why: str) -> str:
    return f'left out: "{column}" ({why})' if column.strip() else f"left out: {why}"


def suggest(
    source: object,
    *,
    other: Sequence[str],
    missing_values: tuple[str, ...],
    unit_column: str | None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    argument: str = "data",
    flag: str = "",
) -> Suggestion:
    """Suggest an attribute for every column that a schema can describe.

    ``argument`` names the data in errors; ``flag`` stands before the names of the other arguments.
    """
    argument = name_of(source, argument)
    today = dt.date.today()
    with open_source(source, argument=argument) as opened:
        named = {"other": other, "unit": [unit_column] if unit_column is not None else [], "keep": keep, "drop": drop}
        for option, columns in named.items():
            _check_columns(columns, opened.columns, argument=f"{flag}{option}")
        chosen = [column for column in opened.columns if not keep or column in keep]
        seen = {column: ColumnSummary(column) for column in chosen if column not in drop and column != unit_column}
        comma = opened.decimal_comma
        records = 0
        for batch in opened.batches(list(seen) or opened.columns[:1]):
            records += batch.records
            for column, summary in seen.items():
                summary.add(batch.columns[column], missing_values, decimal_comma=comma)
    if records == 0:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    attributes: list[Attribute] = []
    remarks: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for column, summary in seen.items():
        if not column.strip():
            left_out[column] = "a column without a name (row numbers?)"
            continue
        if unit_column is None and column not in keep and person_column(summary):
            left_out[column] = "it seems to say whom a record belongs to"
            continue
        open_ended = "*" in other or column in other
        attribute, remark = choose(summary, other=open_ended, decimal_comma=comma, today=today)
        if attribute is None:
            left_out[column] = remark
            continue
        attributes.append(attribute)
        if remark:
            remarks[column] = remark
    if all(summary.present == 0 for summary in seen.values()) and seen:
        raise InputError(
            argument,
            found="has no value in any column",
            remedy="see that its first line is the header, with a name for every column",
        )
    if not attributes:
        why = "; ".join(_left_out(column, reason) for column, reason in left_out.items())
        raise InputError(
            argument, found="has no column that a schema can describe", remedy=why or "keep at least one column"
        )
    advice = [] if unit_column is not None else [_unit_advice(column) for column in seen if person_column(seen[column])]
    advice += reading_advice(seen.values(), one_column=is_file(source) and len(opened.columns) == 1)
    return Suggestion(tuple(attributes), remarks, left_out, tuple(advice))


def _unit_advice(column: str) -> str:
    return f'"{column}" seems to say whom a record belongs to, and comes again: then draft with --unit "{column}"'


def _check_columns(columns: Sequence[str], known: Sequence[str], *, argument: str) -> None:
    for column in columns:
        if column not in known and not (argument.endswith("other") and column == "*"):
            raise InputError(argument, found=f'"{column}" is not a column of the data', remedy=nearest(column, known))


def _suggest_attributes(
    data: object,
    *,
    other: Sequence[str],
    missing_values: tuple[str, ...],
    unit_column: str | None,
    keep: Sequence[str],
    drop: Sequence[str],
) -> tuple[Attribute, ...]:
    found = suggest(data, other=other, missing_values=missing_values, unit_column=unit_column, keep=keep, drop=drop)
    return found.attributes


DRAFTER: Final = Drafter(_suggest_attributes)
"""What ``Schema.draft`` finds."""
