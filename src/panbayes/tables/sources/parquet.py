"""Parquet files. Only the columns that are asked for are read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.source import Source

__all__ = ["PARQUET"]


def _read(given: Path, names: Sequence[str] | None, *, argument: str) -> pl.DataFrame:
    # The bytes are read whole: a mapped file that somebody else cuts short would end the process.
    raw = given.read_bytes()
    try:
        known = pl.read_parquet_schema(io.BytesIO(raw))
        columns = None if names is None else [name for name in dict.fromkeys(names) if name in known]
        return pl.read_parquet(io.BytesIO(raw), columns=columns)
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(
            argument, found="is a damaged or truncated Parquet file", remedy="write it again and copy it whole"
        ) from None


def _write(frame: pl.DataFrame, path: Path, _suffix: str) -> None:
    frame.write_parquet(path)


PARQUET: Final = Source("Parquet", _read, suffixes=(".parquet",), magic=b"PAR1", write=_write)
