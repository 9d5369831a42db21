"""F of many contingency tables at once, in Numba.

Every table is read as shape (outer, size, inner), where the middle axis is the child's and the others are the parents'.
Integers only, so that the order of work does not matter; :mod:`panbayes.bayesnet.learning.scores.f_score` says what
they mean, and turns them into scores.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["f_shortfalls"]

ONE: Final = 2**20
"""The weight 1, as an integer."""


@njit(cache=True)
def _bound(zeros: NDArray[np.int64], ones: NDArray[np.int64], a: int, b: int, records: int) -> int:
    """Return (a + b)·n − 2·Σ max(a·zeros, b·ones): no assignment has a smaller a·(n − 2·k₀) + b·(n − 2·k₁)."""
    best = 0
    for t in range(zeros.size):
        best += max(a * zeros[t], b * ones[t])
    return (a + b) * records - 2 * best


@njit(cache=True)
def _weights(zeros: NDArray[np.int64], ones: NDArray[np.int64], records: int) -> tuple[int, int]:
    """Return weights 0 ≤ a, b ≤ ONE, one of them ONE, for which :func:`_bound` is about as large as it gets.

    With a = ONE the bound is concave in b, and rises as long as the values that prefer 1 hold fewer than n/2 records;
    so b is found by bisection. Likewise with the two sides exchanged.
    """
    found = np.empty(2, dtype=np.int64)
    for side in range(2):
        heavy, light = (zeros, ones) if side == 0 else (ones, zeros)
        low = 0
        high = ONE
        while low < high:
            middle = (low + high + 1) // 2
            held = 0
            for t in range(heavy.size):
                if middle * light[t] > ONE * heavy[t]:
                    held += light[t]
            if 2 * held <= records:
                low = middle
            else:
                high = middle - 1
        found[side] = low
    if _bound(zeros, ones, ONE, found[0], records) >= _bound(zeros, ones, found[1], ONE, records):
        return ONE, found[0]
    return found[1], ONE


@njit(cache=True)
def _shortfall(k0: int, k1: int, records: int) -> int:
    return max(records - 2 * k0, 0) + max(records - 2 * k1, 0)


@njit(cache=True)
def _least_shortfall(zeros: NDArray[np.int64], ones: NDArray[np.int64], records: int) -> int:
    """Return the least (n − 2·k₀)₊ + (n − 2·k₁)₊ over the assignments of each parents' value to 0 or to 1.

    ``zeros`` and ``ones`` count the records of each value by the child. Let each value prefer the side on which its
    weighted count, a·zeros or b·ones, is larger, for weights a, b ≤ ONE. Since x₊ ≥ w·x for 0 ≤ w ≤ 1, an assignment
    has ONE·shortfall ≥ bound + 2·Σ |a·zeros − b·ones|, summed over the values that do not get what they prefer. Where a
    sum of such terms makes the right side as large as ONE times the least shortfall known, nothing better can follow.

    So: start from the pair (k₀, k₁) where all get what they prefer. Go through the values; each pair reached so far
    may be left as it is, or the value may change sides, unless the terms spent rule that out. Of the pairs, those are
    dropped that another equals or exceeds in both: the same changes are open to both. What is left has distinct k₀, so
    there are never more than n + 1 pairs, and in practice very few.
    """
    a, b = _weights(zeros, ones, records)
    bound = _bound(zeros, ones, a, b, records)
    base0 = 0
    base1 = 0
    for t in range(zeros.size):
        if a * zeros[t] >= b * ones[t]:
            base0 += zeros[t]
        else:
            base1 += ones[t]
    best = _shortfall(base0, base1, records)
    first = np.full(1, base0, dtype=np.int64)
    second = np.full(1, base1, dtype=np.int64)
    spent = np.zeros(1, dtype=np.int64)
    kept = 1
    for t in range(zeros.size):
        loss = 2 * abs(a * zeros[t] - b * ones[t])
        if bound + loss >= ONE * best:
            continue
        to_one = a * zeros[t] >= b * ones[t]
        gain0 = -zeros[t] if to_one else zeros[t]
        gain1 = ones[t] if to_one else -ones[t]
        next_first = np.empty(2 * kept, dtype=np.int64)
        next_second = np.empty(2 * kept, dtype=np.int64)
        next_spent = np.empty(2 * kept, dtype=np.int64)
        size = 0
        i = 0
        j = 0
        # Merge the pairs as they are and the pairs with this value on the other side, by falling k₀.
        while i < kept or j < kept:
            if j >= kept or (i < kept and first[i] >= first[j] + gain0):
                k0, k1, cost = first[i], second[i], spent[i]
                i += 1
            else:
                k0, k1, cost = first[j] + gain0, second[j] + gain1, spent[j] + loss
                j += 1
            best = min(best, _shortfall(k0, k1, records))
            if bound + cost >= ONE * best or (size and k1 <= next_second[size - 1]):
                continue
            if size and k0 == next_first[size - 1]:
                size -= 1
            next_first[size] = k0
            next_second[size] = k1
            next_spent[size] = cost
            size += 1
        first = next_first
        second = next_second
        spent = next_spent
        kept = size
    return best


@njit(cache=True)
def f_shortfalls(
    flat: NDArray[np.int32],
    starts: NDArray[np.int64],
    outer: NDArray[np.int64],
    inner: NDArray[np.int64],
    records: int,
    out: NDArray[np.int64],
) -> None:
    """Write :func:`_least_shortfall` of every table."""
    zeros = np.empty((outer * inner).max(), dtype=np.int64)
    ones = np.empty((outer * inner).max(), dtype=np.int64)
    for e in range(starts.size):
        table = flat[starts[e] : starts[e] + 2 * outer[e] * inner[e]]
        size = 0
        for i in range(outer[e]):
            for j in range(inner[e]):
                zeros[size] = table[2 * i * inner[e] + j]
                ones[size] = table[(2 * i + 1) * inner[e] + j]
                size += zeros[size] + ones[size] > 0
        out[e] = _least_shortfall(zeros[:size], ones[:size], records)
