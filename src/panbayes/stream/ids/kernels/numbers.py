"""Decimal numbers in text: read, where what is none becomes −1, which is outside every universe; and written."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["MOST_DIGITS", "read_decimal", "write_integers"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

MOST_DIGITS = 20
"""Characters of an integer of 64 bits, at most."""


@loop
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


@loop
def write_integers(values: NDArray[np.integer], data: Bytes, starts: Ints, lengths: Ints) -> None:
    """Write 64-bit integers, with or without a sign, as their digits: each has :data:`MOST_DIGITS` bytes."""
    for t in range(values.size):
        end = MOST_DIGITS * (t + 1)
        at, negative = end, values[t] < 0
        rest = np.uint64(values[t])
        if negative:
            rest = ~rest + np.uint64(1)
        while at == end or rest > np.uint64(0):
            at -= 1
            data[at] = np.uint8(np.uint64(48) + rest % np.uint64(10))
            rest //= np.uint64(10)
        if negative:
            at -= 1
            data[at] = 45
        starts[t] = at
        lengths[t] = end - at
