"""The loops over events, compiled.

Entries of two levels are bits in words of 64; entries of more levels are bytes. There are two ways to redraw bits.
*Each*: every event draws its coin and writes its bit. *Marked*: events only mark their bit in a second array, then
every word with marks is redrawn once, all 64 bits together. A user redrawn twice is distributed like one redrawn once,
so both ways give the same law; the second is faster once a batch is a quarter of the universe or more.

A bit is 1 if a 32-bit coin is below the threshold. The coin is looked at from its highest bit downwards and only as far
as needed: eight bits decide 255 of 256 events, and seven words of coins decide most words of 64 bits.

A slot outside 0 … size−1 is skipped: that is how ids outside the universe are dropped, uncounted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.words import prefetch, prefetch_far

__all__ = ["ROOM", "draw_levels", "mark", "redraw_each", "redraw_few", "redraw_levels", "redraw_marked"]

Bits = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Slots = NDArray[np.int64]

ROOM = 136

_SOON = 64
_LATER = 1024


@loop
def mark(slots: Slots, marks: Bits, size: int) -> None:
    """Set the mark of every slot within ``size``.

    Slots are read in order and marks at random, and a processor that waits for marks forgets that it reads slots in
    order. So they are asked for in good time, a line of eight at a time.
    """
    limit = np.uint64(size)
    lines = slots.size >> 3
    for line in range(lines):
        first = np.uint64(line) << np.uint64(3)
        prefetch_far(slots, np.int64(first) + _LATER)
        prefetch(slots, np.int64(first) + _SOON)
        for j in range(8):
            _mark_one(np.uint64(slots[first + np.uint64(j)]), marks, limit)
    for t in range(8 * lines, slots.size):
        _mark_one(np.uint64(slots[t]), marks, limit)


@inlined
def _mark_one(slot: np.uint64, marks: Bits, limit: np.uint64) -> None:
    if slot < limit:
        marks[slot >> np.uint64(6)] |= np.uint64(1) << (slot & np.uint64(63))


@loop
def redraw_marked(words: Bits, marks: Bits, start: int, coins: Bits, threshold: int, room: Bits) -> int:
    """Redraw the marked bits of the words from ``start`` on, and clear the marks; return where the coins ran out.

    Words go in groups of 64. The highest eight bits of all coins of a group are compared in one straight loop, which
    the compiler turns into wide instructions; one marked bit in 256 is still open then, and its word goes on alone.
    ``room`` (:data:`ROOM` words) is to work in.
    """
    # In `sides` all ones where the threshold has a one, so that nothing branches.
    still, ones, sides = room[:64], room[64:128], room[128:]
    for level in range(8):
        sides[level] = np.uint64(0) - np.uint64((threshold >> (31 - level)) & 1)
    used, first = 0, start
    while first < words.size:
        count = min(64, words.size - first)
        if used + 32 * count > coins.size:
            break
        own, marked = words[first : first + count], marks[first : first + count]
        top = coins[used : used + 8 * count]
        used += 8 * count
        for j in range(count):
            # `same` are the bits whose coin has agreed with the threshold so far.
            same, below = marked[j], np.uint64(0)
            for level in range(8):
                coin, side = top[level * count + j], sides[level]
                below |= same & side & ~coin
                same &= ~(coin ^ side)
            still[j], ones[j] = same, below
        for j in range(count):
            place = 23
            while still[j] != np.uint64(0) and place >= 0:
                coin = coins[used]
                used += 1
                if (threshold >> place) & 1:
                    ones[j] |= still[j] & ~coin
                    still[j] &= coin
                else:
                    still[j] &= ~coin
                place -= 1
        for j in range(count):
            own[j] = (own[j] & ~marked[j]) | ones[j]
            marked[j] = np.uint64(0)
        first += count
    return first


@loop
def redraw_each(
    slots: Slots, start: int, words: Bits, size: int, coins: Bytes, more: NDArray[np.uint32], threshold: int
) -> int:
    """Redraw one bit per slot from ``start`` on, with one byte of coins, and 24 bits of ``more`` on a tie.

    Return where ``more`` ran out. Called again from there with the same ``coins`` and fresh ``more``, the tie that
    waited is decided by fresh bits alone, so every bit has exactly its probability.
    """
    limit, top, rest = np.uint64(size), np.uint64(threshold >> 24), np.uint32(threshold & 0xFFFFFF)
    used = 0
    for t in range(start, slots.size):
        slot = np.uint64(slots[t])
        if slot < limit:
            coin = np.uint64(coins[t])
            # The sign of a difference, which is faster than a comparison.
            bit = (coin - top) >> np.uint64(63)
            if coin == top:
                if used == more.size:
                    return t
                bit = np.uint64((more[used] >> np.uint32(8)) < rest)
                used += 1
            place = slot & np.uint64(63)
            w = slot >> np.uint64(6)
            words[w] = (words[w] & ~(np.uint64(1) << place)) | (bit << place)
    return slots.size


@loop
def redraw_few(slots: Slots, words: Bits, size: int, coins: NDArray[np.uint32], threshold: int) -> None:
    """Redraw one bit per slot, with a whole coin for each."""
    limit = np.uint64(size)
    for t in range(slots.size):
        slot = np.uint64(slots[t])
        if slot < limit:
            bit = np.uint64(np.uint64(coins[t]) < np.uint64(threshold))
            place = slot & np.uint64(63)
            w = slot >> np.uint64(6)
            words[w] = (words[w] & ~(np.uint64(1) << place)) | (bit << place)


@loop
def redraw_levels(
    slots: Slots, entries: Bytes, size: int, coins: NDArray[np.uint32], cumulative: NDArray[np.uint64]
) -> None:
    """Redraw one byte per slot: the level is the number of cumulative weights that the coin reaches."""
    limit = np.uint64(size)
    for t in range(slots.size):
        slot = np.uint64(slots[t])
        if slot < limit:
            entries[slot] = _level(np.uint64(coins[t]), cumulative)


@loop
def draw_levels(entries: Bytes, coins: NDArray[np.uint32], cumulative: NDArray[np.uint64]) -> None:
    """Draw every entry."""
    for t in range(entries.size):
        entries[t] = _level(np.uint64(coins[t]), cumulative)


@inlined
def _level(coin: np.uint64, cumulative: NDArray[np.uint64]) -> int:
    level = 0
    for j in range(cumulative.size):
        level += int(coin >= cumulative[j])
    return level
