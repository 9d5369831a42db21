"""Fields of CSV lines, each line by itself."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["take_csv_field"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def take_csv_field(data: Bytes, starts: Ints, lengths: Ints, place: int) -> None:
    r"""Replace every line by its field number ``place`` (from 0), or by nothing where it has none or cannot be read.

    A line is read as RFC 4180 has it, to its end: fields between commas, a field that begins with a quote ends with
    the next single one, doubled quotes inside stand for one, and ``\r`` may end the line. A quote that does not end, or
    whose field goes on after it, and ``\r`` in the middle of a line make it unreadable. Doubled quotes are undone in
    place.
    """
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        begin, size, field, readable = i, 0, 0, True
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
            if field == place:
                begin, size = first, out - first
            field += 1
            if i >= end:
                break
            i += 1
        starts[t] = begin
        lengths[t] = size if readable else 0
