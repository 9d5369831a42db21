"""The state: one entry per sampled user, and the two things that can happen to it.

An :class:`Entries` wraps an array (in memory or mapped from a file) together with the law its entries are drawn from.
It can redraw entries and add up scores; it knows nothing of ids, budgets or files.

Thesis: the loops of Algorithms DworkDE, OptBernDE, LaplaceDE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.state import kernels
from panbayes.stream.state.coins import BLOCK, Coins

__all__ = ["Entries"]

_MARKS_FROM: Final = 4
"""Mark first once a batch times this number reaches the sample."""

_MAX_MARKS: Final = 1 << 31
"""Never keep more marks than this (in bits)."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of ``sample`` users: ``memory`` is changed in place."""

    law: StateLaw
    sample: int
    memory: NDArray[np.uint8]

    @property
    def _words(self) -> NDArray[np.uint64]:
        return self.memory.view(np.uint64)

    def initialize(self, coins: Coins) -> None:
        """Draw every entry from the initial law."""
        if self.law.levels > 2:
            buffer, cumulative = np.empty(BLOCK, dtype=np.uint8), _cumulative(self.law.init)
            for start in range(0, self.sample, BLOCK // 4):
                coins(buffer)
                block = self.memory[start : min(self.sample, start + BLOCK // 4)]
                kernels.draw_levels(block, buffer.view(np.uint32), cumulative)
            buffer[:] = 0
            return
        span = BLOCK * 8
        for start in range(0, self.sample, span):
            count = min(span, self.sample - start)
            marks = np.full(math.ceil(count / 64), 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
            if count % 64:
                marks[-1] = np.uint64((1 << count % 64) - 1)
            words = self._words[start // 64 : start // 64 + marks.size]
            self._redraw_marked(words, marks, self.law.init[1], coins)

    def redraw(self, slots: NDArray[np.int64], *, present: bool, coins: Coins) -> None:
        """Redraw the entries of ``slots`` from the update law (``present``) or the initial law; skip slots outside."""
        weights = self.law.update if present else self.law.init
        if self.law.levels > 2:
            self._redraw_levels(slots, weights, coins)
        elif slots.size * _MARKS_FROM >= self.sample and self.sample <= _MAX_MARKS:
            marks = np.zeros(self._words.size, dtype=np.uint64)
            kernels.mark(slots, marks, self.sample)
            self._redraw_marked(self._words, marks, weights[1], coins)
        else:
            self._redraw_each(slots, weights[1], coins)

    def statistic(self) -> int:
        """The sum of the scores of all entries. Private: add noise before it goes anywhere."""
        if self.law.levels == 2:
            blocks = range(0, self._words.size, 1 << 20)
            return sum(int(np.bitwise_count(self._words[b : b + (1 << 20)]).sum(dtype=np.int64)) for b in blocks)
        counts = np.zeros(self.law.levels, dtype=np.int64)
        for start in range(0, self.sample, 1 << 20):
            block = self.memory[start : min(self.sample, start + (1 << 20))]
            counts += np.bincount(block, minlength=self.law.levels)[: self.law.levels]
        return sum(int(n) * a for n, a in zip(counts, self.law.scores, strict=True))

    @staticmethod
    def _redraw_marked(words: NDArray[np.uint64], marks: NDArray[np.uint64], threshold: int, coins: Coins) -> None:
        buffer, start = np.empty(BLOCK, dtype=np.uint8), 0
        while start < words.size:
            # At most 32 words of coins for each word of bits that is left.
            part = buffer[: min(BLOCK, (words.size - start) * 256)]
            coins(part)
            start = kernels.redraw_marked(words, marks, start, part.view(np.uint64), threshold)
        buffer[:] = 0

    def _redraw_each(self, slots: NDArray[np.int64], threshold: int, coins: Coins) -> None:
        buffer = np.empty(BLOCK, dtype=np.uint8)
        bytewise = BLOCK - BLOCK // 16
        for start in range(0, slots.size, bytewise):
            part = slots[start : start + bytewise]
            # One byte an event, and one spare 32-bit coin for each 60 events (one in 256 needs it).
            spare = 4 * (part.size // 60 + 8)
            head = -(-part.size // 4) * 4
            coins(buffer[: head + spare])
            more, done = buffer[head : head + spare], 0
            while (
                done := kernels.redraw_each(
                    part, done, self._words, self.sample, buffer, more.view(np.uint32), threshold
                )
            ) < part.size:
                coins(more)
        buffer[:] = 0

    def _redraw_levels(self, slots: NDArray[np.int64], weights: tuple[int, ...], coins: Coins) -> None:
        buffer, cumulative = np.empty(BLOCK, dtype=np.uint8), _cumulative(weights)
        for start in range(0, slots.size, BLOCK // 4):
            part = slots[start : start + BLOCK // 4]
            coins(buffer[: 4 * part.size])
            kernels.redraw_levels(part, self.memory, self.sample, buffer.view(np.uint32), cumulative)
        buffer[:] = 0


def _cumulative(weights: tuple[int, ...]) -> NDArray[np.uint64]:
    return np.array(list(accumulate(weights))[:-1], dtype=np.uint64)
