"""NDJSON: one JSON object a line, one field of which is the id. A line that cannot be read is skipped.

Plain lines pass through the buffer alone; those with escapes and other rarities become Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import lines_of
from panbayes.stream.ids.records import Records

__all__ = ["NDJSON"]


def _of_lines(lines: Iterator[Texts], column: str | None, fields: Sequence[str]) -> Iterator[object]:
    if column is None:
        raise InputError("--column", found="missing", remedy="name the field of the NDJSON lines that holds the id")
    yield from _records(lines, column, fields) if fields else _ids(lines, column)


def _ids(lines: Iterator[Texts], column: str) -> Iterator[Texts]:
    from panbayes.stream.ids.kernels.json_fields import take_json_field

    name = np.frombuffer(column.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    decoder = _decoder(column)
    for batch in lines:
        ask = np.zeros(batch.starts.size, dtype=np.bool_)
        take_json_field(batch.data, batch.starts, batch.lengths, name, ask, False)
        if ask.any():
            asked = Texts(batch.data, batch.starts[ask], batch.lengths[ask])
            yield Texts.of([_field(decoder, line) for line in lines_of(asked)])
            batch.lengths[ask] = 0
            yield Texts(batch.data, batch.starts[~ask], batch.lengths[~ask])
        else:
            yield batch


def _records(lines: Iterator[Texts], column: str, fields: Sequence[str]) -> Iterator[Records]:
    """Yield one field as the id with others beside it."""
    from panbayes.stream.ids.kernels.json_fields import take_json_field

    names = [np.frombuffer(name.encode("utf-8", "surrogatepass"), dtype=np.uint8) for name in (column, *fields)]
    for batch in lines:
        ask, odd = np.zeros(batch.starts.size, dtype=np.bool_), np.zeros(batch.starts.size, dtype=np.bool_)
        found = [Texts(batch.data, batch.starts.copy(), batch.lengths.copy()) for _ in names]
        for number, (texts, name) in enumerate(zip(found, names, strict=True)):
            take_json_field(texts.data, texts.starts, texts.lengths, name, odd, number > 0)
            ask |= odd
        if ask.any():
            parsed = [
                _parsed(line, column, fields)
                for line in lines_of(Texts(batch.data, batch.starts[ask], batch.lengths[ask]))
            ]
            columns = [Texts.of(values) for values in zip(*parsed, strict=True)]
            yield Records(columns[0], dict(zip(fields, columns[1:], strict=True)))
            found = [Texts(texts.data, texts.starts[~ask], texts.lengths[~ask]) for texts in found]
        yield Records(found[0], dict(zip(fields, found[1:], strict=True)))
        for texts in found:
            texts.starts[:], texts.lengths[:] = 0, 0


_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ID: Final = msgspec.json.Decoder(str | int | None)


def _parsed(line: bytes, column: str, fields: Sequence[str]) -> list[str]:
    """Return the id and the fields of one line, empty where they cannot be read."""
    try:
        found = _OBJECT.decode(line)
        one = _ID.decode(found[column]) if column in found else None
        return ["" if one is None else str(one), *(_value(found.get(field)) for field in fields)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [""] * (1 + len(fields))


def _value(written: msgspec.Raw | None) -> str:
    """Return the text of a value as it is written; lists, objects and null have none."""
    raw = b"" if written is None else bytes(written)
    if raw.startswith(b'"'):
        return msgspec.json.decode(raw, type=str)
    return "" if raw[:1] in b"n[{" else raw.decode()


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


NDJSON: Final = StreamFormat("ndjson", (".ndjson", ".jsonl"), _of_lines)
