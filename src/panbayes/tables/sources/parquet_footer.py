"""The footer of a Parquet file, rewritten so that a column of texts is read as bytes.

A text in a Parquet file should be UTF-8, but writers exist that do not look (Spark keeps whatever bytes it was given),
and the reader refuses a column for one such value. Bytes are never refused. That a column holds texts is said in the
footer alone (``ConvertedType``, ``LogicalType`` and a copy of Arrow's schema); the pages are the same. So the footer
without it, behind the same pages, is the same table with bytes in the place of texts.

The footer is one struct in Thrift's compact protocol: a struct is a list of fields, each with the distance of its
number from the one before and its type, and ends with a zero; numbers have seven bits in a byte, lowest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["as_bytes"]

_MAGIC: Final = b"PAR1"
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 3, 7, 8, 9, 10, 12
_NUMBERS: Final = (4, 5, 6)
_BOOLEANS: Final = (1, 2)
_DEEPEST: Final = 20
_LONGEST: Final = 10

_SCHEMA, _NOTES = 2, 5
"""Fields of the whole: the elements of the schema, and notes such as Arrow's schema."""

_NAME, _MEANINGS = 4, (6, 10)
"""Fields of an element of the schema: its name, and what its bytes mean, said in the old way and in the new."""

Field: TypeAlias = tuple[int, int, "Value"]


@dataclass(frozen=True, slots=True)
class _List:
    kind: int
    values: list[Value]


Value: TypeAlias = bytes | _List | list[Field]
"""A number, a double or a text as the bytes it is written in; a list; or the fields of a struct."""


def as_bytes(raw: bytes, name: str) -> bytes:
    """Return a Parquet file whose column ``name`` holds bytes in the place of texts.

    Raises ValueError or IndexError if the footer is not what a writer writes.
    """
    length = int.from_bytes(raw[-8:-4], "little")
    start = len(raw) - 8 - length
    if raw[-4:] != _MAGIC or start < len(_MAGIC):
        raise ValueError("not a Parquet file")
    reader = _Reader(raw[start:-8])
    footer = [field for field in reader.struct() if field[0] != _NOTES]
    written = _struct([_without_meaning(field, name.encode()) if field[0] == _SCHEMA else field for field in footer])
    return raw[:start] + written + len(written).to_bytes(4, "little") + _MAGIC


def _without_meaning(schema: Field, name: bytes) -> Field:
    number, kind, elements = schema
    if not isinstance(elements, _List):
        raise ValueError("no schema")
    wanted = (_NAME, _BINARY, _number(len(name)) + name)
    values: list[Value] = []
    for element in elements.values:
        if isinstance(element, list) and wanted in element:
            element = [field for field in element if field[0] not in _MEANINGS]
        values.append(element)
    return number, kind, _List(elements.kind, values)


class _Reader:
    """Reads values one after the other."""

    def __init__(self, data: bytes) -> None:
        """Begin at the beginning."""
        self._data = data
        self._at = 0
        self._depth = 0

    def struct(self) -> list[Field]:
        """Read the fields of a struct."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("structs in structs without end")
        fields: list[Field] = []
        number = 0
        while head := self._byte():
            distance, kind = head >> 4, head & 15
            number = number + distance if distance else _unzigzag(_value(self._number()))
            fields.append((number, kind, b"" if kind in _BOOLEANS else self._value(kind)))
        self._depth -= 1
        return fields

    def _value(self, kind: int) -> Value:
        if kind in _NUMBERS:
            return self._number()
        if kind in (_BYTE, _DOUBLE):
            return self._take(1 if kind == _BYTE else 8)
        if kind == _BINARY:
            length = self._number()
            return length + self._take(_value(length))
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else _value(self._number())
            inner = head & 15
            return _List(inner, [self._take(1) if inner in _BOOLEANS else self._value(inner) for _ in range(size)])
        if kind == _STRUCT:
            return self.struct()
        raise ValueError("a type that no footer has")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, length: int) -> bytes:
        self._at += length
        if self._at > len(self._data):
            raise ValueError("cut short")
        return self._data[self._at - length : self._at]

    def _number(self) -> bytes:
        begin = self._at
        while self._byte() & 128:
            if self._at - begin >= _LONGEST:
                raise ValueError("a number without end")
        return self._data[begin : self._at]


def _value(number: bytes) -> int:
    return sum((byte & 127) << 7 * place for place, byte in enumerate(number))


def _number(value: int) -> bytes:
    """Write a whole number.

    >>> _number(300), _value(_number(300))
    (b'\\xac\\x02', 300)
    """
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def _unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _struct(fields: list[Field]) -> bytes:
    written = bytearray()
    last = 0
    for number, kind, value in fields:
        if 0 < number - last < 16:
            written.append(number - last << 4 | kind)
        else:
            written += bytes([kind]) + _number(number * 2 if number >= 0 else -number * 2 - 1)
        last = number
        written += _written(value)
    return bytes(written) + b"\0"


def _written(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return _struct(value)
    size = len(value.values)
    head = bytes([size << 4 | value.kind]) if size < 15 else bytes([0xF0 | value.kind]) + _number(size)
    return head + b"".join(map(_written, value.values))
