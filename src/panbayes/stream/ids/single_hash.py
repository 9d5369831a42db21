"""The cell of one integer, by the hash of :mod:`panbayes.stream.ids.kernels.fold_hash` in plain Python.

Integers of Python have any size, so to hand one over to compiled code takes longer than its few multiplications here.
"""

from __future__ import annotations

from typing import Final, TypeAlias

__all__ = ["PlainKey", "integer_cell"]

PlainKey: TypeAlias = tuple[int, int, int, int]

_WORD: Final = (1 << 64) - 1


def integer_cell(value: int, key: PlainKey, tiers: int, cells: int, of: int) -> int:
    """Return the cell of an integer from −2⁶³ to 2⁶⁴ − 1, or −1 if it does not exist."""
    product = ((value & _WORD) ^ key[1]) * (key[0] ^ (value < 0))
    product = ((product & _WORD) ^ (product >> 64) ^ key[2]) * (key[3] | 1)
    found = (product & _WORD) ^ (product >> 64)
    cell = found * of >> 64
    if cell >= cells:
        return -1
    ended = found | (1 << (tiers - 1))
    return ((ended & -ended).bit_length() - 1) * cells + cell
