"""Networks of a fixed degree whose tables all have the same noise: which parents attributes get, and how wrong it is.

Which parents a search will choose is not known before the records are looked at. Two things are: mutual information is
larger for larger domains, by chance, by noise and because there is more to know; and votes choose the more at random
the less ε they have. So parents of a class of size are taken to have odds of e^(score/spread), where the score is what
chance and noise make of independent attributes, and the spread is :data:`SPREAD` nats, by which real dependencies
differ, or the scale of a vote if that is more. To what chance or noise make of it real dependencies add 0.005·ln A·ln B
nats. For several parents, sets are drawn by these odds, always the same ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from panbayes.planning.noise_moments import CellNoise
from panbayes.planning.supposed import Cells, joint, size_classes, supposed_cells
from panbayes.planning.table_error import Family, NetworkError, family_table, network_error

__all__ = ["SPREAD", "Scored", "chance_score", "mean_family_cells", "tree_error"]

SPREAD: Final = 0.03
_REAL: Final = 0.005
"""Nats that real dependencies of attributes with A and B values have, for each ln A·ln B."""

_SETS: Final = 6
"""Sets of several parents that stand for all."""

Scored = Callable[[Cells, Cells], float]
"""What chance and noise make of the score of a child and its parents, in nats."""


def tree_error(
    sizes: Sequence[int],
    *,
    degree: int,
    records: float,
    noise: CellNoise,
    holders_clip: bool,
    scored: Scored,
    spread: float,
) -> NetworkError:
    """Return the error of a network of attributes with these domain ``sizes``, each with ``degree`` parents."""
    classes = size_classes(sizes)
    families: list[list[tuple[int, Family, float]]] = []
    for place in range(len(classes)):
        found = []
        for above, parents, weight in _parents(classes, place, degree, scored, spread):
            child = supposed_cells(classes[place][0])
            table = family_table(child, parents, records=records, noise=noise, holders_clip=holders_clip)
            found.append((above, table, weight))
        families.append(found)
    return network_error(families, [many for _, many in classes], [size for size, _ in classes])


def mean_family_cells(sizes: Sequence[int], *, degree: int, scored: Scored, spread: float) -> float:
    """Return the cells of an attribute's table, on average over attributes."""
    classes = size_classes(sizes)
    cells = 0.0
    for place, (size, many) in enumerate(classes):
        chosen = _parents(classes, place, degree, scored, spread)
        cells += many * size * sum(weight * parents.size for _, parents, weight in chosen)
    return cells / len(sizes)


def _parents(
    classes: Sequence[tuple[int, int]], place: int, degree: int, scored: Scored, spread: float
) -> list[tuple[int, Cells, float]]:
    """Return parents of an attribute: a class they are like, their law, and how likely they are."""
    child = supposed_cells(classes[place][0])
    logs = np.array([(scored(child, supposed_cells(size)) + _real(child.size, size)) / spread for size, _ in classes])
    # The attribute is no parent of its own.
    many = np.array([count - (other == place) for other, (_, count) in enumerate(classes)], dtype=np.float64)
    weights = np.where(many > 0, many * np.exp(np.clip(logs - logs[many > 0].max(), -700, 0)), 0.0)
    weights /= weights.sum()
    if degree == 1:
        return [(i, supposed_cells(classes[i][0]), float(w)) for i, w in enumerate(weights) if w > 1e-4]
    rng = np.random.default_rng(place)
    found = []
    for _ in range(_SETS):
        left, taken = weights * 1.0, []
        spare = many.copy()
        for _ in range(min(degree, int(many.sum()))):
            chosen = int(rng.choice(len(left), p=left / left.sum()))
            taken.append(chosen)
            spare[chosen] -= 1
            left[chosen] *= spare[chosen] / (spare[chosen] + 1)
        law = joint([supposed_cells(classes[i][0]) for i in taken])
        found.append((max(taken), law, 1 / _SETS))
    return found


def chance_score(child: Cells, parents: Cells, *, records: float) -> float:
    """Return what chance makes of the mutual information of independent attributes: (A − 1)·(B − 1)/(2n) nats.

    Never more than their logarithms, nor than cells that hold records allow.
    """
    plain = (child.size - 1) * (parents.size - 1) / (2 * records)
    return min(plain, math.log(max(2.0, min(child.size, parents.size))))


def _real(child: float, parents: float) -> float:
    return _REAL * math.log(child) * math.log(parents)
