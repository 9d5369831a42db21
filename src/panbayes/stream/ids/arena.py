"""The memory in which everything lies that depends on single events, from their bytes to the slots that are redrawn.

An arena is memory of its own, outside the heap: core dumps leave it out, and a forked process finds it empty. It hands
out arrays one above the other. A :meth:`Arena.scope` takes back what was handed out in it, for others to write over;
:meth:`Arena.wipe` overwrites all that was handed out. So nobody has to remember which array holds what: compiled loops
write into arrays that were handed to them, nothing else makes an array of events, and one call forgets a batch.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arena", "private_memory"]

Item = TypeVar("Item", bound=np.generic)

_DONT_DUMP: Final = 16
_WIPE_ON_FORK: Final = 18
_HUGE_PAGES: Final = 14

_FIRST: Final = 1 << 24
"""Bytes that an arena keeps: those of a usual batch. A larger batch has more for a while."""

_LINE: Final = 64
"""Arrays begin where a line of the processor's cache does."""


def private_memory(size: int) -> NDArray[np.uint8]:
    """Return zeros that no other process gets a copy of."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        for advice in (_DONT_DUMP, _WIPE_ON_FORK, _HUGE_PAGES):
            # A kernel may know none of these; the process is asked for all the same.
            with suppress(OSError):
                memory.madvise(advice)
    return np.frombuffer(memory, dtype=np.uint8)


class Arena:
    """Memory for one batch at a time; as a context it is wiped at the end.

    >>> with Arena() as arena:
    ...     lengths = arena.array(3, np.int64)
    ...     lengths.fill(7)
    >>> lengths.tolist()
    [0, 0, 0]
    """

    __slots__ = ("_at", "_blocks", "_top", "_used", "_wipes")

    def __init__(self) -> None:
        """Reserve the memory; what is not used takes none."""
        self._blocks, self._used = [private_memory(_FIRST)], [0]
        self._at = self._top = self._wipes = 0

    def array(self, size: int, kind: type[Item]) -> NDArray[Item]:
        """Hand out an array, whatever was in it."""
        dtype = np.dtype(kind)
        begin, end = self._top, self._top + size * dtype.itemsize
        if end > self._blocks[self._at].size:
            begin, end = 0, size * dtype.itemsize
            self._next(end)
        self._top = -(-end // _LINE) * _LINE
        if end > self._used[self._at]:
            self._used[self._at] = end
        found: NDArray[Item] = self._blocks[self._at][begin:end].view(dtype)
        return found

    def zeros(self, size: int, kind: type[Item]) -> NDArray[Item]:
        """Hand out an array of zeros."""
        found = self.array(size, kind)
        found.view(np.uint8).fill(0)
        return found

    def _next(self, size: int) -> None:
        """Go on in another block, which has room for ``size`` bytes."""
        self._at += 1
        while self._at < len(self._blocks) and self._blocks[self._at].size < size:
            self._at += 1
        if self._at == len(self._blocks):
            self._blocks.append(private_memory(max(size, 2 * self._blocks[-1].size)))
            self._used.append(0)

    def scope(self) -> _Scope:
        """Take back at the end what was handed out since the beginning; it is overwritten by others, or by a wipe."""
        return _Scope(self)

    def place(self) -> tuple[int, int, int]:
        """Return up to where the memory is handed out."""
        return self._at, self._top, self._wipes

    def take_back(self, place: tuple[int, int, int]) -> None:
        """Take back what lies above; after a wipe there is nothing, and somebody else's batch may lie there."""
        if place[2] == self._wipes:
            self._at, self._top, _ = place

    def wipe(self) -> None:
        """Overwrite everything that was handed out since the last time, and take it back."""
        for number, used in enumerate(self._used):
            self._blocks[number][:used].fill(0)
        del self._blocks[1:], self._used[1:]
        self._used[0] = self._at = self._top = 0
        self._wipes += 1

    def __enter__(self) -> Self:
        """Return the arena itself."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Wipe it."""
        self.wipe()


class _Scope:
    """A stretch of work: a plain object, because there is one for every block of ids."""

    __slots__ = ("_arena", "_place")

    def __init__(self, arena: Arena) -> None:
        self._arena, self._place = arena, arena.place()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._arena.take_back(self._place)
