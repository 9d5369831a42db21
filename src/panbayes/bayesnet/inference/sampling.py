"""Prior sampling: every attribute after its parents, from the row of its table that the parents select.

A draw inverts the row's cumulative distribution: the first entry above a uniform number in [0, 1). Entries of
probability zero are never drawn, and the last positive entry closes the distribution whatever the rounding.

Thesis: the synthetic data generation phase of PrivBayes ("prior sampling").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.structure import Structure
from panbayes.tables.codes import Codes

__all__ = ["CodeType", "cumulative_rows", "draw_prior", "draw_rows"]

CodeType: TypeAlias = type[np.uint8] | type[np.uint16]

_BLOCK: Final = 1 << 16


def cumulative_rows(weights: FloatArray) -> FloatArray:
    """Return the cumulative distribution of every row (last axis); a row without weight stays zero."""
    sums = np.cumsum(weights, axis=-1)
    totals = sums[..., -1:]
    return np.ascontiguousarray(np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0))


@njit(cache=True)
def draw_rows(
    cumulative: NDArray[np.float64], rows: NDArray[np.int64], uniform: NDArray[np.float64], out: NDArray[np.int64]
) -> None:
    """Set ``out[i]`` to the first entry of row ``rows[i]`` whose cumulative probability exceeds ``uniform[i]``."""
    width = cumulative.shape[1]
    for i in range(rows.size):
        row = rows[i]
        u = uniform[i]
        low = 0
        if width <= 8:
            while low < width - 1 and cumulative[row, low] <= u:
                low += 1
        else:
            high = width - 1
            while low < high:
                middle = (low + high) >> 1
                if cumulative[row, middle] > u:
                    high = middle
                else:
                    low = middle + 1
        out[i] = low


def draw_prior(
    structure: Structure,
    tables: Sequence[FloatArray],
    n: int,
    rng: np.random.Generator,
    dtype: CodeType,
) -> Codes:
    """Draw ``n`` records; returns codes of shape (attributes, n).

    The stream of ``rng`` is consumed in blocks of records, attribute by attribute in topological order.
    """
    codes: Codes = np.empty((len(tables), n), dtype=dtype)
    rows = [cumulative_rows(table).reshape(-1, table.shape[-1]) for table in tables]
    drawn = np.empty(_BLOCK, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        part = codes[:, start : start + _BLOCK]
        size = part.shape[1]
        for child in structure.order:
            index = np.zeros(size, dtype=np.int64)
            for parent in structure.parents(child):
                index *= tables[parent].shape[-1]
                index += part[parent]
            draw_rows(rows[child], index, rng.random((size,)), drawn[:size])
            part[child] = drawn[:size]
    return codes
