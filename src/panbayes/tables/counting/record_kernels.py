"""Compiled loops over all records of a block: putting values in groups, and hashing records.

:mod:`panbayes.tables.counting.numpy_kernels` has the same in NumPy, with identical results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from panbayes.tables.codes import Codes

__all__ = ["add_hashes", "look_up", "regroup", "unpack"]


COPIES: Final = 1024
"""Up to this many values are counted in four copies: neighbouring records often have the same one."""


@njit(cache=True)
def look_up(places: NDArray[np.int32], codes: Codes, out: Codes, times: NDArray[np.int64]) -> None:
    """Set ``out[t]`` to ``codes[places[t]]``, and add to ``times`` how often each place occurs."""
    records = places.size
    for t in range(records):
        out[t] = codes[np.uint32(places[t])]
    many = times.size
    if many > COPIES:
        for t in range(records):
            times[np.uint32(places[t])] += 1
        return
    copies = np.zeros((4, many), dtype=np.int32)
    first, second, third, fourth = copies[0], copies[1], copies[2], copies[3]
    for t in range(0, records - 3, 4):
        first[np.uint32(places[t])] += 1
        second[np.uint32(places[t + 1])] += 1
        third[np.uint32(places[t + 2])] += 1
        fourth[np.uint32(places[t + 3])] += 1
    for t in range(records // 4 * 4, records):
        first[np.uint32(places[t])] += 1
    for place in range(many):
        times[place] += first[place] + second[place] + third[place] + fourth[place]


@njit(cache=True)
def unpack(words: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    """Write the digits of every word into the rows of ``out``, from the last to the first, each below its size."""
    for t in range(words.size):
        left = np.uint64(words[t])
        for place in range(rows.size - 1, -1, -1):
            size = np.uint64(sizes[place])
            above = left // size
            out[rows[place], t] = left - above * size
            left = above


@njit(cache=True)
def regroup(codes: Codes, places: NDArray[np.int64], maps: Codes, out: Codes) -> None:
    """Set ``out[g, t]`` to ``maps[g, codes[places[g], t]]``."""
    for g in range(places.size):
        groups = maps[g]
        found = codes[places[g]]
        into = out[g]
        for t in range(found.size):
            into[t] = groups[np.uint64(found[t])]


@njit(cache=True)
def add_hashes(codes: Codes, order: NDArray[np.int64], keys: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
    """Add the hash of every record to ``sums``, as :mod:`panbayes.tables.marks` says."""
    records = codes.shape[1]
    first = np.full(records, keys[0], dtype=np.uint64)
    second = np.full(records, keys[1], dtype=np.uint64)
    word = np.empty(records, dtype=np.uint64)
    for start in range(0, order.size, 4):
        found = codes[order[start]]
        for t in range(records):
            word[t] = np.uint64(found[t])
        for place in range(1, min(4, order.size - start)):
            found = codes[order[start + place]]
            shift = np.uint64(16 * place)
            for t in range(records):
                word[t] |= np.uint64(found[t]) << shift
        for t in range(records):
            one = (first[t] ^ word[t]) * keys[2]
            first[t] = one ^ (one >> np.uint64(32))
            two = (second[t] + word[t]) * keys[3]
            second[t] = two ^ (two >> np.uint64(29))
    for t in range(records):
        one = (first[t] ^ (first[t] >> np.uint64(30))) * keys[4]
        one = (one ^ (one >> np.uint64(27))) * keys[5]
        sums[0] += one ^ (one >> np.uint64(31))
        two = (second[t] ^ (second[t] >> np.uint64(33))) * keys[5]
        two = (two ^ (two >> np.uint64(28))) * keys[4]
        sums[1] += two ^ (two >> np.uint64(32))
