"""The cell of one id, by the hash of :mod:`panbayes.stream.ids.kernels.fold_hash` in plain Python.

To call compiled code for one id takes longer than to do its few multiplications here.
"""

from __future__ import annotations

from typing import Final, TypeAlias

__all__ = ["PlainKey", "cell_of", "hash_integer", "hash_text"]

PlainKey: TypeAlias = tuple[int, int, int, int]

_WORD: Final = (1 << 64) - 1


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _WORD) ^ (product >> 64)


def hash_integer(value: int, key: PlainKey) -> int:
    """Return the hash of an integer from −2⁶³ to 2⁶⁴ − 1."""
    first = _fold((value & _WORD) ^ key[1], key[0] ^ (value < 0))
    return _fold(first ^ key[2], key[3] | 1)


def hash_text(text: bytes, key: PlainKey) -> int:
    """Return the hash of a text that is not an integer; it is in its canonical form and not empty."""
    a, size, at, word = key[0], len(text), 0, int.from_bytes
    while size - at > 16:
        a = _fold(word(text[at : at + 8], "little") ^ key[1], word(text[at + 8 : at + 16], "little") ^ a)
        at += 16
    last = 0
    if size >= 8:
        at, last = max(0, size - 16), word(text[-8:], "little")
    first = _fold(word(text[at : at + 8], "little") ^ key[1], last ^ a)
    return _fold(first ^ key[2], ((key[3] + 2 * size) & _WORD) | 1)


def cell_of(value: int, tiers: int, cells: int, of: int) -> int:
    """Return the cell of a hash, or −1 if it does not exist."""
    ended = value | (1 << (tiers - 1))
    cell = value * of >> 64
    return ((ended & -ended).bit_length() - 1) * cells + cell if cell < cells else -1
