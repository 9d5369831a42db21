"""Decimal numbers in text. What is not one becomes −1, which is outside every universe."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["read_decimal"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def read_decimal(data: Bytes, starts: Ints, lengths: Ints, out: Ints) -> None:
    """Read decimal numbers of at most 18 digits, without a sign."""
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        value = np.int64(-1)
        if 0 < end - i <= 18:
            value = np.int64(0)
            while i < end:
                digit = np.int64(data[i]) - 48
                if digit < 0 or digit > 9:
                    value = np.int64(-1)
                    break
                value = value * 10 + digit
                i += 1
        out[t] = value
