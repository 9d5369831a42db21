"""Contingency tables: how many records have each combination of values of some attributes.

A contingency table of the attributes (a₁, …, a_k) has the shape of their domain sizes; its cell (x₁, …, x_k) counts the
records with these codes. Functions here take plain arrays, so that they serve any table: ``codes`` of shape
(attributes, records), unsigned, each attribute's codes contiguous, and the public ``sizes`` of the domains.

=========================== ===========================================================
:func:`contingency`         one table, for any attributes, none included
:func:`contingencies`       many tables at once, as :class:`CountTables`
:func:`all_pairs`           every pair of attributes
:func:`all_triples`         every three attributes
:func:`cells`               how many cells that would be, from the public sizes alone
=========================== ===========================================================

Nothing is allocated, and no record is looked at, before the number of cells has been held against ``cell_limit``. It
depends on public facts only, so a refusal gives nothing away.

The work is done by Numba (:mod:`panbayes.tables.counting.numba_kernels`) or by NumPy
(:mod:`panbayes.tables.counting.numpy_kernels`), with identical results. Numba is taken where it can be imported, unless
``kernels`` or the environment variable ``PANBAYES_KERNELS`` says ``numpy``.
"""

from __future__ import annotations

import importlib
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.tables.counting import numpy_kernels

if TYPE_CHECKING:
    from panbayes.tables.table import Codes

__all__ = [
    "DEFAULT_CELL_LIMIT",
    "ENVIRONMENT",
    "CountTables",
    "Kernels",
    "all_pairs",
    "all_triples",
    "cells",
    "choose_kernels",
    "contingencies",
    "contingency",
]

DEFAULT_CELL_LIMIT: Final = 2**26
"""Cells counted in one call unless the caller allows more: 256 MB of counts."""

MAX_TABLE: Final = 2**31 - 1
"""Cells of one table, whatever the limit: joint codes are 32-bit integers."""

ENVIRONMENT: Final = "PANBAYES_KERNELS"

Kernels: TypeAlias = Literal["numba", "numpy"]


class _Counter(Protocol):
    """What the two modules of kernels have in common."""

    def count_sets(
        self,
        codes: Codes,
        sizes: NDArray[np.int64],
        sets: NDArray[np.int64],
        offsets: NDArray[np.int64],
        out: NDArray[np.int32],
    ) -> None:
        """Write the tables of sets of one length into ``out``."""


@dataclass(frozen=True, slots=True, eq=False)
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
    flat: NDArray[np.int32] = field(repr=False)
    offsets: NDArray[np.int64] = field(repr=False)
    _places: dict[tuple[int, ...], int] = field(init=False, repr=False, default_factory=dict)

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


def cells(sizes: Sequence[int], sets: Sequence[Sequence[int]]) -> int:
    """Return the number of cells of all these tables together.

    >>> cells((2, 3, 10), [(0, 1), (0, 2), ()])
    27
    """
    return sum(math.prod(sizes[a] for a in attributes) for attributes in sets)


def contingency(
    codes: Codes,
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
    codes: Codes, sizes: Sequence[int], *, cell_limit: int = DEFAULT_CELL_LIMIT, kernels: Kernels | None = None
) -> CountTables:
    """Count every pair (i, j), i < j, of attributes."""
    return _count(codes, sizes, _combinations(sizes, 2), cell_limit=cell_limit, kernels=kernels)


def all_triples(
    codes: Codes, sizes: Sequence[int], *, cell_limit: int = DEFAULT_CELL_LIMIT, kernels: Kernels | None = None
) -> CountTables:
    """Count every triple (i, j, k), i < j < k, of attributes."""
    return _count(codes, sizes, _combinations(sizes, 3), cell_limit=cell_limit, kernels=kernels)


def contingencies(
    codes: Codes,
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
    codes: Codes,
    sizes: Sequence[int],
    sets: tuple[tuple[int, ...], ...],
    *,
    cell_limit: int,
    kernels: Kernels | None,
) -> CountTables:
    """Count distinct sets."""
    counter = _counter(choose_kernels(kernels))
    domain = tuple(int(size) for size in sizes)
    shaped = _check_sets(domain, sets)
    lengths = _check_cells(domain, sets, shaped, cell_limit)
    _check_codes(codes, domain, shaped)
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    out = np.empty(offsets[-1], dtype=np.int32)
    for chosen, array in shaped:
        counter.count_sets(codes, np.array(domain, dtype=np.int64), array, offsets[chosen], out)
    return CountTables(domain, sets, int(codes.shape[1]), out, offsets)


def _counter(kernels: Kernels) -> _Counter:
    """Return the module that counts; Numba is imported only where it is used."""
    if kernels == "numpy":
        return numpy_kernels
    from panbayes.tables.counting import numba_kernels

    return numba_kernels


def choose_kernels(kernels: Kernels | None = None) -> Kernels:
    """Return which kernels to use: the argument, else the environment's choice, else Numba where it is installed."""
    argument = "kernels" if kernels is not None else ENVIRONMENT
    choice = kernels if kernels is not None else os.environ.get(ENVIRONMENT, "")
    if choice not in ("", "numba", "numpy"):
        raise InputError(argument, found=f"found {choice!r}", remedy="use numba or numpy")
    if choice == "numpy":
        return "numpy"
    try:
        importlib.import_module("numba")
    except ImportError:
        if choice == "numba":
            raise InputError(
                argument, found="found 'numba', which cannot be imported", remedy="install it, or use numpy"
            ) from None
        return "numpy"
    return "numba"


_Shaped: TypeAlias = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Sets of one length: their places in the list, and an array with one set per row."""


def _check_sets(sizes: tuple[int, ...], sets: Sequence[tuple[int, ...]]) -> _Shaped:
    """Check attributes and domains; return the sets as arrays, one for each length."""
    if any(size < 1 for size in sizes):
        raise InputError("sizes", found="found a domain without values", remedy="every attribute needs one or more")
    lengths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    shaped: _Shaped = []
    for length in sorted(set(lengths.tolist())):
        places = np.flatnonzero(lengths == length)
        chosen = sets if len(places) == len(sets) else [sets[e] for e in places.tolist()]
        numbers = itertools.chain.from_iterable(chosen)
        array = np.fromiter(numbers, dtype=np.int64, count=length * len(places)).reshape(len(places), length)
        if array.size and not 0 <= array.min() <= array.max() < len(sizes):
            raise InputError(
                "attributes", found="found a number that is no attribute's", remedy=f"use 0 to {len(sizes) - 1}"
            )
        ordered = np.sort(array, axis=1)
        if np.any(ordered[:, 1:] == ordered[:, :-1]):
            raise InputError("attributes", found="found one twice in a set", remedy="give each attribute once")
        shaped.append((places, array))
    return shaped


def _check_cells(
    sizes: tuple[int, ...], sets: Sequence[tuple[int, ...]], shaped: _Shaped, cell_limit: int
) -> NDArray[np.int64]:
    """Return the cells of each table, or refuse: before anything is allocated, and from public sizes only."""
    lengths = np.empty(len(sets), dtype=np.int64)
    domain = np.array(sizes, dtype=np.int64)
    for places, array in shaped:
        largest = math.prod(sorted(sizes)[len(sizes) - array.shape[1] :])
        if largest < 2**40:
            lengths[places] = domain[array].prod(axis=1)
        else:
            exact = (math.prod(sizes[a] for a in sets[e]) for e in places.tolist())
            lengths[places] = [min(count, 2**40) for count in exact]
    total = sum(lengths.tolist())
    if total > cell_limit or lengths.max(initial=0) > MAX_TABLE:
        each = max(math.prod(sizes[a] for a in attributes) for attributes in sets)
        raise InputError(
            "cell_limit",
            found=f"{len(sets)} table(s) would have {cells(sizes, sets):,} cells, the largest {each:,}; at most "
            f"{cell_limit:,} are allowed in one call, {MAX_TABLE:,} in one table",
            remedy="ask for fewer or smaller tables, coarsen the schema's domains, or raise the limit",
        )
    return lengths


def _check_codes(codes: Codes, sizes: tuple[int, ...], shaped: _Shaped) -> None:
    """Check what the kernels trust: type, layout, and every code they will use as a position."""
    if codes.ndim != 2 or codes.shape[0] != len(sizes) or codes.dtype not in (np.uint8, np.uint16):
        raise InputError(
            "codes",
            found=f"found {codes.dtype} of shape {codes.shape}",
            remedy=f"give uint8 or uint16 of shape ({len(sizes)}, records)",
        )
    if not codes.flags.c_contiguous:
        raise InputError(
            "codes", found="the codes of an attribute are not contiguous", remedy="use numpy.ascontiguousarray"
        )
    if codes.shape[1] > MAX_RECORDS:
        raise InputError("codes", found=f"found {codes.shape[1]:,} records", remedy=f"at most {MAX_RECORDS:,} fit")
    used = sum((np.bincount(array.ravel(), minlength=len(sizes)) for _, array in shaped), np.zeros(len(sizes)))
    if codes.shape[1] and any(int(codes[a].max()) >= sizes[a] for a in np.flatnonzero(used)):
        raise InputError(
            "codes", found="found a code outside its domain", remedy="encode the records with their schema"
        )
