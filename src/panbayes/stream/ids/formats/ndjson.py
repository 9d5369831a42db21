"""NDJSON: one JSON object a line, one field of which is the id. A line that cannot be read is skipped.

An id is a text or a whole number. Values of fields are texts, numbers as they are written, ``true`` and ``false``. Of
several members of one name the last one counts. The rules are those of RFC 8259, and no line becomes a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.records import Records

__all__ = ["NDJSON"]


def _of_lines(lines: Iterator[Texts], column: str | None, fields: Sequence[str], arena: Arena) -> Iterator[object]:
    if column is None:
        raise InputError("--column", found="missing", remedy="name the field of the NDJSON lines that holds the id")
    from panbayes.stream.ids.kernels.json_fields import NESTING, take_json_fields

    names = Texts.of([column, *fields])
    for batch in lines:
        starts = arena.array(names.size * batch.size, np.int64).reshape(names.size, batch.size)
        lengths = arena.array(names.size * batch.size, np.int64).reshape(names.size, batch.size)
        kinds, nesting = arena.array(names.size, np.uint8), arena.array(NESTING, np.uint64)
        take_json_fields(
            batch.data, batch.starts, batch.lengths, names.data, names.starts, names.lengths, kinds, nesting,
            starts, lengths,
        )  # fmt: skip
        ids, *values = (Texts(batch.data, *spans) for spans in zip(starts, lengths, strict=True))
        yield Records(ids, dict(zip(fields, values, strict=True))) if fields else ids


NDJSON: Final = StreamFormat("ndjson", (".ndjson", ".jsonl"), _of_lines)
