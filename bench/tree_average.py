"""The average of all trees in closed form, weighed by the evidence for every edge.

A law that is a tree has p(x) = Π p_i(x_i) · Π over its edges r_ij(x), r_ij(x) = p_ij(x_i, x_j) / (p_i(x_i)·p_j(x_j)).
If a tree T is as credible as the product of its edges' weights w_ij, the average law is

    p(x) = Π p_i(x_i) · Z(w·r(x)) / Z(w),   Z(w) = Σ over trees of the product of their edges' weights,

and by the matrix-tree theorem Z is a minor of the Laplacian of w. It is had here by taking vertices out one after the
other: without vertex k, w_ij becomes w_ij + w_ik·w_kj / s_k, s_k = Σ w_kj, and Z has a factor s_k. Nothing is
subtracted, so all of it can be done with logarithms, and weights of e^±1000 lose no digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.substructure_average import chances, dependences, laws_of
from panbayes.bayesnet.counts import Counts, FloatArray

__all__ = ["TreeAverage", "log_tree_sum"]

_BATCH: Final = 500
_RAKED: Final = 60


@dataclass(frozen=True, slots=True, eq=False)
class TreeAverage:
    """The average law: laws of single attributes, and of every pair i < j its log weight and ln r_ij as a table."""

    laws: Sequence[FloatArray]
    weights: dict[tuple[int, int], float]
    ratios: dict[tuple[int, int], FloatArray]

    @classmethod
    def of(cls, counts: Counts, *, variance: Callable[[tuple[int, ...]], float]) -> TreeAverage:
        """Learn it from counts of pairs whose cells have errors of this ``variance``.

        Whether a pair depends at all is averaged, too: an edge weighs 1 + the odds that it does, and its r is the mean.
        So forests are among the trees.
        """
        laws = laws_of(counts, variance=variance)
        pairs = list(combinations(range(len(laws)), 2))
        found = [next(dependences(j, (i,), counts, laws[j], variance=variance)) for i, j in pairs]
        weights, ratios = {}, {}
        for pair, own, likely in zip(pairs, found, chances([one.evidence[None] for one in found]), strict=True):
            first, second = laws[pair[0]], laws[pair[1]]
            table = first[:, None] * (likely.none * second + (1 - likely.none) * own.table(likely.each[0], second))
            weights[pair] = -likely.log_none
            ratios[pair] = np.log(_raked(table, first, second) / np.outer(first, second))
        return cls(laws, weights, ratios)

    def log_prob(self, codes: NDArray[np.integer]) -> FloatArray:
        """Return ln p of every record: codes [attribute, record]."""
        attributes, records = codes.shape
        weights = np.zeros((attributes, attributes))
        for (i, j), weight in self.weights.items():
            weights[i, j] = weights[j, i] = weight
        total = np.sum([np.log(law)[codes[a]] for a, law in enumerate(self.laws)], axis=0)
        whole = log_tree_sum(weights)
        for start in range(0, records, _BATCH):
            part = codes[:, start : start + _BATCH]
            edges = np.broadcast_to(weights, (part.shape[1], attributes, attributes)).copy()
            for (i, j), ratio in self.ratios.items():
                edges[:, i, j] += ratio[part[i], part[j]]
                edges[:, j, i] = edges[:, i, j]
            total[start : start + _BATCH] += log_tree_sum(edges) - whole
        return np.asarray(total)


def _raked(table: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Bring a table to these margins by scaling rows and columns in turns."""
    for _ in range(_RAKED):
        table = table * (first / table.sum(axis=1))[:, None]
        table = table * (second / table.sum(axis=0))
    return table


def log_tree_sum(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln Z of symmetric weights given by their logarithms [..., vertex, vertex]; the diagonal is not looked at.

    >>> round(float(np.exp(log_tree_sum(np.zeros((4, 4))))))  # Cayley: 4² trees
    16
    """
    weights = np.array(log_weights, dtype=np.float64)
    total = np.zeros(weights.shape[:-2])
    for last in range(weights.shape[-1] - 1, 0, -1):
        edges = weights[..., last, :last]
        peak = edges.max(axis=-1, keepdims=True)
        whole = peak + np.log(np.exp(edges - peak).sum(axis=-1, keepdims=True))
        total = total + whole[..., 0]
        through = edges[..., :, None] + edges[..., None, :] - whole[..., None]
        weights = np.logaddexp(weights[..., :last, :last], through)
    return total
