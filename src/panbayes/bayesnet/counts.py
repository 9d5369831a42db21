"""Statistics that learning reads: contingency tables of attribute sets, wherever they come from.

:class:`Counts` is the whole interface between data and learning. Exact counts of one's own table, noisy counts that
were released, and sums over several holders all satisfy it, so search and parameters are written once. Entries may be
floats and may be negative (noise); learning clips them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.counting.count_tables import CountTables

__all__ = ["CountArray", "Counts", "FloatArray", "TableCounts"]

FloatArray: TypeAlias = NDArray[np.float64]
CountArray: TypeAlias = NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float64]


class Counts(Protocol):
    """Contingency tables of attribute sets.

    Implementations: :class:`panbayes.bayesnet.table_counts.ExactCounts`; noisy and pooled counts elsewhere.
    """

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of every attribute."""

    @property
    def total(self) -> float:
        """The number of records, or what is known of it."""

    def tables(self, sets: Sequence[tuple[int, ...]]) -> Sequence[CountArray]:
        """Return the table of every set, with one axis per attribute in the order of the set."""


@runtime_checkable
class TableCounts(Counts, Protocol):
    """Counts of records at hand, which can also be had in bulk: what the fast ways to the scores need."""

    def count(self, sets: Sequence[tuple[int, ...]]) -> CountTables:
        """Return the tables of many sets, end to end."""

    def weights(self, sets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return Σ c·ln c over the cells c of the table of every row of ``sets`` (of one length, each ascending).

        In whole units of 2⁻ˢ, s = ``information_bits(total)``, as in :mod:`panbayes.bayesnet.information_units`.
        """
