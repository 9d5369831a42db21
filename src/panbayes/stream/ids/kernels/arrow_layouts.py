"""The layouts of Arrow columns: from their buffers to spans of bytes, and which rows are missing.

Loops that end in ``_of`` take the rows that ``keys`` name: the values of a dictionary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop

__all__ = [
    "check_keys",
    "drop_missing",
    "even_spans",
    "even_spans_of",
    "mark_missing",
    "offsets_to_spans",
    "offsets_to_spans_of",
    "uuid_texts",
    "uuid_texts_of",
    "views_to_spans",
    "views_to_spans_of",
]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@inlined
def _is_there(bits: Bytes, row: int) -> bool:
    return bool((bits[row >> 3] >> (row & 7)) & 1)


@loop
def drop_missing(bits: Bytes, first: int, lengths: Ints) -> None:
    """Take away the length of every text whose bit is 0; the first text has bit ``first``."""
    for t in range(lengths.size):
        if not _is_there(bits, first + t):
            lengths[t] = 0


@loop
def mark_missing(bits: Bytes, first: int, missing: NDArray[np.bool_]) -> None:
    """Mark every row whose bit is 0; the first row has bit ``first``."""
    for t in range(missing.size):
        missing[t] |= not _is_there(bits, first + t)


@loop
def check_keys(keys: Ints, size: int, bits: Bytes, first: int, missing: NDArray[np.bool_]) -> None:
    """Mark every row whose key is none of a dictionary of ``size``, or stands for a missing value: its key becomes 0.

    The first value has bit ``first``; without ``bits`` no value is missing.
    """
    for t in range(keys.size):
        if missing[t] or keys[t] < 0 or keys[t] >= size:
            missing[t] = True
            keys[t] = 0
        elif bits.size:
            missing[t] = not _is_there(bits, first + keys[t])


@loop
def offsets_to_spans(offsets: NDArray[np.signedinteger], first: int, starts: Ints, lengths: Ints) -> None:
    """Turn Arrow offsets into spans of a buffer in which the texts begin at ``first``."""
    for t in range(starts.size):
        starts[t] = first + offsets[t]
        lengths[t] = offsets[t + 1] - offsets[t]


@loop
def offsets_to_spans_of(
    offsets: NDArray[np.signedinteger], first: int, keys: Ints, starts: Ints, lengths: Ints
) -> None:
    """Turn the Arrow offsets of some rows into spans."""
    for t in range(keys.size):
        starts[t] = first + offsets[keys[t]]
        lengths[t] = offsets[keys[t] + 1] - offsets[keys[t]]


@inlined
def _view(views: NDArray[np.uint32], here: int, buffers: Ints, row: int) -> tuple[int, int]:
    length = int(views[4 * row])
    if length <= 12:
        return here + 16 * row + 4, length
    return buffers[views[4 * row + 2]] + np.int64(views[4 * row + 3]), length


@loop
def views_to_spans(views: NDArray[np.uint32], here: int, buffers: Ints, starts: Ints, lengths: Ints) -> None:
    """Turn Arrow string views into spans: short strings lie in the view itself (views start at ``here``)."""
    for t in range(starts.size):
        starts[t], lengths[t] = _view(views, here, buffers, t)


@loop
def views_to_spans_of(
    views: NDArray[np.uint32], here: int, buffers: Ints, keys: Ints, starts: Ints, lengths: Ints
) -> None:
    """Turn the Arrow string views of some rows into spans."""
    for t in range(keys.size):
        starts[t], lengths[t] = _view(views, here, buffers, keys[t])


@loop
def even_spans(width: int, starts: Ints, lengths: Ints) -> None:
    """Find texts of ``width`` bytes each, one behind the other."""
    for t in range(starts.size):
        starts[t] = t * width
        lengths[t] = width


@loop
def even_spans_of(width: int, keys: Ints, starts: Ints, lengths: Ints) -> None:
    """Find some of the texts of ``width`` bytes each."""
    for t in range(keys.size):
        starts[t] = keys[t] * width
        lengths[t] = width


@inlined
def _put_uuid(data: Bytes, row: int, out: Bytes, t: int) -> None:
    place = 36 * t
    for j in range(16):
        if j == 4 or j == 6 or j == 8 or j == 10:
            out[place] = 45
            place += 1
        byte = int(data[16 * row + j])
        out[place] = (byte >> 4) + (48 if byte >> 4 < 10 else 87)
        out[place + 1] = (byte & 15) + (48 if byte & 15 < 10 else 87)
        place += 2


@loop
def uuid_texts(data: Bytes, out: Bytes) -> None:
    """Write UUIDs of 16 bytes each as their 36 lower-case characters each."""
    for t in range(out.size // 36):
        _put_uuid(data, t, out, t)


@loop
def uuid_texts_of(data: Bytes, keys: Ints, out: Bytes) -> None:
    """Write some of the UUIDs."""
    for t in range(keys.size):
        _put_uuid(data, keys[t], out, t)
