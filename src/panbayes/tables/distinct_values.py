"""How many people have each value of a column, whatever the values are: for those whose domain nobody knows.

A value is its text without blanks around it. What is missing is no value, and neither is a text that is longer than
:data:`MAX_CHARACTERS` or holds characters that cannot be shown: such texts could not be names of categories. Whether a
text counts depends on itself alone.

Each person's first ``max_records`` records count, as under any schema (:mod:`panbayes.tables.units`), whatever their
values, and of these every value once: one person counts for at most ``max_records`` values, and for each of them by 1.
A table in a database or a lake has no order of its own: there a person's first records are the first by the columns
``order_by`` of its address, then by the texts of their values, so they follow from that person's records alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.schema.blanks import BLANKS, stripped
from panbayes.schema.schema import Unit
from panbayes.tables.codes import Codes
from panbayes.tables.ranks import record_ranks
from panbayes.tables.reading import Admit
from panbayes.tables.sources.address import OMOP, address_of
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.sources.dispatch import check_columns, counted_there, open_source
from panbayes.tables.sources.file import name_of
from panbayes.tables.texts import as_text
from panbayes.tables.units import person_texts

__all__ = ["MAX_CHARACTERS", "ValueCounts", "count_values"]

MAX_CHARACTERS: Final = 200
"""A longer text is no category."""

_HIDDEN: Final = r"[\p{C}\p{Zl}\p{Zp}]"
"""What shows nothing or breaks lines: control and format characters, and those that no one has given a meaning."""

_NOBODY: Final = -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueCounts:
    """The distinct ``values`` in no order that matters, and how many ``people`` have each, 1 or more. Private."""

    values: tuple[str, ...]
    people: NDArray[np.int64]


def count_values(
    source: object,
    column: str,
    *,
    unit: Unit | None,
    missing_values: tuple[str, ...],
    argument: str = "data",
    admit: Admit | None = None,
) -> ValueCounts:
    """Count the people who have each value of a column; without a ``unit`` every record is another person's.

    Only people whom ``admit`` lets in are counted, by all of their records.
    """
    if counted_there(source, argument=argument):
        raise InputError(
            name_of(source, argument),
            found="is counted where it lies, and values of an unknown domain would have to leave it",
            remedy="give a public list of values",
        )
    argument = name_of(source, argument)
    order_by = None if unit is None else _order_by(source, argument)
    names = [column, *([unit.column] if unit else []), *(order_by or ())]
    missing = ["", *map(stripped, missing_values)]
    keys = tuple(int.from_bytes(os.urandom(8)) for _ in range(2))
    known: dict[str, int] = {}
    parts: list[pl.DataFrame] = []
    with open_source(source, argument=argument) as opened:
        check_columns(opened, names, argument=argument)
        for batch in opened.batches(names):
            values = batch.columns[column]
            if unit is None:
                parts.append(pl.DataFrame({"value": _codes(values, known, missing)}))
                continue
            ids, ranks = batch.columns[unit.column], _ranks(batch, order_by or (), argument)
            if admit is not None:
                admitted = admit(ids)
                values, ids = values.filtered(admitted), ids.filtered(admitted)
                ranks = ranks.filter(pl.Series(admitted)) if order_by else ranks
            people = _people(ids, missing_values, keys)
            parts.append(pl.DataFrame({"value": _codes(values, known, missing), **people}).hstack(ranks))
    frame = pl.concat(parts) if parts else pl.DataFrame({"value": pl.Series([], dtype=pl.Int64)})
    if unit is not None and parts:
        person = ["named", "first", "second"]
        if order_by is not None:
            frame = _in_order(frame, known, besides=["value", *person])
        kept = frame.filter(pl.col("named")).filter(pl.int_range(pl.len()).over(person) < unit.max_records)
        frame = kept.unique([*person, "value"])
    codes = frame["value"].to_numpy()
    counted = np.bincount(codes[codes != _NOBODY], minlength=len(known)).astype(np.int64)
    texts = np.array(list(known), dtype=object)
    return ValueCounts(tuple(texts[counted > 0].tolist()), counted[counted > 0])


def _order_by(source: object, argument: str) -> tuple[str, ...] | None:
    """Return the columns that put a table without an order of its own in order, None for one that has an order.

    Features of an OMOP database are one row a person.
    """
    address = address_of(source, argument=argument)
    return None if address is None or address.scheme in OMOP else address.names("order_by")


def _ranks(batch: Batch, order_by: tuple[str, ...], argument: str) -> pl.DataFrame:
    """Return the ranks of records by some columns, the one that decides first."""
    if not order_by:
        return pl.DataFrame()
    nothing: Codes = np.empty((0, batch.records), dtype=np.uint8)
    rows = record_ranks(nothing, (), batch, order_by, argument=argument)
    return pl.DataFrame({f"rank {place}": row for place, row in enumerate(rows)})


def _in_order(frame: pl.DataFrame, known: dict[str, int], *, besides: list[str]) -> pl.DataFrame:
    """Put records in order: by their ranks, then by the texts of their values, what is no value first."""
    texts = pl.Series(sorted(known), dtype=pl.String)
    places = pl.Series([known[text] for text in texts], dtype=pl.Int64)
    order = frame["value"].replace_strict(places, pl.int_range(len(known), eager=True), default=_NOBODY)
    ranks = [name for name in frame.columns if name not in besides]
    return frame.with_columns(order.alias("text")).sort([*ranks, "text"])


def _codes(column: Column, known: dict[str, int], missing: list[str]) -> pl.Series:
    """Give every record the number of its value, from those ``known`` and new ones; that of nobody where it is none."""
    texts = as_text(column.values).str.strip_chars(BLANKS)
    usable = (
        texts.is_not_null()
        & ~texts.is_in(missing).fill_null(value=True)
        & (texts.str.len_chars() <= MAX_CHARACTERS).fill_null(value=False)
        & ~texts.str.contains(_HIDDEN).fill_null(value=True)
    )
    distinct = texts.filter(usable).unique().to_list()
    for text in distinct:
        known.setdefault(text, len(known))
    numbers = pl.Series([known[text] for text in distinct], dtype=pl.Int64)
    found = texts.replace_strict(pl.Series(distinct, dtype=pl.String), numbers, default=_NOBODY, return_dtype=pl.Int64)
    found = found.zip_with(usable, pl.Series([_NOBODY], dtype=pl.Int64))
    return found if column.places is None else found.gather(column.places)


def _people(ids: Column, missing_values: tuple[str, ...], keys: tuple[int, ...]) -> dict[str, pl.Series]:
    """Return two hashes of every record's id, under keys drawn for this reading, and whether it names anybody."""
    texts, nobody = person_texts(ids.values, missing_values)
    found = {"named": pl.Series(~nobody), "first": texts.hash(keys[0]), "second": texts.hash(keys[1])}
    return found if ids.places is None else {name: series.gather(ids.places) for name, series in found.items()}
