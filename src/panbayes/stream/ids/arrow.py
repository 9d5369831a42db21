"""Columns of any Arrow producer, read in place through the Arrow C data interface.

polars, pyarrow, pandas and DuckDB hand over a column as a few pointers; nothing is copied and no library of theirs
is imported here. A column is a run of chunks, each of integers or of texts. Texts are spans of bytes: the buffers of
a chunk are looked at as one array of bytes that begins at the lowest of them, so a span is a start and a length
whatever the layout. Only bytes inside the buffers (and the rest of their last aligned word) are ever read.

Why by hand: polars shows texts in public only as Python objects (3 million a second, where this reads 240 to 2,700
million), and pyarrow would be one more library to install, half as fast on string views. Both copy the texts into
memory that nobody can overwrite.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.chunk import Chunk, Integers, Texts, wrong_type
from panbayes.stream.ids.kernels.spans import offsets_to_spans, views_to_spans

__all__ = ["arrow_chunks", "speaks_arrow"]


class _Schema(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class _Array(ctypes.Structure):
    length: int
    null_count: int
    offset: int
    n_buffers: int


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


_INTEGERS: Final = {
    b"c": np.int8,
    b"C": np.uint8,
    b"s": np.int16,
    b"S": np.uint16,
    b"i": np.int32,
    b"I": np.uint32,
    b"l": np.int64,
    b"L": np.uint64,
}

_BLOCK: Final = 1 << 16


def speaks_arrow(ids: object) -> bool:
    """Say whether an object hands out Arrow data."""
    return hasattr(ids, "__arrow_c_stream__") or hasattr(ids, "__arrow_c_array__")


def _pointer(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, name))


def arrow_chunks(ids: object) -> Iterator[Chunk]:
    """Yield the chunks of a column; each is valid until the next one is asked for."""
    stream = getattr(ids, "__arrow_c_stream__", None)
    if stream is not None:
        yield from _stream_chunks(stream())
        return
    hand_over = getattr(ids, "__arrow_c_array__", None)
    if hand_over is None:
        raise wrong_type(f"a {type(ids).__name__}")
    schema, array = hand_over()
    layout = _Schema.from_address(_pointer(schema, b"arrow_schema"))
    yield from _chunks(_format(layout), _Array.from_address(_pointer(array, b"arrow_array")))


def _stream_chunks(capsule: object) -> Iterator[Chunk]:
    address = _pointer(capsule, b"arrow_array_stream")
    stream, layout = _Stream.from_address(address), _Schema()
    if stream.get_schema(address, ctypes.addressof(layout)) != 0:
        raise wrong_type("a column that its library does not hand over")
    try:
        form = _format(layout)
    finally:
        layout.release(ctypes.addressof(layout))
    while True:
        array = _Array()
        if stream.get_next(address, ctypes.addressof(array)) != 0:
            raise wrong_type("a column that its library does not hand over")
        if not array.release:
            return
        try:
            yield from _chunks(form, array)
        finally:
            array.release(ctypes.addressof(array))


def _format(layout: _Schema) -> bytes:
    form: bytes = layout.format
    if layout.dictionary or form not in {*_INTEGERS, b"u", b"U", b"vu"}:
        raise wrong_type("a column of another type, a dictionary or several columns")
    return form


class _Memory:
    """A stretch of memory, for NumPy to look at."""

    def __init__(self, address: int, size: int) -> None:
        """Describe ``size`` bytes at ``address``."""
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "data": (address, True), "shape": (size,)}


def _bytes(address: int | None, size: int) -> NDArray[np.uint8]:
    if not address or size == 0:
        return np.empty(0, dtype=np.uint8)
    return np.asarray(_Memory(address, size))


def _chunks(form: bytes, array: _Array) -> Iterator[Chunk]:
    length, offset = array.length, array.offset
    buffers: list[int | None] = [array.buffers[i] for i in range(array.n_buffers)]
    missing: NDArray[np.bool_] | None = None
    if array.null_count != 0 and buffers[0]:
        bits = np.unpackbits(_bytes(buffers[0], (offset + length + 7) // 8), bitorder="little")
        missing = bits[offset : offset + length] == 0
    if form in _INTEGERS:
        kind = np.dtype(_INTEGERS[form])
        values = _bytes(buffers[1], (offset + length) * kind.itemsize).view(kind)[offset:]
        yield Integers(values, missing)
        return
    for begin in range(0, length, _BLOCK):
        end = min(length, begin + _BLOCK)
        if form == b"vu":
            chunk = _view_spans(buffers, offset + begin, offset + end, offset + length)
        else:
            chunk = _offset_spans(
                buffers, np.dtype(np.int32 if form == b"u" else np.int64), offset + begin, offset + end
            )
        if missing is not None:
            chunk.lengths[missing[begin:end]] = 0
        yield chunk


def _offset_spans(buffers: list[int | None], kind: np.dtype[np.signedinteger], begin: int, end: int) -> Texts:
    offsets = _bytes(buffers[1], (end + 1) * kind.itemsize).view(kind)[begin:]
    address = buffers[2] or 0
    slip = address % 8
    starts, lengths = np.empty(end - begin, dtype=np.int64), np.empty(end - begin, dtype=np.int64)
    offsets_to_spans(offsets, slip, starts, lengths)
    return Texts(_bytes(address - slip, slip + int(offsets[-1])), starts, lengths)


def _view_spans(buffers: list[int | None], begin: int, end: int, total: int) -> Texts:
    sizes = _bytes(buffers[-1], 8 * (len(buffers) - 3)).view(np.int64)
    views = _bytes(buffers[1], 16 * total)
    stretches = [(buffers[1] or 0, views.size)]
    stretches += [(address or 0, int(size)) for address, size in zip(buffers[2:-1], sizes, strict=True)]
    base = min(address for address, _ in stretches if address) // 8 * 8
    top = max(address + size for address, size in stretches)
    places = np.array([address - base for address, _ in stretches[1:]] or [0], dtype=np.int64)
    starts, lengths = np.empty(end - begin, dtype=np.int64), np.empty(end - begin, dtype=np.int64)
    here = stretches[0][0] - base + 16 * begin
    views_to_spans(views[16 * begin : 16 * end].view(np.uint32), here, places, starts, lengths)
    return Texts(_bytes(base, top - base), starts, lengths)
