"""Fields of NDJSON lines, each line by itself: JSON as RFC 8259 has it.

A line is one object. Names may have escapes; of several members of one name the last one counts. Strings that nobody
asks for may have bytes that are not UTF-8. An escape must be right wherever it stands; half a surrogate pair is not.
Arrays and objects are followed to :data:`_DEEPEST` levels. A line that breaks a rule has nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.json_strings import ESCAPED, TEXT, is_name, is_utf8, read_string, undo_escapes

__all__ = ["LONGEST_NUMBER", "NESTING", "take_json_fields"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

NESTING = 15
"""Words in which a bit says of every open bracket whether it is that of an object."""

_DEEPEST = 64 * NESTING

LONGEST_NUMBER = 4300
"""Characters of a whole number that is an id."""

_ABSENT, _NESTED, _INTEGER, _OTHER = 0, 1, 4, 5
"""What a value is, beside a string: null, or not there; an array or object; a whole number; a word, another number, or
whatever can be no id."""


@loop
def take_json_fields(
    data: Bytes,
    starts: Ints,
    lengths: Ints,
    names: Bytes,
    name_starts: Ints,
    name_lengths: Ints,
    kinds: Bytes,
    nesting: Words,
    found_starts: NDArray[np.int64],
    found_lengths: NDArray[np.int64],
) -> None:
    """Find the members called ``names`` of every line: the first one an id, the others values of any kind.

    The spans of name k go to row k: the text of a string, or a number or word as it is written; nothing for null, lists
    and objects. Where the line is no object, or its id neither a text nor a whole number nor null,
    there is nothing of the whole line. Escapes are undone in place. ``kinds`` (one for each name) and ``nesting`` are
    room to work in. Where an id alone is asked for, every member of its name must be one, and names need not be UTF-8.
    """
    count = name_starts.size
    for t in range(starts.size):
        for k in range(count):
            found_starts[k, t] = starts[t]
            found_lengths[k, t] = 0
            kinds[k] = _ABSENT
        end = starts[t] + lengths[t]
        readable = _members(
            data, starts[t], end, names, name_starts, name_lengths, kinds, nesting, found_starts, found_lengths, t
        )
        readable = readable and kinds[0] != _OTHER
        for k in range(count):
            if readable and (kinds[k] == TEXT or kinds[k] == ESCAPED):
                readable = is_utf8(data, found_starts[k, t], found_starts[k, t] + found_lengths[k, t])
        if not readable:
            for k in range(count):
                found_lengths[k, t] = 0
            continue
        for k in range(count):
            if kinds[k] == ESCAPED:
                begin = found_starts[k, t]
                size = undo_escapes(data, begin, begin + found_lengths[k, t])
                for other in range(k, count):
                    if kinds[other] == ESCAPED and found_starts[other, t] == begin:
                        found_lengths[other, t] = size
                        kinds[other] = TEXT
        if kinds[0] == _INTEGER and data[found_starts[0, t]] == 45 and data[found_starts[0, t] + 1] == 48:
            # Of all whole numbers only 0 can be written in two ways.
            found_starts[0, t] += 1
            found_lengths[0, t] = 1


@inlined
def _members(
    data: Bytes,
    i: int,
    end: int,
    names: Bytes,
    name_starts: Ints,
    name_lengths: Ints,
    kinds: Bytes,
    nesting: Words,
    found_starts: NDArray[np.int64],
    found_lengths: NDArray[np.int64],
    t: int,
) -> bool:
    """Find members of one line, and what their values are; say whether the line is an object."""
    count = name_starts.size
    i = _space(data, i, end)
    if i >= end or data[i] != 123:
        return False
    i = _space(data, i + 1, end)
    more = not (i < end and data[i] == 125)
    while more:
        begin = i + 1
        after, kind = read_string(data, i, end)
        if after < 0 or (count > 1 and not is_utf8(data, begin, after - 1)):
            return False
        i = _space(data, after, end)
        if i >= end or data[i] != 58:
            return False
        value = _space(data, i + 1, end)
        i, what = _value(data, value, end, nesting)
        if i < 0:
            return False
        for k in range(count):
            if kind == TEXT and after - 1 - begin != name_lengths[k]:
                continue
            if not is_name(data, begin, after - 1, kind == ESCAPED, names, name_starts[k], name_lengths[k]):
                continue
            quotes = int(what in (TEXT, ESCAPED))
            nothing = what in (_ABSENT, _NESTED)
            found_starts[k, t] = value + quotes
            found_lengths[k, t] = 0 if nothing else i - value - 2 * quotes
            no_id = k == 0 and (what in (_NESTED, _OTHER) or (what == _INTEGER and i - value > LONGEST_NUMBER))
            kinds[k] = _OTHER if no_id else what
            if count == 1 and (no_id or (quotes and not is_utf8(data, value + 1, i - 1))):
                return False
        i = _space(data, i, end)
        if i >= end or (data[i] != 44 and data[i] != 125):
            return False
        more = data[i] == 44
        if more:
            i = _space(data, i + 1, end)
    return _space(data, i + 1, end) == end


@inlined
def _space(data: Bytes, i: int, end: int) -> int:
    while i < end and (data[i] == 32 or data[i] == 9 or data[i] == 13 or data[i] == 10):
        i += 1
    return i


@inlined
def _digits(data: Bytes, i: int, end: int) -> int:
    while i < end and 48 <= data[i] <= 57:
        i += 1
    return i


@loop
def _scalar(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """Return where a string, a number or a word ends, and what it is; −1 if there is none."""
    if i >= end:
        return -1, _OTHER
    if data[i] == 34:
        return read_string(data, i, end)
    if 97 <= data[i] <= 122:
        return _word(data, i, end), (_ABSENT if data[i] == 110 else _OTHER)
    if data[i] == 45:
        i += 1
    after, what = _digits(data, i, end), _INTEGER
    if after == i or (data[i] == 48 and after - i > 1):
        return -1, what
    if after < end and data[after] == 46:
        i, what = after + 1, _OTHER
        after = _digits(data, i, end)
        if after == i:
            return -1, what
    if after < end and (data[after] == 69 or data[after] == 101):
        i, what = after + 1, _OTHER
        if i < end and (data[i] == 43 or data[i] == 45):
            i += 1
        after = _digits(data, i, end)
        if after == i:
            return -1, what
    return after, what


@loop
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


@loop
def _value(data: Bytes, i: int, end: int, nesting: Words) -> tuple[int, int]:
    """Return where any value ends, and what it is; −1 if there is none or it is too deep."""
    if i < end and data[i] != 123 and data[i] != 91:
        return _scalar(data, i, end)
    depth = 0
    while True:
        # Here a value begins.
        if i >= end:
            return -1, _NESTED
        if data[i] == 123 or data[i] == 91:
            is_object = data[i] == 123
            if depth == _DEEPEST:
                return -1, _NESTED
            _open(nesting, depth, is_object)
            depth += 1
            i = _space(data, i + 1, end)
            if i < end and data[i] == (125 if is_object else 93):
                i += 1
                depth -= 1
            elif is_object:
                i = _name(data, i, end)
                if i < 0:
                    return -1, _NESTED
                continue
            else:
                continue
        else:
            i, _ = _scalar(data, i, end)
            if i < 0:
                return -1, _NESTED
        # Here a value has ended.
        while depth > 0:
            inside_object = _is_object(nesting, depth - 1)
            i = _space(data, i, end)
            if i >= end:
                return -1, _NESTED
            if data[i] == 44:
                i = _space(data, i + 1, end)
                if inside_object:
                    i = _name(data, i, end)
                    if i < 0:
                        return -1, _NESTED
                break
            if data[i] != (125 if inside_object else 93):
                return -1, _NESTED
            i += 1
            depth -= 1
        if depth == 0:
            return i, _NESTED


@inlined
def _open(nesting: Words, depth: int, is_object: bool) -> None:
    bit = np.uint64(1) << np.uint64(depth & 63)
    nesting[depth >> 6] = (nesting[depth >> 6] & ~bit) | (bit if is_object else np.uint64(0))


@inlined
def _is_object(nesting: Words, depth: int) -> bool:
    return bool((nesting[depth >> 6] >> np.uint64(depth & 63)) & np.uint64(1))


@loop
def _name(data: Bytes, i: int, end: int) -> int:
    """Return where the value of a member begins whose name begins at ``i``, −1 if there is none."""
    i, _ = read_string(data, i, end)
    if i < 0:
        return -1
    i = _space(data, i, end)
    if i >= end or data[i] != 58:
        return -1
    return _space(data, i + 1, end)
