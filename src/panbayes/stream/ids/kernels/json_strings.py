"""Strings of JSON: where they end, what their escapes stand for, whether they are a name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.spans import after_character, character_at, put_character
from panbayes.stream.ids.kernels.words import load_word, trailing_zeros

__all__ = ["ESCAPED", "TEXT", "is_name", "is_utf8", "read_string", "undo_escapes"]

Bytes = NDArray[np.uint8]

TEXT, ESCAPED = 2, 3
"""A string without escapes, or with."""


@loop
def is_utf8(data: Bytes, i: int, end: int) -> bool:
    """Say whether bytes are UTF-8."""
    while i < end:
        if i + 8 <= end and np.uint64(load_word(data, i)) & np.uint64(0x8080808080808080) == np.uint64(0):
            i += 8
        elif data[i] < 0x80:
            i += 1
        else:
            i = after_character(data, i, end)
            if i < 0:
                return False
    return True


@loop
def read_string(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """Return where a string ends (after its quote) and whether it has escapes, −1 if there is none."""
    kind = TEXT
    if i >= end or data[i] != 34:
        return -1, kind
    i += 1
    while i < end:
        i = _plain(data, i, end)
        if i == end:
            break
        byte = data[i]
        if byte == 34:
            return i + 1, kind
        if byte < 32:
            return -1, kind
        if byte == 92:
            kind = ESCAPED
            _, i = _escape(data, i, end)
            if i < 0:
                return -1, kind
    return -1, kind


@inlined
def _plain(data: Bytes, i: int, end: int) -> int:
    """Return where the next quote, backslash or control character is, eight bytes at a time; ``end`` without one."""
    ones, highs = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    while i + 8 <= end:
        word = np.uint64(load_word(data, i))
        quote, back = word ^ (ones * np.uint64(34)), word ^ (ones * np.uint64(92))
        # The lowest byte found by any of these is right; what carries did above it does not matter.
        found = ((quote - ones) & ~quote) | ((back - ones) & ~back) | ((word - ones * np.uint64(32)) & ~word)
        found &= highs
        if found != np.uint64(0):
            return i + int(trailing_zeros(found) >> 3)
        i += 8
    while i < end and data[i] != 34 and data[i] != 92 and data[i] >= 32:
        i += 1
    return i


@loop
def _escape(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """Return the character that an escape stands for, and where it ends; −1 twice if it is wrong."""
    if i + 1 >= end:
        return -1, -1
    byte = data[i + 1]
    if byte == 117:
        unit = _unit(data, i, end)
        if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
            return -1, -1
        if unit < 0xD800 or unit > 0xDFFF:
            return unit, i + 6
        second = _unit(data, i + 6, end)
        if second < 0xDC00 or second > 0xDFFF:
            return -1, -1
        return 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00), i + 12
    character = -1
    if byte == 34 or byte == 92 or byte == 47:
        character = int(byte)
    elif byte == 98:
        character = 8
    elif byte == 102:
        character = 12
    elif byte == 110:
        character = 10
    elif byte == 114:
        character = 13
    elif byte == 116:
        character = 9
    return character, (i + 2 if character >= 0 else -1)


@loop
def _unit(data: Bytes, i: int, end: int) -> int:
    r"""Return the number that four hexadecimal digits after ``\u`` are, −1 if there are none."""
    if i + 6 > end or data[i] != 92 or data[i + 1] != 117:
        return -1
    value = 0
    for j in range(i + 2, i + 6):
        byte = int(data[j])
        lower = byte | 32
        if 48 <= byte <= 57:
            value = 16 * value + byte - 48
        elif 97 <= lower <= 102:
            value = 16 * value + lower - 87
        else:
            return -1
    return value


@loop
def undo_escapes(data: Bytes, i: int, end: int) -> int:
    """Undo the escapes of a string in place, and return how many bytes it has then."""
    begin = at = i
    while i < end:
        if data[i] == 92:
            character, i = _escape(data, i, end)
            at = put_character(data, at, character)
        else:
            data[at] = data[i]
            at += 1
            i += 1
    return at - begin


@inlined
def is_name(data: Bytes, i: int, end: int, escaped: bool, names: Bytes, at: int, size: int) -> bool:
    """Say whether a string is a name, which has ``size`` bytes from ``at`` on."""
    if not escaped:
        same = end - i == size
        for j in range(size if same else 0):
            same &= data[i + j] == names[at + j]
        return bool(same)
    last = at + size
    while i < end:
        if data[i] != 92:
            if at >= last or data[i] != names[at]:
                return False
            i += 1
            at += 1
            continue
        character, i = _escape(data, i, end)
        after = after_character(names, at, last) if at < last else -1
        if after < 0 or character_at(names, at, after - at) != character:
            return False
        at = after
    return at == last
