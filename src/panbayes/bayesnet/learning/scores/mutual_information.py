"""I: the empirical mutual information of a child and its parents, in nats.

From records at hand it is had without the tables, since with G(S) = Σ c·ln c over the cells c of the table of S,
n·I = G(child, parents) − G(child) − G(parents) + n·ln n.

Thesis: section "PrivBayes".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray, FloatArray, TableCounts
from panbayes.bayesnet.information_units import sum_units
from panbayes.bayesnet.learning.scores.score import Score, fractions, total_of
from panbayes.exact.score_rounding import information_bits, information_error

__all__ = ["INFORMATION", "mutual_information"]


def mutual_information(table: CountArray) -> float:
    """Return Î(X; Π) = Σ p(x, π)·ln [p(x, π) / p(x)p(π)], with the child X on axis 0 and its parents Π on the others.

    >>> round(mutual_information(np.array([[7, 0], [0, 7]])), 12) == round(math.log(2), 12)
    True
    """
    pairs = table.reshape(table.shape[0], -1)
    if table.dtype.kind == "f":
        p = fractions(pairs)
        return max(0.0, _sum_log(p) - _sum_log(p.sum(axis=0)) - _sum_log(p.sum(axis=1)))
    n = total_of(table)
    if n == 0:
        return 0.0
    margins = sum_units(pairs.sum(axis=0), n) + sum_units(pairs.sum(axis=1), n)
    units = sum_units(pairs, n) - margins + sum_units(np.array(n), n)
    return max(0, units) / math.ldexp(n, information_bits(n))


def _sum_log(p: FloatArray) -> float:
    return float((p * np.log(np.where(p > 0, p, 1))).sum())


def _from_weights(counts: TableCounts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Compute n·I = G(child, parents) − G(child) − G(parents) + n·ln n; see the module."""
    n = round(counts.total)
    result = np.zeros((len(parent_sets), len(children)))
    if n == 0:
        return result
    column = np.array(children, dtype=np.int64)
    alone = counts.weights(column.reshape(-1, 1))
    whole = counts.weights(np.empty((1, 0), dtype=np.int64))[0]
    by_length: dict[int, list[int]] = {}
    for row, parents in enumerate(parent_sets):
        by_length.setdefault(len(parents), []).append(row)
    for length, rows in by_length.items():
        if length == 0:
            continue
        chosen: NDArray[np.int64] = np.array([sorted(parent_sets[row]) for row in rows], dtype=np.int64)
        together = np.empty((len(rows), column.size, length + 1), dtype=np.int64)
        together[:, :, :-1] = chosen[:, None, :]
        together[:, :, -1] = column
        together.sort(axis=2)
        joint = counts.weights(together.reshape(-1, length + 1)).reshape(len(rows), -1)
        units = joint - alone - counts.weights(chosen)[:, None] + whole
        result[rows] = np.maximum(units, 0).astype(np.float64) / (n * math.ldexp(1.0, information_bits(n)))
    return result


INFORMATION: Final = Score("I", mutual_information, _from_weights, information_error)
