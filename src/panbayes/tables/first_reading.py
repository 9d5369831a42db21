"""How the first version read a table, for one purpose: to know the records again that its ledgers are bound to.

A ledger of the first version keeps a digest of the codes of its records. What has the same codes today is found by
them; but odd values have other codes since: ids that differ by blanks alone were several people, a time stamp had the
text of its column's type, a decimal that of a float, and CSV files were read whole or not at all. Here they are read as
they were then. A file that the first version refused gives nothing: no ledger can be bound to it.

Nothing is ever counted from what is read here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute
from panbayes.schema.domains import Scalar, label_text
from panbayes.schema.schema import Schema
from panbayes.tables.sources.file import File

__all__ = ["FirstCodes", "read_as_first"]

FirstCodes = tuple[NDArray[np.int64], int | None]
"""Codes of the records that were kept, of shape (attributes, records), and the number of persons under a unit."""

_TEXT_LIKE: Final = (pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null, pl.Categorical, pl.Enum)


def read_as_first(source: object, schema: Schema) -> FirstCodes | None:
    """Read a file or data frame as the first version did; None if that would have refused it."""
    with suppress(Exception, pl.exceptions.PanicException):
        unit = schema.unit
        frame = _frame(source, [*schema.names, *([unit.column] if unit else [])])
        persons = None
        if unit is not None:
            kept, persons = _first_records(frame[unit.column], unit.max_records, schema.missing_values)
            frame = frame[kept]
        codes = np.empty((len(schema), frame.height), dtype=np.int64)
        for row, attribute in zip(codes, schema.attributes, strict=True):
            row[:] = _codes(frame[attribute.name], attribute, schema.missing_values)
        return codes, persons
    return None


def _frame(source: object, names: Sequence[str]) -> pl.DataFrame:
    if isinstance(source, File):
        source = source.path
    if isinstance(source, str | Path):
        raw = Path(source).read_bytes()
        if raw.startswith(b"PAR1"):
            return pl.read_parquet(io.BytesIO(raw), columns=list(dict.fromkeys(names))).select(names)
        separator = "\t" if Path(source).suffix.lower() == ".tsv" else ","
        raw = raw.rstrip(b"\r\n")
        header = next(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=separator))
        read = pl.read_csv(raw, separator=separator, infer_schema=False)
        return read.rename(dict(zip(read.columns, header, strict=True))).select(names)
    given: Any = source
    frame = nw.from_native(given, eager_only=True)
    return pl.DataFrame([_column(frame.get_column(name)).alias(str(name)) for name in names])


def _column(values: nw.Series[Any]) -> pl.Series:
    """Return a column as it is, and one of objects (in pandas, categories may be objects too) as texts."""
    held = getattr(values.to_native(), "cat", None)
    kind = getattr(getattr(held, "categories", None), "dtype", None)
    if values.dtype != nw.Object and kind != np.dtype(object):
        return values.to_polars()
    plain = (value.item() if isinstance(value, np.generic) else value for value in values.to_list())
    texts = (
        None if gone else label_text(value) if isinstance(value, Scalar) else str(value)
        for value, gone in zip(plain, values.is_null().to_list(), strict=True)
    )
    written = [None if text is None else text.encode(errors="backslashreplace").decode() for text in texts]
    return pl.Series(values.name, written, dtype=pl.String)


def _text(values: pl.Series) -> pl.Series:
    dtype = values.dtype
    if dtype == pl.String:
        return values
    if isinstance(dtype, pl.Duration):
        return values.dt.to_string()
    if dtype.is_integer() or isinstance(dtype, _TEXT_LIKE):
        return values.cast(pl.String)
    numbers = values.cast(pl.Float64).fill_nan(None)
    whole = (numbers == numbers.round()) & (numbers.abs() < 2.0**53)
    integers = numbers.cast(pl.Int64, strict=False).cast(pl.String)
    return integers.zip_with(whole.fill_null(value=True), numbers.cast(pl.String))


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean or values.dtype.is_numeric():
        return values.cast(pl.Float64)
    return _text(values).str.strip_chars().cast(pl.Float64, strict=False)


def _first_records(ids: pl.Series, max_records: int, missing_values: tuple[str, ...]) -> tuple[NDArray[np.intp], int]:
    text = _text(ids)
    nobody = (text.is_null() | text.is_in(missing_values).fill_null(value=True)).to_numpy()
    rank = pl.DataFrame({"id": text}).select(pl.int_range(pl.len()).over("id").alias("rank"))["rank"].to_numpy()
    return np.flatnonzero((rank < max_records) & ~nobody), int(np.count_nonzero((rank == 0) & ~nobody))


def _missing(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> NDArray[np.bool_]:
    mask = values.is_null()
    if values.dtype.is_float():
        mask |= values.is_nan().fill_null(value=True)
    elif isinstance(values.dtype, pl.String | pl.Categorical | pl.Enum):
        known = set(attribute.labels[: attribute.regular]) if attribute.categories else set()
        markers = [text for text in missing_values if text not in known]
        mask |= _text(values).is_in(markers).fill_null(value=True)
    return mask.to_numpy()


def _codes(values: pl.Series, attribute: Attribute, missing_values: tuple[str, ...]) -> NDArray[np.int64]:
    if attribute.bins:
        numbers = _numbers(values).fill_null(np.nan).to_numpy()
        edges = np.array(attribute.bins, dtype=np.float64)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        codes = np.clip(np.searchsorted(edges, numbers, side="right").astype(np.int64) - 1, 0, attribute.regular - 1)
    else:
        if attribute.numeric:
            comparable = _numbers(values)
            known = pl.Series([float(v) for v in attribute.categories], dtype=pl.Float64)
        else:
            comparable, known = _text(values), pl.Series(attribute.labels[: attribute.regular], dtype=pl.String)
            comparable = comparable.str.to_lowercase() if attribute.boolean else comparable
        places = pl.Series(range(attribute.regular), dtype=pl.Int64)
        codes = comparable.replace_strict(known, places, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
        inside = codes >= 0
        codes = np.where(inside, codes, attribute.regular - 1)
    if attribute.other_code is not None:
        codes = np.where(inside, codes, attribute.other_code)
    return np.where(_missing(values, attribute, missing_values), attribute.missing_code, codes)
