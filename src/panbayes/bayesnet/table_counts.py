"""Exact counts of a table, and the entropies of very many attribute sets without their tables.

The mutual information of a greedy search needs of each table only ``G(S) = Σ c·ln c`` over its cells c, since with n
records ``I(X; Π) = (G(X, Π) − G(X) − G(Π)) / n + ln n``. Tables of four attributes are mostly empty (95 % of the cells
on Diabetes), so G is computed from the records instead of from the cells:

Let the pivot s ∈ S be the attribute whose most frequent value (its mode) is the most frequent, R the rest. Only the
records off the mode of s are visited. Each adds one to its cell of S and takes one from its cell r of the table of R,
which thereby turns into the slice of S at the mode. With ``d(c) = (c+1)·ln(c+1) − c·ln c`` from a table of logarithms::

    G(S) = G(R) + Σ over visited records [ d(cell of S before) − d(cell of R after) ].

Afterwards the same records undo their steps. Each c·ln c is first rounded to a whole number of units, as
:mod:`panbayes.bayesnet.learning.scores` does, so all sums are sums of integers and the result is the same to the bit as
from the tables, with the same proven error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.bayesnet.counts import CountArray
from panbayes.errors import InputError
from panbayes.exact.score_rounding import information_bits
from panbayes.tables.counting.count_tables import CountTables, contingencies
from panbayes.tables.table import Codes, Table

__all__ = ["MAX_TABLE_CELLS", "ExactCounts"]

MAX_TABLE_CELLS: Final = 1 << 27
"""The most cells one table may have."""

_BATCH_CELLS: Final = 1 << 24


def _information_units(records: int) -> NDArray[np.int64]:
    """Return c·ln c for c = 0, 1, …, records + 1, in whole units of 2⁻ˢ, s = ``information_bits(records)``."""
    c = np.arange(records + 2).astype(np.float64)
    return np.rint(np.ldexp(c * np.log(np.maximum(c, 1)), information_bits(records))).astype(np.int64)


@njit(cache=True)
def _table_weights(flat: NDArray[np.int32], starts: NDArray[np.int64], units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Σ c·ln c of every table in ``flat``; ``units[c]`` is c·ln c."""
    result = np.zeros(starts.size - 1, dtype=np.int64)
    for table in range(result.size):
        total = np.int64(0)
        for cell in range(starts[table], starts[table + 1]):
            if flat[cell] > 0:
                total += units[flat[cell]]
        result[table] = total
    return result


@njit(cache=True)
def _set_weights(
    codes: Codes,
    sizes: NDArray[np.int64],
    modes: NDArray[np.int64],
    pivots: NDArray[np.int64],
    others: NDArray[np.int64],
    rest: NDArray[np.int32],
    rest_starts: NDArray[np.int64],
    rest_weights: NDArray[np.int64],
    steps: NDArray[np.int64],
    scratch: NDArray[np.int32],
    result: NDArray[np.int64],
) -> None:
    """Set ``result[e]`` to G of the set of ``pivots[e]`` and ``others[e]``; the sets are sorted by pivot.

    ``rest[rest_starts[e]:]`` is the table of ``others[e]``, ``rest_weights[e]`` its G, ``steps[c]`` is d(c);
    ``scratch`` is all zero and large enough for every set's table. A mode of −1 visits all records from nothing.
    """
    attributes, records = codes.shape
    unusual = np.empty((attributes, records), dtype=codes.dtype)
    gathered = np.full(attributes, -1, dtype=np.int64)
    rows = np.empty(records, dtype=np.uint32)
    inner = np.empty(records, dtype=np.uint32)
    count = 0
    for e in range(pivots.size):
        pivot = pivots[e]
        mode = modes[pivot]
        if e == 0 or pivot != pivots[e - 1]:
            count = 0
            for t in range(records):
                rows[count] = t
                count += codes[pivot, t] != mode
        for i in range(others.shape[1] + 1):
            a = pivot if i == others.shape[1] else others[e, i]
            if mode >= 0 and gathered[a] != pivot:
                gathered[a] = pivot
                for t in range(count):
                    unusual[a, t] = codes[a, rows[t]]
        inner[:count] = 0
        width = 1
        for i in range(others.shape[1]):
            a = others[e, i]
            size = np.uint32(sizes[a])
            width *= sizes[a]
            column = codes[a] if mode < 0 else unusual[a]
            for t in range(count):
                inner[t] = inner[t] * size + column[t]
        column = codes[pivot] if mode < 0 else unusual[pivot]
        stride = np.uint64(width)
        total = np.int64(0)
        if mode < 0:
            for t in range(count):
                cell = np.uint64(column[t]) * stride + inner[t]
                total += steps[np.uint64(scratch[cell])]
                scratch[cell] += 1
        else:
            table = rest[rest_starts[e] : rest_starts[e] + width]
            total = rest_weights[e]
            for t in range(count):
                r = np.uint64(inner[t])
                cell = np.uint64(column[t]) * stride + r
                left = table[r] - 1
                table[r] = left
                total += steps[np.uint64(scratch[cell])] - steps[np.uint64(left)]
                scratch[cell] += 1
            for t in range(count):
                table[np.uint64(inner[t])] += 1
        for t in range(count):
            scratch[np.uint64(column[t]) * stride + inner[t]] = 0
        result[e] = total


@dataclass(frozen=True, eq=False)
class ExactCounts:
    """The counts of a table, computed when asked for."""

    table: Table
    _single: NDArray[np.int64] = field(init=False)
    _units: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Count every attribute alone, and tabulate c·ln c in units."""
        single = np.zeros((len(self.sizes), max(self.sizes)), dtype=np.int64)
        for row, codes in zip(single, self.table.codes, strict=True):
            row[:] = np.bincount(codes, minlength=row.size)
        object.__setattr__(self, "_single", single)
        object.__setattr__(self, "_units", _information_units(self.table.records))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The domain size of every attribute."""
        return self.table.schema.sizes

    @property
    def total(self) -> float:
        """The number of records."""
        return float(self.table.records)

    def tables(self, sets: Sequence[tuple[int, ...]]) -> list[CountArray]:
        """Return the table of every set, axes in the order of the set."""
        counted = self.count(sets)
        return [counted[attributes] for attributes in sets]

    def count(self, sets: Sequence[tuple[int, ...]]) -> CountTables:
        """Return the tables of many sets, end to end; a set that comes twice is counted once."""
        return contingencies(self.table.codes, self.sizes, sets, cell_limit=MAX_TABLE_CELLS)

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
        many, length = sets.shape
        if length <= 1 or not many:
            flat, starts = self._flat(sets)
            return _table_weights(flat, starts, self._units)
        off_mode = self.table.records - self._single.max(axis=1)
        modes = np.where(3 * off_mode > 2 * self.table.records, -1, self._single.argmax(axis=1)).astype(np.int64)
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
            _set_weights(
                self.table.codes,
                np.array(self.sizes, dtype=np.int64),
                modes,
                pivots[batch],
                others[batch],
                flat,
                starts[which.ravel()],
                _table_weights(flat, starts, self._units)[which.ravel()],
                np.diff(self._units),
                scratch,
                part,
            )
            result[batch] = part
        return result

    def _batches(self, others: NDArray[np.int64], order: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Cut the order so that the tables of the rests of one batch fit into memory."""
        cells = self._cells(others)[order]
        edges = np.cumsum(cells) // _BATCH_CELLS
        yield from np.split(order, np.flatnonzero(np.diff(edges)) + 1)
