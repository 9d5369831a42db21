"""What holders are offered in a round: pairs, each at several granularities, and interactions of three or four.

A pair is offered at groups so fine that an average cell holds :data:`GRAINS` standard deviations of the noise it would
be measured with: strong dependencies want fine tables, weak ones coarse (fewer granularities where there are so many
attributes that a question could not carry all). What the law so far expects of it is exact.
Interactions are offered once the law has pairs, or where none was worth it; they are of two groups each, and what the
law expects of them is counted in records drawn from it.

A holder's score is doubled, ‖c − e‖₁, so prices are in half records. From it goes what records drawn from the law
itself would show: √e·E|z| for every cell, and two deviations of that; for interactions, of which there are many, the
largest that chance would make of them. And :data:`PRICE` of the noise of measuring the table, which depends on how many
are taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.bayesnet.inference.sampling import draw_prior
from panbayes.bayesnet.markov.field import Axes
from panbayes.consortium.agreement.strategies.adaptive import (
    INTERACTIONS,
    OFFERED_CELLS,
    TABLE_CELLS,
    granularities,
)
from panbayes.consortium.analyst.adaptive.belief import Belief
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray
from panbayes.tables.counting.parities import parities

__all__ = ["GRAINS", "Offer", "interactions", "pairs", "price"]

GRAINS: Final = (6.0, 2.0, 0.7)
PRICE: Final = 0.25
PRICE_AT_TOP: Final = 0.15
"""Added to the price as the level goes to one."""

INTERACTION_PRICE: Final = 2
MEAN_ABSOLUTE: Final = 0.8
"""E|z| of a normal variable in standard deviations, to the precision that matters here."""

TWO_DEVIATIONS: Final = 1.2
"""Two standard deviations of the sum of √e·|z| over all cells, in √n."""

QUADRUPLES_UP_TO: Final = 16
"""Interactions of four attributes are offered if there are at most so many."""

_SAMPLES: Final = 4
_LEAST_SAMPLES: Final = 50_000
_MOST_SAMPLES: Final = 400_000


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A table or an interaction; ``expected`` of one record (probabilities, or a mean parity), of its ``deviation``.

    ``cells`` is what the price is multiplied by. The deviation is that of an interaction in one record, 0 for a pair.
    """

    axes: Axes
    expected: FloatArray
    cells: int
    deviation: float = 0.0

    def penalty(self, records: float, expected: FloatArray) -> int:
        """Return what chance alone would show a holder with so many ``records``, in half records."""
        if self.deviation:
            return round(math.sqrt(records) * self.deviation)
        chance = MEAN_ABSOLUTE * float(np.sqrt(expected).sum()) + TWO_DEVIATIONS * math.sqrt(records)
        return round(chance)


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
    known: dict[tuple[int, ...], list[list[int]]] = {}
    for table in belief.known:
        if len(table.axes) == 2:
            known.setdefault(tuple(a for a, _ in table.axes), []).append([count for _, count in table.axes])
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
            inner = joint[start[a] : start[a + 1], start[b] : start[b + 1]]
            yield Offer(((a, of_a), (b, of_b)), lifts[a, of_a] @ inner @ lifts[b, of_b].T, of_a * of_b)


def interactions(belief: Belief, rng: np.random.Generator, *, fours: bool) -> list[Offer]:
    """Offer interactions of three attributes, and of ``fours`` where asked; too many are thinned out at random."""
    varying = [a for a, single in enumerate(belief.singles) if single.distribution.size > 1]
    done = {tuple(a for a, _ in table.axes) for table in belief.known}
    sets: list[tuple[int, ...]] = [found for found in combinations(varying, 3) if found not in done]
    if fours and len(varying) <= QUADRUPLES_UP_TO:
        sets += [found for found in combinations(varying, 4) if found not in done]
    if len(sets) > INTERACTIONS:
        sets = [sets[place] for place in np.sort(rng.choice(len(sets), INTERACTIONS, replace=False)).tolist()]
    if not sets:
        return []
    drawn = int(min(max(_SAMPLES * belief.records, _LEAST_SAMPLES), _MOST_SAMPLES))
    structure, tables = belief.network(0.0)
    codes = draw_prior(structure, tables, drawn, rng, np.uint16)
    halves = np.array([belief.nested[a].groups(2)[codes[a]] for a in range(len(belief.singles))], dtype=np.uint8)
    means = parities(halves, sets) / drawn
    noise = max((table.law.deviation for table in belief.known), default=0.0)
    # In one record: its own parity, that of the drawn ones, and what noise has left in the law.
    deviation = math.sqrt(1 + belief.records / drawn + noise**2 / belief.records)
    largest = deviation * math.sqrt(2 * math.log(max(len(sets), 2)))
    return [
        Offer(tuple((a, 2) for a in members), np.array([mean]), INTERACTION_PRICE * 2 ** len(members), largest)
        for members, mean in zip(sets, means.tolist(), strict=True)
    ]


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
