"""The state: one entry per sampled user, and the two things that can happen to it.

An :class:`Entries` wraps an array (in memory or mapped from a file) together with the law its entries are drawn from.
It can redraw entries, or move counters on, and count them; it knows nothing of ids, budgets or files. Its arena is the
memory in which a batch is worked on, by those who find the slots too: whoever feeds a batch wipes it afterwards.

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
from panbayes.stream.ids.arena import Arena
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
    """The entries of ``sample`` users: ``memory`` is changed in place, with ``arena`` to work in."""

    law: Law
    sample: int
    memory: NDArray[np.uint8]
    arena: Arena = field(default_factory=Arena, kw_only=True, repr=False, compare=False)
    _words: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """See the memory as words too."""
        object.__setattr__(self, "_words", self.memory.view(np.uint64))

    def initialize(self, coins: Coins) -> None:
        """Draw every entry from the initial law."""
        init = self.law.law.init if isinstance(self.law, ThinnedLaw) else self.law.init
        with self.arena:
            if self.law.levels > 2:
                buffer, cumulative = self.arena.array(BLOCK, np.uint8), _cumulative(init)
                for start in range(0, self.sample, BLOCK // 4):
                    coins(buffer)
                    block = self.memory[start : min(self.sample, start + BLOCK // 4)]
                    kernels.draw_levels(block, buffer.view(np.uint32), cumulative)
                return
            for start, marks in self._all():
                self._redraw_marked(self._words[start : start + marks.size], marks, init[1], coins)

    def forget(self, chance: int, coins: Coins) -> None:
        """Draw every entry again from the initial law, each with ``chance`` out of 2³² (bits only, if not surely)."""
        if chance == COIN:
            self.initialize(coins)
            return
        if not isinstance(self.law, StateLaw) or self.law.levels > 2:
            raise ValueError("only bits can be forgotten with a chance")
        with self.arena:
            for start, marks in self._marked(chance, coins):
                self._redraw_marked(self._words[start : start + marks.size], marks, self.law.init[1], coins)

    def flipped(self, chance: int, coins: Coins) -> NDArray[np.uint8]:
        """Return a copy of the bits, each flipped with ``chance`` out of 2³²; the bits stay as they are."""
        if not isinstance(self.law, StateLaw) or self.law.levels > 2:
            raise ValueError("only bits can be flipped")
        copy = np.empty_like(self._words)
        with self.arena:
            for start, marks in self._marked(chance, coins):
                np.bitwise_xor(self._words[start : start + marks.size], marks, out=copy[start : start + marks.size])
        return copy.view(np.uint8)

    def _all(self) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Mark every bit: yield where some words begin, and their marks, which last until the next are asked for."""
        span = BLOCK * 8
        for start in range(0, self.sample, span):
            count = min(span, self.sample - start)
            with self.arena.scope():
                marks = self.arena.array(math.ceil(count / 64), np.uint64)
                marks.fill(0xFFFFFFFFFFFFFFFF)
                if count % 64:
                    marks[-1] = np.uint64((1 << count % 64) - 1)
                yield start // 64, marks

    def _marked(self, chance: int, coins: Coins) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Mark every bit with ``chance``, as :meth:`_all` marks all."""
        for start, every in self._all():
            marks = self.arena.zeros(every.size, np.uint64)
            self._redraw_marked(marks, every, chance, coins)
            yield start, marks

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
        with self.arena.scope():
            marks = self.arena.zeros(self._words.size, np.uint64)
            for slots in blocks:
                kernels.mark(slots, marks, self.sample)
            self._redraw_marked(self._words, marks, (law.update if present else law.init)[1], coins)

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
            self._redraw_alone(slot, present=present, coins=coins)
            return
        threshold = law.update[1] if present else law.init[1]
        if not redraw_one(slot, self._words, self.sample, threshold):
            raise InternalError("the operating system gave no randomness")

    def _redraw_alone(self, slot: int, *, present: bool, coins: Coins) -> None:
        """Redraw one entry as a batch of one."""
        with self.arena:
            slots = self.arena.array(1, np.int64)
            slots[0] = slot
            self.redraw(slots, present=present, coins=coins)

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
        for start in range(0, slots.size, BLOCK // 4):
            part = slots[start : start + BLOCK // 4]
            with self.arena.scope():
                places, buffer = self.arena.array(part.size, np.int64), self.arena.array(4 * part.size, np.uint8)
                sampled(part, self.sample, self.sample, bits, keys, places)
                coins(buffer)
                count_kernels.thin(places, ends, keep, buffer.view(np.uint32))
                self._redraw_all(law.law, places, present=present, coins=coins)

    def _redraw_marked(
        self, words: NDArray[np.uint64], marks: NDArray[np.uint64], threshold: int, coins: Coins
    ) -> None:
        with self.arena.scope():
            buffer, start = self.arena.array(min(BLOCK, 256 * words.size), np.uint8), 0
            room = self.arena.array(kernels.ROOM, np.uint64)
            while start < words.size:
                # At most 32 words of coins for each word of bits that is left.
                part = buffer[: min(BLOCK, (words.size - start) * 256)]
                coins(part)
                start = kernels.redraw_marked(words, marks, start, part.view(np.uint64), threshold, room)

    def _redraw_few(self, slots: NDArray[np.int64], weights: tuple[int, ...], coins: Coins) -> None:
        with self.arena.scope():
            buffer = self.arena.array(4 * slots.size, np.uint8)
            coins(buffer)
            if len(weights) == 2:
                kernels.redraw_few(slots, self._words, self.sample, buffer.view(np.uint32), weights[1])
            else:
                kernels.redraw_levels(slots, self.memory, self.sample, buffer.view(np.uint32), _cumulative(weights))

    def _redraw_each(self, slots: NDArray[np.int64], threshold: int, coins: Coins) -> None:
        bytewise = BLOCK - BLOCK // 16
        for start in range(0, slots.size, bytewise):
            part = slots[start : start + bytewise]
            # One byte an event, and one spare 32-bit coin for each 60 events (one in 256 needs it).
            spare = 4 * (part.size // 60 + 8)
            head = -(-part.size // 4) * 4
            with self.arena.scope():
                buffer = self.arena.array(head + spare, np.uint8)
                coins(buffer)
                more, done = buffer[head:], 0
                while (
                    done := kernels.redraw_each(
                        part, done, self._words, self.sample, buffer, more.view(np.uint32), threshold
                    )
                ) < part.size:
                    coins(more)

    def _redraw_levels(self, slots: NDArray[np.int64], weights: tuple[int, ...], coins: Coins) -> None:
        cumulative = _cumulative(weights)
        for start in range(0, slots.size, BLOCK // 4):
            part = slots[start : start + BLOCK // 4]
            with self.arena.scope():
                buffer = self.arena.array(4 * part.size, np.uint8)
                coins(buffer)
                kernels.redraw_levels(part, self.memory, self.sample, buffer.view(np.uint32), cumulative)


def _cumulative(weights: tuple[int, ...]) -> NDArray[np.uint64]:
    return np.array(list(accumulate(weights))[:-1], dtype=np.uint64)
