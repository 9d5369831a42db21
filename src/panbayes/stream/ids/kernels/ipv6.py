"""IPv6 addresses in text, in any of the ways in which one can be written (RFC 4291, section 2.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import inlined, loop

__all__ = ["read_ipv6"]

Bytes = NDArray[np.uint8]


@loop
def read_ipv6(data: Bytes | bytes, at: int, end: int) -> tuple[bool, np.uint64, np.uint64]:
    """Read the bytes from ``at`` to ``end``: whether they are an address, and its upper and lower 64 bits.

    Groups before ``::`` are filled in from the left, those behind it from the right. Zones (``%eth0``) and prefixes
    (``/64``) are no part of an address.
    """
    none = (False, np.uint64(0), np.uint64(0))
    left, right = (np.uint64(0), np.uint64(0)), (np.uint64(0), np.uint64(0))
    count, before, i = 0, -1, at
    if end - at < 2 or end - at > 45:
        return none
    if data[i] == 58:
        if data[i + 1] != 58:
            return none
        before, i = 0, i + 2
    while i < end:
        value, digits, start = np.uint64(0), 0, i
        while i < end and _digit(data[i]) >= 0 and digits < 5:
            value = (value << np.uint64(4)) | np.uint64(_digit(data[i]))
            digits, i = digits + 1, i + 1
        size = 1
        if i < end and data[i] == 46:
            four = _dotted(data, start, end)
            if four < 0:
                return none
            value, size, i = np.uint64(four), 2, end
        elif digits == 0 or digits > 4:
            return none
        if count + size > 8:
            return none
        if before < 0:
            left = _placed(left, value, count + size)
        else:
            right = _shifted(right, value, 16 * size)
        count += size
        if i < end:
            if data[i] != 58 or i + 1 == end:
                return none
            i += 1
            if data[i] == 58:
                if before >= 0:
                    return none
                before, i = count, i + 1
    if count != 8 if before < 0 else count > 7:
        return none
    return True, left[0] | right[0], left[1] | right[1]


@inlined
def _digit(byte: int) -> int:
    if 48 <= byte <= 57:
        return byte - 48
    lower = byte | 32
    return lower - 87 if 97 <= lower <= 102 else -1


@loop
def _placed(pair: tuple[np.uint64, np.uint64], value: np.uint64, count: int) -> tuple[np.uint64, np.uint64]:
    """Put ``value`` so that it ends where the first ``count`` groups end."""
    if count <= 4:
        return pair[0] | (value << np.uint64(16 * (4 - count))), pair[1]
    upper = pair[0] if count != 5 else pair[0] | (value >> np.uint64(16))
    return upper, pair[1] | (value << np.uint64(16 * (8 - count)))


@loop
def _shifted(pair: tuple[np.uint64, np.uint64], value: np.uint64, bits: int) -> tuple[np.uint64, np.uint64]:
    over = pair[1] >> np.uint64(64 - bits)
    return (pair[0] << np.uint64(bits)) | over, (pair[1] << np.uint64(bits)) | value


@loop
def _dotted(data: Bytes | bytes, i: int, end: int) -> np.int64:
    """Read the IPv4 address that may end an IPv6 one: four numbers up to 255 without leading zeros; −1 for others."""
    value, octet, digits, dots = np.int64(0), np.int64(0), 0, 0
    while i < end:
        byte = np.int64(data[i])
        if byte == 46:
            if digits == 0:
                return np.int64(-1)
            value, octet, digits, dots = value * 256 + octet, np.int64(0), 0, dots + 1
        else:
            digit = byte - 48
            if digit < 0 or digit > 9 or (digits > 0 and octet == 0):
                return np.int64(-1)
            octet, digits = octet * 10 + digit, digits + 1
            if octet > 255:
                return np.int64(-1)
        i += 1
    return value * 256 + octet if dots == 3 and digits > 0 else np.int64(-1)
