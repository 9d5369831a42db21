"""Spans of bytes: finding texts in buffers, and their edges.

A text column is a buffer of bytes with a start and a length for each id; a length of 0 is a missing id.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["is_space", "offsets_to_spans", "split_lines", "trim", "views_to_spans"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True, inline="always")
def is_space(byte: int) -> bool:
    """Say whether a byte is white space."""
    return byte == 32 or (9 <= byte <= 13)


@njit(cache=True, nogil=True)
def trim(data: Bytes, starts: Ints, lengths: Ints) -> None:
    """Take white space off both ends of every id, in place."""
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        while i < end and is_space(data[i]):
            i += 1
        while end > i and is_space(data[end - 1]):
            end -= 1
        starts[t] = i
        lengths[t] = end - i


@njit(cache=True, nogil=True)
def offsets_to_spans(offsets: NDArray[np.signedinteger], first: int, starts: Ints, lengths: Ints) -> None:
    """Turn Arrow offsets into spans of a buffer in which the texts begin at ``first``."""
    for t in range(starts.size):
        starts[t] = first + offsets[t]
        lengths[t] = offsets[t + 1] - offsets[t]


@njit(cache=True, nogil=True)
def views_to_spans(views: NDArray[np.uint32], here: int, buffers: Ints, starts: Ints, lengths: Ints) -> None:
    """Turn Arrow string views into spans: short strings lie in the view itself (views start at ``here``)."""
    for t in range(starts.size):
        length = np.int64(views[4 * t])
        lengths[t] = length
        if length <= 12:
            starts[t] = here + 16 * t + 4
        else:
            starts[t] = buffers[views[4 * t + 2]] + np.int64(views[4 * t + 3])


@njit(cache=True, nogil=True)
def split_lines(data: Bytes, end: int, starts: Ints, lengths: Ints) -> tuple[int, int]:
    """Find the lines of ``data`` up to ``end``; return how many, and where the first unfinished one starts."""
    count, start = 0, 0
    for i in range(end):
        if data[i] == 10:
            starts[count] = start
            lengths[count] = i - start
            count += 1
            start = i + 1
            if count == starts.size:
                break
    return count, start
