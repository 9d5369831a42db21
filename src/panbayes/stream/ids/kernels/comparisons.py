"""Comparing texts, as spans of bytes, with a few given texts and with a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["keep_equal", "keep_numbers", "which_text"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_LESS, _EQUAL, _GREATER = 0, 1, 2
_NO_NUMBER = 3
_UNSURE = 4
"""A number with an exponent, or with more digits than a floating-point number keeps apart."""

_LONGEST = 400
"""Bytes of a number that is compared digit by digit."""

_DIGITS = 15
"""Different decimals of so many digits are different floating-point numbers, in the same order."""


@loop
def which_text(
    data: Bytes, starts: Ints, lengths: Ints, texts: Bytes, begins: Ints, sizes: Ints, out: NDArray[np.int64]
) -> None:
    """Say of every span which of the given ``texts`` it equals, by its number; −1 if none."""
    for t in range(starts.size):
        start, length, found = starts[t], lengths[t], -1
        for k in range(begins.size):
            if sizes[k] != length:
                continue
            same = True
            for j in range(length):
                if data[start + j] != texts[begins[k] + j]:
                    same = False
                    break
            if same:
                found = k
                break
        out[t] = found


@loop
def keep_equal(numbers: Ints, lengths: Ints, equal: bool, kept: NDArray[np.bool_]) -> None:
    """Clear the mark of every text that is empty, or whose number is not 0 (``equal``), or not −1 (otherwise)."""
    wanted = 0 if equal else -1
    for t in range(numbers.size):
        kept[t] &= (numbers[t] == wanted) & (lengths[t] > 0)


@loop
def keep_numbers(
    data: Bytes,
    starts: Ints,
    lengths: Ints,
    bound: float,
    digits: Bytes,
    point: int,
    negative: bool,
    less: bool,
    equal: bool,
    greater: bool,
    kept: NDArray[np.bool_],
) -> None:
    """Clear the mark of every text that writes no number, or one that stands in another relation than those meant.

    The number to compare with is ``bound``, and exactly 0.d₁d₂… times 10 to the power ``point`` for the ``digits`` d,
    or the opposite of that.
    """
    for t in range(starts.size):
        if kept[t]:
            i, end = starts[t], starts[t] + lengths[t]
            found = _compare(data, i, end, bound)
            if found == _UNSURE:
                found = _compare_digits(data, i, end, digits, point, negative)
            kept[t] = (found == _LESS and less) or (found == _EQUAL and equal) or (found == _GREATER and greater)


@loop
def _compare(data: Bytes, i: int, end: int, bound: float) -> int:
    """Say whether a text writes a number that is less than, equal to or greater than ``bound``.

    A number is an optional ``-``, digits, and after a point some more digits; what has an exponent or many digits is
    unsure. A quotient of two integers that floating-point numbers have is the one nearest to the decimal, so numbers
    of 15 digits compare as their decimals do.
    """
    negative = i < end and data[i] == 45
    if negative:
        i += 1
    whole, digits, places, seen, point = 0, 0, 0, 0, False
    while i < end:
        byte = data[i]
        if byte == 46 and seen and not point:
            point, seen = True, 0
        elif 48 <= byte <= 57:
            seen += 1
            if digits or byte != 48:
                digits += 1
            if digits <= _DIGITS:
                whole = whole * 10 + (byte - 48)
            if point:
                places += 1
        else:
            break
        i += 1
    if seen == 0:
        return _NO_NUMBER
    if i < end:
        return _UNSURE if data[i] == 101 or data[i] == 69 else _NO_NUMBER
    if digits > _DIGITS or places > _DIGITS:
        return _UNSURE
    scale = 1
    for _ in range(places):
        scale *= 10
    value = whole / scale
    if negative:
        value = -value
    return _LESS if value < bound else (_GREATER if value > bound else _EQUAL)


@loop
def _compare_digits(data: Bytes, i: int, end: int, digits: Bytes, point: int, negative: bool) -> int:
    """Compare a number with another one, whose digits and place of the point are given.

    The number has an optional ``-``, digits, perhaps a point and more digits, and perhaps an exponent of at most six
    digits; anything else is none, and so is what is longer than any number that people write.
    """
    if end - i > _LONGEST:
        return _NO_NUMBER
    below = data[i] == 45
    if below:
        i += 1
    # The digits from the first one that is not 0 on; the point stands `size` digits behind where they begin.
    first, size, seen, point_at = -1, 0, 0, -1
    while i < end and (48 <= data[i] <= 57 or (data[i] == 46 and point_at < 0 and seen > 0)):
        if data[i] == 46:
            point_at, seen = i, 0
        else:
            seen += 1
            if first < 0 and data[i] != 48:
                first = i
        i += 1
    if seen == 0:
        return _NO_NUMBER
    last = i
    exponent = 0
    if i < end:
        if data[i] != 101 and data[i] != 69:
            return _NO_NUMBER
        i += 1
        lower = i < end and data[i] == 45
        if i < end and (data[i] == 45 or data[i] == 43):
            i += 1
        if i == end or end - i > 6:
            return _NO_NUMBER
        while i < end:
            if data[i] < 48 or data[i] > 57:
                return _NO_NUMBER
            exponent = exponent * 10 + int(data[i]) - 48
            i += 1
        if lower:
            exponent = -exponent
    if first < 0:
        return _EQUAL if digits.size == 0 else (_GREATER if negative else _LESS)
    if digits.size == 0 or below != negative:
        return _LESS if below else _GREATER
    ends = last if point_at < 0 else point_at
    # How many digits stand before the point, less than none if zeros follow it first.
    size = ends - first if first < ends else ends + 1 - first
    order = size + exponent - point
    j, k = first, 0
    while order == 0 and (j < last or k < digits.size):
        if j == point_at:
            j += 1
            continue
        own = int(data[j]) - 48 if j < last else 0
        order = own - (int(digits[k]) if k < digits.size else 0)
        j, k = j + 1, k + 1
    if below:
        order = -order
    return _LESS if order < 0 else (_GREATER if order > 0 else _EQUAL)
