r"""Access logs in the combined format, which nginx and Apache write by default.

::

    203.0.113.7 - - [16/Nov/2026:10:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 512 "https://example.org/" "Mozilla/5.0"

The columns are ``address``, ``user``, ``time``, ``method``, ``path`` (without its query), ``status``, ``bytes``,
``referer`` and ``agent``. A visitor without a cookie is an address and a browser: two columns with ``+`` between them,
``address+agent``, are one id. A line that cannot be read, or lacks one of them, is skipped; ``-`` stands for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.records import Records

__all__ = ["COMBINED"]


class _Place(NamedTuple):
    """A field of the line; where it has words, which of them, and the byte that ends it."""

    field: int
    word: int | None = None
    until: int = 0


_COLUMNS: Final = {
    "address": _Place(0),
    "user": _Place(2),
    "time": _Place(3),
    "method": _Place(4, 0),
    "path": _Place(4, 1, ord("?")),
    "status": _Place(5),
    "bytes": _Place(6),
    "referer": _Place(7),
    "agent": _Place(8),
}
_NOTHING: Final = ord("-")


def _of_lines(lines: Iterator[Texts], column: str | None, fields: Sequence[str], arena: Arena) -> Iterator[object]:
    names = _columns(column)
    for field in fields:
        if field not in _COLUMNS:
            raise InputError(
                "FILE",
                found=f"an access log has no field {field!r}, which filter or groups look at",
                remedy=f"its fields are {', '.join(_COLUMNS)}",
            )
    for batch in lines:
        values = {field: _taken(batch, field, arena) for field in fields}
        ids = _taken(batch, names[0], arena)
        if len(names) > 1:
            ids = _joined(ids, _taken(batch, names[1], arena), arena)
        yield Records(ids, values) if fields else ids


def _columns(column: str | None) -> list[str]:
    if column is None:
        raise InputError("--column", found="missing", remedy=f"name one of {', '.join(_COLUMNS)}, or address+agent")
    names = column.split("+")
    if len(names) > 2 or not set(names) <= set(_COLUMNS):
        raise InputError(
            "--column",
            found=f"found {column!r}",
            remedy=f"name one of {', '.join(_COLUMNS)}, or two such as address+agent",
        )
    return names


def _taken(batch: Texts, column: str, arena: Arena) -> Texts:
    """Return one column of a batch of lines, as spans of the same buffer."""
    from panbayes.stream.ids.kernels.log_fields import drop_byte, take_log_field, take_word

    place = _COLUMNS[column]
    found = Texts(batch.data, arena.array(batch.size, np.int64), arena.array(batch.size, np.int64))
    take_log_field(batch.data, batch.starts, batch.lengths, place.field, found.starts, found.lengths)
    if place.word is not None:
        take_word(found.data, found.starts, found.lengths, place.word, place.until)
    drop_byte(found.data, found.starts, found.lengths, _NOTHING)
    return found


def _joined(first: Texts, second: Texts, arena: Arena) -> Texts:
    """Return two columns as one, in a buffer of its own."""
    from panbayes.stream.ids.kernels.log_fields import join_spans

    size = int(first.lengths.sum() + second.lengths.sum()) + first.size
    found = Texts(arena.array(size, np.uint8), arena.array(first.size, np.int64), arena.array(first.size, np.int64))
    join_spans(
        first.data, first.starts, first.lengths, second.starts, second.lengths, found.data, found.starts, found.lengths
    )
    return found


COMBINED: Final = StreamFormat("combined", (), _of_lines)
