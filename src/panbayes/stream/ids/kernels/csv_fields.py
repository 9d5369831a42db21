"""Fields of CSV lines, each line by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.words import load_word, trailing_zeros

__all__ = ["take_csv_fields"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@inlined
def _field_end(data: Bytes, i: int, end: int) -> int:
    r"""Return where the next comma or ``\r`` is, eight bytes at a time; ``end`` without one."""
    ones, highs = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    while i + 8 <= end:
        word = np.uint64(load_word(data, i))
        comma, back = word ^ (ones * np.uint64(44)), word ^ (ones * np.uint64(13))
        # The lowest byte found by any of these is right; what carries did above it does not matter.
        found = (((comma - ones) & ~comma) | ((back - ones) & ~back)) & highs
        if found != np.uint64(0):
            return i + int(trailing_zeros(found) >> 3)
        i += 8
    while i < end and data[i] != 44 and data[i] != 13:
        i += 1
    return i


@loop
def take_csv_fields(
    data: Bytes,
    starts: Ints,
    lengths: Ints,
    places: Ints,
    found_starts: NDArray[np.int64],
    found_lengths: NDArray[np.int64],
) -> None:
    r"""Find the fields number ``places`` (from 0) of every line; nothing where it has none or cannot be read.

    The spans of field ``places[k]`` go to row k. A line is read as RFC 4180 has it, to its end: fields between commas,
    a field that begins with a quote ends with the next single one, doubled quotes inside stand for one, and ``\r`` may
    end the line. A quote that does not end, or whose field goes on after it, and ``\r`` in the middle of a line make it
    unreadable. Doubled quotes are undone in place.
    """
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        field, readable = 0, True
        for k in range(places.size):
            found_starts[k, t] = i
            found_lengths[k, t] = 0
        while end > i and data[end - 1] == 13:
            end -= 1
        while readable:
            if i < end and data[i] == 34:
                i += 1
                first, out, closed = i, i, False
                while i < end:
                    if data[i] == 34:
                        if i + 1 < end and data[i + 1] == 34:
                            i += 1
                        else:
                            closed = True
                            i += 1
                            break
                    if out != i:
                        data[out] = data[i]
                    out += 1
                    i += 1
                readable = closed and (i == end or data[i] == 44)
            else:
                first = i
                i = _field_end(data, i, end)
                readable = i == end or data[i] == 44
                out = i
            for k in range(places.size):
                if field == places[k]:
                    found_starts[k, t] = first
                    found_lengths[k, t] = out - first
            field += 1
            if i >= end:
                break
            i += 1
        if not readable:
            for k in range(places.size):
                found_lengths[k, t] = 0
