"""Ids in whatever container they come: NumPy, Arrow, polars, pandas, DuckDB, plain sequences.

A missing id (``None``, NaN, a null) is dropped, and no other with it. Arrays and Arrow columns are read in place;
Python objects are laid out in the arena, a block at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.arrow import arrow_chunks, speaks_arrow
from panbayes.stream.ids.chunk import Block, Chunk, Integers, Texts, wrong_type
from panbayes.stream.ids.kernels.spans import fixed_texts, wide_texts

__all__ = ["Items", "chunks"]

_MISSING: Final = ("NAType", "NaTType", "MaskedConstant")
"""What pandas and NumPy put where nothing is, beside ``None`` and NaN; known by name, so that neither is loaded."""

_MOST_BYTES: Final = 4
"""UTF-8 has so many bytes for a character."""


@dataclass(frozen=True, slots=True)
class Items:
    """Python objects: integers, or what is neither a text nor missing is a text by its digits."""

    items: list[object]
    integers: bool = False

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.items)

    def block(self, begin: int, end: int, arena: Arena) -> Block:
        """Lay some of them out."""
        some = self.items[begin:end]
        if self.integers:
            values, missing = arena.array(len(some), np.int64), arena.array(len(some), np.bool_)
            _put("q", values, [0 if item is None else int(item) for item in some if isinstance(item, _NUMBER)])
            _put("?", missing, [item is None for item in some])
            return Integers(values, missing)
        texts = [
            item.encode("utf-8", "surrogatepass")
            if isinstance(item, str)
            else item
            if isinstance(item, bytes)
            else b""
            if item is None
            else str(item).encode()
            for item in some
        ]
        whole = bytearray().join(texts)
        data, starts, lengths = (arena.array(len(whole), np.uint8), *arena_spans(len(some), arena))
        data.data[:] = whole
        whole[:] = bytes(len(whole))
        _put("q", lengths, [len(text) for text in texts])
        np.cumsum(lengths, out=starts)
        np.subtract(starts, lengths, out=starts)
        return Texts(data, starts, lengths)


_NUMBER: Final = (int, np.integer, type(None))


def _put(kind: str, array: NDArray[np.generic], values: list[int]) -> None:
    """Write integers into an array, by no array in between."""
    struct.pack_into(f"={len(values)}{kind}", array.view(np.uint8).data, 0, *values)


@dataclass(frozen=True, slots=True)
class FixedTexts:
    """An array of NumPy whose texts have one width: bytes, or with ``wide`` characters of four bytes."""

    values: NDArray[np.bytes_ | np.str_]

    @property
    def size(self) -> int:
        """How many there are."""
        return self.values.size

    def block(self, begin: int, end: int, arena: Arena) -> Texts:
        """Find the texts, without the zeros that fill them up; those of wide characters are written anew."""
        some = self.values[begin:end]
        starts, lengths = arena_spans(some.size, arena)
        if not some.flags.c_contiguous or not some.dtype.isnative:
            held = arena.array(some.size * some.dtype.itemsize, np.uint8).view(some.dtype)
            np.copyto(held, some)
            some = held
        if some.dtype.itemsize == 0:
            lengths.fill(0)
            return Texts(np.empty(0, dtype=np.uint8), starts, lengths)
        if some.dtype.kind == "S":
            data = some.view(np.uint8)
            fixed_texts(data, some.dtype.itemsize, starts, lengths)
            return Texts(data, starts, lengths)
        characters = some.view(np.uint32 if some.dtype.isnative else np.dtype(np.uint32).newbyteorder())
        if not some.dtype.isnative:
            characters = characters.byteswap(inplace=True).view(np.uint32)
        data = arena.array(_MOST_BYTES * characters.size, np.uint8)
        wide_texts(characters, some.dtype.itemsize // 4, data, starts, lengths)
        return Texts(data, starts, lengths)


def arena_spans(size: int, arena: Arena) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hand out where texts begin and how long they are."""
    return arena.array(size, np.int64), arena.array(size, np.int64)


def chunks(ids: object) -> Iterator[Chunk]:
    """Yield the ids as chunks; refuse other types by their name.

    >>> [chunk.size for chunk in chunks([3, 1])]
    [2]
    """
    if isinstance(ids, Integers | Texts):
        yield ids
    elif isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise wrong_type(f"an array of {ids.ndim} dimensions")
        if ids.dtype.kind in "iu":
            if isinstance(ids, np.ma.MaskedArray):
                yield Integers(np.ma.getdata(ids), np.ma.getmaskarray(ids))
            else:
                yield Integers(ids)
        elif ids.dtype.kind in "US" and not isinstance(ids, np.ma.MaskedArray):
            yield FixedTexts(ids)
        elif ids.dtype.kind in "USOT":
            yield _of_items(ids.tolist())
        else:
            raise wrong_type(f"an array of type {ids.dtype}")
    elif speaks_arrow(ids):
        yield from _of_arrow(ids)
    elif isinstance(ids, (str, bytes, dict)) or not isinstance(ids, Iterable):
        raise wrong_type(f"a {type(ids).__name__}")
    else:
        yield _of_items(list(ids))


def _of_arrow(ids: object) -> Iterator[Chunk]:
    """Yield what a library hands over; Python objects, and what it does not hand over, item by item."""
    if _holds_objects(ids):
        yield _of_items(_items(ids))
        return
    found = arrow_chunks(ids)
    try:
        first = next(found, None)
    except (ValueError, TypeError, NotImplementedError, ImportError):
        yield _of_items(_items(ids))
        return
    if first is not None:
        yield first
        yield from found


def _holds_objects(ids: object) -> bool:
    """Say whether a column or frame of polars or pandas holds Python objects: polars hands over their addresses."""
    kinds = getattr(ids, "dtypes", []) if hasattr(ids, "columns") else [getattr(ids, "dtype", None)]
    return any(str(kind).lower() == "object" for kind in kinds)


def _items(ids: object) -> list[object]:
    """Return the items of a column, or of the one column of a frame."""
    names = getattr(ids, "columns", None)
    if names is not None and len(names) != 1:
        raise wrong_type(f"a frame of {len(names)} columns")
    take = getattr(ids, "__getitem__", None)
    column = take(names[0]) if names is not None and take is not None else ids
    if not isinstance(column, Iterable):
        raise wrong_type(f"a {type(ids).__name__}")
    return list(column)


def _of_items(items: list[object]) -> Items:
    """Take items of Python: all integers, or all texts; among texts an integer is its digits."""
    kinds = {kind for kind in map(type, items) if kind is not type(None)}
    if kinds == {int}:
        return _integers(items)
    if kinds <= {str}:
        return Items(items)
    read = [None if _is_missing(item) else item for item in items]
    for item in read:
        if isinstance(item, bool) or not isinstance(item, int | np.integer | str | bytes | UUID | None):
            raise wrong_type(f"a sequence with an item of type {type(item).__name__}")
    return _integers(read) if all(isinstance(item, int | np.integer | None) for item in read) else Items(read)


def _integers(items: list[object]) -> Items:
    """Take integers; where some are negative or large, all as the texts of their digits."""
    small = all(item is None or (isinstance(item, int | np.integer) and 0 <= item < 1 << 62) for item in items)
    return Items(items, integers=small)


def _is_missing(item: object) -> bool:
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in _MISSING
