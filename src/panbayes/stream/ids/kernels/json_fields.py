"""Fields of NDJSON lines, each line by itself.

A loop reads lines that are plainly JSON objects. Whatever is not plain (escapes, ids with a sign or a point, deep
nesting, anything that might not be JSON) it leaves to a whole parser: it refuses nothing by itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["take_json_field"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_DEEPEST = 60
"""Levels of arrays and objects that the loop follows."""


@njit(cache=True, nogil=True)
def take_json_field(
    data: Bytes, starts: Ints, lengths: Ints, name: Bytes, ask: NDArray[np.bool_], any_value: bool
) -> None:
    """Replace every line by the text or the digits of its field ``name``, or by nothing where it is absent or null.

    With ``any_value`` numbers of all kinds, ``true`` and ``false`` are texts too, as they are written, and lists and
    objects are nothing. Lines that are not plain are marked in ``ask`` and stay as they are.
    """
    for t in range(starts.size):
        begin, size = _member(data, starts[t], starts[t] + lengths[t], name, any_value)
        ask[t] = size < 0
        if size >= 0:
            starts[t] = begin
            lengths[t] = size


@njit(cache=True, nogil=True)
def _member(data: Bytes, i: int, end: int, name: Bytes, any_value: bool) -> tuple[int, int]:
    """Find a field in one line: its start and its length, 0 if it is absent or null, −1 if the line is not plain."""
    begin, size = i, 0
    i = _space(data, i, end)
    if i >= end or data[i] != 123:
        return begin, -1
    i = _space(data, i + 1, end)
    more = not (i < end and data[i] == 125)
    while more:
        after = _string(data, i, end)
        if after < 0:
            return begin, -1
        same = after - i - 2 == name.size
        if same:
            for j in range(name.size):
                same &= data[i + 1 + j] == name[j]
        i = _space(data, after, end)
        if i >= end or data[i] != 58:
            return begin, -1
        i = _space(data, i + 1, end)
        after = _plain_value(data, i, end) if same and not any_value else _value(data, i, end)
        if after < 0:
            return begin, -1
        if same:
            if data[i] == 34:
                begin, size = i + 1, after - i - 2
            else:
                nothing = data[i] == 110 or data[i] == 123 or data[i] == 91
                begin, size = i, (0 if nothing else after - i)
        i = _space(data, after, end)
        if i >= end or (data[i] != 44 and data[i] != 125):
            return begin, -1
        more = data[i] == 44
        if more:
            i = _space(data, i + 1, end)
    if _space(data, i + 1, end) != end:
        return begin, -1
    return begin, size


@njit(cache=True, nogil=True, inline="always")
def _space(data: Bytes, i: int, end: int) -> int:
    while i < end and (data[i] == 32 or data[i] == 9 or data[i] == 13 or data[i] == 10):
        i += 1
    return i


@njit(cache=True, nogil=True)
def _string(data: Bytes, i: int, end: int) -> int:
    """Return where a string of plain characters ends (after its quote), −1 if there is none."""
    if i >= end or data[i] != 34:
        return -1
    i += 1
    while i < end:
        byte = data[i]
        if byte == 34:
            return i + 1
        if byte < 32 or byte == 92:
            return -1
        i += 1
        if byte >= 0x80:
            i = _rest_of_character(data, i, end, byte)
            if i < 0:
                return -1
    return -1


@njit(cache=True, nogil=True)
def _rest_of_character(data: Bytes, i: int, end: int, lead: int) -> int:
    """Return where a character of several bytes ends that begins with ``lead`` before ``i``, −1 if it is not UTF-8."""
    low, high = 0x80, 0xBF
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


@njit(cache=True, nogil=True, inline="always")
def _digits(data: Bytes, i: int, end: int) -> int:
    while i < end and 48 <= data[i] <= 57:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _plain_value(data: Bytes, i: int, end: int) -> int:
    """Return where a string, a whole number of at most 18 digits or ``null`` ends, −1 if there is none of these."""
    if i >= end:
        return -1
    if data[i] == 34:
        return _string(data, i, end)
    if data[i] == 110:
        return _word(data, i, end)
    after = _digits(data, i, end)
    if after == i or after - i > 18 or (data[i] == 48 and after - i > 1):
        return -1
    if after < end and (data[after] == 46 or data[after] == 69 or data[after] == 101):
        return -1
    return after


@njit(cache=True, nogil=True)
def _scalar(data: Bytes, i: int, end: int) -> int:
    """Return where a string, a number or a word ends, −1 if there is none."""
    if i >= end:
        return -1
    if data[i] == 34:
        return _string(data, i, end)
    if 97 <= data[i] <= 122:
        return _word(data, i, end)
    if data[i] == 45:
        i += 1
    after = _digits(data, i, end)
    if after == i or (data[i] == 48 and after - i > 1):
        return -1
    if after < end and data[after] == 46:
        i = after + 1
        after = _digits(data, i, end)
        if after == i:
            return -1
    # An exponent may be too large for a number: the whole parser decides.
    if after < end and (data[after] == 69 or data[after] == 101):
        return -1
    return after


@njit(cache=True, nogil=True)
def _word(data: Bytes, i: int, end: int) -> int:
    """Return where ``null``, ``true`` or ``false`` ends, −1 if there is none."""
    if end - i >= 4:
        if data[i] == 110 and data[i + 1] == 117 and data[i + 2] == 108 and data[i + 3] == 108:
            return i + 4
        if data[i] == 116 and data[i + 1] == 114 and data[i + 2] == 117 and data[i + 3] == 101:
            return i + 4
        ends = end - i >= 5 and data[i + 4] == 101
        if ends and data[i] == 102 and data[i + 1] == 97 and data[i + 2] == 108 and data[i + 3] == 115:
            return i + 5
    return -1


@njit(cache=True, nogil=True)
def _value(data: Bytes, i: int, end: int) -> int:
    """Return where any plain value ends, −1 if there is none or it is too deep."""
    if i < end and data[i] != 123 and data[i] != 91:
        return _scalar(data, i, end)
    # A bit for each open bracket: 1 for an object.
    opened, depth = np.uint64(0), 0
    while True:
        # Here a value begins.
        if i >= end:
            return -1
        if data[i] == 123 or data[i] == 91:
            is_object = data[i] == 123
            if depth == _DEEPEST:
                return -1
            opened = (opened << np.uint64(1)) | np.uint64(is_object)
            depth += 1
            i = _space(data, i + 1, end)
            if i < end and data[i] == (125 if is_object else 93):
                i += 1
                opened >>= np.uint64(1)
                depth -= 1
            elif is_object:
                i = _name(data, i, end)
                if i < 0:
                    return -1
                continue
            else:
                continue
        else:
            i = _scalar(data, i, end)
            if i < 0:
                return -1
        # Here a value has ended.
        while depth > 0:
            inside_object = (opened & np.uint64(1)) != np.uint64(0)
            i = _space(data, i, end)
            if i >= end:
                return -1
            if data[i] == 44:
                i = _space(data, i + 1, end)
                if inside_object:
                    i = _name(data, i, end)
                    if i < 0:
                        return -1
                break
            if data[i] != (125 if inside_object else 93):
                return -1
            i += 1
            opened >>= np.uint64(1)
            depth -= 1
        if depth == 0:
            return i


@njit(cache=True, nogil=True)
def _name(data: Bytes, i: int, end: int) -> int:
    """Return where the value of a member begins whose name begins at ``i``, −1 if there is none."""
    i = _string(data, i, end)
    if i < 0:
        return -1
    i = _space(data, i, end)
    if i >= end or data[i] != 58:
        return -1
    return _space(data, i + 1, end)
