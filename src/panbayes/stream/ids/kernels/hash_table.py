"""An open-addressed table from the hash of an id to its slot."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop
from panbayes.stream.ids.kernels.siphash import hash_texts

__all__ = ["fill_table", "find_listed", "find_text"]

Hashes = NDArray[np.uint64]
Ints = NDArray[np.int64]


@loop
def fill_table(hashes: Hashes, slots: Ints, table: Hashes, values: NDArray[np.uint32]) -> bool:
    """Put hash → slot into an open-addressed ``table`` (a power of two long); false if two hashes are equal."""
    mask = np.uint64(table.size - 1)
    for t in range(hashes.size):
        place = hashes[t] & mask
        while table[place] != np.uint64(0):
            if table[place] == hashes[t]:
                return False
            place = (place + np.uint64(1)) & mask
        table[place] = hashes[t]
        values[place] = slots[t]
    return True


@loop
def find_listed(hashes: Hashes, table: Hashes, values: NDArray[np.uint32], out: Ints) -> None:
    """Look up slots; −1 for a hash that is not in the table."""
    mask = np.uint64(table.size - 1)
    for t in range(hashes.size):
        out[t] = -1
        if hashes[t] != np.uint64(0):
            place = hashes[t] & mask
            while table[place] != np.uint64(0):
                if table[place] == hashes[t]:
                    out[t] = values[place]
                    break
                place = (place + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def find_text(text: NDArray[np.uint8], key: Hashes, table: Hashes, values: NDArray[np.uint32]) -> int:
    """Look up the slot of one text that is not empty; −1 if it is not in the table."""
    hashes, slots = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.int64)
    hash_texts(text, np.zeros(1, dtype=np.int64), np.full(1, text.size, dtype=np.int64), key, hashes)
    find_listed(hashes, table, values, slots)
    slot = int(slots[0])
    hashes[0], slots[0] = 0, 0
    return slot
