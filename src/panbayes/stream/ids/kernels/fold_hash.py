"""A keyed hash of ids, made for speed: whole words, multiplied and folded; and the cell that an id falls into.

**The hash.** The key is four words k₀ … k₃, drawn at random and public. A text of n bytes is read as words of eight
bytes; where n is above 8 the last two may overlap those before. With a = k₀, every sixteen bytes (u, v) that are not
the last turn a into fold(u ⊕ k₁, v ⊕ a). For the last words u, v the hash is ::

    fold(fold(u ⊕ k₁, v ⊕ a) ⊕ k₂, (k₃ + 2n) | 1),       fold(x, y) = low half of x·y ⊕ high half of x·y.

An integer is the word u, with v = 1 if it is negative and n = 0; an address of version 6 is two words, with an n that
no text has. The guarantee needs nothing of a hash. That errors are as predicted needs values that look random for ids
that do not depend on the key; ``tests/stream/test_fold_hash.py`` measures that on ids as people have them. Who knows
the key can make up ids that collide, as with every public key, and so spoil the count, never the guarantee.

**The id.** A text that is an integer from −2⁶³ to 2⁶⁴ − 1 as programs write it (no plus, no leading zeros) is that
integer; every other text is its bytes. A text that might have another canonical form (white space at an end, a byte
beyond ASCII) is marked, and comes back in it.

**The cell.** The number of zeros at the lower end of the hash, at most T − 1, is the tier: half of the ids fall into
the first, a quarter into the second, and the last has the rest. The upper bits give one of V cells, of which the
first B exist.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop
from panbayes.stream.ids.kernels.ipv6 import read_ipv6
from panbayes.stream.ids.kernels.words import fold, high_half, load_word, prefetch, prefetch_far, trailing_zeros

__all__ = ["ODD", "integer_cells", "one_text_cell", "put_back", "take_odd", "text_cells"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Key = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
Words = NDArray[np.uint64]

ODD = -2
"""Stands for a text that may have another canonical form."""

_AHEAD = 16
_LATER = 1024
_WHOLE_ADDRESS = 1 << 40
_PREFIX = 1 << 41


@inlined
def _hash(u: np.uint64, v: np.uint64, n: int, key: Key) -> np.uint64:
    return np.uint64(fold(fold(u ^ key[1], v) ^ key[2], (key[3] + np.uint64(2 * n)) | np.uint64(1)))


@inlined
def _cell(value: np.uint64, tiers: int, cells: int, of: int) -> np.int64:
    """Return the cell of a hash, or −1 if it does not exist."""
    ended = value | (np.uint64(1) << np.uint64(tiers - 1))
    tier = np.int64(trailing_zeros(ended))
    cell = np.int64(high_half(value, np.uint64(of)))
    return tier * cells + cell if cell < cells else np.int64(-1)


@loop
def integer_cells(values: NDArray[np.integer], key: Key, tiers: int, cells: int, of: int, out: Ints) -> None:
    """Find the cells of 64-bit integers, with or without a sign."""
    lines = values.size >> 3
    for line in range(lines):
        first = np.uint64(line) << np.uint64(3)
        # Beside asking for memory this keeps the compiler from wide instructions, which have no such products.
        prefetch_far(values, np.int64(first) + _LATER)
        for j in range(8):
            place = first + np.uint64(j)
            out[place] = _integer_cell(values[place], key, tiers, cells, of)
    for t in range(8 * lines, values.size):
        out[t] = _integer_cell(values[t], key, tiers, cells, of)


@inlined
def _integer_cell(value: np.integer, key: Key, tiers: int, cells: int, of: int) -> np.int64:
    return _cell(_hash(np.uint64(value), np.uint64(value < 0) ^ key[0], 0, key), tiers, cells, of)


@loop
def text_cells(
    data: Bytes | bytes,
    starts: Ints,
    lengths: Ints,
    key: Key,
    tiers: int,
    cells: int,
    of: int,
    ipv6: int,
    canonical: bool,
    out: Ints,
) -> int:
    """Find the cells of texts; return how many may have another canonical form.

    Those get :data:`ODD`, unless all are ``canonical``; an empty text has no cell. With ``ipv6`` an address of that
    version is its first so many bits, 64 or 128, however it is written; without it is a text.
    """
    odd = 0
    final = starts.size - 1
    for t in range(starts.size):
        soon = starts[min(t + _AHEAD, final)]
        prefetch(data, soon)
        i, n = starts[t], lengths[t]
        if n <= 0:
            out[t] = -1
            continue
        a, seen = key[0], np.uint64(0)
        if n > 16:
            head, v = np.uint64(load_word(data, i)), np.uint64(load_word(data, i + 8))
            a, seen = fold(head ^ key[1], v ^ a), head | v
            j, end = i + 16, i + n - 16
            while j < end:
                u, v = np.uint64(load_word(data, j)), np.uint64(load_word(data, j + 8))
                a, seen = fold(u ^ key[1], v ^ a), seen | u | v
                j += 16
            u, v = np.uint64(load_word(data, end)), np.uint64(load_word(data, end + 8))
            last = v >> np.uint64(56)
        elif n >= 8:
            u, v = np.uint64(load_word(data, i)), np.uint64(load_word(data, i + n - 8))
            head, last = u, v >> np.uint64(56)
        else:
            u, v = _few(data, i, n), np.uint64(0)
            head, last = u, u >> np.uint64(8 * n - 8)
        beyond = (seen | u | v) & np.uint64(0x8080808080808080)
        if not canonical and (
            beyond != np.uint64(0) or head & np.uint64(255) <= np.uint64(32) or last <= np.uint64(32)
        ):
            out[t] = ODD
            odd += 1
            continue
        value = _hash(u, v ^ a, n, key)
        if n <= 20 and (head & np.uint64(255) == np.uint64(45) or _are_digits(u, n)):
            value = _integer(data, i, i + n, value, key)
        elif ipv6 and n <= 45:
            value = _address(data, i, i + n, ipv6, value, key)
        out[t] = _cell(value, tiers, cells, of)
    return odd


@loop
def take_odd(cells: Ints, starts: Ints, lengths: Ints, places: Ints, odd_starts: Ints, odd_lengths: Ints) -> None:
    """Copy the spans of the texts that are :data:`ODD`, and their places."""
    count = 0
    for t in range(cells.size):
        if cells[t] == ODD:
            places[count] = t
            odd_starts[count] = starts[t]
            odd_lengths[count] = lengths[t]
            count += 1


@loop
def put_back(
    places: Ints, odd_starts: Ints, odd_lengths: Ints, odd_cells: Ints, starts: Ints, lengths: Ints, cells: Ints
) -> None:
    """Put spans and cells back to their places."""
    for k in range(places.size):
        starts[places[k]] = odd_starts[k]
        lengths[places[k]] = odd_lengths[k]
        cells[places[k]] = odd_cells[k]


@njit(cache=True, nogil=True)
def one_text_cell(text: bytes, key: Words, tiers: int, cells: int, of: int, ipv6: int) -> int:
    """Find the cell of one text, or :data:`ODD` if it may have another canonical form."""
    starts, lengths, out = np.zeros(1, dtype=np.int64), np.full(1, len(text)), np.empty(1, dtype=np.int64)
    words = (key[0], key[1], key[2], key[3])
    text_cells(text, starts, lengths, words, tiers, cells, of, ipv6, False, out)
    cell = out[0]
    lengths[0], out[0] = 0, 0
    return int(cell)


@inlined
def _few(data: Bytes | bytes, i: int, n: int) -> np.uint64:
    """Return up to seven bytes as a word; the whole word is read where ``data`` goes on."""
    if i + 8 <= len(data):
        return np.uint64(load_word(data, i)) & ((np.uint64(1) << np.uint64(8 * n)) - np.uint64(1))
    word = np.uint64(0)
    for j in range(n):
        word |= np.uint64(data[i + j]) << np.uint64(8 * j)
    return word


@inlined
def _are_digits(word: np.uint64, n: int) -> bool:
    """Say whether the first ``n`` bytes of a word, or all eight, are digits."""
    if n < 8:
        word |= np.uint64(0x3030303030303030) << np.uint64(8 * n)
    upper, threes = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x3030303030303030)
    return bool(word & upper == threes and (word + np.uint64(0x0606060606060606)) & upper == threes)


@loop
def _integer(data: Bytes | bytes, i: int, end: int, value: np.uint64, key: Key) -> np.uint64:
    """Return the hash of the integer that a text is, or ``value`` if it is none."""
    negative = data[i] == 45
    if negative:
        i += 1
    if i == end or (data[i] == 48 and (negative or end - i > 1)):
        return value
    largest = np.uint64(1) << np.uint64(63) if negative else ~np.uint64(0)
    number = np.uint64(0)
    while i < end:
        digit = np.uint64(data[i]) - np.uint64(48)
        if digit > np.uint64(9) or number > (largest - digit) // np.uint64(10):
            return value
        number = number * np.uint64(10) + digit
        i += 1
    if negative:
        number = ~number + np.uint64(1)
    return _hash(number, np.uint64(negative) ^ key[0], 0, key)


@inlined
def _grown(first: np.uint64, last: np.uint64, size: int, byte: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the first and the last eight bytes of a text of ``size`` bytes to which one is added."""
    if size < 8:
        first |= byte << np.uint64(8 * size)
    return first, (last >> np.uint64(8)) | (byte << np.uint64(56))


@loop
def _address(data: Bytes | bytes, i: int, end: int, bits: int, value: np.uint64, key: Key) -> np.uint64:
    """Return the hash of the IPv6 address that a text is, or ``value`` if it is none.

    An IPv4 address inside IPv6 (::ffff:10.1.2.3) is what it is alone, the text 10.1.2.3.
    """
    found, upper, lower = read_ipv6(data, i, end)
    if not found:
        return value
    if upper == np.uint64(0) and lower >> np.uint64(32) == np.uint64(0xFFFF):
        # The text has 7 to 15 bytes: the words are its first eight, and its last eight where it has as many.
        u, last, size = np.uint64(0), np.uint64(0), 0
        for place in range(24, -1, -8):
            octet = (lower >> np.uint64(place)) & np.uint64(255)
            for unit in (np.uint64(100), np.uint64(10), np.uint64(1)):
                if octet >= unit or unit == np.uint64(1):
                    u, last = _grown(u, last, size, np.uint64(48) + octet // unit % np.uint64(10))
                    size += 1
            if place:
                u, last = _grown(u, last, size, np.uint64(46))
                size += 1
        v = np.uint64(0) if size < 8 else last
        return _hash(u, v ^ key[0], size, key)
    if bits == 64:
        return _hash(upper, key[0], _PREFIX, key)
    return _hash(upper, lower ^ key[0], _WHOLE_ADDRESS, key)
