"""Fields of CSV lines, each line by itself."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["take_csv_fields"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
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
                while i < end and data[i] != 44:
                    readable &= data[i] != 13
                    i += 1
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
