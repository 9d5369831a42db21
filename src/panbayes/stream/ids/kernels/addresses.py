"""IPv4 addresses in text. What is not one becomes −1, which is outside every universe; white space is ignored."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.spans import is_space

__all__ = ["dot_places", "read_ipv4"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


def dot_places() -> NDArray[np.uint16]:
    """For every layout of an address, as a bit for each dot and one for its end, the places of the dots, else 0.

    The places are base-16 digits. Layouts in which a number has no digit or more than three have 0.
    """
    table = np.zeros(1 << 16, dtype=np.uint16)
    for a, b, c, d in product((1, 2, 3), repeat=4):
        first, second, third = a, a + b + 1, a + b + c + 2
        table[(1 << first) | (1 << second) | (1 << third) | (1 << third + d + 1)] = first | second << 4 | third << 8
    return table


@loop
def read_ipv4(data: Bytes, starts: Ints, lengths: Ints, dots: NDArray[np.uint16], out: Ints) -> None:
    """Read IPv4 addresses: four decimal numbers up to 255 of at most three digits, separated by dots.

    ``dots`` is :func:`dot_places`. One loop finds the dots of each address, all at once; another reads the four numbers
    without a branch. (Together in one loop they run out of registers.) What does not look like an address, and the
    last few bytes of the buffer, where three whole words cannot be looked at, are read byte by byte.
    """
    words = data[: data.size // 8 * 8].view(np.uint64)
    for t in range(starts.size):
        i, length = np.uint64(starts[t]), np.uint64(lengths[t])
        out[t] = 0
        if length - np.uint64(7) <= np.uint64(8) and (starts[t] >> 3) + 3 <= words.size:
            at, shift = i >> np.uint64(3), (i & np.uint64(7)) << np.uint64(3)
            # Twice shifted, because a shift by 64 is undefined.
            back = np.uint64(63) - shift
            low = (words[at] >> shift) | ((words[at + np.uint64(1)] << np.uint64(1)) << back)
            high = (words[at + np.uint64(1)] >> shift) | ((words[at + np.uint64(2)] << np.uint64(1)) << back)
            end = np.uint64(1) << length
            out[t] = dots[((_dots(low) | (_dots(high) << np.uint64(8))) & (end - np.uint64(1))) | end]
    for t in range(starts.size):
        places = np.uint64(out[t])
        if places == np.uint64(0):
            out[t] = _ipv4(data, starts[t], starts[t] + lengths[t])
        else:
            i, one = np.uint64(starts[t]), np.uint64(1)
            first, second = places & np.uint64(15), (places >> np.uint64(4)) & np.uint64(15)
            third = places >> np.uint64(8)
            # Two numbers at a time, in the halves of a word.
            start = _digits(data, i, first)
            start |= _digits(data, i + first + one, second - first - one) << np.uint64(32)
            rest = _digits(data, i + second + one, third - second - one)
            rest |= _digits(data, i + third + one, np.uint64(lengths[t]) - third - one) << np.uint64(32)
            ab, cd = _values(start), _values(rest)
            byte = np.uint64(0xFF)
            out[t] = np.int64(
                ((ab & byte) << np.uint64(24))
                | ((ab >> np.uint64(32)) << np.uint64(16))
                | ((cd & byte) << np.uint64(8))
                | (cd >> np.uint64(32))
            )
            strange = start | (start + np.uint64(0x0006060600060606)) | rest | (rest + np.uint64(0x0006060600060606))
            large = (ab | cd) & np.uint64(0xFFFFFF00FFFFFF00)
            if ((strange & np.uint64(0x00F0F0F000F0F0F0)) | large) != np.uint64(0):
                out[t] = _ipv4(data, starts[t], starts[t] + lengths[t])


@inlined
def _dots(word: np.uint64) -> np.uint64:
    """Return which of the eight bytes are dots, as eight bits."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    other = word ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    zero = ~(((other & low) + low) | other | low)
    return ((zero >> np.uint64(7)) * np.uint64(0x0102040810204080)) >> np.uint64(56)


@inlined
def _digits(data: Bytes, at: np.uint64, size: np.uint64) -> np.uint64:
    """Read ``size`` bytes (one to three) as the last of three digits, a byte each; zeros come before them."""
    raw = (
        np.uint64(data[at])
        | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
        | (np.uint64(data[at + np.uint64(2)]) << np.uint64(16))
    )
    missing = (np.uint64(24) - (size << np.uint64(3))) & np.uint64(31)
    return ((raw ^ np.uint64(0x303030)) << missing) & np.uint64(0xFFFFFF)


@inlined
def _values(digits: np.uint64) -> np.uint64:
    """Turn three digits in each half of a word into a number in each half."""
    byte = np.uint64(0x000000FF000000FF)
    hundreds, tens = digits & byte, (digits >> np.uint64(8)) & byte
    return hundreds * np.uint64(100) + tens * np.uint64(10) + ((digits >> np.uint64(16)) & byte)


@loop
def _ipv4(data: Bytes, i: int, end: int) -> np.int64:
    while i < end and is_space(data[i]):
        i += 1
    while end > i and is_space(data[end - 1]):
        end -= 1
    value, octet, digits, dots = np.int64(0), np.int64(0), 0, 0
    while i < end:
        byte = np.int64(data[i])
        if byte == 46:
            if digits == 0:
                return np.int64(-1)
            value, octet, digits, dots = value * 256 + octet, np.int64(0), 0, dots + 1
        else:
            digit = byte - 48
            octet, digits = octet * 10 + digit, digits + 1
            if digit < 0 or digit > 9 or octet > 255 or digits > 3:
                return np.int64(-1)
        i += 1
    if dots != 3 or digits == 0:
        return np.int64(-1)
    return value * 256 + octet
