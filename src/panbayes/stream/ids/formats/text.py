"""Plain text: one id a line. The lines pass through the buffer alone, never through Python objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat

__all__ = ["TEXT"]


def _of_lines(lines: Iterator[Texts], column: str | None, fields: Sequence[str], _arena: Arena) -> Iterator[Texts]:
    if column is not None:
        raise InputError("--column", found="text lines have no columns", remedy="leave it out")
    if fields:
        raise InputError(
            "FILE",
            found=f"text lines have no field {fields[0]!r}, which filter or groups look at",
            remedy="give a CSV, NDJSON or Parquet file, with --format if its name does not say so",
        )
    yield from lines


TEXT: Final = StreamFormat("text", (".txt",), _of_lines)
