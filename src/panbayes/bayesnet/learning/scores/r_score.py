"""R: half the L1 distance between the joint distribution of child and parents and the product of its margins.

In counts c of n records, with margins a and b, R = Σ|n·c − a·b| / 2n² = Σ(n·c − a·b)₊ / n², since the differences sum
to 0. n·c, a·b and the sum of the positive parts are at most n² < 2⁶² for n < 2³¹: nothing overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from panbayes.bayesnet.counts import CountArray, FloatArray
from panbayes.bayesnet.learning.scores.score import Score, fractions, from_tables, layout, one_by_one, total_of
from panbayes.bayesnet.structure import Family
from panbayes.exact.score_rounding import r_error
from panbayes.tables.counting.count_tables import CountTables
from panbayes.tables.counting.engines import Kernels, choose_kernels

__all__ = ["R_SCORE", "r_score", "r_scores"]


def r_score(table: CountArray) -> float:
    """Return R(X, Π) = ½‖p(X, Π) − p(X)·p(Π)‖₁, with the child X on axis 0 and its parents Π on the others.

    >>> r_score(np.array([[7, 0], [0, 7]]))
    0.5
    """
    pairs = table.reshape(table.shape[0], -1)
    if table.dtype.kind == "f":
        p = fractions(pairs)
        return float(np.abs(p - p.sum(axis=1)[:, None] * p.sum(axis=0)).sum()) / 2
    n = total_of(table)
    if n == 0:
        return 0.0
    pairs = pairs.astype(np.int64)
    excess = n * pairs - pairs.sum(axis=1)[:, None] * pairs.sum(axis=0)
    return float(np.maximum(excess, 0).sum()) / float(n**2)


def r_scores(tables: CountTables, families: Sequence[Family], *, kernels: Kernels | None = None) -> FloatArray:
    """Return :func:`r_score` of every family, whose attributes ``tables`` must hold as a set."""
    if choose_kernels(kernels) == "numpy" or not families or not tables.records:
        return one_by_one(r_score, tables, families)
    from panbayes.bayesnet.learning.kernels.r_excess import r_excesses

    excess = np.empty(len(families), dtype=np.int64)
    r_excesses(tables.flat, *layout(tables, families), tables.records, excess)
    return excess.astype(np.float64) / float(tables.records**2)


R_SCORE: Final = Score("R", r_score, from_tables(r_scores), r_error)
