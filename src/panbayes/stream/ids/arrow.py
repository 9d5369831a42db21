"""Columns of any Arrow producer, read in place through the Arrow C data interface.

polars, pyarrow, pandas and DuckDB hand over a column as a few pointers; nothing is copied and no library of theirs
is imported here. A column is a run of chunks, each of integers or of texts; a frame of one column is that column, and
categories are looked up in their dictionary. Bytes are taken for texts. Texts are spans of bytes: the buffers of a
chunk are looked at as one array of bytes that begins at the lowest of them, so a span is a start and a length whatever
the layout. Only bytes inside the buffers (and the rest of their last aligned word) are ever read.

Why by hand: polars shows texts in public only as Python objects (3 million a second, where this reads 240 to 2,700
million), and pyarrow would be one more library to install, half as fast on string views. Both copy the texts into
memory that nobody can overwrite.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arrow_interface import (
    ArrowArray,
    ArrowSchema,
    ArrowStream,
    children_of,
    dictionary_of,
    extension_of,
    pointer,
)
from panbayes.stream.ids.chunk import BLOCK, Chunk, Integers, Texts, wrong_type
from panbayes.stream.ids.kernels.spans import offsets_to_spans, uuid_texts, views_to_spans

__all__ = ["arrow_chunks", "speaks_arrow"]

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
_SHORT, _LONG, _VIEWS = (b"u", b"z"), (b"U", b"Z"), (b"vu", b"vz")
_NOTHING: Final = b"n"
_FRAME: Final = b"+s"
_UUID: Final = 16


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a column is laid out: its ``format``, the layout of its dictionary or of its one column, its extension."""

    format: bytes
    inner: _Layout | None = None
    is_uuid: bool = False


def speaks_arrow(ids: object) -> bool:
    """Say whether an object hands out Arrow data."""
    return hasattr(ids, "__arrow_c_stream__") or hasattr(ids, "__arrow_c_array__")


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
    layout = _layout(ArrowSchema.from_address(pointer(schema, b"arrow_schema")))
    yield from _chunks(layout, ArrowArray.from_address(pointer(array, b"arrow_array")))


def _stream_chunks(capsule: object) -> Iterator[Chunk]:
    address = pointer(capsule, b"arrow_array_stream")
    stream, schema = ArrowStream.from_address(address), ArrowSchema()
    if stream.get_schema(address, ctypes.addressof(schema)) != 0:
        raise wrong_type("a column that its library does not hand over")
    try:
        layout = _layout(schema)
    finally:
        schema.release(ctypes.addressof(schema))
    while True:
        array = ArrowArray()
        if stream.get_next(address, ctypes.addressof(array)) != 0:
            raise wrong_type("a column that its library does not hand over")
        if not array.release:
            return
        try:
            yield from _chunks(layout, array)
        finally:
            array.release(ctypes.addressof(array))


def _layout(schema: ArrowSchema) -> _Layout:
    form, dictionary = schema.format, dictionary_of(schema)
    if form == _FRAME:
        if schema.n_children != 1:
            raise wrong_type(f"a frame of {schema.n_children} columns")
        return _Layout(form, _layout(ArrowSchema.from_address(children_of(schema)[0])))
    if dictionary:
        values = _layout(ArrowSchema.from_address(dictionary))
        if form in _INTEGERS and values.inner is None:
            return _Layout(form, values)
    elif form in {*_INTEGERS, *_SHORT, *_LONG, *_VIEWS, _NOTHING}:
        return _Layout(form)
    elif form.startswith(b"w:"):
        return _Layout(form, is_uuid=form == b"w:%d" % _UUID and extension_of(schema) == b"arrow.uuid")
    raise wrong_type("a column of another type")


class _Memory:
    """A stretch of memory, for NumPy to look at."""

    def __init__(self, address: int, size: int) -> None:
        """Describe ``size`` bytes at ``address``."""
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "data": (address, True), "shape": (size,)}


def _bytes(address: int | None, size: int) -> NDArray[np.uint8]:
    if not address or size == 0:
        return np.empty(0, dtype=np.uint8)
    return np.asarray(_Memory(address, size))


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows ``offset`` to ``offset + length`` of a column, whose ``buffers`` are addresses."""

    array: ArrowArray
    offset: int
    length: int

    @property
    def buffers(self) -> list[int | None]:
        return [self.array.buffers[i] for i in range(self.array.n_buffers)]

    def missing(self) -> NDArray[np.bool_] | None:
        """Return which rows are missing, if any may be."""
        if self.array.null_count == 0 or not self.buffers[0]:
            return None
        bits = np.unpackbits(_bytes(self.buffers[0], (self.offset + self.length + 7) // 8), bitorder="little")
        return np.asarray(bits[self.offset : self.offset + self.length] == 0)

    def integers(self, form: bytes) -> NDArray[np.integer]:
        """Return the values of a column of integers."""
        kind = np.dtype(_INTEGERS[form])
        end = self.offset + self.length
        return _bytes(self.buffers[1], end * kind.itemsize).view(kind)[self.offset :]

    def texts(self, layout: _Layout, begin: int, end: int) -> Texts:
        """Return some of the texts of a column, counted within the part."""
        begin, end = self.offset + begin, self.offset + end
        if layout.format in _VIEWS:
            return _view_spans(self.buffers, begin, end, self.offset + self.length)
        if layout.format in (*_SHORT, *_LONG):
            short = layout.format in _SHORT
            return _offset_spans(self.buffers, np.dtype(np.int32) if short else np.dtype(np.int64), begin, end)
        return _fixed_spans(self.buffers[1], int(layout.format[2:]), begin, end, is_uuid=layout.is_uuid)


def _chunks(layout: _Layout, array: ArrowArray) -> Iterator[Chunk]:
    part, rows_missing = _Part(array, array.offset, array.length), None
    if layout.format == _FRAME and layout.inner is not None:
        # The rows of a frame are those of its column, from the frame's own first row on.
        column = ArrowArray.from_address(children_of(array)[0])
        rows_missing = part.missing()
        part, layout = _Part(column, column.offset + part.offset, part.length), layout.inner
    missing = part.missing()
    if rows_missing is not None:
        missing = rows_missing if missing is None else missing | rows_missing
    if layout.format == _NOTHING:
        yield _nothing(part.length)
        return
    if layout.inner is not None:
        yield from _looked_up(layout, part, missing)
    elif layout.format in _INTEGERS:
        yield Integers(part.integers(layout.format), missing)
    else:
        for begin in range(0, part.length, BLOCK):
            end = min(part.length, begin + BLOCK)
            chunk = part.texts(layout, begin, end)
            if missing is not None:
                chunk.lengths[missing[begin:end]] = 0
            yield chunk
            _forget(chunk, layout)
    if missing is not None:
        missing[:] = False


def _looked_up(layout: _Layout, part: _Part, missing: NDArray[np.bool_] | None) -> Iterator[Chunk]:
    """Yield the values that the numbers of a column stand for."""
    address, inner = dictionary_of(part.array), layout.inner
    if address is None or inner is None:
        raise wrong_type("a dictionary without values")
    values = ArrowArray.from_address(address)
    listed = _Part(values, values.offset, values.length)
    gone = listed.missing()
    keys = part.integers(layout.format)
    for begin in range(0, part.length, BLOCK):
        block = keys[begin : begin + BLOCK].astype(np.int64)
        absent = (block < 0) | (block >= listed.length)
        if missing is not None:
            absent |= missing[begin : begin + BLOCK]
        block[absent] = 0
        if gone is not None and listed.length:
            absent |= gone[block]
        if listed.length == 0 or inner.format == _NOTHING:
            yield _nothing(block.size)
        elif inner.format in _INTEGERS:
            yield Integers(listed.integers(inner.format)[block], absent)
        else:
            texts = listed.texts(inner, 0, listed.length)
            chunk = Texts(texts.data, texts.starts[block], np.where(absent, 0, texts.lengths[block]))
            yield chunk
            _forget(chunk, inner)
        block[:] = 0


def _nothing(size: int) -> Texts:
    """Return so many missing ids."""
    return Texts(np.empty(0, dtype=np.uint8), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))


def _forget(chunk: Texts, layout: _Layout) -> None:
    """Overwrite what was made of a column's texts; what its library holds is its own."""
    chunk.starts[:] = 0
    chunk.lengths[:] = 0
    if layout.is_uuid:
        chunk.data[:] = 0


def _fixed_spans(address: int | None, width: int, begin: int, end: int, *, is_uuid: bool) -> Texts:
    data = _bytes(address, end * width)
    if is_uuid:
        written = np.empty(36 * (end - begin), dtype=np.uint8)
        uuid_texts(data[begin * width :], written)
        data, width, begin, end = written, 36, 0, end - begin
    starts = np.arange(begin, end, dtype=np.int64) * width
    return Texts(data, starts, np.full(end - begin, width, dtype=np.int64))


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
