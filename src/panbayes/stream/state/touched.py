"""Entries in a file: a small batch writes the words it touches, and no others.

A mapped page that changes makes the system write as much around it as it keeps together, which may be megabytes: a
thousand users of a thousand million would write nearly the whole file. So where a batch has fewer ids than half the
file has pages, the words of their entries are copied, redrawn and written one by one; a larger batch changes the mapped
file in place.

There is no journal. It would tell of past batches, and nothing needs it: a word lies within a sector, so it is written
or not, and a batch that was written in part is distributed as if it had been applied in part.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.laws.state_law import StateLaw
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
        if 2 * slots.size * PAGE > self.memory.size or not isinstance(self.law, StateLaw):
            Entries.redraw(self, slots, present=present, coins=coins)
            return
        inside = slots[(slots >= 0) & (slots < self.sample)]
        in_word = 64 if self.law.levels == 2 else _WORD
        touched, places = np.unique(inside // in_word, return_inverse=True)
        words = self.memory.view(np.uint64)[touched]
        few = Entries(self.law, in_word * touched.size, words.view(np.uint8))
        moved = places * in_word + inside % in_word
        few.redraw(moved, present=present, coins=coins)
        data = words.view(np.uint8).data
        for i, word in enumerate(touched.tolist()):
            os.pwrite(self.descriptor, data[_WORD * i : _WORD * (i + 1)], self.offset + _WORD * word)
        for array in (inside, touched, places, words, moved):
            array[:] = 0

    def redraw_one(self, slot: int, *, present: bool, coins: Coins) -> None:
        """Redraw one entry, and write no more than the word it lies in."""
        self.redraw(np.array([slot], dtype=np.int64), present=present, coins=coins)
