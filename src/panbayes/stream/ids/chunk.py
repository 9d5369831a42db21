"""Ids as they are worked on: integers, or texts as spans of bytes; and what can be cut into blocks of such."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena

__all__ = ["BLOCK", "Block", "Chunk", "Integers", "Texts", "wrong_type"]

BLOCK: Final = 1 << 17
"""Ids worked on at a time: few enough that what is made of them stays in the processor's cache until it is used."""

_WHOLE: Final = (np.dtype(np.int64), np.dtype(np.uint64))
_SIDE_BY_SIDE: Final = (8,)


@dataclass(frozen=True, slots=True)
class Integers:
    """Integer ids; a missing one is where ``missing`` is true."""

    values: NDArray[np.integer]
    missing: NDArray[np.bool_] | None = None

    @property
    def size(self) -> int:
        """How many ids these are, with the missing ones."""
        return self.values.size

    def block(self, begin: int, end: int, _arena: Arena) -> Integers:
        """Return the ids from ``begin`` to ``end``, uncopied."""
        return Integers(self.values[begin:end], None if self.missing is None else self.missing[begin:end])

    def whole(self, arena: Arena) -> NDArray[np.integer]:
        """Return the values in 64 bits side by side, with a sign or without; uncopied where they are that already."""
        if self.values.dtype in _WHOLE and self.values.strides == _SIDE_BY_SIDE:
            return self.values
        written = np.dtype(self.values.dtype)
        if not written.isnative:
            swapped = arena.array(self.size, written.newbyteorder("=").type)
            np.copyto(swapped.view(written), self.values)
            return Integers(swapped.byteswap(inplace=True)).whole(arena)
        values = arena.array(self.size, np.uint64 if written.itemsize == 8 and written.kind == "u" else np.int64)
        np.copyto(values, self.values)
        return values

    def numbers(self, arena: Arena) -> NDArray[np.int64]:
        """Return the ids as 64-bit integers, a missing one as −1; uncopied where they are that already."""
        values = self.whole(arena).view(np.int64)
        if self.missing is None:
            return values
        numbers = arena.array(self.size, np.int64)
        np.copyto(numbers, values)
        np.copyto(numbers, -1, where=self.missing)
        return numbers


@dataclass(frozen=True, slots=True)
class Texts:
    """Text ids: spans of ``data``; a missing one has length 0."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many ids these are, with the missing ones."""
        return self.starts.size

    def block(self, begin: int, end: int, _arena: Arena) -> Texts:
        """Return the ids from ``begin`` to ``end``, uncopied."""
        return Texts(self.data, self.starts[begin:end], self.lengths[begin:end])

    @classmethod
    def of(cls, items: Iterable[str | bytes]) -> Texts:
        """Lay out texts that are public: no events, which belong into an arena."""
        texts = [item.encode("utf-8", "surrogatepass") if isinstance(item, str) else item for item in items]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return cls(data, np.cumsum(lengths) - lengths, lengths)


Block: TypeAlias = Integers | Texts


class Chunk(Protocol):
    """A stretch of ids in whatever form, of which blocks can be had: valid until the next chunk is asked for."""

    @property
    def size(self) -> int:
        """How many ids there are."""

    def block(self, begin: int, end: int, arena: Arena) -> Block:
        """Return the ids from ``begin`` to ``end``; what has to be made for that lies in ``arena``."""


def wrong_type(found: str) -> InputError:
    """The error for ids of a type that cannot be ids; it names the type, never a value."""
    return InputError("ids", found=f"found {found}", remedy="give one column of integers or texts")
