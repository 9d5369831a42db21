"""Scores of many candidates (child, parents) at once, from whatever counts there are.

A :data:`Score` takes counts, parent sets and children and returns a matrix with a row per parent set and a column per
child. Counts of records at hand take fast ways with the same results to the bit as table by table; all others are
scored table by table, with negative entries set to zero first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray, Counts, TableCounts
from panbayes.bayesnet.learning.scores import Candidate, f_score, f_scores, mutual_information, r_score, r_scores
from panbayes.bayesnet.results import FloatArray
from panbayes.exact.score_rounding import information_bits
from panbayes.tables.counting.count_tables import CountTables

__all__ = ["Score", "bic_gains", "determination", "distance", "information", "table_score"]

Score: TypeAlias = Callable[[Counts, Sequence[tuple[int, ...]], Sequence[int]], FloatArray]

_BATCH_CELLS: Final = 1 << 22


def information(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return the empirical mutual information I(child; parents) in nats."""
    if isinstance(counts, TableCounts):
        return _weighed_information(counts, parent_sets, children)
    return table_score(mutual_information)(counts, parent_sets, children)


def distance(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return R(child, parents), half the L1 distance to independence."""
    if isinstance(counts, TableCounts):
        return _from_tables(r_scores, counts, parent_sets, children)
    return table_score(r_score)(counts, parent_sets, children)


def determination(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return F(child, parents); every child must be binary and every count whole."""
    if isinstance(counts, TableCounts):
        return _from_tables(f_scores, counts, parent_sets, children)
    return table_score(lambda table: f_score(np.rint(table).astype(np.int64)))(counts, parent_sets, children)


def bic_gains(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
    """Return by how much a parent set improves the Bayesian information criterion over no parents, per record.

    With n = ``counts.total``, r values of the child and q combinations of the parents' values, the gain is
    ``I(child; parents) − ln(n)/(2n) · (r − 1)(q − 1)`` nats.
    """
    n = max(counts.total, 2.0)
    sizes = counts.sizes
    free = np.array([sizes[child] - 1 for child in children], dtype=np.float64)
    rows = np.array([math.prod(sizes[p] for p in parents) - 1 for parents in parent_sets], dtype=np.float64)
    return information(counts, parent_sets, children) - math.log(n) / (2 * n) * rows[:, None] * free


def table_score(function: Callable[[CountArray], float]) -> Score:
    """Make a score from a function of one table without negative entries (child on axis 0, then the parents)."""

    def score(counts: Counts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]) -> FloatArray:
        values: list[float] = []
        for candidates in _batches(counts.sizes, parent_sets, children):
            sets = [(child, *parents) for child, parents in candidates]
            values.extend(function(np.maximum(table, 0)) for table in counts.tables(sets))
        return np.array(values, dtype=np.float64).reshape(len(parent_sets), len(children))

    return score


def _from_tables(
    function: Callable[[CountTables, Sequence[Candidate]], FloatArray],
    counts: TableCounts,
    parent_sets: Sequence[tuple[int, ...]],
    children: Sequence[int],
) -> FloatArray:
    values = [np.empty(0)]
    for candidates in _batches(counts.sizes, parent_sets, children):
        tables = counts.count([tuple(sorted((child, *parents))) for child, parents in candidates])
        values.append(function(tables, candidates))
    return np.concatenate(values).reshape(len(parent_sets), len(children))


def _batches(
    sizes: Sequence[int], parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]
) -> Iterator[list[Candidate]]:
    """Cut the candidates, children running fastest, so that the tables of one batch stay small in memory."""
    batch: list[Candidate] = []
    cells = 0
    for parents in parent_sets:
        combinations = math.prod(sizes[p] for p in parents)
        for child in children:
            if batch and cells + combinations * sizes[child] > _BATCH_CELLS:
                yield batch
                batch, cells = [], 0
            batch.append((child, parents))
            cells += combinations * sizes[child]
    if batch:
        yield batch


def _weighed_information(
    counts: TableCounts, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]
) -> FloatArray:
    """Compute n·I = G(child, parents) − G(child) − G(parents) + n·ln n with G(S) = Σ c·ln c over the cells of S."""
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
