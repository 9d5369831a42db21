"""CSV, line by line: every line is a row of its own.

A field that spans lines is not read as one: the quote that opens it spoils its own line and no other, so nobody can
write a line that swallows other users'. What cannot be read is skipped. The lines pass through the buffer alone; only
the first one, which names the columns, becomes Python objects.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import line_batches, lines_of
from panbayes.stream.ids.stopping import Stop

__all__ = ["CSV"]


def _batches(source: str, column: str | None, stop: Stop) -> Iterator[Texts]:
    """Yield one column, named in the first line or numbered from 1."""
    from panbayes.stream.ids.kernels.csv_fields import take_csv_field

    place: int | None = int(column) - 1 if column is not None and column.isdecimal() and int(column) > 0 else None
    for batch in line_batches(source, stop):
        rows = batch
        if place is None:
            place, header = _find_header(batch, column)
            rows = Texts(batch.data, batch.starts[header:], batch.lengths[header:])
        if place is not None:
            take_csv_field(rows.data, rows.starts, rows.lengths, place)
            yield rows


def _find_header(batch: Texts, column: str | None) -> tuple[int | None, int]:
    """Find the first line that can be read: where it names the column, and after how many lines the rows begin."""
    for number, line in enumerate(lines_of(batch), start=1):
        try:
            row = next(csv.reader([line.decode("utf-8", "replace")], strict=True), [])
        except csv.Error:
            continue
        if row:
            return _place_of(column, row), number
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


CSV: Final = StreamFormat("csv", (".csv",), _batches)
