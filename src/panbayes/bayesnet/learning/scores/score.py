"""What a score is, and how many families are scored at once from whatever counts there are.

A contingency table has the child X on axis 0 and its parents Π on the others; p are its counts over their total n.

==== ======================= ===================================================== ==================
name score                   definition                                            between
==== ======================= ===================================================== ==================
I    mutual information      Σ p(x, π)·ln [p(x, π) / p(x)p(π)]                     0 and ln n
R    any domain              ½‖p(X, Π) − p(X)·p(Π)‖₁                               0 and 1
F    binary X                −min over assignments (½ − K₀)₊ + (½ − K₁)₊           −½ and 0
==== ======================= ===================================================== ==================

Each module of this folder that defines a :class:`Score` is one; :mod:`panbayes.bayesnet.learning.scores.registry` finds
them. What one person can change a score by is registered under the same name in :mod:`panbayes.dp.sensitivity`.

Tables of counts are scored with integer arithmetic up to one last division, so that a score does not depend on the
order of summation, and its error has a proven bound (:mod:`panbayes.exact.score_rounding`), which the sensitivities
include. A table without records scores 0. Tables of real numbers (noisy counts after they were cleaned, say) are scored
in floating point, with no such bound.

Thesis: section "PrivBayes"; PrivBayes (Zhang et al., TODS 2017) for R and F; see errata 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray, Counts, FloatArray, TableCounts
from panbayes.bayesnet.structure import Family
from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS, RoundingError
from panbayes.tables.counting.count_tables import CountTables

__all__ = ["Score", "Scorer", "fractions", "from_tables", "layout", "one_by_one", "table_by_table", "total_of"]

Scorer: TypeAlias = Callable[[Counts, Sequence[tuple[int, ...]], Sequence[int]], FloatArray]
"""Takes counts, parent sets and children; returns a matrix with a row per parent set and a column per child."""

BATCH_CELLS: Final = 1 << 22
"""Cells of the tables that are held in memory at once."""


@dataclass(frozen=True, slots=True)
class Score:
    """How strongly a child depends on its parents; called with counts it is a :data:`Scorer`.

    ``name`` is how studies and messages refer to it. ``value`` scores one table without negative entries, the child on
    axis 0. ``values`` scores many families from counts of records at hand, the fast way, with the same results to the
    bit. ``rounding_error`` bounds how far a computed score is from the true one. ``binary_child`` says that it is
    defined for children with two values only.
    """

    name: str
    value: Callable[[CountArray], float]
    values: Callable[[TableCounts, Sequence[tuple[int, ...]], Sequence[int]], FloatArray]
    rounding_error: RoundingError
    binary_child: bool = False

    def check_child(self, size: int) -> None:
        """Refuse a child whose domain this score is not defined for."""
        if self.binary_child and size != 2:
            raise InputError(
                "score",
                found=f"{self.name} and a child with {size} value(s)",
                remedy="use another score, or a binary child",
            )

    def __call__(self, counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
        """Score every parent set with every child; noisy counts below zero count as zero."""
        for child in children:
            self.check_child(counts.sizes[child])
        if isinstance(counts, TableCounts):
            return self.values(counts, parent_sets, children)
        return table_by_table(self.value)(counts, parent_sets, children)


def table_by_table(value: Callable[[CountArray], float]) -> Scorer:
    """Make a scorer from a function of one table without negative entries (child on axis 0, then the parents)."""

    def score(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
        values: list[float] = []
        for families in _batches(counts.sizes, parent_sets, children):
            sets = [(child, *parents) for child, parents in families]
            values.extend(value(np.maximum(table, 0)) for table in counts.tables(sets))
        return np.array(values, dtype=np.float64).reshape(len(parent_sets), len(children))

    return score


def from_tables(
    values: Callable[[CountTables, Sequence[Family]], FloatArray],
) -> Callable[[TableCounts, Sequence[tuple[int, ...]], Sequence[int]], FloatArray]:
    """Make the fast way of a score from a function that scores many counted tables at once."""

    def score(counts: TableCounts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
        found = [np.empty(0)]
        for families in _batches(counts.sizes, parent_sets, children):
            tables = counts.count([tuple(sorted((child, *parents))) for child, parents in families])
            found.append(values(tables, families))
        return np.concatenate(found).reshape(len(parent_sets), len(children))

    return score


def _batches(
    sizes: Sequence[int], parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]
) -> Iterator[list[Family]]:
    """Cut the families, children running fastest, so that the tables of one batch stay small in memory."""
    batch: list[Family] = []
    cells = 0
    for parents in parent_sets:
        combinations = math.prod(sizes[p] for p in parents)
        for child in children:
            if batch and cells + combinations * sizes[child] > BATCH_CELLS:
                yield batch
                batch, cells = [], 0
            batch.append((child, parents))
            cells += combinations * sizes[child]
    if batch:
        yield batch


def one_by_one(
    value: Callable[[NDArray[np.int32]], float], tables: CountTables, families: Sequence[Family]
) -> FloatArray:
    """Score the families, whose attributes ``tables`` must hold as a set, one table after the other."""
    return np.array([value(tables[child, *parents]) for child, parents in families], dtype=np.float64)


def layout(
    tables: CountTables, families: Sequence[Family]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where each family's table starts, and its shape as (parents before, child, parents after)."""
    rows = np.empty((4, len(families)), dtype=np.int64)
    shapes: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    for e, (child, parents) in enumerate(families):
        place = tables.place((child, *parents))
        if (place, child) not in shapes:
            counted = tables.sets[place]
            axis = counted.index(child)
            before = math.prod(tables.sizes[a] for a in counted[:axis])
            after = math.prod(tables.sizes[a] for a in counted[axis + 1 :])
            shapes[place, child] = (int(tables.offsets[place]), before, tables.sizes[child], after)
        rows[:, e] = shapes[place, child]
    return rows[0], rows[1], rows[2], rows[3]


def total_of(table: CountArray) -> int:
    """Return n, the sum of all cells, after checking that these are counts."""
    total = int(table.sum(dtype=np.int64)) if table.size else 0
    if table.size and table.min() < 0:
        raise InputError("table", found="found a negative count", remedy="score counts, or clip noisy ones at 0")
    if total > MAX_RECORDS:
        raise InputError("table", found=f"found {total:,} records", remedy=f"at most {MAX_RECORDS:,} can be scored")
    return total


def fractions(table: CountArray) -> FloatArray:
    """Return the cells of a table of real numbers over their total; all 0 where the total is."""
    if table.size and not 0 <= table.min() <= table.max() < math.inf:
        raise InputError("table", found="found a negative or infinite cell", remedy="clip noisy counts at 0")
    total = float(table.sum(dtype=np.float64))
    return np.asarray(table, dtype=np.float64) / (total or 1.0)
