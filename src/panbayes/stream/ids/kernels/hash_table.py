"""An open-addressed table from the hash of an id to its slot."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["fill_table", "find_listed"]

Hashes = NDArray[np.uint64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
