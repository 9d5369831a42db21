"""What holders are offered in a round: pairs, each at several granularities, and what chance and noise make of them.

A pair is offered at groups so fine that an average cell holds :data:`GRAINS` standard deviations of the noise it would
be measured with: strong dependencies want fine tables, weak ones coarse (fewer granularities where there are so many
attributes that a question could not carry all). What the law so far expects of it is exact. Interactions of three or
four attributes are offered too (:mod:`panbayes.consortium.analyst.adaptive.interactions`).

A holder's score is doubled, ‖c − e‖₁, so prices are in half records. From it goes what records drawn from the law
itself would show. The law has the records' own margins p and q, up to their noise of variance v, so the deviation of a
cell is

    s = √(e·(1 − p)·(1 − q) + v_p·q² + v_q·p²):      0.8·s is its mean absolute value, 0.6·s the deviation of that;

rare values hardly deviate, which √e would hide. The sum over all cells may be √(2·ln K) of its own deviations above its
mean, the most that K pairs show by chance, where (rows − 1)·(columns − 1) of the cells are free; there v counts for
nothing, since all pairs of an attribute share the noise of its margin.

And from the score goes :data:`PRICE` of the noise of measuring the table, which depends on how many are taken. A cell
of which far fewer records are expected than the noise σ deviates by does not cost σ: its estimate stays where it was
expected to be (:mod:`panbayes.consortium.analyst.adaptive.estimation`), at an error of about e. So Σ min(1, e/σ) cells
are charged for. That lets attributes of many values that determine each other be measured finely: most cells of such a
table are empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes
from panbayes.consortium.agreement.strategies.adaptive import OFFERED_CELLS, TABLE_CELLS, granularities
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["GRAINS", "Offer", "most_of", "pairs", "price"]

GRAINS: Final = (6.0, 2.0, 0.7)
PRICE: Final = 0.25
PRICE_AT_TOP: Final = 0.15
"""Added to the price as the level goes to one."""

MEAN_ABSOLUTE: Final = 0.8
SPREAD: Final = 0.6
"""Mean and deviation of |z| of a normal variable in standard deviations, to the precision that matters here."""


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A table or an interaction; ``expected`` of one record (probabilities, or a mean parity), of its ``deviation``.

    ``cells`` is how many it has, or how many an interaction is charged for. The deviation is that of an interaction in
    one record, 0 for a pair; ``splits`` are the two groups of each of its axes, value by value. A pair is one ``among``
    so many, and ``margins`` are the variances of the counts of its rows and columns, for each record.
    """

    axes: Axes
    expected: FloatArray
    cells: int
    deviation: float = 0.0
    splits: tuple[tuple[int, ...], ...] = ()
    margins: tuple[FloatArray, FloatArray] | None = None
    among: int = 2

    def costly(self, expected: FloatArray, deviation: float) -> float:
        """Return how many cells are charged for where so many records are ``expected``, at noise of a ``deviation``."""
        if self.deviation:
            return float(self.cells)
        return float(np.minimum(1.0, expected / max(deviation, 1e-9)).sum())

    @staticmethod
    def furthest(expected: FloatArray) -> float:
        """Return how far a pair can be from what is ``expected``, in half records, if it has the same margins.

        A row with r records that is expected to have at least m in every column is above what is expected by at most
        r − m in all, and below it by as much. Leave out one row: what it is above, the others are below. So ‖c − e‖₁,
        which is twice what all rows are above, is at most four times the sum of r − m over the others; and likewise for
        columns.
        """
        found = []
        for table in (expected, expected.T):
            beyond = table.sum(axis=1) - table.min(axis=1)
            found.append(4 * float(beyond.sum() - beyond.max()))
        return min(found)

    def penalty(self, records: float, expected: FloatArray) -> int:
        """Return what chance alone would show a holder with so many ``records``, in half records; see the module."""
        if self.deviation:
            return round(math.sqrt(records) * self.deviation)
        whole = max(float(expected.sum()), 1e-9)
        rows, columns = expected.sum(axis=1, keepdims=True) / whole, expected.sum(axis=0, keepdims=True) / whole
        variance = expected * np.maximum(1 - rows, 0) * np.maximum(1 - columns, 0)
        free = max(1, (rows.size - 1) * (columns.size - 1))
        deviation = SPREAD * math.sqrt(float(variance.sum()) * expected.size / free)
        if self.margins is not None:
            variance = variance + records * (self.margins[0][:, None] * columns**2 + self.margins[1] * rows**2)
        return round(MEAN_ABSOLUTE * float(np.sqrt(variance).sum()) + most_of(self.among) * deviation)


def most_of(number: int) -> float:
    """Return about how many deviations the largest of so many deviates by."""
    return math.sqrt(2 * math.log(max(number, 2)))


def price(level: float, *, first: bool) -> float:
    """Return the price of a cell, in deviations of its noise and in half records; half of it in the first round."""
    return 2 * (PRICE + PRICE_AT_TOP * level) * (0.5 if first else 1.0)


def pairs(belief: Belief, deviation: float) -> Iterator[Offer]:
    """Offer every pair at its granularities, were each measured with noise of this ``deviation``."""
    sizes = [single.distribution.size for single in belief.singles]
    joint, start = belief.field.pairs(belief.parameters), np.concatenate([[0], np.cumsum(belief.field.sizes)])
    every = list(combinations(range(len(sizes)), 2))
    grains = GRAINS[: granularities(len(sizes))]
    most = min(TABLE_CELLS, OFFERED_CELLS / (len(every) * len(grains)))
    lifts: dict[tuple[int, int], FloatArray] = {}
    noise: dict[tuple[int, int], FloatArray] = {}
    known: dict[tuple[int, ...], list[list[int]]] = {}
    for axes in (*(table.axes for table in belief.known), *belief.idle):
        if len(axes) == 2:
            known.setdefault(tuple(a for a, _ in axes), []).append([count for _, count in axes])
    for a, b in every:
        offered = set()
        for grain in grains:
            of_a, of_b = groups_within((sizes[a], sizes[b]), max(4.0, min(most, belief.records / (grain * deviation))))
            if (of_a, of_b) in offered or any(x >= of_a and y >= of_b for x, y in known.get((a, b), ())):
                continue
            offered.add((of_a, of_b))
            for axis in ((a, of_a), (b, of_b)):
                if axis not in lifts:
                    lifts[axis] = _lift(belief, *axis)
                    noise[axis] = _noise(belief, *axis)
            inner = joint[start[a] : start[a + 1], start[b] : start[b + 1]]
            yield Offer(
                ((a, of_a), (b, of_b)),
                lifts[a, of_a] @ inner @ lifts[b, of_b].T,
                of_a * of_b,
                margins=(noise[a, of_a], noise[b, of_b]),
                among=len(every),
            )


def _noise(belief: Belief, attribute: int, count: int) -> FloatArray:
    """Return the variance of the counts of an attribute's groups, for each record."""
    return np.bincount(belief.nested[attribute].groups(count), belief.singles[attribute].variance) / belief.records


def _lift(belief: Belief, attribute: int, count: int) -> FloatArray:
    """Return the probability of each of ``count`` groups given each group of the reduced domain."""
    reduced, nested = belief.field.sizes[attribute], belief.nested[attribute]
    if count <= reduced:
        found = np.zeros((count, reduced))
        found[nested.between(reduced, count), np.arange(reduced)] = 1.0
        return found
    law = np.bincount(nested.groups(count), belief.singles[attribute].distribution)
    inside = nested.between(count, reduced) if reduced > 1 else np.zeros(count, dtype=np.int64)
    whole = np.bincount(inside, law, minlength=reduced)
    found = np.zeros((count, reduced))
    found[np.arange(count), inside] = law / np.maximum(whole[inside], 1e-300)
    return found
