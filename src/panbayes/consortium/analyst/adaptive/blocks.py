"""What measured blocks say: single attributes, then pairs, then interactions of three and four, as far as noise allows.

Every set of attributes that lies in a block has been measured, as a margin of all blocks that hold it
(:func:`margin`). Single attributes are estimated from their margins. Whether a larger set says something that the law
does not know yet is a test: of its noisy counts less the expected ones only the **interaction** counts, what is left
after the mean over every axis is taken off, for all else is said by smaller sets. It has d = ∏(kᵢ − 1) dimensions, and
if the law were right its square over

    σ² + n·∏ (1 − Σ pᵢ²)/(kᵢ − 1)

would be χ² with d degrees of freedom: σ² the variance of a margin's cell, a sum of much noise and so nearly normal, and
beside it the chance of n records whose attributes have the laws pᵢ. The sets that pass are those of Benjamini and
Hochberg at a rate of false ones of :data:`FALSE_PAIRS`, or :data:`FALSE_SETS` for three and four, with Storey's
estimate for how many the law is right. So a table in which nothing hangs together mostly stays independent whatever the
noise, and one in which everything does passes whole.

What hangs together by others does too, more weakly, so sets come in by parts, those that are the least likely first,
and after each part the law is fitted and the others are asked again.

All of this is computed from releases: it is post-processing and free (Theorem thm_post_proc).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import chdtrc

from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.measurement import Measurement, averaged
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["learned_from", "margin"]

FALSE_PAIRS: Final = 0.2
FALSE_SETS: Final = 0.05
"""Rates of false ones among the sets that pass."""

_PARTS: Final = 3
_AT_ONCE: Final = 3
"""Of the sets that pass, one of so many comes in before the law is asked again, but at least so many at once."""

_ITERATIONS: Final = 20


def margin(measured: Sequence[Measurement], attributes: Sequence[int]) -> Measurement:
    """Return the table of some ``attributes``: the mean of the margins of all blocks that hold them."""
    found: Measurement | None = None
    for block in measured:
        own = [attribute for attribute, _ in block.axes]
        if not set(attributes) <= set(own):
            continue
        others = tuple(axis for axis, attribute in enumerate(own) if attribute not in attributes)
        one = Measurement(
            tuple(axis for axis in block.axes if axis[0] in attributes),
            {name: np.asarray(table.sum(axis=others)) for name, table in block.tables.items()},
            block.law.summed(math.prod(block.axes[axis][1] for axis in others)),
        )
        found = one if found is None else _mean(found, one)
    if found is None:
        raise ValueError(f"no block holds {tuple(attributes)}")
    return found


def _mean(first: Measurement, second: Measurement) -> Measurement:
    tables = {
        name: averaged(table, first.law, second.tables[name], second.law)[0] for name, table in first.tables.items()
    }
    some = next(iter(first.tables.values()))
    return Measurement(first.axes, tables, averaged(some, first.law, some, second.law)[1])


def learned_from(belief: Belief, measured: Sequence[Measurement]) -> Belief:
    """Return a belief of single attributes with what measured blocks say of pairs, and of three and four."""
    for widths, false in (((2,), FALSE_PAIRS), ((3, 4), FALSE_SETS)):
        sets = [members for width in widths for members in _held(measured, width)]
        left = every = [margin(measured, members) for members in sets]
        batch = 1 + max((table.batch for table in belief.known), default=0)
        while left:
            passed = _passing(belief.expecting(left), belief, false=false, among=len(every))
            part = passed[: max(_AT_ONCE, -(-len(passed) // _PARTS))]
            if not part:
                break
            belief = belief.learned(
                [left[place] for place in part], (), iterations=_ITERATIONS, batch=batch, correcting=False
            )
            left = [table for place, table in enumerate(left) if place not in part]
        belief = belief.idling([table.axes for table in every])
    return belief


def _held(measured: Sequence[Measurement], width: int) -> list[tuple[int, ...]]:
    """Return the sets of so many attributes that lie in a block."""
    return sorted({members for block in measured for members in combinations([a for a, _ in block.axes], width)})


def _passing(tables: Sequence[Known], belief: Belief, *, false: float, among: int) -> list[int]:
    """Return the places of those tables that say something new, the least likely by chance first; see the module."""
    squares, free = zip(*(_interaction(table, belief) for table in tables), strict=True)
    chances = np.asarray(chdtrc(free, squares))
    order = sorted(range(len(tables)), key=lambda place: (chances[place], -squares[place] / free[place], place))
    right = min(1.0, (1 + int((chances > 0.5).sum())) / max(1.0, len(tables) / 2))
    passed = [rank for rank, place in enumerate(order, start=1) if chances[place] <= false * rank / (among * right)]
    return order[: max(passed, default=0)]


def _interaction(table: Known, belief: Belief) -> tuple[float, int]:
    """Return the square of the interaction, over what it would be on average in a dimension, and its dimensions."""
    left: FloatArray = table.noisy - table.expected
    varied, free = 1.0, 1
    for axis, (attribute, size) in enumerate(table.axes):
        left = left - left.mean(axis=axis, keepdims=True)
        free *= size - 1
        varied *= (1 - float((belief.singles[attribute].distribution ** 2).sum())) / max(1, size - 1)
    return float((left**2).sum()) / (table.law.deviation**2 + belief.records * varied), max(1, free)
