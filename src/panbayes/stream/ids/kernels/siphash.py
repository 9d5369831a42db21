"""SipHash-1-3 of texts: a keyed hash, so that nobody who does not know the key can make two ids collide.

Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with one round a word and three at the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop

__all__ = ["hash_texts"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@inlined
def _rotate(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@loop
def _siphash(data: Bytes, i: int, end: int, key0: np.uint64, key1: np.uint64) -> np.uint64:
    """SipHash-1-3 of the bytes from ``i`` to ``end``."""
    v0, v1 = key0 ^ np.uint64(0x736F6D6570736575), key1 ^ np.uint64(0x646F72616E646F6D)
    v2, v3 = key0 ^ np.uint64(0x6C7967656E657261), key1 ^ np.uint64(0x7465646279746573)
    length = end - i
    last = np.uint64(length & 0xFF) << np.uint64(56)
    more = True
    while more:
        word = np.uint64(0)
        size = min(8, end - i)
        for j in range(size):
            word |= np.uint64(data[i + j]) << np.uint64(8 * j)
        i += size
        if size < 8:
            word |= last
            more = False
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= np.uint64(0xFF)
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@inlined
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0 += v1
    v1 = _rotate(v1, 13) ^ v0
    v0 = _rotate(v0, 32)
    v2 += v3
    v3 = _rotate(v3, 16) ^ v2
    v0 += v3
    v3 = _rotate(v3, 21) ^ v0
    v2 += v1
    v1 = _rotate(v1, 17) ^ v2
    v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


@loop
def hash_texts(data: Bytes, starts: Ints, lengths: Ints, key: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Hash every id under ``key``; 0 stands for a missing or empty id, and no id hashes to 0."""
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        out[t] = np.uint64(0)
        if end > i:
            out[t] = max(np.uint64(1), _siphash(data, i, end, key[0], key[1]))
