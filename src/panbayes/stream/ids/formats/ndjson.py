"""NDJSON: one JSON object a line, one field of which is the id. A line that cannot be read is skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import line_batches, lines_of

__all__ = ["NDJSON"]


def _batches(source: str, column: str | None) -> Iterator[Texts]:
    if column is None:
        raise InputError("--column", found="missing", remedy="name the field of the NDJSON lines that holds the id")
    kinds = str | int | None
    record = msgspec.defstruct("Line", [("field", kinds, None)], rename={"field": column})
    decoder = msgspec.json.Decoder(record)
    for batch in line_batches(source):
        ids: list[str] = []
        for line in lines_of(batch):
            try:
                value = getattr(decoder.decode(line), "field", None)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(value, str | int):
                ids.append(str(value))
        yield Texts.of(ids)


NDJSON: Final = StreamFormat("ndjson", (".ndjson", ".jsonl"), _batches)
