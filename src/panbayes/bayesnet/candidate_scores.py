"""Scores of many candidates (child, parents) at once, from whatever counts there are.

A :data:`Score` takes counts, parent sets and children and returns a matrix with a row per parent set and a column per
child. Counts that can weigh sets without handing out tables (exact ones) take the fast way to the mutual information;
all others are scored table by table, negative entries clipped and the rest normalised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.answers import FloatArray
from panbayes.bayesnet.counts import CountArray, Counts, WeighedCounts

__all__ = ["Score", "bic_gains", "information", "table_information", "table_score"]

Score: TypeAlias = Callable[[Counts, Sequence[tuple[int, ...]], Sequence[int]], FloatArray]

_BATCH_CELLS: Final = 1 << 22


def information(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return the empirical mutual information I(child; parents) in nats."""
    if isinstance(counts, WeighedCounts):
        return _weighed_information(counts, parent_sets, children)
    return table_score(table_information)(counts, parent_sets, children)


def bic_gains(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return by how much a parent set improves the Bayesian information criterion over no parents, per record.

    With n = ``counts.total``, r values of the child and q combinations of the parents' values, the gain is
    ``I(child; parents) − ln(n)/(2n) · (r − 1)(q − 1)`` nats.
    """
    n = max(counts.total, 2.0)
    free = np.array([counts.sizes[child] - 1 for child in children], dtype=np.float64)
    rows = np.array([math.prod(counts.sizes[p] for p in parents) - 1 for parents in parent_sets], dtype=np.float64)
    return information(counts, parent_sets, children) - math.log(n) / (2 * n) * rows[:, None] * free


def table_score(function: Callable[[CountArray], float]) -> Score:
    """Make a score from a function of one table (parents first, child last)."""

    def score(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
        result = np.empty((len(parent_sets), len(children)))
        for rows in _batches(counts.sizes, parent_sets, children):
            sets = [(*parents, child) for parents in parent_sets[rows] for child in children]
            values = [function(table) for table in counts.tables(sets)]
            result[rows] = np.array(values).reshape(-1, len(children))
        return result

    return score


def _batches(sizes: Sequence[int], parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> Iterator[slice]:
    """Cut the parent sets so that the tables of one batch stay small in memory."""
    per_row = sum(sizes[child] for child in children)
    start, cells = 0, 0
    for row, parents in enumerate(parent_sets):
        more = per_row * math.prod(sizes[p] for p in parents)
        if cells and cells + more > _BATCH_CELLS:
            yield slice(start, row)
            start, cells = row, 0
        cells += more
    if start < len(parent_sets):
        yield slice(start, len(parent_sets))


def table_information(table: CountArray) -> float:
    """Return the mutual information in nats between the last axis and all the others of a table of counts.

    Negative entries count as zero; a table without a positive entry has none.
    """
    joint = np.maximum(table.reshape(-1, table.shape[-1]), 0).astype(np.float64)
    total = joint.sum()
    if total <= 0:
        return 0.0
    weights = _weight(joint) - _weight(joint.sum(axis=0)) - _weight(joint.sum(axis=1)) + total * math.log(total)
    return max(0.0, float(weights / total))


def _weight(values: FloatArray) -> float:
    positive = values[values > 0]
    return float(np.dot(positive, np.log(positive)))


def _weighed_information(
    counts: WeighedCounts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]
) -> FloatArray:
    """Compute I = (G(child, parents) − G(child) − G(parents)) / n + ln n with G(S) = Σ c·ln c over the cells of S."""
    n = counts.total
    result = np.zeros((len(parent_sets), len(children)))
    if n <= 0:
        return result
    column = np.array(children, dtype=np.int64)
    alone = counts.weights(column.reshape(-1, 1))
    by_length: dict[int, list[int]] = {}
    for row, parents in enumerate(parent_sets):
        by_length.setdefault(len(parents), []).append(row)
    for length, rows in by_length.items():
        if length == 0:
            continue
        parents_array: NDArray[np.int64] = np.array([parent_sets[row] for row in rows], dtype=np.int64)
        together = np.empty((len(rows), column.size, length + 1), dtype=np.int64)
        together[:, :, :-1] = parents_array[:, None, :]
        together[:, :, -1] = column
        together.sort(axis=2)
        joint = counts.weights(together.reshape(-1, length + 1)).reshape(len(rows), -1)
        gained = joint - alone - counts.weights(np.sort(parents_array, axis=1))[:, None]
        result[rows] = np.maximum(gained / n + math.log(n), 0.0)
    return result
