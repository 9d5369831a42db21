"""R of many contingency tables at once, in Numba.

Every table is read as shape (outer, size, inner), where the middle axis is the child's and the others are the parents'.
Integers only, so that the order of work does not matter; :mod:`panbayes.bayesnet.learning.scores.r_score` says what
they mean, and turns them into scores.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["r_excesses"]


@njit(cache=True)
def _margins(
    table: NDArray[np.int32], size: int, inner: int, child: NDArray[np.int64], parents: NDArray[np.int64]
) -> None:
    """Sum a table over the parents into ``child`` and over the child into ``parents``."""
    child[:size] = 0
    parents[: table.size // size] = 0
    outer = table.size // (size * inner)
    cell = 0
    for i in range(outer):
        for x in range(size):
            total = 0
            for j in range(i * inner, (i + 1) * inner):
                total += table[cell]
                parents[j] += table[cell]
                cell += 1
            child[x] += total


@njit(cache=True)
def r_excesses(
    flat: NDArray[np.int32],
    starts: NDArray[np.int64],
    outer: NDArray[np.int64],
    size: NDArray[np.int64],
    inner: NDArray[np.int64],
    records: int,
    out: NDArray[np.int64],
) -> None:
    """Write Σ (n·joint − child·parents)₊ for n = ``records``."""
    child = np.empty(size.max(), dtype=np.int64)
    parents = np.empty((outer * inner).max(), dtype=np.int64)
    for e in range(starts.size):
        table = flat[starts[e] : starts[e] + outer[e] * inner[e] * size[e]]
        _margins(table, size[e], inner[e], child, parents)
        total = 0
        cell = 0
        for i in range(outer[e]):
            for x in range(size[e]):
                for j in range(i * inner[e], (i + 1) * inner[e]):
                    if table[cell]:
                        total += max(records * np.int64(table[cell]) - child[x] * parents[j], 0)
                    cell += 1
        out[e] = total
