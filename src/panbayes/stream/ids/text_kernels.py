"""Compiled readers of ids in text: from bytes to slots without a Python object per id.

A text column is a buffer of bytes with a start and a length for each id; a length of 0 is a missing id. White space
around an id is ignored. What cannot be read becomes −1, which is outside every universe: it is dropped and nothing
says so.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "dot_places",
    "fill_table",
    "find_listed",
    "hash_texts",
    "offsets_to_spans",
    "read_decimal",
    "read_ipv4",
    "sampled",
    "split_lines",
    "trim",
    "views_to_spans",
]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True, inline="always")
def _is_space(byte: int) -> bool:
    return byte == 32 or (9 <= byte <= 13)


@njit(cache=True, nogil=True)
def trim(data: Bytes, starts: Ints, lengths: Ints) -> None:
    """Take white space off both ends of every id, in place."""
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        while i < end and _is_space(data[i]):
            i += 1
        while end > i and _is_space(data[end - 1]):
            end -= 1
        starts[t] = i
        lengths[t] = end - i


@njit(cache=True, nogil=True)
def read_decimal(data: Bytes, starts: Ints, lengths: Ints, out: Ints) -> None:
    """Read decimal numbers of at most 18 digits, without a sign."""
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        value = np.int64(-1)
        if 0 < end - i <= 18:
            value = np.int64(0)
            while i < end:
                digit = np.int64(data[i]) - 48
                if digit < 0 or digit > 9:
                    value = np.int64(-1)
                    break
                value = value * 10 + digit
                i += 1
        out[t] = value


def dot_places() -> NDArray[np.uint16]:
    """For every layout of an address, as a bit for each dot and one for its end, the places of the dots, else 0.

    The places are base-16 digits. Layouts in which a number has no digit or more than three have 0.
    """
    table = np.zeros(1 << 16, dtype=np.uint16)
    for a, b, c, d in product((1, 2, 3), repeat=4):
        first, second, third = a, a + b + 1, a + b + c + 2
        table[(1 << first) | (1 << second) | (1 << third) | (1 << third + d + 1)] = first | second << 4 | third << 8
    return table


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, inline="always")
def _dots(word: np.uint64) -> np.uint64:
    """Return which of the eight bytes are dots, as eight bits."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    other = word ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    zero = ~(((other & low) + low) | other | low)
    return ((zero >> np.uint64(7)) * np.uint64(0x0102040810204080)) >> np.uint64(56)


@njit(cache=True, nogil=True, inline="always")
def _digits(data: Bytes, at: np.uint64, size: np.uint64) -> np.uint64:
    """Read ``size`` bytes (one to three) as the last of three digits, a byte each; zeros come before them."""
    raw = (
        np.uint64(data[at])
        | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
        | (np.uint64(data[at + np.uint64(2)]) << np.uint64(16))
    )
    missing = (np.uint64(24) - (size << np.uint64(3))) & np.uint64(31)
    return ((raw ^ np.uint64(0x303030)) << missing) & np.uint64(0xFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def _values(digits: np.uint64) -> np.uint64:
    """Turn three digits in each half of a word into a number in each half."""
    byte = np.uint64(0x000000FF000000FF)
    hundreds, tens = digits & byte, (digits >> np.uint64(8)) & byte
    return hundreds * np.uint64(100) + tens * np.uint64(10) + ((digits >> np.uint64(16)) & byte)


@njit(cache=True, nogil=True)
def _ipv4(data: Bytes, i: int, end: int) -> np.int64:
    while i < end and _is_space(data[i]):
        i += 1
    while end > i and _is_space(data[end - 1]):
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


@njit(cache=True, nogil=True, inline="always")
def _rotate(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def _siphash(data: Bytes, i: int, end: int, key0: np.uint64, key1: np.uint64) -> np.uint64:
    """SipHash-1-3 of the bytes from ``i`` to ``end``."""
    v0, v1 = key0 ^ np.uint64(0x736F6D6570736575), key1 ^ np.uint64(0x646F72616E646F6D)
    v2, v3 = key0 ^ np.uint64(0x6C7967656E657261), key1 ^ np.uint64(0x7465646279746573)
    length = end - i
    last = np.uint64(length & 0xFF) << np.uint64(56)
    more = True
    while more:
        word = np.uint64(0)
        size = min(8, end - i)
        for j in range(size):
            word |= np.uint64(data[i + j]) << np.uint64(8 * j)
        i += size
        if size < 8:
            word |= last
            more = False
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= np.uint64(0xFF)
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@njit(cache=True, nogil=True, inline="always")
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0 += v1
    v1 = _rotate(v1, 13) ^ v0
    v0 = _rotate(v0, 32)
    v2 += v3
    v3 = _rotate(v3, 16) ^ v2
    v0 += v3
    v3 = _rotate(v3, 21) ^ v0
    v2 += v1
    v1 = _rotate(v1, 17) ^ v2
    v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


@njit(cache=True, nogil=True)
def hash_texts(data: Bytes, starts: Ints, lengths: Ints, key: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Hash every id under ``key``; 0 stands for a missing or empty id, and no id hashes to 0."""
    for t in range(starts.size):
        i, end = starts[t], starts[t] + lengths[t]
        out[t] = np.uint64(0)
        if end > i:
            out[t] = max(np.uint64(1), _siphash(data, i, end, key[0], key[1]))


@njit(cache=True, nogil=True)
def fill_table(hashes: NDArray[np.uint64], slots: Ints, table: NDArray[np.uint64], values: NDArray[np.uint32]) -> bool:
    """Put hash → slot into an open-addressed ``table`` (a power of two long); false if two hashes are equal."""
    mask = np.uint64(table.size - 1)
    for t in range(hashes.size):
        place = hashes[t] & mask
        while table[place] != np.uint64(0):
            if table[place] == hashes[t]:
                return False
            place = (place + np.uint64(1)) & mask
        table[place] = hashes[t]
        values[place] = slots[t]
    return True


@njit(cache=True, nogil=True)
def find_listed(hashes: NDArray[np.uint64], table: NDArray[np.uint64], values: NDArray[np.uint32], out: Ints) -> None:
    """Look up slots; −1 for a hash that is not in the table."""
    mask = np.uint64(table.size - 1)
    for t in range(hashes.size):
        out[t] = -1
        if hashes[t] != np.uint64(0):
            place = hashes[t] & mask
            while table[place] != np.uint64(0):
                if table[place] == hashes[t]:
                    out[t] = values[place]
                    break
                place = (place + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def sampled(ids: Ints, universe: int, sample: int, bits: int, keys: NDArray[np.uint64], out: Ints) -> None:
    """Map id → slot for a sample without replacement: the ids that a keyed permutation sends below ``sample``.

    The permutation of 0 … universe−1 is a Feistel network on ``bits`` bits (the least that hold the universe, at least
    2), repeated until the result lies in the universe. Its three double rounds are multiplications by odd keys of which
    the highest bits are taken; ``keys`` holds 12 words. They are public and were drawn before any data.
    """
    size = np.uint64(universe)
    low = np.uint64(bits // 2)
    drop_high, drop_low = np.uint64(64) - (np.uint64(bits) - low), np.uint64(64) - low
    mask = (np.uint64(1) << low) - np.uint64(1)
    for t in range(ids.size):
        x = np.uint64(ids[t])
        if x >= size:
            out[t] = -1
            continue
        while True:
            left, right = x >> low, x & mask
            for r in range(0, 12, 4):
                left ^= (right * keys[r] + keys[r + 1]) >> drop_high
                right ^= (left * keys[r + 2] + keys[r + 3]) >> drop_low
            x = (left << low) | right
            if x < size:
                break
        out[t] = np.int64(x) if x < np.uint64(sample) else np.int64(-1)


@njit(cache=True, nogil=True)
def offsets_to_spans(offsets: NDArray[np.signedinteger], first: int, starts: Ints, lengths: Ints) -> None:
    """Turn Arrow offsets into spans of a buffer in which the texts begin at ``first``."""
    for t in range(starts.size):
        starts[t] = first + offsets[t]
        lengths[t] = offsets[t + 1] - offsets[t]


@njit(cache=True, nogil=True)
def views_to_spans(views: NDArray[np.uint32], here: int, buffers: Ints, starts: Ints, lengths: Ints) -> None:
    """Turn Arrow string views into spans: short strings lie in the view itself (views start at ``here``)."""
    for t in range(starts.size):
        length = np.int64(views[4 * t])
        lengths[t] = length
        if length <= 12:
            starts[t] = here + 16 * t + 4
        else:
            starts[t] = buffers[views[4 * t + 2]] + np.int64(views[4 * t + 3])


@njit(cache=True, nogil=True)
def split_lines(data: Bytes, end: int, starts: Ints, lengths: Ints) -> tuple[int, int]:
    """Find the lines of ``data`` up to ``end``; return how many, and where the first unfinished one starts."""
    count, start = 0, 0
    for i in range(end):
        if data[i] == 10:
            starts[count] = start
            lengths[count] = i - start
            count += 1
            start = i + 1
            if count == starts.size:
                break
    return count, start
