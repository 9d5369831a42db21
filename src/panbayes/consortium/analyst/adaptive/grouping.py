"""Grouping values before a table is counted: fewer cells, each with more records, for the same noise.

The noise of a cell does not depend on how many values it stands for, so a table of two attributes with 118 and 75
values is best asked for in a few groups of each. How the records spread within a group is known from the attribute's
own table. Groups are chosen from public estimates: ordered values in runs of about equal frequency, others the most
frequent by themselves and the rest together.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["Groups", "group", "grouped", "groups_within"]

Groups = NDArray[np.int64]
"""The group of every value, from 0 on."""


def groups_within(sizes: Sequence[int], cells: float) -> list[int]:
    """Return how many groups each attribute gets so that their product stays within ``cells``, as even as may be.

    Every attribute gets two, even if that exceeds ``cells``, and at most one per value.

    >>> groups_within((118, 10, 2), 60)
    [6, 5, 2]
    """
    found = [min(2, size) for size in sizes]
    heap = [(count, place) for place, count in enumerate(found) if count < sizes[place]]
    heapq.heapify(heap)
    while heap:
        count, place = heapq.heappop(heap)
        if math.prod(found) // count * (count + 1) <= cells:
            found[place] = count + 1
            if count + 1 < sizes[place]:
                heapq.heappush(heap, (count + 1, place))
    return found


def group(distribution: FloatArray, count: int, *, ordered: bool) -> Groups:
    """Put the values of an attribute with distribution ``distribution`` into at most ``count`` groups.

    >>> group(np.array([0.1, 0.4, 0.1, 0.3, 0.1]), 3, ordered=False).tolist()
    [2, 0, 2, 1, 2]
    >>> group(np.array([0.1, 0.4, 0.2, 0.2, 0.1]), 3, ordered=True).tolist()
    [0, 0, 1, 2, 2]
    """
    if distribution.size <= count:
        return np.arange(distribution.size)
    if not ordered:
        found = np.full(distribution.size, count - 1)
        found[np.argsort(-distribution, kind="stable")[: count - 1]] = np.arange(count - 1)
        return found
    found = np.zeros(distribution.size, dtype=np.int64)
    inside, rest, current = 0.0, 1.0, 0
    for value, part in enumerate(distribution.tolist()):
        aim = rest / (count - current)
        # Close the run if it is closer to its aim without this value than with it.
        if inside > 0 and current < count - 1 and (inside >= aim or inside + part - aim > aim - inside):
            rest -= inside
            current += 1
            inside = 0.0
        found[value] = current
        inside += part
    return found


def grouped(table: FloatArray, groups: Groups, axis: int) -> FloatArray:
    """Add up a table along one axis by groups.

    >>> grouped(np.array([[1.0, 2.0, 3.0]]), np.array([0, 1, 0]), 1)
    array([[4., 2.]])
    """
    moved = np.moveaxis(table, axis, 0)
    member = (groups == np.arange(int(groups.max()) + 1)[:, None]).astype(np.float64)
    sums = (member @ moved.reshape(groups.size, -1)).reshape(-1, *moved.shape[1:])
    return np.moveaxis(sums, 0, axis)
