"""Which of the tables that were chosen can be had: the law must stay computable, and all must fit into one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from panbayes.bayesnet.markov.field import Axes, reduced_sizes, shape_of, weight_of
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.belief import Belief

__all__ = ["TREE", "fitting"]

TREE: Final = 150_000
"""Cells of the junction tree of groups at most: what would make it heavier is passed over."""

NETWORK: Final = 2_000_000
"""Cells of the junction tree of values at most."""


def fitting(belief: Belief, tables: Sequence[Axes], *, beside: Sequence[Axes] = ()) -> list[Axes]:
    """Pass over tables that would make the junction tree too heavy, in the order they were taken in.

    And those beyond what the study lets be measured in one question: the last round measures all of them again, and
    another those ``beside`` them.
    """
    known, sizes = [table.axes for table in belief.known], [single.distribution.size for single in belief.singles]

    def light(chosen: Sequence[Axes]) -> bool:
        every = [*known, *chosen]
        asked = [*every, *beside]
        return (
            len(asked) <= adaptive.MEASURED * len(sizes)
            and sum(math.prod(shape_of(axes)) for axes in asked) <= adaptive.MEASURED_CELLS * len(sizes)
            and weight_of(every, reduced_sizes(len(sizes), every)) <= TREE
            and weight_of(every, sizes) <= NETWORK
        )

    kept: list[Axes] = []
    step = max(1, len(tables))
    place = 0
    while place < len(tables):
        part = tables[place : place + step]
        if light([*kept, *part]):
            kept += part
            place += step
        elif step > 1:
            step = max(1, step // 4)
        else:
            place += 1
    return kept
