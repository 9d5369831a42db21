"""How wrong probabilities become that are read off noisy tables: expected total variation distances.

Counts c = n·p get noise at every holder, may be cut off at 0 by each holder or after the sum
(:class:`~panbayes.planning.noise_moments.CellNoise`: mean μ and variance v of what is left), one record of smoothing is
added to every cell, and rows are divided by their sums. The error of a cell is taken for normal, with the bias that
clipping and smoothing leave and the deviation √v, over the expected sum; a normal variable of mean m and deviation s
has

    E|x| = s·√(2/π)·e^(−m²/2s²) + m·(1 − 2Φ(−m/s)),

and the distance of a table is half the sum of that over its cells: no probability of any set of its cells is expected
to be further off.

**A network.** An attribute's table stands below its parents: model probabilities of the parents go through conditional
rows. Rows of rare parents hold noise, which clipping turns into nearly uniform rows, so attributes come out mixed with
the uniform law: q = (1 − ω)·p + ω/k. What ω becomes follows from that of the parents; a few rounds settle it.

Thesis: Algorithms "BN Parameter Learning" and "Distributed BN Parameter Learning"; see errata 6 for clipping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from panbayes.planning.noise_moments import CellNoise, FloatArray
from panbayes.planning.supposed import Cells

__all__ = ["Family", "NetworkError", "family_table", "mean_absolute", "network_error", "noisy_cells", "table_distance"]

_ROUNDS: Final = 8
_SMOOTHING: Final = 1.0


def mean_absolute(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return E|x| of normal variables.

    >>> mean_absolute(np.array([0.0, 3.0]), np.array([1.0, 0.0])).round(4)
    array([0.7979, 3.    ])
    """
    safe = np.maximum(deviation, 1e-300)
    away = np.minimum(np.abs(mean) / safe, 40.0)
    density = math.sqrt(2 / math.pi) * np.exp(-(away**2) / 2)
    return np.asarray(safe * density + np.abs(mean) * (1 - 2 * ndtr(-away)))


def noisy_cells(counts: FloatArray, noise: CellNoise, *, holders_clip: bool) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of clipped noisy counts, as the study has them clipped."""
    return noise.clipped_by_holders(counts) if holders_clip else noise.clipped_by_analyst(counts)


def table_distance(law: Cells, *, records: float, noise: CellNoise, holders_clip: bool) -> float:
    """Return the expected distance of a noisy table of a ``law`` from the records, where it stands alone."""
    mean, variance = noisy_cells(records * law.chance, noise, holders_clip=holders_clip)
    mean = mean + _SMOOTHING
    whole = float((law.many * mean).sum())
    apart = mean_absolute(mean / whole - law.chance, np.sqrt(variance) / whole)
    return min(1.0, 0.5 * float((law.many * apart).sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A child below parents: laws of both, and the expected conditional rows with their variance."""

    child: Cells
    parents: Cells
    rows: FloatArray
    variance: FloatArray

    def child_given(self, parents: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the model's chances of the child, where it has these of the ``parents``."""
        weights = self.parents.many * parents
        return weights @ self.rows, (weights * parents) @ self.variance

    def distance(self, parents: FloatArray) -> float:
        """Return the expected distance of the whole table, where the model has these chances of the ``parents``."""
        apart = parents[:, None] * self.rows - np.outer(self.parents.chance, self.child.chance)
        found = mean_absolute(apart, parents[:, None] * np.sqrt(self.variance))
        return min(1.0, 0.5 * float((np.outer(self.parents.many, self.child.many) * found).sum()))


def family_table(child: Cells, parents: Cells, *, records: float, noise: CellNoise, holders_clip: bool) -> Family:
    """Return what noise makes of the table of independent ``child`` and ``parents``."""
    counts = records * np.outer(parents.chance, child.chance)
    mean, variance = noisy_cells(counts, noise, holders_clip=holders_clip)
    mean = mean + _SMOOTHING
    whole = (mean * child.many).sum(axis=1, keepdims=True)
    rows = mean / whole
    # A row is divided by its own sum, which moves with its cells; no probability varies more than a coin does.
    own = variance * (1 - 2 * rows) + rows**2 * (variance * child.many).sum(axis=1, keepdims=True)
    return Family(child, parents, rows, np.minimum(own / whole**2, rows * (1 - rows)))


@dataclass(frozen=True, slots=True)
class NetworkError:
    """Expected distances of single attributes and of pairs (families) that a network links: means over attributes."""

    marginals: float
    pairs: float


def network_error(
    families: Sequence[Sequence[tuple[int, Family, float]]], many: Sequence[int], sizes: Sequence[int]
) -> NetworkError:
    """Return the error of a network of attributes in classes of size; see the module.

    For every class of children, ``families`` are (class of the parents, table, how likely); ``many`` attributes are in
    each class, of ``sizes`` values.
    """
    mixed = np.zeros(len(sizes))
    marginals, pairs = np.zeros(len(sizes)), np.zeros(len(sizes))
    for _ in range(_ROUNDS):
        found = np.zeros(len(sizes))
        for place, choices in enumerate(families):
            marginals[place] = pairs[place] = 0.0
            for above, family, weight in choices:
                law = family.child
                parents = (1 - mixed[above]) * family.parents.chance + mixed[above] / family.parents.size
                mean, variance = family.child_given(parents)
                apart = mean_absolute(mean - law.chance, np.sqrt(variance))
                marginals[place] += weight * min(1.0, 0.5 * float((law.many * apart).sum()))
                pairs[place] += weight * family.distance(parents)
                found[place] += weight * _mixed(law, mean)
        mixed = np.clip(found, 0.0, 1.0)
    whole = float(sum(many))
    return NetworkError(float(marginals @ many) / whole, float(pairs @ many) / whole)


def _mixed(law: Cells, mean: FloatArray) -> float:
    """Return ω: how far the model's chances of an attribute are from its law, on the way to the uniform one."""
    away = law.chance - 1 / law.size
    whole = float((law.many * away**2).sum())
    return float((law.many * (law.chance - mean) * away).sum()) / whole if whole > 0 else 0.0
