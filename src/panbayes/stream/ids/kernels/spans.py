"""Spans of bytes: finding texts in buffers, and their edges.

A text column is a buffer of bytes with a start and a length for each id; a length of 0 is a missing id.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "copy_spans",
    "is_space",
    "offsets_to_spans",
    "split_lines",
    "trim",
    "trim_and_mark",
    "uuid_texts",
    "views_to_spans",
]

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
def trim_and_mark(data: Bytes, starts: Ints, lengths: Ints, odd: NDArray[np.bool_]) -> int:
    """Take white space of one byte off both ends of every id, in place; mark what may have another canonical form.

    In UTF-8 bytes from 0xCC on begin the characters from U+0300 on, and no character before those is changed by
    Unicode's form C. White space below is of one byte, or U+0085 and U+00A0, which begin with 0xC2. Return how many ids
    are marked.
    """
    words = data[: data.size // 8 * 8].view(np.uint64)
    marked = 0
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        while i < end and is_space(data[i]):
            i += 1
        while end > i and is_space(data[end - 1]):
            end -= 1
        starts[t] = i
        lengths[t] = end - i
        if end > i and _has_high_byte(data, words, i, end):
            edge = data[i] == 0xC2 or (end - i >= 2 and data[end - 2] == 0xC2)
            for j in range(i, end):
                edge |= data[j] >= 0xCC
            odd[t] = edge
            marked += int(edge)
    return marked


@njit(cache=True, nogil=True, inline="always")
def _has_high_byte(data: Bytes, words: NDArray[np.uint64], i: int, end: int) -> bool:
    """Say whether a byte from ``i`` to ``end`` is not ASCII, a word at a time; ``words`` are those of ``data``."""
    first, last = np.uint64(i) >> np.uint64(3), np.uint64(end - 1) >> np.uint64(3)
    high = np.uint64(0)
    if last >= np.uint64(words.size):
        for j in range(i, end):
            high |= np.uint64(data[j])
        return bool(high & np.uint64(0x80))
    before = (np.uint64(i) & np.uint64(7)) << np.uint64(3)
    after = (np.uint64(7) - (np.uint64(end - 1) & np.uint64(7))) << np.uint64(3)
    word = (words[first] >> before) << before
    while first < last:
        high |= word
        first += np.uint64(1)
        word = words[first]
    high |= (word << after) >> after
    return bool(high & np.uint64(0x8080808080808080))


@njit(cache=True, nogil=True)
def copy_spans(data: Bytes, starts: Ints, places: Ints, lengths: Ints, leave: NDArray[np.bool_], out: Bytes) -> None:
    """Copy the spans that begin at ``starts`` to ``places`` of ``out``, but for those that ``leave`` marks."""
    for t in range(starts.size):
        if not leave[t]:
            for j in range(lengths[t]):
                out[places[t] + j] = data[starts[t] + j]


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
def uuid_texts(data: Bytes, out: Bytes) -> None:
    """Write UUIDs of 16 bytes each as their 36 lower-case characters each."""
    for t in range(out.size // 36):
        place = 36 * t
        for j in range(16):
            if j == 4 or j == 6 or j == 8 or j == 10:
                out[place] = 45
                place += 1
            byte = int(data[16 * t + j])
            out[place] = (byte >> 4) + (48 if byte >> 4 < 10 else 87)
            out[place + 1] = (byte & 15) + (48 if byte & 15 < 10 else 87)
            place += 2


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
