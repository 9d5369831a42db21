"""CSV, line by line: every line is a row of its own.

A field that spans lines is not read as one: the quote that opens it spoils its own line and no other, so nobody can
write a line that swallows other users'. What cannot be read is skipped. The lines pass through the buffer alone; only
the first one, which names the columns, becomes Python objects.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.where import one_text

__all__ = ["CSV"]

_NUMBER: Final = re.compile("0*[1-9][0-9]{0,8}")
"""The number of a column; no line has room for more."""


def _of_lines(lines: Iterator[Texts], column: str | None, fields: Sequence[str], arena: Arena) -> Iterator[object]:
    """Yield one column with the fields beside it, all named in the first line or all numbered from 1."""
    from panbayes.stream.ids.kernels.csv_fields import take_csv_fields

    places = _numbered(column, fields)
    for batch in lines:
        rows = batch
        if places is None:
            places, header = _find_header(batch, column, fields)
            rows = Texts(batch.data, batch.starts[header:], batch.lengths[header:])
        if places is None:
            continue
        taken = np.array(places, dtype=np.int64)
        starts = arena.array(taken.size * rows.size, np.int64).reshape(taken.size, rows.size)
        lengths = arena.array(taken.size * rows.size, np.int64).reshape(taken.size, rows.size)
        take_csv_fields(rows.data, rows.starts, rows.lengths, taken, starts, lengths)
        ids, *values = (Texts(rows.data, *spans) for spans in zip(starts, lengths, strict=True))
        yield Records(ids, dict(zip(fields, values, strict=True))) if fields else ids


def _numbered(column: str | None, fields: Sequence[str]) -> tuple[int, ...] | None:
    """Return the places of columns that are numbered from 1; nothing if they are named."""
    if column is None or not _NUMBER.fullmatch(column):
        return None
    for field in fields:
        if not _NUMBER.fullmatch(field):
            raise InputError(
                "--column",
                found=f"found a number, and filter or groups look at {field!r}",
                remedy="name the column as well, in a file whose first line names both",
            )
    return tuple(int(name) - 1 for name in (column, *fields))


def _find_header(batch: Texts, column: str | None, fields: Sequence[str]) -> tuple[tuple[int, ...] | None, int]:
    """Find the first line that can be read: where it names the columns, and after how many lines the rows begin."""
    for number in range(batch.size):
        start, length = int(batch.starts[number]), int(batch.lengths[number])
        line = batch.data[start : start + length].tobytes()
        try:
            row = next(csv.reader([line.decode("utf-8", "replace")], strict=True), [])
        except csv.Error:
            continue
        if row:
            return (_place_of(column, row), *(_place_of_field(field, row) for field in fields)), number + 1
    return None, batch.size


def _place_of(column: str | None, header: list[str]) -> int:
    """Find a column in the first row. The row is not shown: without a header it would be data."""
    names = [name.strip() for name in header]
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


def _place_of_field(field: str, header: list[str]) -> int:
    names = [one_text(name) for name in header]
    if names.count(field) != 1:
        raise InputError(
            "FILE",
            found=f"the first line does not name {field!r} exactly once, which filter or groups look at",
            remedy="give a file whose first line does",
        )
    return names.index(field)


CSV: Final = StreamFormat("csv", (".csv",), _of_lines)
