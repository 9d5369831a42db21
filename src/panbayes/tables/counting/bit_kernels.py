"""Compiled loops over words of bits."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["count_odd"]


@njit(cache=True)
def _ones(word: np.uint64) -> np.uint64:
    """Count the ones of a word: by twos, by fours, by bytes, and the bytes by one multiplication."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True)
def count_odd(words: NDArray[np.uint64], sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ones in the exclusive or of the rows ``sets[e]`` of ``words``, for every e.

    Of neighbouring sets that differ in the last member alone, what the others come to is computed once.
    """
    many, length = sets.shape
    found = np.zeros(many, np.int64)
    if length == 0:
        return found
    odd = np.zeros(words.shape[1], np.uint64)
    for e in range(many):
        fresh = e == 0
        for member in range(length - 1):
            fresh = fresh or sets[e, member] != sets[e - 1, member]
        if fresh:
            for place in range(odd.size):
                odd[place] = 0
            for member in range(length - 1):
                row = words[sets[e, member]]
                for place in range(odd.size):
                    odd[place] ^= row[place]
        row = words[sets[e, length - 1]]
        ones = np.uint64(0)
        for place in range(odd.size):
            ones += _ones(odd[place] ^ row[place])
        found[e] = ones
    return found
