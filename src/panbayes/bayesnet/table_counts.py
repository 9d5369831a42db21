"""Exact counts of records, and the entropies of very many attribute sets without their tables.

The mutual information of a greedy search needs of each table only ``G(S) = Σ c·ln c`` over its cells c, since with n
records ``I(X; Π) = (G(X, Π) − G(X) − G(Π)) / n + ln n``. Tables of four attributes are mostly empty (95 % of the cells
on Diabetes), so G is computed from the records instead of from the cells:

Let the pivot s ∈ S be the attribute whose most frequent value (its mode) is the most frequent, R the rest. Only the
records off the mode of s are visited. Each adds one to its cell of S and takes one from its cell r of the table of R,
which thereby turns into the slice of S at the mode. With ``d(c) = (c+1)·ln(c+1) − c·ln c`` from a table of logarithms::

    G(S) = G(R) + Σ over visited records [ d(cell of S before) − d(cell of R after) ].

Afterwards the same records undo their steps. Each c·ln c is first rounded to a whole number of units, as
:mod:`panbayes.bayesnet.information_units` does, so all sums are sums of integers and the result is the same to the bit
as from the tables, with the same proven error.

That needs the codes of all records in one place. Where they are not, G is summed from the tables after all: they add up
over parts of the records, which G does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray
from panbayes.bayesnet.information_units import units
from panbayes.bayesnet.weight_kernels import set_weights, table_weights
from panbayes.errors import InputError
from panbayes.tables.counter import Counter, Facts
from panbayes.tables.counting.count_tables import CountTables, contingencies
from panbayes.tables.table import Table

__all__ = ["MAX_TABLE_CELLS", "ExactCounts"]

MAX_TABLE_CELLS: Final = 1 << 27
"""The most cells one table may have."""

_BATCH_CELLS: Final = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class ExactCounts:
    """The counts of records, computed when asked for."""

    counter: Counter
    facts: Facts = field(init=False)

    def __post_init__(self) -> None:
        """Look at the facts once."""
        object.__setattr__(self, "facts", self.counter.facts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of every attribute."""
        return self.facts.schema.sizes

    @property
    def total(self) -> float:
        """The number of records."""
        return float(self.facts.records)

    @cached_property
    def _single(self) -> NDArray[np.int64]:
        """Every attribute counted alone, padded with zeros."""
        single = np.zeros((len(self.sizes), max(self.sizes)), dtype=np.int64)
        counted = self.counter.count([(a,) for a in range(len(self.sizes))])
        for row, part in zip(single, np.split(counted.flat, counted.offsets[1:-1]), strict=True):
            row[: part.size] = part
        return single

    @cached_property
    def _units(self) -> NDArray[np.int64]:
        """All values of c·ln c, in units."""
        return units(np.arange(self.facts.records + 2), self.facts.records)

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[CountArray]:
        """Return the table of every set, axes in the order of the set."""
        counted = self.count(sets)
        return [counted[attributes] for attributes in sets]

    def count(self, sets: Sequence[tuple[int, ...]]) -> CountTables:
        """Return the tables of many sets, end to end; a set that comes twice is counted once."""
        if isinstance(self.counter, Table):
            return contingencies(self.counter.checked, self.sizes, sets, cell_limit=MAX_TABLE_CELLS)
        first: dict[tuple[int, ...], tuple[int, ...]] = {}
        for attributes in sets:
            first.setdefault(tuple(sorted(attributes)), tuple(attributes))
        distinct = tuple(first.values())
        counted = self.counter.count(distinct, cell_limit=MAX_TABLE_CELLS)
        return CountTables(self.sizes, distinct, self.facts.records, counted.flat.astype(np.int32), counted.offsets)

    def _flat(self, sets: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the tables of distinct sets end to end, in a copy that may be written to, and where each starts."""
        counted = self.count([tuple(row) for row in sets.tolist()])
        return counted.flat.copy(), counted.offsets

    def _cells(self, sets: NDArray[np.int64]) -> NDArray[np.int64]:
        cells: NDArray[np.float64] = np.array(self.sizes, dtype=np.float64)[sets].prod(axis=1)
        if cells.max(initial=0) > MAX_TABLE_CELLS:
            raise InputError(
                "degree",
                found=f"a table of {sets.shape[1]} attributes would have {cells.max():.3g} cells",
                remedy=f"at most {MAX_TABLE_CELLS} are counted; choose a lower degree or coarser bins",
            )
        return cells.astype(np.int64)

    def weights(self, sets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return Σ c·ln c over the cells of the table of every row of ``sets`` (each ascending), in units."""
        if not isinstance(self.counter, Table):
            return self._summed_weights(sets)
        many, length = sets.shape
        if length <= 1 or not many:
            flat, starts = self._flat(sets)
            return table_weights(flat, starts, self._units)
        off_mode = self.facts.records - self._single.max(axis=1)
        modes = np.where(3 * off_mode > 2 * self.facts.records, -1, self._single.argmax(axis=1)).astype(np.int64)
        position = off_mode[sets].argmin(axis=1)
        pivots = sets[np.arange(many), position]
        others = sets[np.arange(length) != position[:, None]].reshape(many, length - 1)
        order = np.lexsort((*others.T[::-1], pivots))
        scratch = np.zeros(int(self._cells(sets).max()), dtype=np.int32)
        result = np.empty(many, dtype=np.int64)
        for batch in self._batches(others, order):
            distinct, which = np.unique(others[batch], axis=0, return_inverse=True)
            flat, starts = self._flat(distinct)
            part = np.empty(batch.size, dtype=np.int64)
            set_weights(
                self.counter.codes,
                np.array(self.sizes, dtype=np.int64),
                modes,
                pivots[batch],
                others[batch],
                flat,
                starts[which.ravel()],
                table_weights(flat, starts, self._units)[which.ravel()],
                np.diff(self._units),
                scratch,
                part,
            )
            result[batch] = part
        return result

    def _summed_weights(self, sets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same from the tables, so many at once as fit into memory."""
        result = np.zeros(len(sets), dtype=np.int64)
        for batch in self._batches(sets, np.arange(len(sets))):
            counted = self.counter.count([tuple(row) for row in sets[batch].tolist()], cell_limit=MAX_TABLE_CELLS)
            found = np.flatnonzero(counted.flat)
            weights = units(counted.flat[found], self.facts.records)
            table = np.searchsorted(counted.offsets, found, side="right") - 1
            np.add.at(result, batch[table], weights)
        return result

    def _batches(self, others: NDArray[np.int64], order: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Cut the order so that the tables of the rests of one batch fit into memory."""
        cells = self._cells(others)[order]
        edges = np.cumsum(cells) // _BATCH_CELLS
        yield from np.split(order, np.flatnonzero(np.diff(edges)) + 1)
