"""A chunk of ids: integers, or texts as spans of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError

__all__ = ["BLOCK", "Chunk", "Integers", "Texts", "wrong_type"]

BLOCK: Final = 1 << 16
"""Ids worked on at a time where they have to be copied: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Integers:
    """A chunk of integer ids; a missing one is where ``missing`` is true."""

    values: NDArray[np.integer]
    missing: NDArray[np.bool_] | None = None

    @property
    def size(self) -> int:
        """How many ids these are, with the missing ones."""
        return self.values.size

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """Yield the ids as 64-bit integers, a missing one as −1; whole and uncopied where they are that already.

        A copy is overwritten when the next one is asked for.
        """
        if self.missing is None and self.values.dtype in (np.dtype(np.int64), np.dtype(np.uint64)):
            yield self.values.view(np.int64)
            return
        for begin in range(0, self.values.size, BLOCK):
            block = self.values[begin : begin + BLOCK].astype(np.int64)
            if self.missing is not None:
                block[self.missing[begin : begin + BLOCK]] = -1
            yield block
            block[:] = 0


@dataclass(frozen=True, slots=True)
class Texts:
    """A chunk of text ids: spans of ``data``; a missing one has length 0."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many ids these are, with the missing ones."""
        return self.starts.size

    @classmethod
    def of(cls, items: Iterable[object]) -> Texts:
        """Lay texts out as spans of bytes; whatever is not a text is missing."""
        texts = [
            item.encode("utf-8", "surrogatepass") if isinstance(item, str) else item if isinstance(item, bytes) else b""
            for item in items
        ]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return cls(data, np.cumsum(lengths) - lengths, lengths)


Chunk: TypeAlias = Integers | Texts


def wrong_type(found: str) -> InputError:
    """The error for ids of a type that cannot be ids; it names the type, never a value."""
    return InputError("ids", found=f"found {found}", remedy="give one column of integers or texts")
