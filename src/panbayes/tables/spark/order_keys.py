"""Values as bytes whose order is that of the values, so that whatever compares bytes can sort records by columns.

A missing value comes first. Numbers, days and times are in their order, truth values with the false ones first, texts
in the order of their code points; anything else in the order of its text. Keys of several columns, one after the other,
are in the order of the first column, then of the second: none is the beginning of another.

>>> import polars as pl
>>> keys = value_keys(pl.Series([3, None, -2, 10]))
>>> sorted(range(4), key=keys.__getitem__)
[1, 2, 0, 3]
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Final

import polars as pl

from panbayes.tables.texts import as_text

__all__ = ["value_keys"]

_NOTHING: Final = b"\x00"
_SOMETHING: Final = b"\x01"
_MIDDLE: Final = 1 << 127
_SCALE: Final = 40
_BYTES: Final = 40
"""Decimals have at most 38 digits before and after the point: as whole multiples of 10⁻⁴⁰ they fit into 40 bytes."""


def value_keys(values: pl.Series) -> list[bytes]:
    """Return the key of every value; they are of one type."""
    if values.dtype.is_temporal():
        values = values.to_physical()
    elif not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.String)):
        values = as_text(values)
    known: dict[object, bytes] = {}
    return [known.setdefault(value, _key(value)) for value in values.to_list()]


def _key(value: object) -> bytes:
    match value:
        case bool() | int():
            return _SOMETHING + (int(value) + _MIDDLE).to_bytes(16)
        case float() if not math.isnan(value):
            (bits,) = struct.unpack(">Q", struct.pack(">d", value + 0.0))
            return _SOMETHING + struct.pack(">Q", bits ^ (2**64 - 1) if bits >> 63 else bits | 2**63)
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            if isinstance(exponent, int):
                whole = int("".join(map(str, digits)) or "0") * int(10 ** (exponent + _SCALE))
                return _SOMETHING + ((-whole if sign else whole) + (1 << 8 * _BYTES - 1)).to_bytes(_BYTES)
        case str():
            return _SOMETHING + value.encode("utf-8", "backslashreplace").replace(b"\0", b"\0\xff") + b"\0\0"
    return _NOTHING
