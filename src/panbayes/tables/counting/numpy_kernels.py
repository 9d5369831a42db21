"""Counting with NumPy alone: one ``numpy.bincount`` over a joint code per attribute set.

The slow, obvious way. It serves where Numba cannot be imported and as the reference that the kernels of
:mod:`panbayes.tables.counting.numba_kernels` must equal cell for cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from panbayes.tables.codes import Codes

__all__ = ["add_hashes", "count_odd", "count_sets", "look_up", "regroup", "unpack"]


def count_sets(
    codes: Codes,
    sizes: NDArray[np.int64],
    sets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the contingency table of ``sets[e]`` into ``out`` from ``offsets[e]`` on, in C order, for every e.

    ``sets`` has one row per attribute set, all of one length (which may be 0).
    """
    for attributes, start in zip(sets.tolist(), offsets.tolist(), strict=True):
        joint = np.zeros(codes.shape[1], dtype=np.int64)
        cells = 1
        for a in attributes:
            joint = joint * sizes[a] + codes[a]
            cells *= int(sizes[a])
        out[start : start + cells] = np.bincount(joint, minlength=cells)


def count_odd(words: NDArray[np.uint64], sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ones in the exclusive or of the rows ``sets[e]`` of ``words``, for every e."""
    found = [np.bitwise_xor.reduce(words[members], axis=0, initial=0) for members in sets]
    return np.array([int(np.unpackbits(odd.view(np.uint8)).sum()) for odd in found], dtype=np.int64)


def look_up(places: NDArray[np.int32], codes: Codes, out: Codes, times: NDArray[np.int64]) -> None:
    """Set ``out[t]`` to ``codes[places[t]]``, and add to ``times`` how often each place occurs."""
    out[:] = codes[places]
    times += np.bincount(places, minlength=times.size)


def unpack(words: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    """Write the digits of every word into the rows of ``out``, from the last to the first, each below its size."""
    left = words
    for row, size in zip(rows[::-1].tolist(), sizes[::-1].tolist(), strict=True):
        left, out[row] = np.divmod(left, size)


def regroup(codes: Codes, places: NDArray[np.int64], maps: Codes, out: Codes) -> None:
    """Set ``out[g, t]`` to ``maps[g, codes[places[g], t]]``."""
    for into, place, groups in zip(out, places.tolist(), maps, strict=True):
        into[:] = groups[codes[place]]


def add_hashes(codes: Codes, order: NDArray[np.int64], keys: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
    """Add the hash of every record to ``sums``, as :mod:`panbayes.tables.marks` says."""
    first = np.full(codes.shape[1], keys[0], dtype=np.uint64)
    second = np.full(codes.shape[1], keys[1], dtype=np.uint64)
    for start in range(0, order.size, 4):
        word = np.zeros(codes.shape[1], dtype=np.uint64)
        for place, attribute in enumerate(order[start : start + 4].tolist()):
            word |= codes[attribute].astype(np.uint64) << np.uint64(16 * place)
        one = (first ^ word) * keys[2]
        first = one ^ (one >> np.uint64(32))
        two = (second + word) * keys[3]
        second = two ^ (two >> np.uint64(29))
    one = (first ^ (first >> np.uint64(30))) * keys[4]
    one = (one ^ (one >> np.uint64(27))) * keys[5]
    two = (second ^ (second >> np.uint64(33))) * keys[5]
    two = (two ^ (two >> np.uint64(28))) * keys[4]
    sums += np.array(
        [(one ^ (one >> np.uint64(31))).sum(dtype=np.uint64), (two ^ (two >> np.uint64(32))).sum(dtype=np.uint64)]
    )
