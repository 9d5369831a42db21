"""Triples of which all three pairs are known, measured in the end where there is next to no noise.

A gate of three attributes with several values may show at none of the splits at which interactions are offered
(:mod:`panbayes.consortium.analyst.adaptive.interactions`), but its pairs show. Three attributes of which tables hold
all pairs share a clique of the junction tree, so to know them together makes it no heavier than the pairs do. Where
noise is far below chance such triangles are measured beside the known tables, without anybody choosing: which ones
follows from releases.
The law holds those that say more than chance (:mod:`panbayes.consortium.analyst.adaptive.selection`).

A triangle is no stronger than its pairs: they are taken in the order of what the two weaker ones say, in KL from
independence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes
from panbayes.consortium.agreement.strategies.adaptive import TABLE_CELLS
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.interactions import neighbours

__all__ = ["triangles"]

_MOST: Final = 6
"""So many for each attribute at most."""

_FAR_BELOW: Final = 0.1
"""The variance of a cell's noise is at most this part of the records that its table has on average in a cell."""


def triangles(belief: Belief, new: Sequence[Axes], deviation: Callable[[int], float]) -> list[Axes]:
    """Return triples that no table holds whose pairs are known, or in ``new`` tables, as fine as noise allows.

    ``deviation`` tells that of a cell's noise, if so many tables are measured.
    """
    tables = [*(table.axes for table in belief.known), *new]
    near = neighbours(tables)
    done = {_members(axes) for axes in (*tables, *belief.idle)}
    closed = [(a, b, c) for a in near for b in near[a] for c in near[a] & near[b] if a < b < c]
    said = _said(belief)

    def weaker(members: tuple[int, ...]) -> float:
        return sum(sorted(said.get(pair, 0.0) for pair in combinations(members, 2))[:2])

    left = sorted(
        (members for members in closed if members not in done), key=lambda members: (-weaker(members), members)
    )
    chosen = left[: _MOST * len(belief.singles)]
    if not chosen:
        return []
    sizes = [single.distribution.size for single in belief.singles]
    cells = min(TABLE_CELLS, _FAR_BELOW * belief.records / deviation(len(tables) + len(chosen)) ** 2)
    found = []
    for members in chosen:
        counts = groups_within([sizes[a] for a in members], cells)
        if math.prod(counts) <= cells and min(counts) > 1:
            found.append(tuple(zip(members, counts, strict=True)))
    return found


def _members(axes: Axes) -> tuple[int, ...]:
    return tuple(attribute for attribute, _ in axes)


def _said(belief: Belief) -> Mapping[tuple[int, ...], float]:
    """Return how far every pair that a table holds is from independence, in nats for each record."""
    found: dict[tuple[int, ...], float] = {}
    for table in belief.known:
        joint = table.mean / table.mean.sum()
        for pair in combinations(range(joint.ndim), 2):
            both = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in pair))
            alone = np.outer(both.sum(axis=1), both.sum(axis=0))
            told = float((both * np.log(both / alone)).sum())
            members = tuple(table.axes[axis][0] for axis in pair)
            found[members] = max(told, found.get(members, 0.0))
    return found
