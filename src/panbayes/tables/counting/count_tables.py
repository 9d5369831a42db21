"""Contingency tables: how many records have each combination of values of some attributes.

A contingency table of the attributes (a₁, …, a_k) has the shape of their domain sizes; its cell (x₁, …, x_k) counts the
records with these codes. Functions here take plain arrays, so that they serve any table: ``codes`` of shape
(attributes, records), unsigned, each attribute's codes contiguous, and the public ``sizes`` of the domains. Codes are
held against their domains in every call, unless they come as :class:`~panbayes.tables.checked_codes.CheckedCodes`, as
a table has them (``table.checked``).

=========================== ===========================================================
:func:`contingency`         one table, for any attributes, none included
:func:`contingencies`       many tables at once, as :class:`CountTables`
:func:`all_pairs`           every pair of attributes
:func:`all_triples`         every three attributes
=========================== ===========================================================

Nothing is allocated, and no record is looked at, before the number of cells has been held against ``cell_limit``. It
depends on public facts only, so a refusal gives nothing away.

The work is done by Numba (:mod:`panbayes.tables.counting.numba_kernels`) or by NumPy
(:mod:`panbayes.tables.counting.numpy_kernels`), with identical results. Numba is taken where it can be imported, unless
``kernels`` or the environment variable ``PANBAYES_KERNELS`` says ``numpy``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.tables.checked_codes import CheckedCodes, check_codes
from panbayes.tables.counting.engines import Kernels, choose_kernels, engine
from panbayes.tables.counting.limits import shaped_sets, table_lengths

if TYPE_CHECKING:
    from panbayes.tables.codes import Codes

__all__ = [
    "DEFAULT_CELL_LIMIT",
    "CountTables",
    "all_pairs",
    "all_triples",
    "contingencies",
    "contingency",
]

DEFAULT_CELL_LIMIT: Final = 2**26
"""Cells counted in one call unless the caller allows more: 256 MB of counts."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountTables(Mapping[tuple[int, ...], NDArray[np.int32]]):
    """Contingency tables of several attribute sets, end to end in one array of 32-bit counts.

    ``tables[i, j]`` is a read-only view of shape (sizes[i], sizes[j]); ``tables[j, i]`` is its transpose, whichever of
    the two was counted. Iterating gives the attribute sets as they were counted.

    ``flat[offsets[e]:offsets[e + 1]]`` holds the table of ``sets[e]`` in C order. ``records`` is the number of records,
    the total of each table.
    """

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    records: int
    flat: NDArray[np.int32]
    offsets: NDArray[np.int64]
    _places: dict[tuple[int, ...], int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Make the counts read-only."""
        if self.offsets.shape != (len(self.sets) + 1,) or self.offsets[-1] != self.flat.size:
            raise ValueError("offsets must give the start of every table and the end of the last")
        self.flat.flags.writeable = False
        self.offsets.flags.writeable = False

    def place(self, attributes: Sequence[int]) -> int:
        """Return the e for which ``sets[e]`` has these attributes, in whatever order."""
        if not self._places:
            # At the first question: many callers only ever read ``flat``.
            self._places.update((tuple(sorted(counted)), e) for e, counted in enumerate(self.sets))
        return self._places[tuple(sorted(attributes))]

    def __getitem__(self, attributes: tuple[int, ...]) -> NDArray[np.int32]:
        """Return the table with its axes in the order of ``attributes``, as a read-only view."""
        e = self.place(attributes)
        counted = self.sets[e]
        table = self.flat[self.offsets[e] : self.offsets[e + 1]].reshape([self.sizes[a] for a in counted])
        return table.transpose([counted.index(a) for a in attributes])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Iterate over the attribute sets as they were counted."""
        return iter(self.sets)

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self.sets)


def contingency(
    codes: Codes | CheckedCodes,
    sizes: Sequence[int],
    attributes: Sequence[int],
    *,
    cell_limit: int = DEFAULT_CELL_LIMIT,
    kernels: Kernels | None = None,
) -> NDArray[np.int64]:
    """Count the records by the values of ``attributes``; without attributes, all of them.

    >>> codes = np.array([[0, 1, 1], [2, 0, 2]], dtype=np.uint8)
    >>> contingency(codes, (2, 3), (0, 1), kernels="numpy")
    array([[0, 0, 1],
           [1, 0, 1]])
    >>> contingency(codes, (2, 3), (), kernels="numpy")
    array(3)
    """
    tables = contingencies(codes, sizes, [attributes], cell_limit=cell_limit, kernels=kernels)
    return tables[tuple(attributes)].astype(np.int64)


def all_pairs(
    codes: Codes | CheckedCodes,
    sizes: Sequence[int],
    *,
    cell_limit: int = DEFAULT_CELL_LIMIT,
    kernels: Kernels | None = None,
) -> CountTables:
    """Count every pair (i, j), i < j, of attributes."""
    return _count(codes, sizes, _combinations(sizes, 2), cell_limit=cell_limit, kernels=kernels)


def all_triples(
    codes: Codes | CheckedCodes,
    sizes: Sequence[int],
    *,
    cell_limit: int = DEFAULT_CELL_LIMIT,
    kernels: Kernels | None = None,
) -> CountTables:
    """Count every triple (i, j, k), i < j < k, of attributes."""
    return _count(codes, sizes, _combinations(sizes, 3), cell_limit=cell_limit, kernels=kernels)


def contingencies(
    codes: Codes | CheckedCodes,
    sizes: Sequence[int],
    sets: Sequence[Sequence[int]],
    *,
    cell_limit: int = DEFAULT_CELL_LIMIT,
    kernels: Kernels | None = None,
) -> CountTables:
    """Count many attribute sets, of any lengths.

    Each set keeps the order of attributes it is given in; a set that comes again, in whatever order, is counted once.
    Sets that share attributes share work, so one call with many sets is far cheaper than many calls.
    """
    distinct: dict[tuple[int, ...], tuple[int, ...]] = {}
    for attributes in sets:
        distinct.setdefault(tuple(sorted(attributes)), tuple(attributes))
    return _count(codes, sizes, tuple(distinct.values()), cell_limit=cell_limit, kernels=kernels)


def _combinations(sizes: Sequence[int], length: int) -> tuple[tuple[int, ...], ...]:
    return tuple(itertools.combinations(range(len(sizes)), length))


def _count(
    codes: Codes | CheckedCodes,
    sizes: Sequence[int],
    sets: tuple[tuple[int, ...], ...],
    *,
    cell_limit: int,
    kernels: Kernels | None,
) -> CountTables:
    """Count distinct sets."""
    counter = engine(choose_kernels(kernels))
    domain = tuple(int(size) for size in sizes)
    shaped = shaped_sets(domain, sets)
    lengths = table_lengths(domain, sets, shaped, cell_limit)
    if isinstance(codes, CheckedCodes):
        trusted: Codes = codes.codes
        if codes.sizes != domain:
            raise InputError("sizes", found="found others than the codes were checked by", remedy="give the same")
    else:
        trusted = codes
        check_codes(
            codes, domain, np.flatnonzero(sum(np.bincount(a.ravel(), minlength=len(domain)) for _, a in shaped))
        )
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    out = np.empty(offsets[-1], dtype=np.int32)
    for chosen, array in shaped:
        counter.count_sets(trusted, np.array(domain, dtype=np.int64), array, offsets[chosen], out)
    return CountTables(domain, sets, int(trusted.shape[1]), out, offsets)
