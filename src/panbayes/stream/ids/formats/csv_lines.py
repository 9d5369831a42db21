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

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import lines_of
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.where import one_text

__all__ = ["CSV"]

_NUMBER: Final = re.compile("0*[1-9][0-9]{0,8}")
"""The number of a column; no line has room for more."""


def _of_lines(lines: Iterator[Texts], column: str | None, fields: Sequence[str]) -> Iterator[object]:
    """Yield one column, named in the first line or numbered from 1."""
    yield from _records(lines, column, fields) if fields else _ids(lines, column)


def _ids(lines: Iterator[Texts], column: str | None) -> Iterator[Texts]:
    from panbayes.stream.ids.kernels.csv_fields import take_csv_field

    for (place,), rows in _rows(lines, column, ()):
        take_csv_field(rows.data, rows.starts, rows.lengths, place)
        yield rows


def _records(lines: Iterator[Texts], column: str | None, fields: Sequence[str]) -> Iterator[Records]:
    """Yield one column with others beside it, all named in the first line or all numbered from 1."""
    from panbayes.stream.ids.kernels.csv_fields import take_csv_field

    for (place, *others), rows in _rows(lines, column, fields):
        values: dict[str, Texts] = {}
        for field, other in zip(fields, others, strict=True):
            # A copy each: to take a field undoes doubled quotes in place.
            values[field] = Texts(rows.data.copy(), rows.starts.copy(), rows.lengths.copy())
            take_csv_field(values[field].data, values[field].starts, values[field].lengths, other)
        take_csv_field(rows.data, rows.starts, rows.lengths, place)
        yield Records(rows, values)
        for texts in values.values():
            for array in (texts.data, texts.starts, texts.lengths):
                array[:] = 0


def _rows(lines: Iterator[Texts], column: str | None, fields: Sequence[str]) -> Iterator[tuple[tuple[int, ...], Texts]]:
    """Yield batches of rows, each with the places of the column and of the fields."""
    places = _numbered(column, fields)
    for batch in lines:
        rows = batch
        if places is None:
            places, header = _find_header(batch, column, fields)
            rows = Texts(batch.data, batch.starts[header:], batch.lengths[header:])
        if places is not None:
            yield places, rows


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
    for number, line in enumerate(lines_of(batch), start=1):
        try:
            row = next(csv.reader([line.decode("utf-8", "replace")], strict=True), [])
        except csv.Error:
            continue
        if row:
            return (_place_of(column, row), *(_place_of_field(field, row) for field in fields)), number
    return None, batch.starts.size


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
