"""Edges below which a wanted share of records lies, chosen privately from a public grid.

A column's values are counted in the cells of a public grid: cell i holds what lies from edge i to edge i + 1, what lies
beyond falls into the cell at that end, and what is no number into none of them. Let L(j) be how many records lie below
the inner edge j, the sum of the cells before it, and n how many lie in any cell. For the share q = a/b in lowest terms
the edge has the integer score

    u(j) = −|b·L(j) − a·n|,

0 where exactly the share q lies below it. No division takes part, so scores are exact, and as floats too while
b·n < 2⁵³.

**Sensitivity.** One record that comes adds b − a to b·L(j) − a·n if it lies below the edge, −a if it lies at or above
it, and nothing if it lies in no cell; one that goes takes the same away. So

* adding or removing a person with up to m records moves every score by at most m·max(a, b − a);
* replacing the records of a person by up to m others pairs a record that goes with one that comes (where there are
  fewer, with none). A pair moves b·L − a·n by at most b: −(b − a) − a if a record below gives way to one above, and the
  other way round; all other pairs move it less. Together m·b.

| |x| − |y| | ≤ |x − y| carries both over to u. Both are attained: all m records at one side of an edge of an
empty table, respectively moved across the edge.

**Several edges** are chosen one after the other, each by permute-and-flip at its part of ε; their losses add up. All
are chosen from the same counts, whatever the others were.

**How wrong.** Permute-and-flip is the largest score plus exponential noise of scale s = 2Δ/ε (Ding et al. 2021). A
score that lacks t can win only if its own noise exceeds t, so with J edges to choose from the chosen one lacks more
than s·ln(J/β) with probability β at most: then L is off by so many records, divided by b, more than at the best edge.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.mechanisms import select, selection_scale
from panbayes.dp.noise import Noise
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.events import Selection

__all__ = ["choose_edge", "edge_error", "edge_scores", "edge_sensitivity"]


def edge_sensitivity(share: Fraction, *, adjacency: Adjacency, max_records: int = 1) -> int:
    """Return Δ, the most by which one person moves the score of an edge; see the module.

    >>> [edge_sensitivity(Fraction(1, 4), adjacency=a, max_records=2) for a in ("add-remove", "replace")]
    [6, 8]
    """
    if not 0 < share < 1 or max_records < 1:
        raise ValueError(f"a share lies between 0 and 1, and a person has a record; found {share} and {max_records}")
    a, b = share.numerator, share.denominator
    return max_records * (b if adjacency == "replace" else max(a, b - a))


def edge_scores(cells: NDArray[np.int64], share: Fraction) -> NDArray[np.float64]:
    """Return the score of every inner edge, from the counts of the cells before, between and after them.

    >>> edge_scores(np.array([1, 2, 3]), Fraction(1, 2))
    array([-4., -0.])
    """
    if cells.ndim != 1 or cells.size < 2:
        raise ValueError(f"there must be two cells or more, found shape {cells.shape}")
    a, b = share.numerator, share.denominator
    total = int(cells.sum())
    if b * total >= 2**53:
        raise ValueError("the scores would not be exact")
    below = np.cumsum(cells, dtype=np.int64)[:-1]
    return -np.abs(b * below - a * total).astype(np.float64)


def choose_edge(
    cells: NDArray[np.int64],
    share: Fraction,
    *,
    adjacency: Adjacency,
    max_records: int,
    event: Selection,
    noise: Noise,
) -> int:
    """Return the number of an inner edge, from 0, below which about ``share`` of the records lies."""
    sensitivity = edge_sensitivity(share, adjacency=adjacency, max_records=max_records)
    return select(edge_scores(cells, share), sensitivity=Fraction(sensitivity), event=event, noise=noise)


def edge_error(
    share: Fraction, *, edges: int, adjacency: Adjacency, max_records: int, event: Selection, chance: float = 0.05
) -> float:
    """Return by how many records more than the best of ``edges`` edges a chosen one errs, but for a ``chance``."""
    sensitivity = edge_sensitivity(share, adjacency=adjacency, max_records=max_records)
    scale = selection_scale(event, sensitivity=Fraction(sensitivity))
    return float(scale / share.denominator) * math.log(edges / chance)
