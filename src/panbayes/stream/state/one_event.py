"""One event, with a coin of the operating system, in one compiled call: for programs that hand over ids one by one.

The coin is drawn when the event comes, lives on the stack of the call and is overwritten before it returns.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import types
from numpy.typing import NDArray

__all__ = ["redraw_one"]

_getrandom = types.ExternalFunction("getrandom", types.intp(types.voidptr, types.uintp, types.uint32))


@njit(cache=True, nogil=True)
def redraw_one(slot: int, words: NDArray[np.uint64], size: int, threshold: int) -> bool:
    """Redraw the bit of one slot, or none if it lies outside; say whether the system gave a coin."""
    if slot < 0 or slot >= size:
        return True
    coin = np.zeros(1, dtype=np.uint32)
    if _getrandom(coin.ctypes, np.uint64(4), np.uint32(0)) != 4:
        return False
    bit, place, w = np.uint64(np.int64(coin[0]) < threshold), np.uint64(slot & 63), slot >> 6
    coin[0] = 0
    words[w] = (words[w] & ~(np.uint64(1) << place)) | (bit << place)
    return True
