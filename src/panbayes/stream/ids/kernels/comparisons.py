"""Comparing texts, as spans of bytes, with a few given texts and with a number."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["EQUAL", "GREATER", "LESS", "NO_NUMBER", "UNSURE", "compare_numbers", "which_text"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

LESS, EQUAL, GREATER = 0, 1, 2
NO_NUMBER = 3
"""What is not written as a number."""
UNSURE = 4
"""A number with an exponent, or with more digits than a floating-point number keeps apart."""

_DIGITS = 15
"""Different decimals of so many digits are different floating-point numbers, in the same order."""


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def compare_numbers(data: Bytes, starts: Ints, lengths: Ints, bound: float, out: NDArray[np.int8]) -> None:
    """Say of every span whether the number it writes is less than, equal to or greater than ``bound``.

    A number is an optional ``-``, digits, and after a point some more digits; what has an exponent or many digits is
    :data:`UNSURE`. A quotient of two integers that floating-point numbers have is the one nearest to the decimal, so
    numbers of 15 digits compare as their decimals do.
    """
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
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
            out[t] = NO_NUMBER
        elif i < end:
            out[t] = UNSURE if data[i] == 101 or data[i] == 69 else NO_NUMBER
        elif digits > _DIGITS or places > _DIGITS:
            out[t] = UNSURE
        else:
            scale = 1
            for _ in range(places):
                scale *= 10
            value = whole / scale
            if negative:
                value = -value
            out[t] = LESS if value < bound else (GREATER if value > bound else EQUAL)
