"""The loops that Numba compiles: counting rows, and filling the slice at the mode from the table without the pivot.

Why that suffices is said in :mod:`panbayes.tables.counting.numba_kernels`, which alone calls these. Numba checks no
index: every code has been held against its domain before. Array positions are unsigned, since Numba spends time on the
wrap-around of negative positions otherwise. Cells are set one by one: to assign a slice is as fast, and takes Numba
several times as long to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from panbayes.tables.codes import Codes

__all__ = ["count_run", "count_single"]

SMALL: Final = 512
"""Up to this many cells a table is counted in four copies: neighbouring records often hit the same cell, and the
processor must wait for one increment of a cell to be stored before it can do the next."""

SHORT: Final = 16
"""Below this length, a loop over neighbouring cells is too short to be worth setting up."""


@njit(cache=True)
def _tally(
    out: NDArray[np.int32],
    copies: NDArray[np.int32],
    major: NDArray[np.unsignedinteger],
    minor: NDArray[np.unsignedinteger],
    width: int,
    rows: int,
) -> None:
    """Zero ``out``, then add 1 to ``out[major·width + minor]`` for each of the first ``rows`` rows."""
    cells = out.size
    for cell in range(cells):
        out[cell] = 0
    w = np.uint64(width)
    if cells > SMALL or rows < 4 * cells:
        for t in range(rows):
            out[major[t] * w + minor[t]] += 1
        return
    for cell in range(3 * cells):
        copies[cell] = 0
    second = copies[:cells]
    third = copies[cells : 2 * cells]
    fourth = copies[2 * cells : 3 * cells]
    for quarter in range(rows // 4):
        t0 = np.uint64(quarter) * np.uint64(4)
        t1 = t0 + np.uint64(1)
        t2 = t0 + np.uint64(2)
        t3 = t0 + np.uint64(3)
        out[major[t0] * w + minor[t0]] += 1
        second[major[t1] * w + minor[t1]] += 1
        third[major[t2] * w + minor[t2]] += 1
        fourth[major[t3] * w + minor[t3]] += 1
    for t in range(rows // 4 * 4, rows):
        out[major[t] * w + minor[t]] += 1
    for cell in range(cells):
        out[cell] += second[cell] + third[cell] + fourth[cell]


@njit(cache=True)
def _subtract(out: NDArray[np.int32], rest: NDArray[np.int32], size: int, inner: int, mode: int) -> None:
    """Fill the slice at ``mode`` of a table of shape (outer, size, inner) from ``rest`` of shape (outer, inner)."""
    outer = rest.size // inner
    if inner < SHORT:
        step = np.uint64(inner)
        for i in range(outer):
            for j in range(inner):
                left = rest[i * inner + j]
                first = np.uint64(i * size * inner + j)
                at = first
                for _ in range(size):
                    left -= out[at]
                    at += step
                out[first + np.uint64(mode) * step] = left
        return
    for i in range(outer):
        block = out[i * size * inner : (i + 1) * size * inner]
        slot = block[mode * inner : (mode + 1) * inner]
        for j in range(inner):
            slot[j] = rest[i * inner + j]
        for x in range(size):
            if x != mode:
                other = block[x * inner : (x + 1) * inner]
                for j in range(inner):
                    slot[j] -= other[j]


@njit(cache=True)
def _move(
    out: NDArray[np.int32],
    rest: NDArray[np.int32],
    pivot: NDArray[np.unsignedinteger],
    major: NDArray[np.unsignedinteger],
    minor: NDArray[np.unsignedinteger],
    width: int,
    size: int,
    inner: int,
    mode: int,
    rows: int,
) -> None:
    """Fill a table of shape (outer, size, inner) from ``rest`` and a few rows: :func:`_tally` then :func:`_subtract`.

    All records start at the mode; each row moves one to the cell where it belongs.
    """
    outer = rest.size // inner
    for place in range(out.size):
        out[place] = 0
    for i in range(outer):
        start = np.uint64((i * size + mode) * inner)
        for j in range(inner):
            out[start + np.uint64(j)] = rest[i * inner + j]
    w = np.uint64(width)
    step = np.uint64(inner)
    usual = np.uint64(mode * inner)
    for t in range(rows):
        cell = major[t] * w + minor[t]
        out[cell] += 1
        out[cell + usual - pivot[t] * step] -= 1


@njit(cache=True)
def count_single(codes: Codes, sizes: NDArray[np.int64], used: NDArray[np.int64], counts: NDArray[np.int32]) -> None:
    """Count each attribute of ``used`` alone, into the first cells of its row of ``counts``."""
    copies = np.empty(3 * SMALL, dtype=np.int32)
    for a in used:
        _tally(counts[a, : sizes[a]], copies, codes[a], codes[a], 0, codes.shape[1])


@njit(cache=True)
def count_run(
    codes: Codes,
    sizes: NDArray[np.int64],
    modes: NDArray[np.int64],
    pivots: NDArray[np.int64],
    inner: NDArray[np.int64],
    fixed: NDArray[np.int64],
    vary: NDArray[np.int64],
    last: NDArray[np.bool_],
    rest: NDArray[np.int32],
    rest_offsets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Count sets that are sorted so that equal pivots, then equal ``fixed`` attributes, are neighbours.

    For each set e: ``pivots[e]`` its pivot, ``inner[e]`` the cells of the axes after the pivot, ``vary[e]`` the one
    attribute outside the joint code (its last axis if ``last[e]``, else its first), ``fixed[e]`` the others in
    order, ``rest_offsets[e]`` where the table without the pivot starts in ``rest``. A mode of −1 marks an attribute
    that is off its mode too often: all rows are scanned.
    """
    attributes, records = codes.shape
    rows = np.empty(records, dtype=np.uint32)
    joint = np.empty(records, dtype=np.uint32)
    copies = np.empty(3 * SMALL, dtype=np.int32)
    unusual = np.empty((attributes, records // 2 + 1), dtype=codes.dtype)
    owner = np.full(attributes, -1, dtype=np.int64)
    count = 0
    for e in range(vary.size):
        pivot = pivots[e]
        mode = modes[pivot]
        if e == 0 or pivot != pivots[e - 1]:
            count = records
            if mode >= 0:
                column = codes[pivot]
                count = 0
                for t in range(records):
                    rows[count] = np.uint32(t)
                    count += column[t] != mode
        cells = 1
        fresh = e == 0 or pivot != pivots[e - 1]
        for i in range(fixed.shape[1] + 1):
            a = vary[e] if i == fixed.shape[1] else fixed[e, i]
            cells *= sizes[a]
            fresh = fresh or (i < fixed.shape[1] and a != fixed[e - 1, i])
            if mode >= 0 and owner[a] != pivot:
                owner[a] = pivot
                source = codes[a]
                target = unusual[a]
                for t in range(count):
                    target[t] = source[rows[t]]
        if fresh:
            for t in range(count):
                joint[t] = 0
            for i in range(fixed.shape[1]):
                a = fixed[e, i]
                size = np.uint32(sizes[a])
                column = codes[a] if mode < 0 else unusual[a]
                for t in range(count):
                    joint[t] = joint[t] * size + column[t]
        column = codes[vary[e]] if mode < 0 else unusual[vary[e]]
        table = out[offsets[e] : offsets[e] + cells]
        width = sizes[vary[e]] if last[e] else cells // sizes[vary[e]]
        others = rest[rest_offsets[e] : rest_offsets[e] + cells // sizes[pivot]]
        if mode >= 0 and count < cells:
            own = unusual[pivot]
            if last[e]:
                _move(table, others, own, joint, column, width, sizes[pivot], inner[e], mode, count)
            else:
                _move(table, others, own, column, joint, width, sizes[pivot], inner[e], mode, count)
            continue
        if last[e]:
            _tally(table, copies, joint, column, width, count)
        else:
            _tally(table, copies, column, joint, width, count)
        if mode >= 0:
            _subtract(table, others, sizes[pivot], inner[e], mode)
