"""How strongly a child depends on its parents: the scores by which a network's structure is chosen.

A contingency table has the child X on axis 0 and its parents Π on the others; p are its counts over their total n.

======================= ===================================================== ==================
score                   definition                                            between
======================= ===================================================== ==================
mutual information      Σ p(x, π)·ln [p(x, π) / p(x)p(π)]                     0 and ln n
R (any domain)          ½‖p(X, Π) − p(X)·p(Π)‖₁                               0 and 1
F (binary X)            −min over assignments (½ − K₀)₊ + (½ − K₁)₊           −½ and 0
======================= ===================================================== ==================

Tables of counts are scored with integer arithmetic up to one last division, so that a score does not depend on the
order of summation, and its error has a proven bound (:mod:`panbayes.exact.score_rounding`), which the sensitivities of
:mod:`panbayes.dp.sensitivity` include. A table without records scores 0. The functions in the plural score the tables
of a :class:`~panbayes.tables.counting.count_tables.CountTables` at once, with the same results.

Tables of real numbers (noisy counts after they were cleaned, say) are scored in floating point, with no such bound.

Thesis: section "PrivBayes"; PrivBayes (Zhang et al., TODS 2017) for R and F; see errata 6.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS, information_bits
from panbayes.tables.counting.count_tables import CountTables, Kernels, choose_kernels

__all__ = [
    "Candidate",
    "Counts",
    "entropy",
    "f_score",
    "f_scores",
    "mutual_information",
    "mutual_informations",
    "r_score",
    "r_scores",
]

Counts: TypeAlias = NDArray[np.integer | np.floating]
Candidate: TypeAlias = tuple[int, tuple[int, ...]]
"""A child and its parents, as numbers of attributes."""

KNOWN: Final = 2**20
"""Below this count, c·ln c is looked up: 8 MB at most."""


def entropy(table: Counts) -> float:
    """Return −Σ p·ln p over all cells.

    >>> round(entropy(np.array([5, 5])), 12) == round(math.log(2), 12)
    True
    """
    if table.dtype.kind == "f":
        p = _fractions(table)
        return max(0.0, -_sum_log(p))
    n = _total(table)
    if n == 0:
        return 0.0
    return max(0, _sum_units(np.array(n), n) - _sum_units(table, n)) / math.ldexp(n, information_bits(n))


def mutual_information(table: Counts) -> float:
    """Return Î(X; Π) = Σ p(x, π)·ln [p(x, π) / p(x)p(π)], with the child on axis 0. Thesis: section "PrivBayes".

    >>> round(mutual_information(np.array([[7, 0], [0, 7]])), 12) == round(math.log(2), 12)
    True
    """
    pairs = table.reshape(table.shape[0], -1)
    if table.dtype.kind == "f":
        p = _fractions(pairs)
        return max(0.0, _sum_log(p) - _sum_log(p.sum(axis=0)) - _sum_log(p.sum(axis=1)))
    n = _total(table)
    if n == 0:
        return 0.0
    margins = _sum_units(pairs.sum(axis=0), n) + _sum_units(pairs.sum(axis=1), n)
    units = _sum_units(pairs, n) - margins + _sum_units(np.array(n), n)
    return max(0, units) / math.ldexp(n, information_bits(n))


def r_score(table: Counts) -> float:
    """Return R(X, Π) = ½‖p(X, Π) − p(X)·p(Π)‖₁, with the child on axis 0.

    In counts c of n records, with margins a and b, R = Σ|n·c − a·b| / 2n² = Σ(n·c − a·b)₊ / n², since the differences
    sum to 0. n·c, a·b and the sum of the positive parts are at most n² < 2⁶² for n < 2³¹: nothing overflows.

    >>> r_score(np.array([[7, 0], [0, 7]]))
    0.5
    """
    pairs = table.reshape(table.shape[0], -1)
    if table.dtype.kind == "f":
        p = _fractions(pairs)
        return float(np.abs(p - p.sum(axis=1)[:, None] * p.sum(axis=0)).sum()) / 2
    n = _total(table)
    if n == 0:
        return 0.0
    pairs = pairs.astype(np.int64)
    excess = n * pairs - pairs.sum(axis=1)[:, None] * pairs.sum(axis=0)
    return float(np.maximum(excess, 0).sum()) / float(n**2)


def f_score(table: NDArray[np.integer]) -> float:
    """Return F(X, Π) = −min [(½ − K₀)₊ + (½ − K₁)₊] of a binary child on axis 0.

    Each value π goes with one value of X; Kₓ is the fraction of records that have x and a π that goes with x. The
    minimum is over the 2^|Π| assignments: −F is the distance (total variation) to the nearest distribution in which the
    parents determine X and both its values are equally likely.

    Dynamic programming over the values of Π: ``best[k]`` is the largest count k₁ that goes with the count k₀ = k, cut
    at ⌈n/2⌉, beyond which k₀ gains nothing. All counts are integers; F = −min [(n − 2k₀)₊ + (n − 2k₁)₊] / 2n.

    >>> f_score(np.array([[7, 0], [0, 7]])), f_score(np.array([[7, 7], [0, 0]]))
    (0.0, -0.5)
    """
    _check_binary(table.shape[0])
    n = _total(table)
    if n == 0:
        return 0.0
    enough = (n + 1) // 2
    best = np.full(enough + 1, -2 * n, dtype=np.int64)
    best[0] = 0
    for zeros, ones in table.reshape(2, -1).T.tolist():
        stayed = best + ones
        raised = np.full(enough + 1, -2 * n, dtype=np.int64)
        kept = min(zeros, enough)
        raised[kept:] = best[: enough + 1 - kept]
        raised[enough] = best[enough - kept :].max()
        best = np.maximum(stayed, raised)
    shortfall = np.maximum(n - 2 * np.arange(enough + 1), 0) + np.maximum(n - 2 * best, 0)
    return -int(shortfall.min()) / (2 * n)


def mutual_informations(
    tables: CountTables, candidates: Sequence[Candidate], *, kernels: Kernels | None = None
) -> NDArray[np.float64]:
    """Return :func:`mutual_information` of every candidate, whose attributes ``tables`` must hold as a set."""
    if choose_kernels(kernels) == "numpy" or not candidates or not tables.records:
        return _one_by_one(mutual_information, tables, candidates)
    n = tables.records
    sums = np.empty(len(candidates), dtype=np.int64)
    scale = math.ldexp(1.0, information_bits(n))
    from panbayes.bayesnet.learning import score_kernels

    score_kernels.information_sums(tables.flat, *_layout(tables, candidates), _known_units(n), scale, sums)
    units = sums + _sum_units(np.array(n), n)
    return np.maximum(units, 0).astype(np.float64) / (n * scale)


def r_scores(
    tables: CountTables, candidates: Sequence[Candidate], *, kernels: Kernels | None = None
) -> NDArray[np.float64]:
    """Return :func:`r_score` of every candidate, whose attributes ``tables`` must hold as a set."""
    if choose_kernels(kernels) == "numpy" or not candidates or not tables.records:
        return _one_by_one(r_score, tables, candidates)
    excess = np.empty(len(candidates), dtype=np.int64)
    from panbayes.bayesnet.learning import score_kernels

    score_kernels.r_excesses(tables.flat, *_layout(tables, candidates), tables.records, excess)
    return excess.astype(np.float64) / float(tables.records**2)


def f_scores(
    tables: CountTables, candidates: Sequence[Candidate], *, kernels: Kernels | None = None
) -> NDArray[np.float64]:
    """Return :func:`f_score` of every candidate, whose attributes ``tables`` must hold as a set."""
    for child, _ in candidates:
        _check_binary(tables.sizes[child])
    if choose_kernels(kernels) == "numpy" or not candidates or not tables.records:
        return _one_by_one(f_score, tables, candidates)
    shortfall = np.empty(len(candidates), dtype=np.int64)
    starts, outer, _, inner = _layout(tables, candidates)
    from panbayes.bayesnet.learning import score_kernels

    score_kernels.f_shortfalls(tables.flat, starts, outer, inner, tables.records, shortfall)
    return (-shortfall).astype(np.float64) / (2 * tables.records)


def _one_by_one(
    score: Callable[[NDArray[np.int32]], float], tables: CountTables, candidates: Sequence[Candidate]
) -> NDArray[np.float64]:
    return np.array([score(tables[child, *parents]) for child, parents in candidates], dtype=np.float64)


def _layout(
    tables: CountTables, candidates: Sequence[Candidate]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where each candidate's table starts, and its shape as (parents before, child, parents after)."""
    rows = np.empty((4, len(candidates)), dtype=np.int64)
    shapes: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    for e, (child, parents) in enumerate(candidates):
        place = tables.place((child, *parents))
        if (place, child) not in shapes:
            counted = tables.sets[place]
            axis = counted.index(child)
            before = math.prod(tables.sizes[a] for a in counted[:axis])
            after = math.prod(tables.sizes[a] for a in counted[axis + 1 :])
            shapes[place, child] = (int(tables.offsets[place]), before, tables.sizes[child], after)
        rows[:, e] = shapes[place, child]
    return rows[0], rows[1], rows[2], rows[3]


def _total(table: Counts) -> int:
    """Return n, the sum of all cells, after checking that these are counts."""
    total = int(table.sum(dtype=np.int64)) if table.size else 0
    if table.size and table.min() < 0:
        raise InputError("table", found="found a negative count", remedy="score counts, or clip noisy ones at 0")
    if total > MAX_RECORDS:
        raise InputError("table", found=f"found {total:,} records", remedy=f"at most {MAX_RECORDS:,} can be scored")
    return total


def _check_binary(size: int) -> None:
    if size != 2:
        raise InputError("score", found=f"F and a child with {size} value(s)", remedy="use R, or a binary child")


def _units(counts: NDArray[np.integer], records: int) -> NDArray[np.int64]:
    """Return c·ln c in units of 2⁻ˢ, s = information_bits(records)."""
    real = counts.astype(np.float64)
    return np.rint(np.ldexp(real * np.log(np.maximum(real, 1)), information_bits(records))).astype(np.int64)


@functools.lru_cache(maxsize=8)
def _known_units(records: int) -> NDArray[np.int64]:
    """Return c·ln c for c = 0, 1, … up to ``records``, or as far as is worth keeping."""
    known = _units(np.arange(min(records + 1, KNOWN)), records)
    known.flags.writeable = False
    return known


def _sum_units(counts: Counts, records: int) -> int:
    """Return Σ c·ln c in units of 2⁻ˢ."""
    known = _known_units(records)
    flat = counts.reshape(-1).astype(np.int64)
    large = flat[flat >= known.size]
    return int(known[flat[flat < known.size]].sum()) + int(_units(large, records).sum())


def _fractions(table: Counts) -> NDArray[np.float64]:
    if table.size and not 0 <= table.min() <= table.max() < math.inf:
        raise InputError("table", found="found a negative or infinite cell", remedy="clip noisy counts at 0")
    total = float(table.sum(dtype=np.float64))
    return np.asarray(table, dtype=np.float64) / (total or 1.0)


def _sum_log(p: NDArray[np.float64]) -> float:
    return float((p * np.log(np.where(p > 0, p, 1))).sum())
