"""What holders are offered to choose from: tables of grouped values, each with the price of measuring it.

A table is cut into groups so that an average cell holds :data:`CELL` standard deviations of the noise it will be
measured with. Its price is a number of records: a table whose distance from the model is below it is not worth
measuring. The price has three parts. The noise of the measurement counts with the fraction :data:`PENALTY` of half its
absolute value over all cells: a smaller distance is described better by the model. For pairs, the doubt about single
attributes is added, since it looks like a dependency. And records drawn from the model itself would be away from it by
chance, by half the sum of √e·E|z| over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from panbayes.consortium.agreement.strategies.adaptive import OFFERED_CELLS, TABLE_CELLS
from panbayes.consortium.analyst.adaptive.division import CHOOSING, Division, Grant
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.forest import Forest
from panbayes.consortium.analyst.adaptive.grouping import Groups, group, grouped, groups_within
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["Offer", "pair_offers", "price", "triple_offers", "turns"]

CELL: Final = 4.0
PENALTY: Final = 0.5
MEAN_ABSOLUTE: Final = 0.8
"""E|z| of a normal variable in standard deviations, to the precision that matters here."""

MOST_PARAMETERS: Final = 2**20
"""A table p(x | parent, second) is not offered if it would have more entries, in values rather than groups."""


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A table: (attribute, groups) of each axis, and the price of measuring it, in records of all holders."""

    axes: tuple[tuple[int, Groups], ...]
    penalty: float


def pair_offers(
    grant: Grant, division: Division, estimates: Sequence[Estimate], ordered: Sequence[bool], total: float, holders: int
) -> list[Offer]:
    """Offer every pair of attributes; an uncertain distribution of one looks like a dependency, and adds to the price.
    """  # fmt: skip
    if not division.pair_picks:
        return []
    deviation = grant.law(division.pairs * (1 - CHOOSING) / division.pair_picks, holders=holders).deviation
    singles = [estimate.distribution for estimate in estimates]
    pairs = list(combinations(range(len(singles)), 2))
    cells = _cells(total, deviation, len(pairs))
    cut = _Cutter(singles, ordered)
    offers = []
    for pair in pairs:
        counts = groups_within([singles[a].size for a in pair], cells)
        axes = [(a, cut(a, count)) for a, count in zip(pair, counts, strict=True)]
        doubt = sum(float(np.sqrt(np.bincount(groups, estimates[a].variance)).sum()) for a, groups in axes)
        offers.append(_offer(axes, deviation, MEAN_ABSOLUTE / 2 * doubt))
    return offers


def triple_offers(
    grant: Grant,
    division: Division,
    forest: Forest,
    singles: Sequence[FloatArray],
    ordered: Sequence[bool],
    total: float,
    holders: int,
) -> tuple[list[Offer], list[FloatArray]]:
    """Offer (x, its parent, a second parent) for every x and every attribute before x; with what the forest expects.

    What is expected is a distribution over the cells of the offer.
    """
    deviation = grant.law(division.triples * (1 - CHOOSING) / division.triple_picks, holders=holders).deviation
    cells = _cells(total, deviation, len(singles) ** 2 // 2)
    cut = _Cutter(singles, ordered)
    own = forest.engine.posteriors({})
    place = {x: i for i, x in enumerate(forest.order)}
    offers: list[Offer] = []
    distributions: list[FloatArray] = []
    for second in range(len(singles)):
        of_second = cut(second, max(2, math.floor(cells ** (1 / 3) + 1e-9)))
        count = int(of_second.max()) + 1
        joints = forest.engine.joints(second, of_second)
        for x in forest.order[place[second] + 1 :]:
            parent = forest.parents[x]
            entries = own[x].size * own[second].size * (own[parent].size if parent is not None else 0)
            if parent is None or parent == second or entries > MOST_PARAMETERS:
                continue
            counts = groups_within((own[x].size, own[parent].size), cells / count)
            of_x, of_parent = cut(x, counts[0]), cut(parent, counts[1])
            # p(second, parent)·p(x | parent), added up by groups of the parent; axes end as (x, parent, second).
            conditional = grouped(forest.tables[x], of_x, 1)
            joint = grouped(joints[parent].T[:, :, None] * conditional[:, None, :], of_parent, 0)
            offers.append(_offer([(x, of_x), (parent, of_parent), (second, of_second)], deviation))
            distributions.append(joint.transpose(2, 0, 1))
    return offers, distributions


def turns(records: Mapping[str, float], picks: int) -> list[tuple[str, int]]:
    """Share out ``picks`` in proportion to the holders' records; largest first, holders without a pick left out.

    >>> turns({"a": 100.0, "b": 300.0, "c": 90.0}, 5)
    [('b', 3), ('a', 1), ('c', 1)]
    """
    total = sum(records.values())
    exact = {name: picks * number / total for name, number in records.items()}
    found = {name: math.floor(part) for name, part in exact.items()}
    missing = picks - sum(found.values())
    for name in sorted(records, key=lambda name: (found[name] - exact[name], name))[:missing]:
        found[name] += 1
    order = sorted(records, key=lambda name: (-records[name], name))
    return [(name, found[name]) for name in order if found[name]]


def price(offer: Offer, expected: FloatArray, fraction: float) -> int:
    """Return the price of an offer to a holder with a ``fraction`` of all records, who has so many ``expected``."""
    chance = MEAN_ABSOLUTE / 2 * float(np.sqrt(expected).sum())
    return min(round(offer.penalty * fraction + chance), 2**31 - 1)


class _Cutter:
    """Groups of an attribute's values, by their number; each made once."""

    def __init__(self, singles: Sequence[FloatArray], ordered: Sequence[bool]) -> None:
        """Cut by the estimated distributions."""
        self._singles = singles
        self._ordered = ordered
        self._made: dict[tuple[int, int], Groups] = {}

    def __call__(self, attribute: int, count: int) -> Groups:
        """Return at most ``count`` groups."""
        key = (attribute, count)
        if key not in self._made:
            self._made[key] = group(self._singles[attribute], count, ordered=self._ordered[attribute])
        return self._made[key]


def _cells(total: float, deviation: float, tables: int) -> float:
    return min(total / (CELL * deviation), TABLE_CELLS, OFFERED_CELLS / max(tables, 1))


def _offer(axes: Sequence[tuple[int, Groups]], deviation: float, doubt: float = 0.0) -> Offer:
    cells = math.prod(int(groups.max()) + 1 for _, groups in axes)
    return Offer(tuple(axes), PENALTY * MEAN_ABSOLUTE / 2 * deviation * cells + doubt)
