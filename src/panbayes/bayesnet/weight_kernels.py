"""Σ c·ln c of very many attribute sets, in Numba: from their tables, or from the records off the mode of one attribute.

:mod:`panbayes.bayesnet.table_counts` says how and why.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.tables.codes import Codes

__all__ = ["set_weights", "table_weights"]


@njit(cache=True)
def table_weights(flat: NDArray[np.int32], starts: NDArray[np.int64], units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Σ c·ln c of every table in ``flat``; ``units[c]`` is c·ln c."""
    result = np.zeros(starts.size - 1, dtype=np.int64)
    for table in range(result.size):
        total = np.int64(0)
        for cell in range(starts[table], starts[table + 1]):
            if flat[cell] > 0:
                total += units[flat[cell]]
        result[table] = total
    return result


@njit(cache=True)
def set_weights(
    codes: Codes,
    sizes: NDArray[np.int64],
    modes: NDArray[np.int64],
    pivots: NDArray[np.int64],
    others: NDArray[np.int64],
    rest: NDArray[np.int32],
    rest_starts: NDArray[np.int64],
    rest_weights: NDArray[np.int64],
    steps: NDArray[np.int64],
    scratch: NDArray[np.int32],
    result: NDArray[np.int64],
) -> None:
    """Set ``result[e]`` to G of the set of ``pivots[e]`` and ``others[e]``; the sets are sorted by pivot.

    ``rest[rest_starts[e]:]`` is the table of ``others[e]``, ``rest_weights[e]`` its G, ``steps[c]`` is d(c);
    ``scratch`` is all zero and large enough for every set's table. A mode of −1 visits all records from nothing.
    """
    attributes, records = codes.shape
    unusual = np.empty((attributes, records), dtype=codes.dtype)
    gathered = np.full(attributes, -1, dtype=np.int64)
    rows = np.empty(records, dtype=np.uint32)
    inner = np.empty(records, dtype=np.uint32)
    count = 0
    for e in range(pivots.size):
        pivot = pivots[e]
        mode = modes[pivot]
        if e == 0 or pivot != pivots[e - 1]:
            count = 0
            for t in range(records):
                rows[count] = t
                count += codes[pivot, t] != mode
        for i in range(others.shape[1] + 1):
            a = pivot if i == others.shape[1] else others[e, i]
            if mode >= 0 and gathered[a] != pivot:
                gathered[a] = pivot
                for t in range(count):
                    unusual[a, t] = codes[a, rows[t]]
        inner[:count] = 0
        width = 1
        for i in range(others.shape[1]):
            a = others[e, i]
            size = np.uint32(sizes[a])
            width *= sizes[a]
            column = codes[a] if mode < 0 else unusual[a]
            for t in range(count):
                inner[t] = inner[t] * size + column[t]
        column = codes[pivot] if mode < 0 else unusual[pivot]
        stride = np.uint64(width)
        total = np.int64(0)
        if mode < 0:
            for t in range(count):
                cell = np.uint64(column[t]) * stride + inner[t]
                total += steps[np.uint64(scratch[cell])]
                scratch[cell] += 1
        else:
            table = rest[rest_starts[e] : rest_starts[e] + width]
            total = rest_weights[e]
            for t in range(count):
                r = np.uint64(inner[t])
                cell = np.uint64(column[t]) * stride + r
                left = table[r] - 1
                table[r] = left
                total += steps[np.uint64(scratch[cell])] - steps[np.uint64(left)]
                scratch[cell] += 1
            for t in range(count):
                table[np.uint64(inner[t])] += 1
        for t in range(count):
            scratch[np.uint64(column[t]) * stride + inner[t]] = 0
        result[e] = total
