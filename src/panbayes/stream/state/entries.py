"""The state: one entry per sampled user, and the two things that can happen to it.

An :class:`Entries` wraps an array (in memory or mapped from a file) together with the law its entries are drawn from.
It can redraw entries, or move counters on, and count them; it knows nothing of ids, budgets or files.

Thesis: the loops of Algorithms DworkDE, OptBernDE, LaplaceDE.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InternalError
from panbayes.stream.ids.kernels.feistel import sampled
from panbayes.stream.laws.counter_law import CounterLaw
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.laws.thinned_law import ThinnedLaw
from panbayes.stream.state import count_kernels, kernels
from panbayes.stream.state.coins import BLOCK, SYSTEM_CALL, Coins, system_coins
from panbayes.stream.state.one_event import redraw_one

__all__ = ["Entries"]

_FEW: Final = 64
"""Up to so many events a coin of 32 bits for each is the cheapest."""

_MARKS_FROM: Final = 4
"""Mark first once a batch times this number reaches the sample."""

_MAX_MARKS: Final = 1 << 31
"""Never keep more marks than this (in bits)."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of ``sample`` users: ``memory`` is changed in place."""

    law: Law
    sample: int
    memory: NDArray[np.uint8]
    _words: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """See the memory as words too."""
        object.__setattr__(self, "_words", self.memory.view(np.uint64))

    def initialize(self, coins: Coins) -> None:
        """Draw every entry from the initial law."""
        init = self.law.law.init if isinstance(self.law, ThinnedLaw) else self.law.init
        if self.law.levels > 2:
            buffer, cumulative = np.empty(BLOCK, dtype=np.uint8), _cumulative(init)
            for start in range(0, self.sample, BLOCK // 4):
                coins(buffer)
                block = self.memory[start : min(self.sample, start + BLOCK // 4)]
                kernels.draw_levels(block, buffer.view(np.uint32), cumulative)
            buffer[:] = 0
            return
        span = BLOCK * 8
        for start in range(0, self.sample, span):
            marks = _all_of(min(span, self.sample - start))
            words = self._words[start // 64 : start // 64 + marks.size]
            self._redraw_marked(words, marks, init[1], coins)

    def forget(self, chance: int, coins: Coins) -> None:
        """Draw every entry again from the initial law, each with ``chance`` out of 2³² (bits only, if not surely)."""
        if chance == COIN:
            self.initialize(coins)
            return
        if not isinstance(self.law, StateLaw) or self.law.levels > 2:
            raise ValueError("only bits can be forgotten with a chance")
        for start, marks in self._marked(chance, coins):
            self._redraw_marked(self._words[start : start + marks.size], marks, self.law.init[1], coins)

    def flipped(self, chance: int, coins: Coins) -> NDArray[np.uint8]:
        """Return a copy of the bits, each flipped with ``chance`` out of 2³²; the bits stay as they are."""
        if not isinstance(self.law, StateLaw) or self.law.levels > 2:
            raise ValueError("only bits can be flipped")
        copy = np.empty_like(self._words)
        for start, marks in self._marked(chance, coins):
            np.bitwise_xor(self._words[start : start + marks.size], marks, out=copy[start : start + marks.size])
        return copy.view(np.uint8)

    def _marked(self, chance: int, coins: Coins) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Mark every bit with ``chance``: yield where some words begin and their marks, which are then overwritten."""
        span = BLOCK * 8
        for start in range(0, self.sample, span):
            every = _all_of(min(span, self.sample - start))
            marks = np.zeros_like(every)
            self._redraw_marked(marks, every, chance, coins)
            yield start // 64, marks
            marks[:] = 0

    def redraw(self, slots: NDArray[np.int64], *, present: bool, coins: Coins) -> None:
        """Redraw the entries of ``slots`` from the update law (``present``) or the initial law; skip slots outside.

        Counters move on by one, or back by one. Of thinned entries only those are redrawn whose coin says so.
        """
        if isinstance(self.law, CounterLaw):
            step = 1 if present else self.law.modulus - 1
            count_kernels.advance(slots, self.memory, self.sample, step, self.law.modulus)
        elif isinstance(self.law, ThinnedLaw):
            self._redraw_thinned(self.law, slots, present=present, coins=coins)
        else:
            self._redraw_all(self.law, slots, present=present, coins=coins)

    def redraw_blocks(self, blocks: Iterable[NDArray[np.int64]], events: int, *, present: bool, coins: Coins) -> None:
        """Redraw the entries of blocks of slots, ``events`` in all; each block is used before the next is asked for.

        Where marks pay, all blocks are marked and then redrawn together. If a block cannot be had, none counts then.
        """
        law = self.law
        if isinstance(law, StateLaw) and self._marks_pay(law, events):
            self._mark_and_redraw(law, blocks, present=present, coins=coins)
            return
        for slots in blocks:
            self.redraw(slots, present=present, coins=coins)

    def _marks_pay(self, law: StateLaw, events: int) -> bool:
        """Say whether so many events are better marked first and then redrawn together."""
        return events > _FEW and law.levels == 2 and self.sample <= min(events * _MARKS_FROM, _MAX_MARKS)

    def _mark_and_redraw(
        self, law: StateLaw, blocks: Iterable[NDArray[np.int64]], *, present: bool, coins: Coins
    ) -> None:
        marks = np.zeros(self._words.size, dtype=np.uint64)
        try:
            for slots in blocks:
                kernels.mark(slots, marks, self.sample)
            self._redraw_marked(self._words, marks, (law.update if present else law.init)[1], coins)
        finally:
            marks[:] = 0

    def _redraw_all(self, law: StateLaw, slots: NDArray[np.int64], *, present: bool, coins: Coins) -> None:
        weights = law.update if present else law.init
        if slots.size <= _FEW:
            self._redraw_few(slots, weights, coins)
        elif law.levels > 2:
            self._redraw_levels(slots, weights, coins)
        elif self._marks_pay(law, slots.size):
            self._mark_and_redraw(law, [slots], present=present, coins=coins)
        else:
            self._redraw_each(slots, weights[1], coins)

    def redraw_one(self, slot: int, *, present: bool, coins: Coins) -> None:
        """Redraw the entry of one slot, as :meth:`redraw` does; a slot outside is skipped."""
        law = self.law
        if coins is not system_coins or not SYSTEM_CALL or not isinstance(law, StateLaw) or law.levels > 2:
            self.redraw(np.array([slot], dtype=np.int64), present=present, coins=coins)
            return
        threshold = law.update[1] if present else law.init[1]
        if not redraw_one(slot, self._words, self.sample, threshold):
            raise InternalError("the operating system gave no randomness")

    def counts(self, sections: int = 1) -> tuple[int, ...]:
        """What a release tells, before its noise. Private: add noise before it goes anywhere.

        The sum of the scores of all entries, for bits also of each of so many equal ``sections``; of counters how many
        stand at each value; of thinned bits the ones of each panel.
        """
        if isinstance(self.law, CounterLaw):
            return self._histogram()
        if isinstance(self.law, ThinnedLaw):
            ends = list(accumulate(panel.size for panel in self.law.panels))
            return tuple(self.ones(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))
        if self.law.levels == 2:
            size = self.sample // sections
            return tuple(self.ones(start, start + size) for start in range(0, size * sections, size))
        return (sum(n * a for n, a in zip(self._histogram(), self.law.scores, strict=True)),)

    def _histogram(self) -> tuple[int, ...]:
        counts = np.zeros(self.law.levels, dtype=np.int64)
        for start in range(0, self.sample, 1 << 20):
            block = self.memory[start : min(self.sample, start + (1 << 20))]
            counts += np.bincount(block, minlength=self.law.levels)[: self.law.levels]
        return tuple(int(n) for n in counts)

    def ones(self, start: int, end: int) -> int:
        """How many of the bits from ``start`` to ``end`` are ones. Private, as :meth:`counts` is."""
        if start == end:
            return 0
        first, last = start // 64, -(-end // 64)
        blocks = (self._words[b : min(last, b + (1 << 20))] for b in range(first, last, 1 << 20))
        ones = sum(int(np.bitwise_count(block).sum(dtype=np.int64)) for block in blocks)
        before = int(self._words[first]) & ((1 << start % 64) - 1)
        after = int(self._words[last - 1]) >> (end - 1) % 64 + 1
        return ones - before.bit_count() - after.bit_count()

    def _redraw_thinned(self, law: ThinnedLaw, slots: NDArray[np.int64], *, present: bool, coins: Coins) -> None:
        """Find the users' places in the panels, let coins decide which appearances count, and redraw those."""
        keys = np.frombuffer(law.key, dtype="<u8").astype(np.uint64)
        keys[::2] |= np.uint64(1)
        bits = max(2, (self.sample - 1).bit_length())
        ends = np.cumsum([panel.size for panel in law.panels], dtype=np.int64)
        keep = np.array([panel.keep for panel in law.panels], dtype=np.uint64)
        buffer = np.empty(BLOCK, dtype=np.uint8)
        for start in range(0, slots.size, BLOCK // 4):
            part = slots[start : start + BLOCK // 4]
            places = np.empty_like(part)
            sampled(part, self.sample, self.sample, bits, keys, places)
            coins(buffer[: 4 * part.size])
            count_kernels.thin(places, ends, keep, buffer.view(np.uint32))
            self._redraw_all(law.law, places, present=present, coins=coins)
            places[:] = 0
        buffer[:] = 0

    @staticmethod
    def _redraw_marked(words: NDArray[np.uint64], marks: NDArray[np.uint64], threshold: int, coins: Coins) -> None:
        buffer, start = np.empty(BLOCK, dtype=np.uint8), 0
        while start < words.size:
            # At most 32 words of coins for each word of bits that is left.
            part = buffer[: min(BLOCK, (words.size - start) * 256)]
            coins(part)
            start = kernels.redraw_marked(words, marks, start, part.view(np.uint64), threshold)
        buffer[:] = 0

    def _redraw_few(self, slots: NDArray[np.int64], weights: tuple[int, ...], coins: Coins) -> None:
        buffer = np.empty(4 * slots.size, dtype=np.uint8)
        coins(buffer)
        if len(weights) == 2:
            kernels.redraw_few(slots, self._words, self.sample, buffer.view(np.uint32), weights[1])
        else:
            kernels.redraw_levels(slots, self.memory, self.sample, buffer.view(np.uint32), _cumulative(weights))
        buffer.fill(0)

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


def _all_of(count: int) -> NDArray[np.uint64]:
    """Mark so many bits."""
    marks = np.full(math.ceil(count / 64), 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
    if count % 64:
        marks[-1] = np.uint64((1 << count % 64) - 1)
    return marks


def _cumulative(weights: tuple[int, ...]) -> NDArray[np.uint64]:
    return np.array(list(accumulate(weights))[:-1], dtype=np.uint64)
