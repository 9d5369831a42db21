"""Counts added up over holders: what the analyst knows of all records together.

Each holder releases integer tables of the same attribute sets; their sum estimates the table of all records without
bias, since the noise has mean zero. Clipping comes after the sum, in learning (errata 6), unless the study asked the
holders to clip.

A set that was not asked for is the margin of those that were and contain it. Summing e cells into one adds up e noises,
so margins of several tables are averaged with weights 1/e, the inverse of their variances. This is computed from
releases alone, hence free.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.protocol.messages import Cells, unpack_cells
from panbayes.errors import InternalError

__all__ = ["PooledCounts", "pool", "split_cells"]


def split_cells(cells: Cells, shapes: Iterable[tuple[int, ...]]) -> list[NDArray[np.int64]]:
    """Cut packed counts into tables of these ``shapes``, which lie end to end."""
    flat = unpack_cells(cells)
    tables: list[NDArray[np.int64]] = []
    start = 0
    for shape in shapes:
        stop = start + math.prod(shape)
        tables.append(flat[start:stop].reshape(shape))
        start = stop
    return tables


@dataclass(frozen=True, slots=True, eq=False)
class PooledCounts:
    """Tables of some attribute sets, and the margins that follow; satisfies ``bayesnet.counts.Counts``.

    ``known`` maps each set, ascending, to its table with axes in that order.
    """

    sizes: tuple[int, ...]
    total: float
    known: Mapping[tuple[int, ...], NDArray[np.int64]]

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        """Return the table of every set, axes in the order of the set."""
        return [self._table(attributes) for attributes in sets]

    def _table(self, attributes: tuple[int, ...]) -> NDArray[np.float64]:
        ascending = tuple(sorted(attributes))
        found = self.known.get(ascending)
        table = found.astype(np.float64) if found is not None else self._margin(ascending)
        return table.transpose([ascending.index(a) for a in attributes])

    def _margin(self, wanted: tuple[int, ...]) -> NDArray[np.float64]:
        weighed = np.zeros([self.sizes[a] for a in wanted])
        weights = 0.0
        for attributes, table in self.known.items():
            if not set(wanted) <= set(attributes):
                continue
            away = tuple(i for i, a in enumerate(attributes) if a not in wanted)
            weight = 1 / math.prod(self.sizes[attributes[i]] for i in away)
            weighed += weight * table.sum(axis=away)
            weights += weight
        if not weights:
            raise InternalError(f"no released table contains the attributes {wanted}")
        return weighed / weights


def pool(
    answers: Iterable[Cells], sets: Sequence[tuple[int, ...]], *, sizes: tuple[int, ...], total: int
) -> PooledCounts:
    """Add up the same tables of several holders; ``total`` is the number of all records together."""
    sums = [np.zeros([sizes[a] for a in attributes], dtype=np.int64) for attributes in sets]
    shapes = [tuple(sizes[a] for a in attributes) for attributes in sets]
    for cells in answers:
        for table, more in zip(sums, split_cells(cells, shapes), strict=True):
            table += more
    known = {}
    for attributes, table in zip(sets, sums, strict=True):
        order = sorted(range(len(attributes)), key=attributes.__getitem__)
        known[tuple(attributes[i] for i in order)] = table.transpose(order)
    return PooledCounts(sizes, float(total), known)
