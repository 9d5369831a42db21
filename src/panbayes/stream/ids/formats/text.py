"""Plain text: one id a line. The lines pass through the buffer alone, never through Python objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import line_batches
from panbayes.stream.ids.stopping import Stop

__all__ = ["TEXT"]


def _batches(source: str, column: str | None, stop: Stop) -> Iterator[Texts]:
    if column is not None:
        raise InputError("--column", found="text lines have no columns", remedy="leave it out")
    yield from line_batches(source, stop)


TEXT: Final = StreamFormat("text", (".txt",), _batches)
