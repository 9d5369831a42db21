"""NDJSON: one JSON object a line, one field of which is the id. A line that cannot be read is skipped.

Plain lines pass through the buffer alone; those with escapes and other rarities become Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import line_batches, lines_of
from panbayes.stream.ids.stopping import Stop

__all__ = ["NDJSON"]


def _batches(source: str, column: str | None, stop: Stop) -> Iterator[Texts]:
    if column is None:
        raise InputError("--column", found="missing", remedy="name the field of the NDJSON lines that holds the id")
    from panbayes.stream.ids.kernels.json_fields import take_json_field

    name = np.frombuffer(column.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    decoder = _decoder(column)
    for batch in line_batches(source, stop):
        ask = np.zeros(batch.starts.size, dtype=np.bool_)
        take_json_field(batch.data, batch.starts, batch.lengths, name, ask)
        if ask.any():
            asked = Texts(batch.data, batch.starts[ask], batch.lengths[ask])
            yield Texts.of([_field(decoder, line) for line in lines_of(asked)])
            batch.lengths[ask] = 0
            yield Texts(batch.data, batch.starts[~ask], batch.lengths[~ask])
        else:
            yield batch


def _decoder(column: str) -> msgspec.json.Decoder[msgspec.Struct]:
    kinds = str | int | None
    return msgspec.json.Decoder(msgspec.defstruct("Line", [("field", kinds, None)], rename={"field": column}))


def _field(decoder: msgspec.json.Decoder[msgspec.Struct], line: bytes) -> str:
    """Return the field of one line, empty if it cannot be read."""
    try:
        value = getattr(decoder.decode(line), "field", None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return str(value) if isinstance(value, str | int) else ""


NDJSON: Final = StreamFormat("ndjson", (".ndjson", ".jsonl"), _batches)
