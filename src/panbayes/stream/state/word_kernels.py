"""The words of a file that a small batch touches: which they are, and writing them one by one.

The operating system is called from the compiled loop, so that no number of a word becomes a Python object.
"""

from __future__ import annotations

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["distinct", "move_slots", "take_words", "touched_words", "write_words"]

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_pwrite = types.ExternalFunction("pwrite", types.intp(types.int32, types.voidptr, types.uintp, types.int64))


@loop
def touched_words(slots: Ints, size: int, in_word: int, out: Ints) -> int:
    """Write the word of every slot within ``size`` to ``out``, and return how many slots these are."""
    count = 0
    for t in range(slots.size):
        if 0 <= slots[t] < size:
            out[count] = slots[t] // in_word
            count += 1
    return count


@loop
def distinct(ordered: Ints) -> int:
    """Leave every number once, at the beginning, and return how many there are."""
    count = 0
    for t in range(ordered.size):
        if count == 0 or ordered[t] != ordered[count - 1]:
            ordered[count] = ordered[t]
            count += 1
    return count


@loop
def take_words(state: Words, touched: Ints, out: Words) -> None:
    """Copy the words that are touched."""
    for t in range(touched.size):
        out[t] = state[touched[t]]


@loop
def move_slots(slots: Ints, size: int, in_word: int, touched: Ints, out: Ints) -> None:
    """Write, for every slot within ``size``, its place in the copied words, which are in order."""
    count = 0
    for t in range(slots.size):
        if 0 <= slots[t] < size:
            out[count] = np.searchsorted(touched, slots[t] // in_word) * in_word + slots[t] % in_word
            count += 1


@loop
def write_words(descriptor: int, words: Words, touched: Ints, offset: int) -> int:
    """Write the copied words to their places in a file, and return how many the system has taken."""
    for t in range(touched.size):
        place = np.int64(offset) + np.int64(8) * touched[t]
        if _pwrite(np.int32(descriptor), words[t:].ctypes, np.uint64(8), place) != 8:
            return t
    return int(touched.size)
