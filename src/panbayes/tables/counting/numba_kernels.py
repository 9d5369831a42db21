"""Counting with Numba: each table costs a scan of the rows that are unusual, not of all rows.

In real tables most attributes have one very frequent value, their *mode*. For a set S of attributes let the pivot
s ∈ S be the one whose mode is the most frequent. Rows in which s is off its mode are few; only those are scanned.
The slice of the table at the mode follows by subtraction from the table of the other attributes:

    T_S(mode, r) = T_R(r) − Σ_{x ≠ mode} T_S(x, r)        for every combination r of the values of R = S − {s},

which is exact, since both sides count the same records. The tables T_R are found in the same way first. Each has
at most half the cells of the table it serves (unless s has one value only), so all of them together need no more room
than what was asked for.
A pivot that is off its mode in most rows would gain nothing: then all rows are scanned and nothing is subtracted.

For sets with the same pivot the unusual rows are collected once, attribute by attribute, and the joint code of all
attributes but one is computed once for a run of sets that differ in that one.

The time taken depends on how frequent the modes are, hence on the records. Whoever answers questions about private
records across a network must not let that time show.

Numba checks no index: :mod:`panbayes.tables.counting.count_tables` sees to it that every code is below its domain's
size. The compiled loops are in :mod:`panbayes.tables.counting.scan_kernels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.counting import bit_kernels, record_kernels
from panbayes.tables.counting.scan_kernels import count_run, count_single

if TYPE_CHECKING:
    from panbayes.tables.codes import Codes

__all__ = ["add_hashes", "count_odd", "count_sets", "look_up", "regroup", "unpack"]


def count_sets(
    codes: Codes,
    sizes: NDArray[np.int64],
    sets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the contingency table of ``sets[e]`` into ``out`` from ``offsets[e]`` on, in C order, for every e.

    ``sets`` has one row per attribute set, all of one length (which may be 0). Same result as
    :func:`panbayes.tables.counting.numpy_kernels.count_sets`.
    """
    used = np.flatnonzero(np.bincount(sets.ravel(), minlength=len(sizes)))
    single = np.zeros((len(sizes), int(sizes.max(initial=0))), dtype=np.int32)
    codes = _to_read(codes)
    count_single(codes, sizes, used, single)
    _count_level(codes, sizes, single, sets, offsets, out)


def _count_level(
    codes: Codes,
    sizes: NDArray[np.int64],
    single: NDArray[np.int32],
    sets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Count sets of one length, after the tables without their pivots."""
    many, length = sets.shape
    records = codes.shape[1]
    if length == 0:
        out[offsets] = records
        return
    if length == 1:
        for a, start in zip(sets[:, 0].tolist(), offsets.tolist(), strict=True):
            out[start : start + sizes[a]] = single[a, : sizes[a]]
        return
    off_mode = records - single.max(axis=1).astype(np.int64)
    modes = np.where(2 * off_mode > records, -1, single.argmax(axis=1))
    every = np.arange(many)
    position = off_mode[sets].argmin(axis=1)
    pivots = sets[every, position]
    others = sets[np.arange(length) != position[:, None]].reshape(many, length - 1)
    sparse = modes[pivots] >= 0
    which, rest_offsets, rest = _rest_tables(codes, sizes, single, others[sparse])
    starts = np.zeros(many, dtype=np.int64)
    starts[sparse] = rest_offsets[which]
    # With the pivot in front the last axis varies, else the first: the joint code of the others is then one number
    # to which a multiple of one column is added, whichever table of a run it is.
    last = position == 0
    fixed = np.where(last[:, None], sets[:, :-1], sets[:, 1:])
    vary = np.where(last, sets[:, -1], sets[:, 0])
    after = np.where(np.arange(length) > position[:, None], sizes[sets], 1)
    order = np.lexsort((*fixed.T[::-1], last, pivots))
    count_run(
        codes,
        sizes,
        modes,
        pivots[order],
        after.prod(axis=1)[order],
        fixed[order],
        vary[order],
        last[order],
        rest,
        starts[order],
        offsets[order],
        out,
    )


def _rest_tables(
    codes: Codes, sizes: NDArray[np.int64], single: NDArray[np.int32], sets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Count each distinct set once; return which one each of ``sets`` is, where the tables start, and the tables."""
    order = np.lexsort(sets.T[::-1])
    first = np.ones(len(sets), dtype=np.bool_)
    first[1:] = np.any(sets[order[1:]] != sets[order[:-1]], axis=1)
    distinct = sets[order[first]]
    which = np.empty(len(sets), dtype=np.int64)
    which[order] = np.cumsum(first) - 1
    offsets = np.concatenate(([0], np.cumsum(sizes[distinct].prod(axis=1)))).astype(np.int64)
    out = np.empty(offsets[-1], dtype=np.int32)
    if len(distinct):
        _count_level(codes, sizes, single, distinct, offsets[:-1], out)
    return which, offsets, out


def count_odd(words: NDArray[np.uint64], sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the ones in the exclusive or of some rows of ``words``, for sets of one length."""
    return bit_kernels.count_odd(words, sets)


def look_up(places: NDArray[np.int32], codes: Codes, out: Codes, times: NDArray[np.int64]) -> None:
    """Set ``out[t]`` to ``codes[places[t]]``, and add to ``times`` how often each place occurs."""
    record_kernels.look_up(places, _to_read(codes), out, times)


def unpack(words: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    """Write the digits of every word into the rows of ``out``, each below its size."""
    record_kernels.unpack(words, rows, sizes, out)


def regroup(codes: Codes, places: NDArray[np.int64], maps: Codes, out: Codes) -> None:
    """Set ``out[g, t]`` to ``maps[g, codes[places[g], t]]``."""
    record_kernels.regroup(_to_read(codes), places, maps, out)


def add_hashes(codes: Codes, order: NDArray[np.int64], keys: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
    """Add the hash of every record to ``sums``."""
    record_kernels.add_hashes(_to_read(codes), order, keys, sums)


def _to_read(codes: Codes) -> Codes:
    """Return codes as an array that cannot be written to: loops are compiled once then, wherever codes come from."""
    found = codes.view()
    found.flags.writeable = False
    return found
