"""Columns of any Arrow producer, read in place through the Arrow C data interface.

polars, pyarrow, pandas and DuckDB hand over a column as a few pointers; nothing is copied and no library of theirs
is imported here. A column is a run of chunks, each of integers or of texts; a frame of one column is that column, and
categories are looked up in their dictionary. Bytes are taken for texts. Texts are spans of bytes: the buffers of a
chunk are looked at as one array of bytes that begins at the lowest of them, so a span is a start and a length whatever
the layout. Only bytes inside the buffers (and the rest of their last aligned word) are ever read.

Why by hand: polars shows texts in public only as Python objects (3 million a second, where this reads 240 to 2,700
million), and pyarrow would be one more library to install, half as fast on string views. Both copy the texts into
memory that nobody can overwrite. What this module makes of a column (spans, marks, values of a dictionary) lies in an
arena.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.arrow_interface import (
    ArrowArray,
    ArrowSchema,
    ArrowStream,
    children_of,
    dictionary_of,
    extension_of,
    pointer,
)
from panbayes.stream.ids.chunk import Block, Chunk, Integers, Texts, wrong_type
from panbayes.stream.ids.kernels import arrow_layouts as kernels

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
class _Column:
    """The rows from ``offset`` on of a column, whose ``buffers`` are addresses."""

    array: ArrowArray
    offset: int

    @property
    def buffers(self) -> list[int | None]:
        return [self.array.buffers[i] for i in range(self.array.n_buffers)]

    @property
    def may_miss(self) -> bool:
        """Whether a row may be missing."""
        return self.array.null_count != 0 and bool(self.buffers[0])

    def present(self, end: int) -> NDArray[np.uint8]:
        """Return a bit for every row up to ``end``, counted from the start of the buffers: whether it is there."""
        return _bytes(self.buffers[0], (end + 7) // 8)

    def integers(self, form: bytes, begin: int, end: int) -> NDArray[np.integer]:
        """Return some values of a column of integers."""
        kind = np.dtype(_INTEGERS[form])
        end = self.offset + end
        return _bytes(self.buffers[1], end * kind.itemsize).view(kind)[self.offset + begin :]


@dataclass(frozen=True, slots=True)
class _ArrowChunk:
    """Some rows of a column that an Arrow producer handed over; those of a frame are also rows of ``frame``."""

    layout: _Layout
    column: _Column
    size: int
    frame: _Column | None = None

    def block(self, begin: int, end: int, arena: Arena) -> Block:
        """Return some rows in place."""
        size = end - begin
        if self.layout.format == _NOTHING:
            return _nothing(size, arena)
        gaps = [gap for gap in (self.column, self.frame) if gap is not None and gap.may_miss]
        if self.layout.inner is not None:
            return self._looked_up(begin, end, gaps, arena)
        if self.layout.format in _INTEGERS:
            values = self.column.integers(self.layout.format, begin, end)
            return Integers(values, _missing(gaps, begin, end, arena) if gaps else None)
        texts = _texts(self.layout, self.column, begin, end, None, arena)
        for gap in gaps:
            kernels.drop_missing(gap.present(gap.offset + end), gap.offset + begin, texts.lengths)
        return texts

    def _looked_up(self, begin: int, end: int, gaps: list[_Column], arena: Arena) -> Block:
        """Return the values that the numbers of a column stand for."""
        address, inner = dictionary_of(self.column.array), self.layout.inner
        if address is None or inner is None:
            raise wrong_type("a dictionary without values")
        found = ArrowArray.from_address(address)
        values, listed = _Column(found, found.offset), found.length
        if listed == 0 or inner.format == _NOTHING:
            return _nothing(end - begin, arena)
        keys, missing = arena.array(end - begin, np.int64), _missing(gaps, begin, end, arena)
        np.copyto(keys, self.column.integers(self.layout.format, begin, end), casting="unsafe")
        there = values.present(values.offset + listed) if values.may_miss else np.empty(0, dtype=np.uint8)
        kernels.check_keys(keys, listed, there, values.offset, missing)
        if inner.format in _INTEGERS:
            integers = values.integers(inner.format, 0, listed)
            taken = arena.array(keys.size, integers.dtype.type)
            # Unless it may clip, NumPy writes into a buffer of its own first.
            np.take(integers, keys, out=taken, mode="clip")
            return Integers(taken, missing)
        texts = _texts(inner, values, 0, listed, keys, arena)
        np.copyto(texts.lengths, 0, where=missing)
        return texts


def _chunks(layout: _Layout, array: ArrowArray) -> Iterator[Chunk]:
    column, frame = _Column(array, array.offset), None
    if layout.format == _FRAME and layout.inner is not None:
        # The rows of a frame are those of its column, from the frame's own first row on.
        inner = ArrowArray.from_address(children_of(array)[0])
        frame, column, layout = column, _Column(inner, inner.offset + array.offset), layout.inner
    yield _ArrowChunk(layout, column, array.length, frame)


def _missing(gaps: list[_Column], begin: int, end: int, arena: Arena) -> NDArray[np.bool_]:
    """Mark the rows that are missing."""
    missing = arena.zeros(end - begin, np.bool_)
    for gap in gaps:
        kernels.mark_missing(gap.present(gap.offset + end), gap.offset + begin, missing)
    return missing


def _spans(size: int, arena: Arena) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return arena.array(size, np.int64), arena.array(size, np.int64)


def _nothing(size: int, arena: Arena) -> Texts:
    """Return so many missing ids."""
    return Texts(np.empty(0, dtype=np.uint8), arena.zeros(size, np.int64), arena.zeros(size, np.int64))


def _texts(
    layout: _Layout, column: _Column, begin: int, end: int, keys: NDArray[np.int64] | None, arena: Arena
) -> Texts:
    """Return the texts from ``begin`` to ``end`` of a column, or those of these that ``keys`` stand for."""
    begin, end = column.offset + begin, column.offset + end
    if layout.format in _VIEWS:
        return _of_views(column.buffers, begin, end, keys, arena)
    if layout.format in (*_SHORT, *_LONG):
        kind = np.dtype(np.int32) if layout.format in _SHORT else np.dtype(np.int64)
        return _of_offsets(column.buffers, kind, begin, end, keys, arena)
    width = int(layout.format[2:])
    data = _bytes(column.buffers[1], end * width)[begin * width :]
    starts, lengths = _spans(end - begin if keys is None else keys.size, arena)
    if layout.is_uuid:
        written = arena.array(36 * starts.size, np.uint8)
        if keys is None:
            kernels.uuid_texts(data, written)
        else:
            kernels.uuid_texts_of(data, keys, written)
        data, width, keys = written, 36, None
    if keys is None:
        kernels.even_spans(width, starts, lengths)
    else:
        kernels.even_spans_of(width, keys, starts, lengths)
    return Texts(data, starts, lengths)


def _of_offsets(
    buffers: list[int | None],
    kind: np.dtype[np.signedinteger],
    begin: int,
    end: int,
    keys: NDArray[np.int64] | None,
    arena: Arena,
) -> Texts:
    offsets = _bytes(buffers[1], (end + 1) * kind.itemsize).view(kind)[begin:]
    address = buffers[2] or 0
    slip = address % 8
    starts, lengths = _spans(end - begin if keys is None else keys.size, arena)
    if keys is None:
        kernels.offsets_to_spans(offsets, slip, starts, lengths)
    else:
        kernels.offsets_to_spans_of(offsets, slip, keys, starts, lengths)
    return Texts(_bytes(address - slip, slip + int(offsets[-1])), starts, lengths)


def _of_views(buffers: list[int | None], begin: int, end: int, keys: NDArray[np.int64] | None, arena: Arena) -> Texts:
    sizes = _bytes(buffers[-1], 8 * (len(buffers) - 3)).view(np.int64)
    views = _bytes(buffers[1], 16 * end)
    stretches = [(buffers[1] or 0, views.size)]
    stretches += [(address or 0, int(size)) for address, size in zip(buffers[2:-1], sizes, strict=True)]
    base = min(address for address, _ in stretches if address) // 8 * 8
    top = max(address + size for address, size in stretches)
    places = np.array([address - base for address, _ in stretches[1:]] or [0], dtype=np.int64)
    starts, lengths = _spans(end - begin if keys is None else keys.size, arena)
    here, words = stretches[0][0] - base + 16 * begin, views[16 * begin :].view(np.uint32)
    if keys is None:
        kernels.views_to_spans(words, here, places, starts, lengths)
    else:
        kernels.views_to_spans_of(words, here, places, keys, starts, lengths)
    return Texts(_bytes(base, top - base), starts, lengths)
