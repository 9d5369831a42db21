"""Entries in a file: a small batch writes the words it touches, and no others.

A mapped page that changes makes the system write as much around it as it keeps together, which may be megabytes: a
thousand users of a thousand million would write nearly the whole file. So where a batch has fewer ids than half the
file has pages, the words of their entries are copied, redrawn and written one by one; a larger batch changes the mapped
file in place.

There is no journal. It would tell of past batches, and nothing needs it: a word lies within a sector, so it is written
or not, and a batch that was written in part is distributed as if it had been applied in part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.state import word_kernels
from panbayes.stream.state.coins import Coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.record import PAGE

__all__ = ["FiledEntries"]

_WORD: Final = 8


@dataclass(frozen=True, slots=True)
class FiledEntries(Entries):
    """Entries whose ``memory`` maps the bytes from ``offset`` on of the file open as ``descriptor``."""

    descriptor: int
    offset: int

    def redraw(self, slots: NDArray[np.int64], *, present: bool, coins: Coins) -> None:
        """Redraw entries, and write no more than the words they lie in where these are few."""
        if not isinstance(self.law, StateLaw) or self._are_many(slots.size):
            Entries.redraw(self, slots, present=present, coins=coins)
            return
        in_word = 64 if self.law.levels == 2 else _WORD
        with self.arena.scope():
            every, moved = self.arena.array(slots.size, np.int64), self.arena.array(slots.size, np.int64)
            inside = word_kernels.touched_words(slots, self.sample, in_word, every)
            every[:inside].sort()
            touched = every[: word_kernels.distinct(every[:inside])]
            word_kernels.move_slots(slots, self.sample, in_word, touched, moved)
            words = self.arena.array(touched.size, np.uint64)
            word_kernels.take_words(self._words, touched, words)
            few = Entries(self.law, in_word * touched.size, words.view(np.uint8), arena=self.arena)
            few.redraw(moved[:inside], present=present, coins=coins)
            if word_kernels.write_words(self.descriptor, words, touched, self.offset) < touched.size:
                raise OSError("the words of a batch could not be written to the file of the state")

    def redraw_blocks(self, blocks: Iterable[NDArray[np.int64]], events: int, *, present: bool, coins: Coins) -> None:
        """Redraw blocks of slots: where these are few together, the words they lie in are written."""
        if self._are_many(events):
            mapped = Entries(self.law, self.sample, self.memory, arena=self.arena)
            mapped.redraw_blocks(blocks, events, present=present, coins=coins)
        else:
            Entries.redraw_blocks(self, blocks, events, present=present, coins=coins)

    def _are_many(self, events: int) -> bool:
        """Say whether the mapped file is better changed in place."""
        return 2 * events * PAGE > self.memory.size

    def redraw_one(self, slot: int, *, present: bool, coins: Coins) -> None:
        """Redraw one entry, and write no more than the word it lies in."""
        self._redraw_alone(slot, present=present, coins=coins)
