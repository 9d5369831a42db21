"""Fields of NDJSON lines, each line by itself: JSON as RFC 8259 has it.

A line is one object. Names may have escapes; of several members of one name the last one counts. Strings that nobody
asks for may have bytes that are not UTF-8. An escape must be right wherever it stands; half a surrogate pair is not.
Arrays and objects are followed to :data:`_DEEPEST` levels. A line that breaks a rule has nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.spans import after_character, character_at, put_character
from panbayes.stream.ids.kernels.words import load_word, trailing_zeros

__all__ = ["LONGEST_NUMBER", "NESTING", "take_json_fields"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

NESTING = 15
"""Words in which a bit says of every open bracket whether it is that of an object."""

_DEEPEST = 64 * NESTING

LONGEST_NUMBER = 4300
"""Characters of a whole number that is an id."""

_ABSENT, _NESTED, _TEXT, _ESCAPED, _INTEGER, _OTHER = 0, 1, 2, 3, 4, 5
"""What a value is: null, or not there; an array or object; a string without escapes, or with; a whole number; a word,
another number, or whatever can be no id."""


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
            if readable and (kinds[k] == _TEXT or kinds[k] == _ESCAPED):
                readable = _is_utf8(data, found_starts[k, t], found_starts[k, t] + found_lengths[k, t])
        if not readable:
            for k in range(count):
                found_lengths[k, t] = 0
            continue
        for k in range(count):
            if kinds[k] == _ESCAPED:
                begin = found_starts[k, t]
                size = _undo_escapes(data, begin, begin + found_lengths[k, t])
                for other in range(k, count):
                    if kinds[other] == _ESCAPED and found_starts[other, t] == begin:
                        found_lengths[other, t] = size
                        kinds[other] = _TEXT
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
        after, kind = _string(data, i, end)
        if after < 0 or (count > 1 and not _is_utf8(data, begin, after - 1)):
            return False
        i = _space(data, after, end)
        if i >= end or data[i] != 58:
            return False
        value = _space(data, i + 1, end)
        i, what = _value(data, value, end, nesting)
        if i < 0:
            return False
        for k in range(count):
            if kind == _TEXT and after - 1 - begin != name_lengths[k]:
                continue
            if not _same(data, begin, after - 1, kind == _ESCAPED, names, name_starts[k], name_lengths[k]):
                continue
            quotes = int(what in (_TEXT, _ESCAPED))
            nothing = what in (_ABSENT, _NESTED)
            found_starts[k, t] = value + quotes
            found_lengths[k, t] = 0 if nothing else i - value - 2 * quotes
            no_id = k == 0 and (what in (_NESTED, _OTHER) or (what == _INTEGER and i - value > LONGEST_NUMBER))
            kinds[k] = _OTHER if no_id else what
            if count == 1 and (no_id or (quotes and not _is_utf8(data, value + 1, i - 1))):
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


@loop
def _is_utf8(data: Bytes, i: int, end: int) -> bool:
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
def _string(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """Return where a string ends (after its quote) and whether it has escapes, −1 if there is none."""
    kind = _TEXT
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
            kind = _ESCAPED
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
def _undo_escapes(data: Bytes, i: int, end: int) -> int:
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
def _same(data: Bytes, i: int, end: int, escaped: bool, names: Bytes, at: int, size: int) -> bool:
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
        return _string(data, i, end)
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
    i, _ = _string(data, i, end)
    if i < 0:
        return -1
    i = _space(data, i, end)
    if i >= end or data[i] != 58:
        return -1
    return _space(data, i + 1, end)
