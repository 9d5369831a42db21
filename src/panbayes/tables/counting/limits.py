"""What may be counted: sets of known attributes, and no more cells than allowed. Public facts alone decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError

__all__ = ["MAX_TABLE", "Shaped", "cells", "shaped_sets", "table_lengths"]

MAX_TABLE: Final = 2**31 - 1
"""Cells of one table, whatever the limit: joint codes are 32-bit integers."""

Shaped: TypeAlias = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Sets of one length: their places in the list, and an array with one set per row."""


def cells(sizes: Sequence[int], sets: Sequence[Sequence[int]]) -> int:
    """Return the number of cells of all these tables together.

    >>> cells((2, 3, 10), [(0, 1), (0, 2), ()])
    27
    """
    return sum(math.prod(sizes[a] for a in attributes) for attributes in sets)


def shaped_sets(sizes: tuple[int, ...], sets: Sequence[tuple[int, ...]]) -> Shaped:
    """Check attributes and domains; return the sets as arrays, one for each length."""
    if any(size < 1 for size in sizes):
        raise InputError("sizes", found="found a domain without values", remedy="every attribute needs one or more")
    lengths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    shaped: Shaped = []
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


def table_lengths(
    sizes: tuple[int, ...], sets: Sequence[tuple[int, ...]], shaped: Shaped, cell_limit: int
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
