"""What a draft needs to know of a column, gathered batch by batch in bounded memory.

At most :data:`KEPT` distinct values are kept of each column, with counts of records, extremes of numbers and of dates,
and the smallest hashes of its values, by which repetition shows.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from panbayes.schema.blanks import BLANKS
from panbayes.schema.dates import DATE, Shape, declared_shape
from panbayes.tables.numbers import as_numbers
from panbayes.tables.sources.batch import Column
from panbayes.tables.texts import as_text

__all__ = ["FORMATS", "KEPT", "SHAPES", "ColumnSummary"]

KEPT: Final = 257
"""So many distinct values are kept, which is one more than become categories."""

HASHES: Final = 4_096
LOOKED_AT: Final = 500
_EXACT: Final = 2.0**53
_NO_NUMBER: Final = r"(?i)^(?:[+-]?0[0-9]|(?:true|false)$)"

FORMATS: Final = (
    *(
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%d-%m-%Y",
        "%m-%d-%Y",
        "%Y/%m/%d",
        "%Y%m%d",
        "%d%b%Y",
        "%d-%b-%Y",
        "%d %b %Y",
    ),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%d %B %Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M %p"),
    *("%m/%d/%Y %I:%M:%S %p", "%d%b%Y:%H:%M:%S"),
)
"""Ways to write dates that are met; which of them a column has, a person must say."""

SHAPES: Final = {form: declared_shape(form, (("d",),)) for form in FORMATS}


@dataclass(slots=True)
class ColumnSummary:
    """What has been seen of a column so far. Values are without blanks around them."""

    name: str
    records: int = 0
    missing: int = 0
    sample: dict[int, str] = field(default_factory=dict)
    boolean: bool = True
    labels_taken: set[str] = field(default_factory=set)
    numbers: int = 0
    number_like: bool = True
    whole: bool = True
    low: float = float("inf")
    high: float = float("-inf")
    dates: int = 0
    first: dt.date = dt.date.max
    last: dt.date = dt.date.min
    formats: dict[str, Shape] = field(default_factory=lambda: dict(SHAPES))
    hashes: dict[int, int] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """The number of records whose value is not missing."""
        return self.records - self.missing

    @property
    def values(self) -> tuple[str, ...]:
        """All distinct values, or a sample of them where there are many."""
        return tuple(self.sample.values())

    @property
    def many(self) -> bool:
        """Whether there are more distinct values than become categories."""
        return len(self.sample) >= KEPT

    @property
    def repeats(self) -> bool:
        """Whether some value occurs twice, as far as a sample of values can tell."""
        return any(times > 1 for times in self.hashes.values())

    def add(self, column: Column, missing_values: tuple[str, ...], *, decimal_comma: bool) -> None:
        """Look at the column's values in another batch."""
        values = column.series()
        raw = as_text(values)
        text = raw.str.strip_chars(BLANKS)
        markers = [marker.strip(BLANKS) for marker in missing_values]
        gone = text.is_null() | text.is_in(markers).fill_null(value=True)
        counted = text.filter(~gone).alias("text").value_counts()
        texts, times = counted["text"], counted["count"].cast(pl.Int64)
        self.records += text.len()
        self.missing += int(gone.sum())
        if texts.len() == 0:
            return
        self.boolean &= values.dtype == pl.Boolean
        self.labels_taken |= set(texts.filter(texts.is_in(["other", "missing"])).to_list())
        self._add_numbers(texts, times, decimal_comma=decimal_comma)
        self._add_dates(texts, times)
        self._add_values(texts, times)

    def _add_numbers(self, texts: pl.Series, times: pl.Series, *, decimal_comma: bool) -> None:
        self.number_like = self.number_like and not bool(texts.str.contains(_NO_NUMBER).any())
        numbers = as_numbers(texts, decimal_comma=decimal_comma)
        exact = (numbers.is_finite() & (numbers.abs() < _EXACT)).fill_null(value=False)
        self.numbers += int(times.filter(exact).sum())
        own = numbers.filter(exact).to_numpy()
        if own.size:
            self.low, self.high = min(self.low, float(own.min())), max(self.high, float(own.max()))
            self.whole = self.whole and bool((own == own.round()).all())

    def _add_dates(self, texts: pl.Series, times: pl.Series) -> None:
        days = texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        good = (texts.str.contains(DATE.pattern) & days.is_not_null() & (days.dt.year() >= 1)).fill_null(value=False)
        self.dates += int(times.filter(good).sum())
        own = days.filter(good)
        first, last = own.min(), own.max()
        if isinstance(first, dt.date) and isinstance(last, dt.date):
            self.first, self.last = min(self.first, first), max(self.last, last)
        looked_at = texts.head(LOOKED_AT).to_list()
        self.formats = {
            form: shape
            for form, shape in self.formats.items()
            if all(shape.read(text) is not None for text in looked_at)
        }

    def _add_values(self, texts: pl.Series, times: pl.Series) -> None:
        """Keep the values of the smallest hashes, and how often some more have come, whatever batches they lie in."""
        found = pl.DataFrame({"hash": texts.hash(seed=0), "times": times, "text": texts}).sort("hash").head(HASHES)
        for key, count, text in found.iter_rows():
            self.hashes[key] = self.hashes.get(key, 0) + count
            self.sample.setdefault(key, text)
        self.hashes = dict(sorted(self.hashes.items())[:HASHES])
        self.sample = dict(sorted(self.sample.items())[:KEPT])
