"""The sample without replacement: a keyed permutation of the universe, cut short."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["sampled", "sampled_one"]

Ints = NDArray[np.int64]


@loop
def sampled(ids: Ints, universe: int, sample: int, bits: int, keys: NDArray[np.uint64], out: Ints) -> None:
    """Map id → slot for a sample without replacement: the ids that a keyed permutation sends below ``sample``.

    The permutation of 0 … universe−1 is a Feistel network on ``bits`` bits (the least that hold the universe, at least
    2), repeated until the result lies in the universe. Its three double rounds are multiplications by odd keys of which
    the highest bits are taken; ``keys`` holds 12 words. They are public and were drawn before any data.
    """
    size = np.uint64(universe)
    low = np.uint64(bits // 2)
    drop_high, drop_low = np.uint64(64) - (np.uint64(bits) - low), np.uint64(64) - low
    mask = (np.uint64(1) << low) - np.uint64(1)
    for t in range(ids.size):
        x = np.uint64(ids[t])
        if x >= size:
            out[t] = -1
            continue
        while True:
            left, right = x >> low, x & mask
            for r in range(0, 12, 4):
                left ^= (right * keys[r] + keys[r + 1]) >> drop_high
                right ^= (left * keys[r + 2] + keys[r + 3]) >> drop_low
            x = (left << low) | right
            if x < size:
                break
        out[t] = np.int64(x) if x < np.uint64(sample) else np.int64(-1)


@njit(cache=True, nogil=True)
def sampled_one(number: int, universe: int, sample: int, bits: int, keys: NDArray[np.uint64]) -> int:
    """Map one id to its slot, as :func:`sampled` does."""
    out = np.empty(1, dtype=np.int64)
    sampled(np.full(1, number, dtype=np.int64), universe, sample, bits, keys, out)
    return int(out[0])
