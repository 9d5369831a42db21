"""Fields of the lines of an access log, each line by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["drop_byte", "join_spans", "take_log_field", "take_word"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@loop
def take_log_field(
    data: Bytes, starts: Ints, lengths: Ints, place: int, found_starts: Ints, found_lengths: Ints
) -> None:
    r"""Find the field number ``place`` (from 0) of every line, or nothing where it has none or cannot be read.

    Fields stand between single spaces. One that begins with ``"`` ends with the next ``"`` that no ``\`` stands before,
    one that begins with ``[`` ends with the next ``]``; such a field that does not end makes its line unreadable.
    """
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        while end > i and (data[end - 1] == 13 or data[end - 1] == 10):
            end -= 1
        begin, size, field = i, 0, 0
        while i < end:
            closing = 34 if data[i] == 34 else 93 if data[i] == 91 else 0
            if closing:
                i += 1
                first = i
                while i < end and data[i] != closing:
                    i += 2 if closing == 34 and data[i] == 92 else 1
                last = i
                i += 1
                readable = last < end and (i == end or data[i] == 32)
            else:
                first = i
                while i < end and data[i] != 32:
                    i += 1
                last, readable = i, True
            if not readable:
                size = 0
                break
            if field == place:
                begin, size = first, last - first
                break
            field += 1
            i += 1
        found_starts[t] = begin
        found_lengths[t] = size


@loop
def take_word(data: Bytes, starts: Ints, lengths: Ints, place: int, until: int) -> None:
    """Replace every text by its word number ``place`` (from 0, between spaces), up to the byte ``until`` (0: none)."""
    for t in range(starts.size):
        i, end, word = starts[t], starts[t] + lengths[t], 0
        while i < end and word < place:
            word += data[i] == 32
            i += 1
        begin = i
        while i < end and data[i] != 32 and data[i] != until:
            i += 1
        starts[t] = begin
        lengths[t] = i - begin if word == place else 0


@loop
def drop_byte(data: Bytes, starts: Ints, lengths: Ints, byte: int) -> None:
    """Take away the length of every text that is this byte alone."""
    for t in range(starts.size):
        if lengths[t] == 1 and data[starts[t]] == byte:
            lengths[t] = 0


@loop
def join_spans(
    data: Bytes,
    starts: Ints,
    lengths: Ints,
    others: Ints,
    sizes: Ints,
    out: Bytes,
    whole_starts: Ints,
    whole_lengths: Ints,
) -> None:
    """Copy pairs of texts, with a byte 31 between them, one behind the other to ``out``.

    What lacks one of the two has neither.
    """
    at = 0
    for t in range(starts.size):
        whole_starts[t] = at
        if lengths[t] > 0 and sizes[t] > 0:
            for j in range(lengths[t]):
                out[at + j] = data[starts[t] + j]
            at += lengths[t]
            out[at] = 31
            at += 1
            for j in range(sizes[t]):
                out[at + j] = data[others[t] + j]
            at += sizes[t]
        whole_lengths[t] = at - whole_starts[t]
