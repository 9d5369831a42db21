"""Balanced draws: every record follows the law exactly, and all of them together are closer to it than chance would be.

Records that are drawn independently have counts that deviate from what is expected by the root of it. Whoever draws a
synthetic table does not want that error on top of the model's. So the records of a block are drawn together, by
systematic sampling: put the records into an order, let pᵢ be the probability that record i has a value, u a uniform
number in [0, 1), and give the value to record i if a whole number lies in (u + p₁ + … + pᵢ₋₁, u + p₁ + … + pᵢ]. Then

* record i has the value with probability pᵢ exactly, whatever the order and whatever was drawn before: the law of a
  record is the model's;
* of the records in any run of the order, as many have it as is expected, up to less than one record.

Several values are drawn by halves: the lower or the upper half of them first, then within it, each half with a u of its
own. Records are ordered by the values of the parents, so the tables of the network are met nearly exactly; among equal
ones by a few other attributes, chosen at random, and then at random: so pairs that no table holds gain a little too.

What is lost is that records are independent of each other. A simulation that needs it asks for independent draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.sampling import CodeType, cumulative_rows
from panbayes.bayesnet.structure import Structure
from panbayes.tables.codes import Codes

__all__ = ["draw_balanced", "draw_rows_balanced"]

BLOCK: Final = 1 << 16
"""So many records are drawn together."""

TIES: Final = 2
"""So many other attributes order the records whose parents are equal."""


def draw_balanced(
    structure: Structure, tables: Sequence[FloatArray], n: int, rng: np.random.Generator, dtype: CodeType
) -> Codes:
    """Draw ``n`` records, attribute by attribute in topological order; returns codes of shape (attributes, n)."""
    codes: Codes = np.empty((len(tables), n), dtype=dtype)
    rows = [cumulative_rows(table).reshape(-1, table.shape[-1]) for table in tables]
    for start in range(0, n, BLOCK):
        part = codes[:, start : start + BLOCK]
        before: list[int] = []
        for child in structure.order:
            parents = structure.parents(child)
            index = np.zeros(part.shape[1], dtype=np.int64)
            for parent in parents:
                index *= tables[parent].shape[-1]
                index += part[parent]
            others = [attribute for attribute in before if attribute not in parents]
            chosen = rng.permutation(len(others))[:TIES].tolist()
            ties = [part[others[place]].astype(np.int64) for place in chosen]
            part[child] = draw_rows_balanced(rows[child], index, rng, ties)
            before.append(child)
    return codes


def draw_rows_balanced(
    cumulative: FloatArray, rows: NDArray[np.int64], rng: np.random.Generator, ties: Sequence[NDArray[np.int64]] = ()
) -> NDArray[np.int64]:
    """Draw an entry of the row ``rows[i]`` for every i; equal rows are ordered by ``ties``, the last one first."""
    order = rng.permutation(rows.size)
    for key in (*ties, rows):
        order = _ordered(order, key, int(key.max(initial=0)) + 1)
    depth = (cumulative.shape[1] - 1).bit_length()
    drawn = np.empty(rows.size, dtype=np.int64)
    _draw(cumulative, rows, order, depth, rng.random(1 << depth), drawn)
    return drawn


@njit(cache=True)
def _ordered(order: NDArray[np.int64], key: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return ``order`` sorted by the keys of its places, which are below ``width``; equal ones stay as they are."""
    place = np.zeros(width + 1, dtype=np.int64)
    for i in range(key.size):
        place[key[i] + 1] += 1
    for k in range(width):
        place[k + 1] += place[k]
    found = np.empty(order.size, dtype=np.int64)
    for i in range(order.size):
        k = key[order[i]]
        found[place[k]] = order[i]
        place[k] += 1
    return found


@njit(cache=True)
def _draw(
    cumulative: NDArray[np.float64],
    rows: NDArray[np.int64],
    order: NDArray[np.int64],
    depth: int,
    sums: NDArray[np.float64],
    drawn: NDArray[np.int64],
) -> None:
    """Halve the entries that each record may still have, level by level; ``sums`` are those of every half, modulo 1.

    A half whose entries have no weight in a record's row is never taken: its probability is 0 or 1 without rounding.
    """
    low = np.zeros(rows.size, dtype=np.int64)
    high = np.full(rows.size, cumulative.shape[1], dtype=np.int64)
    half = np.ones(rows.size, dtype=np.int64)
    for _ in range(depth):
        for place in range(order.size):
            i = order[place]
            if high[i] - low[i] < 2:
                continue
            row = rows[i]
            middle = (low[i] + high[i]) >> 1
            before = cumulative[row, low[i] - 1] if low[i] > 0 else 0.0
            whole = cumulative[row, high[i] - 1] - before
            moved = sums[half[i]]
            if whole > 0.0:
                moved += (cumulative[row, middle - 1] - before) / whole
            if moved >= 1.0:
                sums[half[i]] = moved - 1.0
                high[i] = middle
                half[i] = 2 * half[i]
            else:
                sums[half[i]] = moved
                low[i] = middle
                half[i] = 2 * half[i] + 1
    for i in range(rows.size):
        drawn[i] = low[i]
