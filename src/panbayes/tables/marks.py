"""What records are known by, whatever they are called and in whichever order they come: a digest.

Attributes are put in the order of how often each code occurs. Which of several with the very same counts is which
cannot be told without their names: a record's codes of these are put in their own order. The codes of a record, 16 bits
each, fill words w₁, w₂, … of 64 bits. With fixed odd constants k and modulo 2⁶⁴,

    x ← (x ⊕ w)·k₂, x ← x ⊕ (x ≫ 32)        y ← (y + w)·k₃, y ← y ⊕ (y ≫ 29)        for every word, from x = k₀, y = k₁

and a last mixing each. The mark is the SHA-256 of the numbers of attributes and records, Σx and Σy over all records. A
step is a bijection of x and of w, so records that differ in one word differ in both halves; and it is not linear, so
that the sums see records and not margins. Sums do not depend on the order of records, and those of disjoint parts add
up: one pass, in any pieces. Nobody gains by two tables with one mark: they would be one account.

Marks are made for recognising records that were seen before, in memory; whoever stores one keys it first.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.codes import Codes
from panbayes.tables.counter import BlockCounter
from panbayes.tables.counting.engines import Kernels, choose_kernels, engine

__all__ = ["RecordSums", "attribute_order", "mark_of"]


KEYS: Final = np.array(
    [int.from_bytes(hashlib.sha256(f"panbayes records {n}".encode()).digest()[:8], "little") | 1 for n in range(6)],
    dtype=np.uint64,
)
"""The constants k₀ to k₅: chosen by nobody."""


def attribute_order(counts: list[list[int]]) -> list[list[int]]:
    """Return the order in which attributes are hashed, by the counts of each one's codes; those with the same together.

    >>> attribute_order([[3, 1], [1, 3], [3, 1, 0], [2, 2]])
    [[1], [3], [0, 2]]
    """
    trimmed = [_trimmed(found) for found in counts]
    order = sorted(range(len(counts)), key=trimmed.__getitem__)
    return [list(alike) for _, alike in groupby(order, key=trimmed.__getitem__)]


def _trimmed(counts: list[int]) -> list[int]:
    """Leave out codes above the highest one that occurs: nothing depends on how large a domain is."""
    return counts[: max((code + 1 for code, count in enumerate(counts) if count), default=0)]


def _order(records: BlockCounter) -> list[list[int]]:
    sizes = records.facts.schema.sizes
    counted = records.count([(a,) for a in range(len(sizes))])
    return attribute_order([part.tolist() for part in np.split(counted.flat, counted.offsets[1:-1])])


class RecordSums:
    """The sums Σx and Σy over some records, their attributes in a given order; see the module."""

    def __init__(self, order: list[list[int]], *, kernels: Kernels | None = None) -> None:
        """Begin with no record."""
        self._order = order
        self._attributes = np.array([attribute for alike in order for attribute in alike], dtype=np.int64)
        self._engine = engine(choose_kernels(kernels))
        self._sums = np.zeros(2, dtype=np.uint64)
        self._records = 0

    def add(self, codes: Codes) -> None:
        """Add the records of a block of codes, of shape (attributes, records)."""
        alike = [found for found in self._order if len(found) > 1]
        if alike:
            codes = codes.copy()
            for found in alike:
                codes[found] = np.sort(codes[found], axis=0)
        self._engine.add_hashes(codes, self._attributes, KEYS, self._sums)
        self._records += int(codes.shape[1])

    def merge(self, other: RecordSums) -> None:
        """Add what was summed over other records, in the same order of attributes."""
        if other._order != self._order:
            raise ValueError("sums of different orders of attributes do not add up")
        self._sums += other._sums
        self._records += other._records

    @property
    def sums(self) -> NDArray[np.uint64]:
        """Σx and Σy so far, which may be added up elsewhere, modulo 2⁶⁴."""
        return self._sums.copy()

    def add_sums(self, sums: NDArray[np.uint64], records: int) -> None:
        """Add what another process summed over so many other records, in the same order of attributes."""
        self._sums += sums
        self._records += records

    def mark(self) -> bytes:
        """Return the mark of all records added."""
        head = f"panbayes sums of records {self._attributes.size} {self._records} ".encode()
        return hashlib.sha256(head + self._sums.astype("<u8").tobytes()).digest()


def mark_of(records: BlockCounter) -> bytes:
    """Return the mark of records: they come in any order, the attributes in any order, under any names."""
    sums = RecordSums(_order(records))
    for block in records.blocks():
        sums.add(block)
    return sums.mark()
