"""Plain text: one id a line. The lines pass through the buffer alone, never through Python objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import line_batches
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.stopping import Stop

__all__ = ["TEXT"]


def _batches(source: str, column: str | None, stop: Stop) -> Iterator[Texts]:
    if column is not None:
        raise InputError("--column", found="text lines have no columns", remedy="leave it out")
    yield from line_batches(source, stop)


def _records(_source: str, _column: str | None, fields: Sequence[str], _stop: Stop) -> Iterator[Records]:
    raise InputError(
        "FILE",
        found=f"text lines have no field {fields[0]!r}, which filter or groups look at",
        remedy="give a CSV, NDJSON or Parquet file, with --format if its name does not say so",
    )


TEXT: Final = StreamFormat("text", (".txt",), _batches, _records)
