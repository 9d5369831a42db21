"""Which of the tables that were chosen can be had: all must fit into one question, and the law must stay computable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from panbayes.bayesnet.markov.field import Axes, reduced_sizes, shape_of, weight_of
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.belief import Belief

__all__ = ["TREE", "askable", "fitting", "weight"]

TREE: Final = 300_000
"""Cells of the junction tree of groups at most: what would make it heavier is passed over."""

NETWORK: Final = 2_000_000
"""Cells of the junction tree of values at most."""


def weight(belief: Belief, tables: Sequence[Axes]) -> float:
    """Return about how many cells the junction tree has with these ``tables`` beside the known ones.

    It is infinite where the network that would be published has too many.
    """
    sizes = [single.distribution.size for single in belief.singles]
    every = [*(table.axes for table in belief.known), *tables]
    reduced = reduced_sizes(len(sizes), every)
    found = weight_of(every, reduced)
    if reduced != sizes and weight_of(every, sizes) > NETWORK:
        return math.inf
    return found


def fitting(belief: Belief, tables: Sequence[Axes]) -> list[Axes]:
    """Pass over tables that would make the junction tree too heavy, in the order they are given in."""
    return _kept(tables, lambda chosen: weight(belief, chosen) <= TREE)


def askable(belief: Belief, tables: Sequence[Axes], *, beside: Sequence[Axes] = ()) -> list[Axes]:
    """Pass over tables that are too heavy even alone, and those beyond what the study lets be measured in one question.

    Not those that are too heavy together: which of them the law should hold shows when they are measured. The last
    round measures the known ones again, and another those ``beside`` them: they need room in the question too.
    """
    known, attributes = [table.axes for table in belief.known], len(belief.singles)

    def carried(chosen: Sequence[Axes]) -> bool:
        asked = [*known, *chosen, *beside]
        cells = sum(math.prod(shape_of(axes)) for axes in asked)
        return len(asked) <= adaptive.MEASURED * attributes and cells <= adaptive.MEASURED_CELLS * attributes

    return _kept([axes for axes in tables if weight(belief, [axes]) <= TREE], carried)


def _kept(tables: Sequence[Axes], allowed: Callable[[Sequence[Axes]], bool]) -> list[Axes]:
    """Keep what is allowed together with all that was kept before; many at a time, as long as that goes well."""
    kept: list[Axes] = []
    step = max(1, len(tables))
    place = 0
    while place < len(tables):
        part = tables[place : place + step]
        if allowed([*kept, *part]):
            kept += part
            place += step
        elif step > 1:
            step = max(1, step // 4)
        else:
            place += 1
    return kept
