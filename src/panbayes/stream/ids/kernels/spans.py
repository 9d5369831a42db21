"""Spans of bytes: finding texts in buffers, and their edges.

A text column is a buffer of bytes with a start and a length for each id; a length of 0 is a missing id.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.words import trailing_zeros

__all__ = [
    "after_character",
    "character_at",
    "count_lines",
    "fixed_texts",
    "is_space",
    "leave_out",
    "line_ends",
    "mark_odd",
    "put_character",
    "split_lines",
    "trim",
    "wide_texts",
]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@inlined
def is_space(byte: int) -> bool:
    """Say whether a byte is white space."""
    return byte == 32 or (9 <= byte <= 13)


@loop
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


@loop
def mark_odd(data: Bytes, starts: Ints, lengths: Ints, odd: NDArray[np.bool_]) -> int:
    """Take white space of one byte off both ends of every id, in place; mark what may have another canonical form.

    In UTF-8 bytes from 0xCC on begin the characters from U+0300 on, and no character before those is changed by
    Unicode's form C. White space below is of one byte, or U+0085 and U+00A0, which begin with 0xC2. Return how many ids
    are marked.
    """
    words = data[: data.size // 8 * 8].view(np.uint64)
    marked = 0
    for t in range(starts.size):
        odd[t] = False
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


@inlined
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


@inlined
def _breaks(word: np.uint64) -> np.uint64:
    """Return the highest bit of each of eight bytes that is a line break."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    other = word ^ np.uint64(0x0A0A0A0A0A0A0A0A)
    return ~(((other & low) + low) | other | low)


@loop
def count_lines(data: Bytes, end: int) -> int:
    """Count the line breaks of ``data`` up to ``end``."""
    words = data[: end // 8 * 8].view(np.uint64)
    count = np.uint64(0)
    for w in range(words.size):
        count += ((_breaks(words[w]) >> np.uint64(7)) * np.uint64(0x0101010101010101)) >> np.uint64(56)
    for i in range(8 * words.size, end):
        count += np.uint64(data[i] == 10)
    return int(count)


@loop
def split_lines(data: Bytes, end: int, starts: Ints, lengths: Ints) -> tuple[int, int]:
    """Find the lines of ``data`` up to ``end``; return how many, and where the first unfinished one starts."""
    words = data[: end // 8 * 8].view(np.uint64)
    count, start, room = 0, 0, starts.size
    for w in range(words.size):
        found = _breaks(words[w])
        while found != np.uint64(0) and count < room:
            i = 8 * w + (trailing_zeros(found) >> 3)
            starts[count] = start
            lengths[count] = i - start
            count += 1
            start = i + 1
            found &= found - np.uint64(1)
    for i in range(8 * words.size, end):
        if data[i] == 10 and count < room:
            starts[count] = start
            lengths[count] = i - start
            count += 1
            start = i + 1
    return count, start


@loop
def leave_out(lengths: Ints, kept: NDArray[np.bool_], out: Ints) -> None:
    """Copy lengths; what is not ``kept`` has none."""
    for t in range(lengths.size):
        out[t] = lengths[t] if kept[t] else 0


@loop
def fixed_texts(data: Bytes, width: int, starts: Ints, lengths: Ints) -> None:
    """Find texts of up to ``width`` bytes each, which zeros fill up."""
    for t in range(starts.size):
        begin, end = t * width, (t + 1) * width
        while end > begin and data[end - 1] == 0:
            end -= 1
        starts[t] = begin
        lengths[t] = end - begin


@loop
def wide_texts(characters: NDArray[np.uint32], width: int, data: Bytes, starts: Ints, lengths: Ints) -> None:
    """Write texts of up to ``width`` characters each, which zeros fill up, as UTF-8."""
    at = 0
    for t in range(starts.size):
        begin, end = t * width, (t + 1) * width
        while end > begin and characters[end - 1] == 0:
            end -= 1
        starts[t] = at
        for i in range(begin, end):
            at = put_character(data, at, int(characters[i]))
        lengths[t] = at - starts[t]


@inlined
def put_character(data: Bytes, at: int, character: int) -> int:
    """Write a character as UTF-8, and return where the next one goes."""
    if character < 0x80:
        data[at] = character
        return at + 1
    if character < 0x800:
        data[at] = 0xC0 | (character >> 6)
        data[at + 1] = 0x80 | (character & 63)
        return at + 2
    if character < 0x10000:
        data[at] = 0xE0 | (character >> 12)
        data[at + 1] = 0x80 | ((character >> 6) & 63)
        data[at + 2] = 0x80 | (character & 63)
        return at + 3
    data[at] = 0xF0 | (character >> 18)
    data[at + 1] = 0x80 | ((character >> 12) & 63)
    data[at + 2] = 0x80 | ((character >> 6) & 63)
    data[at + 3] = 0x80 | (character & 63)
    return at + 4


@loop
def after_character(data: Bytes, i: int, end: int) -> int:
    """Return where the character that begins at ``i`` ends, −1 if it is not UTF-8."""
    lead, low, high = data[i], 0x80, 0xBF
    i += 1
    if lead < 0x80:
        return i
    if 0xC2 <= lead <= 0xDF:
        rest = 1
    elif 0xE0 <= lead <= 0xEF:
        rest = 2
        low = 0xA0 if lead == 0xE0 else 0x80
        high = 0x9F if lead == 0xED else 0xBF
    elif 0xF0 <= lead <= 0xF4:
        rest = 3
        low = 0x90 if lead == 0xF0 else 0x80
        high = 0x8F if lead == 0xF4 else 0xBF
    else:
        return -1
    if i + rest > end:
        return -1
    for _ in range(rest):
        if data[i] < low or data[i] > high:
            return -1
        low, high = 0x80, 0xBF
        i += 1
    return i


@loop
def line_ends(data: Bytes, end: int, skipping: bool) -> tuple[int, int]:
    """Return where the first whole line of ``data`` begins, and where the last one ends, up to ``end``.

    With ``skipping`` what comes before the first line break is the rest of a line, and none.
    """
    last = end
    while last > 0 and data[last - 1] != 10:
        last -= 1
    first = 0
    if skipping:
        while first < last and data[first] != 10:
            first += 1
        first = min(first + 1, last)
    return first, last


@inlined
def character_at(data: Bytes, i: int, size: int) -> int:
    """Return the character that ``size`` bytes from ``i`` on are in UTF-8."""
    if size == 1:
        return int(data[i])
    if size == 2:
        return (int(data[i] & 31) << 6) | int(data[i + 1] & 63)
    if size == 3:
        return (int(data[i] & 15) << 12) | (int(data[i + 1] & 63) << 6) | int(data[i + 2] & 63)
    return (
        (int(data[i] & 7) << 18) | (int(data[i + 1] & 63) << 12) | (int(data[i + 2] & 63) << 6) | int(data[i + 3] & 63)
    )
