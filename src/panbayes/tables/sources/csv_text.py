"""CSV and TSV files. They are read as text: no type is inferred, so no value can change how another is read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.source import Source

__all__ = ["CSV"]


def _separator(suffix: str) -> str:
    return "\t" if suffix.lower() == ".tsv" else ","


def _read(given: Path, _names: Sequence[str] | None, *, argument: str) -> pl.DataFrame:
    """Read every column: that all lines have as many fields is what tells a whole file from a damaged one."""
    raw = given.read_bytes().rstrip(b"\r\n")
    separator = _separator(given.suffix)
    if not raw.strip():
        raise InputError(argument, found="is empty", remedy="give a file with a header and records")
    if b"\0" in raw:
        raise InputError(argument, found="is a binary file", remedy="give a CSV file")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(argument, found="is not UTF-8 text", remedy="give a CSV file in UTF-8") from None
    try:
        header = next(csv.reader(io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", newline=""), delimiter=separator))
        # polars fills short lines with nulls; a short last line is how a copy that broke off looks.
        last = raw.rpartition(b"\n")[2].decode("utf-8")
        if '"' not in last and last.count(separator) + 1 != len(header):
            raise csv.Error
        frame = pl.read_csv(raw, separator=separator, infer_schema=False)
    except (csv.Error, pl.exceptions.PolarsError, OSError):
        raise InputError(
            argument,
            found="is a damaged or truncated CSV file",
            remedy="write it again, with one header line and as many fields in every line",
        ) from None
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(argument, found=f'has two columns "{twice}"', remedy="give every column a name of its own")
    # polars leaves doubled quotes in names as they are.
    return frame.rename(dict(zip(frame.columns, header, strict=True)))


def _write(frame: pl.DataFrame, path: Path, suffix: str) -> None:
    frame.write_csv(path, separator=_separator(suffix))


CSV: Final = Source("CSV", _read, suffixes=(".csv", ".tsv"), write=_write)
