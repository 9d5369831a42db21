"""A holder's records as its answers see them: what counts them, public facts, and the scores computed from counts.

Only the holder has this type. One is kept per gate, so that the questions of a study share what they have in common:
the counts behind the scores are prepared once, and a score of a parent set that was needed for one vote is not computed
again for the next. What is kept depends on the questions asked, which are public, and its size on public facts; the
scores of a question that would take all the room are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.learning.scores.score import Scorer
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.schema.schema import Schema
from panbayes.tables.counter import Counter, Facts

__all__ = ["PrivateCounts"]

MOST_KEPT: Final = 2**20
"""Scores kept at most: 8 MB."""


class PrivateCounts:
    """Counts of private records; see the module."""

    def __init__(self, counter: Counter) -> None:
        """Count nothing yet."""
        self.counter = counter
        self._kept: dict[tuple[str, tuple[int, ...]], NDArray[np.float64]] = {}

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""
        return self.counter.facts

    @property
    def schema(self) -> Schema:
        """The schema of the records."""
        return self.facts.schema

    @property
    def size(self) -> int:
        """The number of people."""
        return self.facts.size

    @property
    def kept(self) -> int:
        """The number of scores kept."""
        return len(self._kept) * len(self.schema)

    @cached_property
    def exact(self) -> ExactCounts:
        """The counts of the records, for scores and searches."""
        return ExactCounts(self.counter)

    def tables(self, sets: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
        """Return the tables of ``sets`` end to end, each with its axes in the order of its set."""
        return self.counter.count(sets).flat

    def scores(
        self, name: str, score: Scorer, parent_sets: Sequence[tuple[int, ...]], children: Sequence[int]
    ) -> NDArray[np.float64]:
        """Return the ``score`` known by ``name`` of every pair: a row per parent set, a column per child."""
        columns = list(children)
        if len(parent_sets) * len(self.schema) > MOST_KEPT:
            return score(self.exact, parent_sets, columns)
        missing = [parents for parents in parent_sets if self._lacks((name, parents), columns)]
        if missing:
            if self.kept + len(missing) * len(self.schema) > MOST_KEPT:
                self._kept.clear()
                missing = list(parent_sets)
            fresh = score(self.exact, missing, columns)
            for parents, values in zip(missing, fresh, strict=True):
                row = np.full(len(self.schema), np.nan)
                row[columns] = values
                self._kept[name, parents] = row
        return np.array([self._kept[name, parents][columns] for parents in parent_sets])

    def _lacks(self, key: tuple[str, tuple[int, ...]], columns: list[int]) -> bool:
        known = self._kept.get(key)
        return known is None or bool(np.isnan(known[columns]).any())
