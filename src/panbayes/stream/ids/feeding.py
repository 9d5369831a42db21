"""Reading a stream of ids from a file or a pipe, in batches bounded in size and time.

A batch is at most :data:`BATCH` bytes of input and is handed over at the latest :data:`PATIENCE` seconds after its
first byte. The buffer it was read into is overwritten when the batch has been applied. What cannot be read is skipped,
and nothing says which or how much: both would be facts about the stream. (Rows of CSV and NDJSON pass through Python
objects and Parquet through polars, whose memory cannot be overwritten by us; plain text lines pass through the buffer
alone.)
"""

from __future__ import annotations

import csv
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TextIO, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arrow import Texts
from panbayes.stream.ids.columns import spans_of
from panbayes.stream.ids.text_kernels import split_lines

__all__ = ["BATCH", "PATIENCE", "Format", "batches", "format_of"]

Format: TypeAlias = Literal["text", "csv", "ndjson", "parquet"]

BATCH: Final = 1 << 22
"""Bytes of input in a batch, at most."""

PATIENCE: Final = 1.0
"""Seconds a batch may wait for more input."""

_LINES: Final = 1 << 19
_ROWS: Final = 1 << 17
_SUFFIXES: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def format_of(source: str) -> Format:
    """Tell the format from a file's name; anything unknown is text lines.

    >>> format_of("visits.csv"), format_of("-")
    ('csv', 'text')
    """
    return _SUFFIXES.get(Path(source).suffix.lower(), "text")


def batches(source: str, *, form: Format, column: str | None = None) -> Iterator[object]:
    """Yield batches of ids from ``source`` (``-`` for standard input); use one before asking for the next.

    ``column`` names the column of a CSV or Parquet file or the field of NDJSON lines. For CSV it may be a number
    counted from 1, and then the first line is an ordinary row.
    """
    if form == "parquet":
        yield from _parquet(source, column)
        return
    with _descriptor(source) as descriptor:
        lines = _line_batches(descriptor)
        match form:
            case "text":
                if column is not None:
                    raise InputError("--column", found="text lines have no columns", remedy="leave it out")
                yield from lines
            case "ndjson":
                yield from _ndjson(lines, column)
            case "csv":
                yield from _csv(lines, column)


@contextmanager
def _descriptor(source: str) -> Iterator[int]:
    if source == "-":
        standard: TextIO | None = sys.stdin
        if standard is None:
            raise InputError("FILE", found="standard input is closed", remedy="give a file, or pipe the stream in")
        yield standard.fileno()
        return
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(source, error) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unreadable(source: str, error: OSError) -> InputError:
    reason = (error.strerror or "unknown reason").lower()
    return InputError(source, found=f"cannot be read ({reason})", remedy="give a file, or - for standard input")


def _line_batches(descriptor: int) -> Iterator[Texts]:
    """Yield whole lines as spans of a buffer that is overwritten afterwards; drop a line longer than the buffer."""
    buffer = np.zeros(BATCH + 1, dtype=np.uint8)
    starts, lengths = np.empty(_LINES, dtype=np.int64), np.empty(_LINES, dtype=np.int64)
    have, skipping, ended = 0, False, False
    try:
        while not ended:
            have, ended = _fill(descriptor, buffer, have)
            if ended and have:
                buffer[have] = 10
                have += 1
            while True:
                count, rest = split_lines(buffer, have, starts, lengths)
                if count == 0:
                    break
                # The rest of a line that was too long is not a line.
                first = 1 if skipping else 0
                skipping = False
                yield Texts(buffer, starts[first:count], lengths[first:count])
                buffer[: have - rest] = buffer[rest:have].copy()
                buffer[have - rest : have] = 0
                have -= rest
            if have >= BATCH:
                buffer[:] = 0
                have, skipping = 0, True
    finally:
        buffer[:] = 0


def _fill(descriptor: int, buffer: NDArray[np.uint8], have: int) -> tuple[int, bool]:
    """Read until the buffer is full, the input ends or patience does; return how much there is and whether it ended."""
    deadline: float | None = None
    while have < BATCH:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if deadline is not None and not select.select([descriptor], [], [], wait)[0]:
            break
        try:
            read = os.readv(descriptor, [buffer.data[have:BATCH]])
        except OSError as error:
            raise _unreadable("the input", error) from None
        if read == 0:
            return have, True
        have += read
        if deadline is None:
            deadline = time.monotonic() + PATIENCE
    return have, False


def _texts(lines: Texts) -> Iterator[bytes]:
    """Yield the lines of a batch as objects."""
    whole = lines.data
    for start, length in zip(lines.starts.tolist(), lines.lengths.tolist(), strict=True):
        yield whole[start : start + length].tobytes()


def _ndjson(lines: Iterator[Texts], column: str | None) -> Iterator[Texts]:
    if column is None:
        raise InputError("--column", found="missing", remedy="name the field of the NDJSON lines that holds the id")
    kinds = str | int | None
    record = msgspec.defstruct("Line", [("field", kinds, None)], rename={"field": column})
    decoder = msgspec.json.Decoder(record)
    for batch in lines:
        ids: list[str | bytes] = []
        for line in _texts(batch):
            try:
                value = getattr(decoder.decode(line), "field", None)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(value, str | int):
                ids.append(str(value))
        yield spans_of(ids)


def _csv(lines: Iterator[Texts], column: str | None) -> Iterator[Texts]:
    """Yield one column. Every line is a row of its own: a stray quote spoils its own line, never another user's."""
    place: int | None = int(column) - 1 if column is not None and column.isdecimal() and int(column) > 0 else None
    for batch in lines:
        ids: list[str] = []
        for line in _texts(batch):
            try:
                row = next(csv.reader([line.decode("utf-8", "replace")], strict=True), [])
            except csv.Error:
                continue
            if place is None and row:
                place = _column_place(row, column)
            elif place is not None and len(row) > place:
                ids.append(row[place])
        yield spans_of(ids)


def _column_place(header: list[str], column: str | None) -> int:
    """Find a column in the first row. The row is not shown: without a header it would be data."""
    names = [name.strip().lstrip("\ufeff") for name in header]
    if column is None and len(names) == 1:
        return 0
    if column is None:
        raise InputError("--column", found="missing", remedy="name the column that holds the id, or number it from 1")
    if names.count(column) != 1:
        raise InputError(
            "--column",
            found=f"the first line does not name {column!r} exactly once",
            remedy="name a column of the first line, or number it from 1 if the file has no such line",
        )
    return names.index(column)


def _parquet(source: str, column: str | None) -> Iterator[object]:
    import polars as pl

    if source == "-":
        raise InputError("FILE", found="Parquet from standard input", remedy="give the Parquet file by its name")
    try:
        scan = pl.scan_parquet(source)
        names = scan.collect_schema().names()
    except OSError as error:
        raise _unreadable(source, error) from None
    except pl.exceptions.PolarsError:
        raise InputError(source, found="is not a Parquet file", remedy="give its format with --format") from None
    if column is None and len(names) == 1:
        column = names[0]
    if column not in names:
        raise InputError(
            "--column",
            found="missing" if column is None else f"found {column!r}",
            remedy="name a column of the file: " + ", ".join(names[:20]),
        )
    chosen, offset = scan.select(pl.col(column)), 0
    while True:
        part = chosen.slice(offset, _ROWS * 8).collect().to_series()
        if part.len() == 0:
            return
        offset += part.len()
        yield part
