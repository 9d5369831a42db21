"""Counting the rows of a block, for their owner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.ids.kernels.compiled import loop

__all__ = ["count_empty", "count_inside", "count_marked"]

Ints = NDArray[np.int64]
Marks = NDArray[np.bool_]


@loop
def count_inside(slots: Ints, entries: int, meant: Marks) -> int:
    """Count the slots that are one of ``entries``, of those that are ``meant``."""
    count = 0
    for t in range(slots.size):
        count += int(meant[t] and 0 <= slots[t] < entries)
    return count


@loop
def count_empty(lengths: Ints, meant: Marks) -> int:
    """Count the texts without a length."""
    count = 0
    for t in range(lengths.size):
        count += int(meant[t] and lengths[t] == 0)
    return count


@loop
def count_marked(marks: Marks, meant: Marks) -> int:
    """Count the marks."""
    count = 0
    for t in range(marks.size):
        count += int(meant[t] and marks[t])
    return count
