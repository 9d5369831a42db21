"""Nested groupings of an attribute's values: one for every number of groups, each made from the next finer one.

Two groups are merged at a time, those with the least probability together: neighbours only where values are ordered,
any two where they are not. So groups stay about equally frequent, and whatever two groupings are used of an attribute,
one refines the other: a law that speaks of several of them lives on the finest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray

__all__ = ["Groups", "Nested"]

Groups: TypeAlias = NDArray[np.int64]
"""The group of every value, from 0 on, numbered by each group's first value."""


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """The merges of an attribute with ``size`` values, in order: each names two groups by their first values."""

    size: int
    merges: tuple[tuple[int, int], ...]
    _known: dict[int, Groups] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, distribution: FloatArray, *, ordered: bool) -> Nested:
        """Merge by the (estimated) distribution; ties go to the first values.

        >>> Nested.of(np.array([0.1, 0.4, 0.1, 0.3, 0.1]), ordered=False).groups(3).tolist()
        [0, 1, 0, 2, 0]
        >>> Nested.of(np.array([0.1, 0.4, 0.1, 0.3, 0.1]), ordered=True).groups(3).tolist()
        [0, 0, 1, 1, 2]
        """
        return cls(distribution.size, tuple(_neighbours(distribution) if ordered else _any(distribution)))

    def groups(self, count: int) -> Groups:
        """Return ``count`` groups, at least two if there are two values, at most one per value; read-only."""
        found = self._known.get(count)
        if found is None:
            found = self._known[count] = self._groups(count)
        return found

    def _groups(self, count: int) -> Groups:
        first = np.arange(self.size)
        for kept, gone in self.merges[: max(0, self.size - count)]:
            first[gone] = kept
        for value in range(self.size):  # a group's first value comes before the others, so it is settled before them
            first[value] = first[first[value]]
        found = np.unique(first, return_inverse=True)[1].astype(np.int64)
        found.flags.writeable = False
        return found

    def between(self, fine: int, coarse: int) -> Groups:
        """Return the group, among ``coarse``, of every one of the ``fine`` groups.

        >>> Nested.of(np.array([0.1, 0.4, 0.1, 0.3, 0.1]), ordered=False).between(4, 2).tolist()
        [0, 1, 0, 0]
        """
        found = np.zeros(min(fine, self.size), dtype=np.int64)
        found[self.groups(fine)] = self.groups(coarse)
        return found


def _any(distribution: FloatArray) -> list[tuple[int, int]]:
    heap = [(float(part), value) for value, part in enumerate(distribution)]
    heapq.heapify(heap)
    merges = []
    while len(heap) > 2:
        one, first = heapq.heappop(heap)
        other, second = heapq.heappop(heap)
        kept, gone = sorted((first, second))
        merges.append((kept, gone))
        heapq.heappush(heap, (one + other, kept))
    return merges


def _neighbours(distribution: FloatArray) -> list[tuple[int, int]]:
    """Merge runs; a run is known by its first value, ``after`` leads to the next one."""
    mass = [float(part) for part in distribution]
    after = list(range(1, len(mass) + 1))
    before = list(range(-1, len(mass) - 1))
    heap = [(mass[value] + mass[value + 1], value, value + 1) for value in range(len(mass) - 1)]
    heapq.heapify(heap)
    alive = [True] * len(mass)
    merges: list[tuple[int, int]] = []
    while heap and len(merges) < len(mass) - 2:
        together, kept, gone = heapq.heappop(heap)
        if not (alive[kept] and alive[gone]) or together != mass[kept] + mass[gone]:
            continue
        merges.append((kept, gone))
        alive[gone] = False
        mass[kept] = together
        after[kept] = after[gone]
        if after[kept] < len(mass):
            before[after[kept]] = kept
            heapq.heappush(heap, (mass[kept] + mass[after[kept]], kept, after[kept]))
        if before[kept] >= 0:
            heapq.heappush(heap, (mass[before[kept]] + mass[kept], before[kept], kept))
    return merges
