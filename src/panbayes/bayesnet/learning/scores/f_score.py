"""F: how near the parents come to determining a binary child both of whose values are equally likely.

Each value π of the parents goes with one value of X; Kₓ is the fraction of records that have x and a π that goes with
x. F = −min [(½ − K₀)₊ + (½ − K₁)₊] over the 2^|Π| assignments: −F is the distance (total variation) to the nearest
distribution in which the parents determine X and both its values are equally likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray, FloatArray
from panbayes.bayesnet.learning.scores.score import Score, from_tables, layout, one_by_one, total_of
from panbayes.bayesnet.structure import Family
from panbayes.exact.score_rounding import f_error
from panbayes.tables.counting.count_tables import CountTables
from panbayes.tables.counting.engines import Kernels, choose_kernels

__all__ = ["F_SCORE", "f_score", "f_scores"]


def f_score(table: CountArray) -> float:
    """Return F(X, Π) of a binary child on axis 0; real counts are rounded to whole ones.

    Dynamic programming over the values of Π: ``best[k]`` is the largest count k₁ that goes with the count k₀ = k, cut
    at ⌈n/2⌉, beyond which k₀ gains nothing. All counts are integers; F = −min [(n − 2k₀)₊ + (n − 2k₁)₊] / 2n.

    >>> f_score(np.array([[7, 0], [0, 7]])), f_score(np.array([[7, 7], [0, 0]]))
    (0.0, -0.5)
    """
    F_SCORE.check_child(table.shape[0])
    whole: NDArray[np.int64] = np.rint(table).astype(np.int64)
    n = total_of(whole)
    if n == 0:
        return 0.0
    enough = (n + 1) // 2
    best = np.full(enough + 1, -2 * n, dtype=np.int64)
    best[0] = 0
    for zeros, ones in whole.reshape(2, -1).T.tolist():
        stayed = best + ones
        raised = np.full(enough + 1, -2 * n, dtype=np.int64)
        kept = min(zeros, enough)
        raised[kept:] = best[: enough + 1 - kept]
        raised[enough] = best[enough - kept :].max()
        best = np.maximum(stayed, raised)
    shortfall = np.maximum(n - 2 * np.arange(enough + 1), 0) + np.maximum(n - 2 * best, 0)
    return -int(shortfall.min()) / (2 * n)


def f_scores(tables: CountTables, families: Sequence[Family], *, kernels: Kernels | None = None) -> FloatArray:
    """Return :func:`f_score` of every family, whose attributes ``tables`` must hold as a set."""
    for child, _ in families:
        F_SCORE.check_child(tables.sizes[child])
    if choose_kernels(kernels) == "numpy" or not families or not tables.records:
        return one_by_one(f_score, tables, families)
    from panbayes.bayesnet.learning.kernels.f_shortfall import f_shortfalls

    shortfall = np.empty(len(families), dtype=np.int64)
    starts, outer, _, inner = layout(tables, families)
    f_shortfalls(tables.flat, starts, outer, inner, tables.records, shortfall)
    return (-shortfall).astype(np.float64) / (2 * tables.records)


F_SCORE: Final = Score("F", f_score, from_tables(f_scores), f_error, binary_child=True)
