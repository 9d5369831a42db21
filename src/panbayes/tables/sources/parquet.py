"""Parquet files. Only the columns that are asked for are read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.parquet_footer import as_bytes
from panbayes.tables.sources.quiet import quiet
from panbayes.tables.sources.source import Source
from panbayes.tables.texts import text_column

__all__ = ["MAX_CELLS", "PARQUET"]

MAX_CELLS: Final = 1 << 29
"""Records times columns that are read at most: a small file can declare any number of them."""


def _read(given: Path, names: Sequence[str] | None, *, argument: str) -> pl.DataFrame:
    # The bytes are read whole: a mapped file that somebody else cuts short would end the process.
    raw = given.read_bytes()
    try:
        with quiet():
            known = pl.read_parquet_schema(io.BytesIO(raw))
            columns = list(known) if names is None else [name for name in dict.fromkeys(names) if name in known]
            records = int(pl.scan_parquet(io.BytesIO(raw)).select(pl.len()).collect().item())
            if records * len(columns) <= MAX_CELLS:
                return _columns(raw, columns)
    # A panic of the native reader is no Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, IndexError):
        raise InputError(
            argument, found="is a damaged or truncated Parquet file", remedy="write it again and copy it whole"
        ) from None
    raise InputError(
        argument,
        found=f"declares more than {MAX_CELLS:,} values",
        remedy="give fewer columns, or a smaller file",
    )


def _columns(raw: bytes, names: Sequence[str]) -> pl.DataFrame:
    """Read some columns. One with a text that is not UTF-8 is read as bytes, value by value: each has its own text."""
    try:
        return pl.read_parquet(io.BytesIO(raw), columns=list(names))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if not names:
            raise
        return pl.DataFrame([_column(raw, name) for name in names])


def _column(raw: bytes, name: str) -> pl.Series:
    try:
        return pl.read_parquet(io.BytesIO(raw), columns=[name])[name]
    except pl.exceptions.ComputeError:
        values = pl.read_parquet(io.BytesIO(as_bytes(raw, name)), columns=[name])[name]
        if values.dtype != pl.Binary:
            raise
        return text_column(name, values.to_list())


def _write(frame: pl.DataFrame, path: Path, _suffix: str) -> None:
    with path.open("wb") as file:  # polars takes no path that is not UTF-8
        frame.write_parquet(file)


PARQUET: Final = Source("Parquet", _read, suffixes=(".parquet",), magic=b"PAR1", write=_write)
