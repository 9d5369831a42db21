"""Which slots of a state are in one part of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop
from panbayes.stream.ids.kernels.words import high_half

__all__ = ["keep_part", "keep_stretch", "reciprocal"]

Ints = NDArray[np.int64]


def reciprocal(parts: int) -> np.uint64:
    """⌊2⁶⁴/P⌋ + 1: the upper half of n times this is ⌊n/P⌋ for every n with nP < 2⁶⁴, P of 2 or more.

    The number is (2⁶⁴ + e)/P with 0 < e ≤ P, so the product is n/P + ne/(P·2⁶⁴), less than 1/P above n/P.
    """
    return np.uint64((1 << 64) // parts + 1)


@loop
def keep_part(slots: Ints, entries: int, number: int, parts: int, inverse: np.uint64, out: Ints) -> int:
    """Write the slots n with n % ``parts`` = ``number``, as n // ``parts``, to ``out``, and return how many there are.

    Slots outside 0 … ``entries`` − 1 are left out. ``out`` has room for all, and no branch depends on a slot.
    """
    kept = 0
    for t in range(slots.size):
        slot = np.uint64(slots[t])
        share = np.uint64(high_half(slot, inverse))
        out[kept] = np.int64(share)
        mine = (slot < np.uint64(entries)) & (slot - share * np.uint64(parts) == np.uint64(number))
        kept += int(mine)
    return kept


@loop
def keep_stretch(slots: Ints, start: int, end: int, out: Ints) -> int:
    """Write the slots from ``start`` to ``end``, less ``start``, to ``out``, and return how many there are.

    ``out`` has room for all, and no branch depends on a slot.
    """
    kept, size = 0, np.uint64(end - start)
    for t in range(slots.size):
        place = slots[t] - start
        out[kept] = place
        kept += int(np.uint64(place) < size)
    return kept
