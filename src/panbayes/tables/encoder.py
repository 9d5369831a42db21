"""Codes of whole batches: every distinct value is encoded once, and looked up for its records.

:func:`~panbayes.tables.encoding.encode_values` says what the code of a value is, and it depends on that value alone. So
it is applied to the *dictionary* of a column, the distinct values of a batch, and the records get their codes by a
look-up. A column that comes without a dictionary gets one by hashing, unless its values hardly repeat: then every value
is encoded by itself. The codes are the same either way, whatever the batches are.

What a batch takes beside its own codes does not grow with the table. While encoding, the records are tallied by their
code and by whether the value has a place of its own, is outside the schema, or missing: the holder may look at that
(:mod:`panbayes.tables.check`), nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, Room, code_type
from panbayes.tables.counting.engines import choose_kernels, engine
from panbayes.tables.encoding import encode_values
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.texts import as_text

__all__ = ["MISSING", "OUTSIDE", "OWN", "BatchEncoder"]

OWN: Final = 0
OUTSIDE: Final = 1
MISSING: Final = 2
"""What becomes of a value: it has a place of its own, or it is outside the schema, or it is missing."""

SPAN: Final = 4096
"""Integers that lie this close together are their own places in a dictionary of all numbers between."""

SAMPLE: Final = 2048
"""So many values are looked at to see whether a column repeats its values; what it decides is speed alone."""

MANY: Final = 2**19
"""From so many records on the compiled kernels are worth the time that it takes to load them."""

MOST_TEXTS: Final = 2**15
"""So many texts of an attribute are remembered."""

LONGEST: Final = 2**8
"""Longer texts are not remembered: a text may have millions of letters."""

_HASHED: Final = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Duration, pl.Decimal)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A dictionary that was encoded: its values, their codes, and their places in a tally of codes and fates."""

    values: pl.Series
    codes: Codes
    cells: NDArray[np.int64]

    def holds(self, values: pl.Series) -> bool:
        """Tell whether these are the very values; files hand out the same dictionary again and again."""
        same = values.len() == self.values.len() and values.dtype == self.values.dtype
        return values is self.values or (same and values.equals(self.values))


class BatchEncoder:
    """Turns batches into codes of shape (attributes, records), and tallies what becomes of their values.

    ``tallies[a][fate, code]`` is the number of records so far whose value of attribute a had this code and fate.
    """

    def __init__(self, schema: Schema, *, decimal_comma: bool = False, compiled: bool = False) -> None:
        """Begin with no record.

        ``compiled`` says that the compiled kernels are loaded anyway, and worth it from the first record on.
        """
        self._schema = schema
        self._how = partial(encode_values, missing_values=schema.missing_values, decimal_comma=decimal_comma)
        self._dtype = code_type(schema)
        self._known: dict[str, _Known] = {}
        self._room = Room(self._dtype)
        self._texts: dict[str, dict[str | None, tuple[int, int]]] = {}
        self._numbers: dict[str, _Numbers] = {}
        self._engine = engine(choose_kernels() if compiled else "numpy")
        self._records = 0
        self.tallies = [np.zeros((3, attribute.size), dtype=np.int64) for attribute in schema.attributes]

    def encode(self, batch: Batch) -> Codes:
        """Return the codes of a batch, in memory that the next one takes again."""
        codes: Codes = self._room.shaped(len(self._schema), batch.records)
        self._records += batch.records
        if self._records > MANY:
            self._engine = engine(choose_kernels())
        for row, attribute, tally in zip(codes, self._schema.attributes, self.tallies, strict=True):
            self._encode(batch.columns[attribute.name], attribute, row, tally)
        return codes

    def _encode(self, column: Column, attribute: Attribute, row: Codes, tally: NDArray[np.int64]) -> None:
        found = _dictionary(column, self._numbers.setdefault(attribute.name, _Numbers()))
        if found.places is None:
            known = self._coded(found.values, attribute)
            row[:] = known.codes
            tally += np.bincount(known.cells, minlength=tally.size).reshape(tally.shape)
            return
        last = self._known.get(attribute.name)
        known = last if last is not None and last.holds(found.values) else self._coded(found.values, attribute)
        self._known[attribute.name] = known
        times = np.zeros(known.codes.size, dtype=np.int64)
        self._engine.look_up(found.places.astype(np.int32, copy=False), known.codes, row, times)
        np.add.at(tally.reshape(-1), known.cells, times)

    def _coded(self, values: pl.Series, attribute: Attribute) -> _Known:
        if values.dtype == pl.String and values.len() <= SPAN:
            return self._remembered(values, attribute)
        codes, cells = self._read(values, attribute)
        return _Known(values, codes.astype(self._dtype), cells)

    def _remembered(self, values: pl.Series, attribute: Attribute) -> _Known:
        """Encode the texts that have not come before: parts of a file have the same ones in another order."""
        known = self._texts.setdefault(attribute.name, {})
        if len(known) > MOST_TEXTS:
            known.clear()
        texts = values.to_list()
        new = [text for text in dict.fromkeys(texts) if text not in known]
        here: dict[str | None, tuple[int, int]] = {}
        if new:
            codes, cells = self._read(pl.Series(new, dtype=pl.String), attribute)
            here.update(zip(new, zip(codes.tolist(), cells.tolist(), strict=True), strict=True))
            known.update((text, place) for text, place in here.items() if text is None or len(text) <= LONGEST)
        found = np.array([known.get(text) or here[text] for text in texts], dtype=np.int64).reshape(-1, 2)
        return _Known(values, found[:, 0].astype(self._dtype), found[:, 1].copy())

    def _read(self, values: pl.Series, attribute: Attribute) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        found = self._how(values, attribute)
        fates = np.where(found.missing, MISSING, np.where(found.outside, OUTSIDE, OWN))
        return found.codes, fates * attribute.size + found.codes


def _dictionary(column: Column, numbers: _Numbers) -> Column:
    """Return a column with a dictionary of its values, where that is cheaper than to encode each of them."""
    if column.places is not None and column.values.len() <= max(2 * len(column), SPAN):
        return column
    values = column.series()
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = as_text(values)
    if values.dtype.is_integer():
        return numbers.places(values)
    repeats = values.dtype.is_float() or isinstance(values.dtype, _HASHED)
    if not repeats or 2 * values[:SAMPLE].n_unique() > min(values.len(), SAMPLE):
        return Column(values)
    distinct = values.drop_nulls().unique()
    if 2 * distinct.len() > values.len():
        return Column(values)
    every = pl.Series(range(distinct.len()), dtype=pl.UInt32)
    # What is not found is null, or NaN where that equals nothing: missing like null.
    places = values.replace_strict(distinct, every, default=None, return_dtype=pl.UInt32)
    return Column(_with_null(distinct), places.fill_null(distinct.len()).cast(pl.Int32).to_numpy())


class _Numbers:
    """A dictionary of all integers of a column that lie close together, and null; it widens where it must."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lowest, self._highest = 0, -1
        self._values = pl.Series([], dtype=pl.Int64)

    def places(self, values: pl.Series) -> Column:
        """Return integers as places among all numbers between, or as they are if they lie too far apart."""
        lowest, highest = values.min(), values.max()
        if not isinstance(lowest, int) or not isinstance(highest, int):
            return Column(values)
        if self._highest >= self._lowest and self._values.dtype == values.dtype:
            lowest, highest = min(lowest, self._lowest), max(highest, self._highest)
        if highest - lowest >= SPAN or highest >= 2**63 - 1 or lowest < -(2**63):
            return Column(values)
        if (lowest, highest) != (self._lowest, self._highest) or self._values.dtype != values.dtype:
            self._lowest, self._highest = lowest, highest
            self._values = _with_null(pl.Series([*range(lowest, highest + 1)], dtype=values.dtype))
        wide = values.cast(pl.Int64)
        if wide.null_count():
            wide = wide.fill_null(highest + 1)
        return Column(self._values, (wide.to_numpy() - lowest).astype(np.int32))


def _with_null(values: pl.Series) -> pl.Series:
    return pl.concat([values, pl.Series(values.name, [None], dtype=values.dtype)])
