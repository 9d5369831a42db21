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

from panbayes.consortium.agreement.plan import Stage
from panbayes.consortium.analyst.holders import Holders, answer_of
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.protocol.answers import TablesAnswer
from panbayes.consortium.protocol.cells import Cells, split_cells
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import TablesQuery
from panbayes.errors import InternalError

__all__ = ["PooledCounts", "ask_tables", "pool"]


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


def ask_tables(
    holders: Holders, stage: Stage[TablesQuery], sets: tuple[tuple[int, ...], ...], *, round_number: int
) -> tuple[Mapping[str, Release], PooledCounts]:
    """Ask for the tables of ``sets`` as the ``stage`` says, and add them up over the holders."""
    releases = holders.ask(stage.ask(sets=sets), round_number=round_number)
    cells = [answer_of(release, TablesAnswer).cells for release in releases.values()]
    people = sum(public_size(release) for release in releases.values())
    return releases, pool(cells, sets, sizes=holders.study.schema.sizes, total=people)
