"""Counting with NumPy alone: one ``numpy.bincount`` over a joint code per attribute set.

The slow, obvious way. It serves where Numba cannot be imported and as the reference that the kernels of
:mod:`panbayes.tables.counting.numba_kernels` must equal cell for cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from panbayes.tables.table import Codes

__all__ = ["count_odd", "count_sets"]


def count_sets(
    codes: Codes,
    sizes: NDArray[np.int64],
    sets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the contingency table of ``sets[e]`` into ``out`` from ``offsets[e]`` on, in C order, for every e.

    ``sets`` has one row per attribute set, all of one length (which may be 0).
    """
    for attributes, start in zip(sets.tolist(), offsets.tolist(), strict=True):
        joint = np.zeros(codes.shape[1], dtype=np.int64)
        cells = 1
        for a in attributes:
            joint = joint * sizes[a] + codes[a]
            cells *= int(sizes[a])
        out[start : start + cells] = np.bincount(joint, minlength=cells)


def count_odd(words: NDArray[np.uint64], sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ones in the exclusive or of the rows ``sets[e]`` of ``words``, for every e."""
    found = [np.bitwise_xor.reduce(words[members], axis=0, initial=0) for members in sets]
    return np.array([int(np.unpackbits(odd.view(np.uint8)).sum()) for odd in found], dtype=np.int64)
