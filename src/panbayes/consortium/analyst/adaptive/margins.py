"""What a table says beyond its margins, where these are known better from elsewhere.

A noisy table has noise in its margins too, and single attributes are known from their own tables. So of a noisy table
only the part without margins counts (a centred table *is* that part): P·y, P as in :mod:`panbayes.privacy.adjacency`.
To it the table t is added that the law expects, brought to the margins that are believed: t + P·(y − t) has exactly
those.

Its noise is smaller than that of y. A cell of P·y is the sum of all cells of y, a cell that agrees with it in the
attributes S weighing

    w_S = (d − 1 − Σ_{i in S} kᵢ)/K + [S = all],     d attributes of kᵢ groups, K cells,

so its law follows from that of y exactly, and the part 1 − (1 + Σ (kᵢ − 1))/K of the variance is left: a quarter
for two by two. That the believed margins have noise of their own does not count: what is estimated is how attributes
depend on each other, given those.

Likewise the table of a single attribute adds up to the number of records (:func:`adding_up`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.consortium.analyst.adaptive.measurement import Measurement
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

__all__ = [
    "added_up",
    "adding_up",
    "brought_to",
    "law_of_sums",
    "law_without_margins",
    "part_without_margins",
    "raked",
    "without_margins",
]

_RAKING: Final = 10


def raked(counts: FloatArray, margins: Sequence[FloatArray]) -> FloatArray:
    """Scale counts to a joint law until it has these margins, one for each axis."""
    joint: FloatArray = counts.ravel() / counts.sum()
    _rake(joint, np.array(counts.shape), np.concatenate(margins), _RAKING)
    return joint.reshape(counts.shape)


@njit(cache=True)
def _rake(joint: FloatArray, shape: NDArray[np.int64], margins: FloatArray, times: int) -> None:
    """Scale a joint law, cell by cell, to its ``margins``, which lie end to end, so many times."""
    sums = np.empty(margins.size)
    for _ in range(times):
        inner = joint.size
        first = 0
        for size in shape:
            block = inner
            inner //= size
            for group in range(size):
                sums[group] = 0.0
            for start in range(0, joint.size, block):
                for group in range(size):
                    for cell in range(start + group * inner, start + (group + 1) * inner):
                        sums[group] += joint[cell]
            for group in range(size):
                sums[group] = margins[first + group] / max(sums[group], 1e-300)
            for start in range(0, joint.size, block):
                for group in range(size):
                    for cell in range(start + group * inner, start + (group + 1) * inner):
                        joint[cell] *= sums[group]
            first += size
    whole = 0.0
    for cell in range(joint.size):
        whole += joint[cell]
    for cell in range(joint.size):
        joint[cell] /= whole


def without_margins(table: FloatArray) -> FloatArray:
    """Return P·y of a table y of two axes or more: all its margins are 0."""
    found = table + (table.ndim - 1) * table.mean()
    for axis in range(table.ndim):
        found = found - table.mean(axis=tuple(other for other in range(table.ndim) if other != axis), keepdims=True)
    return np.asarray(found)


def part_without_margins(shape: Sequence[int]) -> float:
    """Return what is left of the square of one record's table without its margins, and of the variance of noise.

    >>> part_without_margins((2, 2)), part_without_margins((4, 8))
    (0.25, 0.65625)
    """
    cells = math.prod(shape)
    return 1 - (1 + sum(size - 1 for size in shape)) / cells


def law_without_margins(law: NoiseLaw, shape: Sequence[int]) -> NoiseLaw:
    """Return the law of the noise of a cell without margins, where that of a cell of the table is ``law``.

    Where an attribute has one group margins are all there is; then it stays as it is. Balanced noise, which is the same
    in all directions but that of the sum, keeps its form: k cells share the noise of k − 1.
    """
    cells = math.prod(shape)
    if law.balanced:
        part = part_without_margins(shape)
        return law.scaled(math.sqrt(part * cells / (cells - 1))) if part else law
    parts = []
    for agree in product((False, True), repeat=len(shape)):
        many = math.prod(1 if same else size - 1 for same, size in zip(agree, shape, strict=True))
        weight = (len(shape) - 1 - sum(size for same, size in zip(agree, shape, strict=True) if same)) / cells
        weight += all(agree)
        if many and weight:
            parts += [(scale * abs(weight), times * many) for scale, times in law.parts]
    return NoiseLaw(law.gaussian, tuple(parts)) if parts else law


def law_of_sums(law: NoiseLaw, cells: int, left: int) -> NoiseLaw:
    """Return the law of the noise of a sum of cells, if all ``cells`` of a table are added up to so many ``left``.

    k balanced cells share the noise of k − 1, so that of one of l sums is less by (1 − 1/l)/(1 − 1/k).
    """
    found = law.summed(cells / left)
    return found.scaled(math.sqrt((1 - 1 / left) / (1 - 1 / cells))) if law.balanced and left > 1 else found


def brought_to(table: FloatArray, expected: FloatArray) -> FloatArray:
    """Return a noisy ``table`` with the margins of the ``expected`` one; see the module."""
    return np.asarray(expected + without_margins(table - expected))


def adding_up(table: Measurement, records: Mapping[str, float], *, variance: float = 0.0) -> Measurement:
    """Return the table of an attribute with what it lacks of each holder's ``records`` shared among its values.

    ``variance`` is that of the numbers of records. Noise of variance v in k cells becomes v·(1 − 1/k), and that of the
    number, 1/k² of it: a rare value is known as well by all records less those with the others. One of a single value
    stays as it is, and so does one whose noise is balanced.
    """
    cells = table.pooled.size
    if cells == 1 or table.law.balanced:
        return table
    tables = {name: counts + (records[name] - float(counts.sum())) / cells for name, counts in table.tables.items()}
    left = 1 - 1 / cells + variance / (cells * table.law.deviation) ** 2
    return Measurement(table.axes, tables, table.law.scaled(math.sqrt(left)))


def added_up(
    singles: Sequence[Measurement], records: Mapping[str, float], *, variance: float = 0.0
) -> list[Measurement]:
    """Bring single attributes to the number of records, where their noise has no long tails.

    With them, much noise in one value would be shared with all the others.
    """
    if not all(table.law.gaussian for table in singles):
        return list(singles)
    return [adding_up(table, records, variance=variance) for table in singles]
