"""What measured blocks say: single attributes, then pairs, then interactions of three and four, as far as noise allows.

Every set of attributes that lies in a block has been measured, as a margin of all blocks that hold it (:func:`margin`).
Single attributes are estimated from their margins, brought to the number of records. Whether a larger set says
something that the law does not know yet is a test: of its noisy counts less the expected ones only the **interaction**
counts, what is left after the mean over every axis is taken off, for all else is said by smaller sets.
It has d = ∏(kᵢ − 1) dimensions, and if the law were right its square over

    σ² + n·(∏ (1 − 1/kᵢ) − ∏ mᵢ − Σᵢ (1 − Σ pᵢ²)·∏ⱼ mⱼ)/d,     mᵢ = Σ pᵢ² − 1/kᵢ, the last product over all j ≠ i,

would be χ² with d degrees of freedom: σ² the variance of a margin's cell, a sum of much noise and so nearly normal, and
beside it the chance of n independent records with the laws pᵢ whose single attributes are known: what a record adds to
the interaction has the square ∏ (1 − 1/kᵢ), less that of its mean and of what each attribute alone explains. Once the
law holds tables, what it expects has their noise, and σ² counts twice.

The sets that pass are those of Benjamini and Hochberg at a rate of false ones of :data:`FALSE_PAIRS`, or
:data:`FALSE_SETS` for three and four, with Storey's estimate for how many the law is right. So a table in which nothing
hangs together mostly stays independent whatever the noise, and one in which everything does passes whole.

What hangs together by others does too, more weakly, so sets come in by parts, those that are the least likely first,
and after each part the law is fitted and the others are asked again.

All of this is computed from releases: it is post-processing and free (Theorem thm_post_proc).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import chdtrc

from panbayes.bayesnet.markov.field import shape_of
from panbayes.bayesnet.markov.maxent import Effort
from panbayes.consortium.analyst.adaptive.belief import Belief, Known
from panbayes.consortium.analyst.adaptive.estimation import Estimate
from panbayes.consortium.analyst.adaptive.margins import law_of_sums
from panbayes.consortium.analyst.adaptive.measurement import Measurement, mean_of_both
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["interaction", "learned_from", "margin", "passing"]

FALSE_PAIRS: Final = 0.2
FALSE_SETS: Final = 0.05
"""Rates of false ones among the sets that pass."""

_PARTS: Final = 4
"""Of the sets that pass, one of so many comes in before the law is asked again."""

_EFFORT: Final = Effort(20)


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
            law_of_sums(
                block.law, math.prod(shape_of(block.axes)), math.prod(s for a, s in block.axes if a in attributes)
            ),
        )
        found = one if found is None else mean_of_both(found, one)
    if found is None:
        raise ValueError(f"no block holds {tuple(attributes)}")
    return found


def learned_from(belief: Belief, measured: Sequence[Measurement]) -> Belief:
    """Return a belief of single attributes with what measured blocks say of pairs, and of three and four.

    Single attributes count as uncertain as their noise was before they added up, for replicates draw their values one
    by one and divide by the sum: a prior fitted to so few values is too sure of itself.
    """
    singles = tuple(
        Estimate(single.distribution, np.maximum(single.variance, law.deviation**2 * counts.size / (counts.size - 1)))
        for single, (counts, law) in zip(belief.singles, belief.counted, strict=True)
    )
    belief = replace(belief, singles=singles)
    for widths, false in (((2,), FALSE_PAIRS), ((3, 4), FALSE_SETS)):
        sets = [members for width in widths for members in _held(measured, width)]
        left = every = [margin(measured, members) for members in sets]
        batch = 1 + max((table.batch for table in belief.known), default=0)
        while left:
            squares = [interaction(table, belief) for table in belief.expecting(left)]
            passed = passing(squares, false=false, among=len(every))
            part = passed[: -(-len(passed) // _PARTS)]
            if not part:
                break
            belief = belief.learned([left[place] for place in part], (), effort=_EFFORT, batch=batch, correcting=False)
            left = [table for place, table in enumerate(left) if place not in part]
        belief = belief.idling([table.axes for table in every])
    return belief


def _held(measured: Sequence[Measurement], width: int) -> list[tuple[int, ...]]:
    """Return the sets of so many attributes that lie in a block."""
    return sorted({members for block in measured for members in combinations([a for a, _ in block.axes], width)})


def passing(squares: Sequence[tuple[float, int]], *, false: float, among: int) -> list[int]:
    """Return the places of those sets that say something new, the least likely by chance first; see the module.

    Of each there is the square of its interaction and its dimensions; ``false`` is the rate of false ones ``among`` all
    that were measured.
    """
    free = [dimensions for _, dimensions in squares]
    chances = np.asarray(chdtrc(free, [square for square, _ in squares]))
    order = sorted(range(len(squares)), key=lambda place: (chances[place], -squares[place][0] / free[place], place))
    right = min(1.0, (1 + int((chances > 0.5).sum())) / max(1.0, len(squares) / 2))
    passed = [rank for rank, place in enumerate(order, start=1) if chances[place] <= false * rank / (among * right)]
    return order[: max(passed, default=0)]


def interaction(table: Known, belief: Belief) -> tuple[float, int]:
    """Return the square of the interaction, over what it would be on average in a dimension, and its dimensions."""
    left: FloatArray = table.noisy - table.expected
    for axis in range(left.ndim):
        left = left - left.mean(axis=axis, keepdims=True)
    free = math.prod(size - 1 for _, size in table.axes)
    evens = [1 / size for _, size in table.axes]
    squares = [float((belief.singles[attribute].distribution ** 2).sum()) for attribute, _ in table.axes]
    uneven = [square - even for square, even in zip(squares, evens, strict=True)]
    alone = sum(
        (1 - square) * math.prod(uneven[:place]) * math.prod(uneven[place + 1 :])
        for place, square in enumerate(squares)
    )
    chance = belief.records * max(0.0, math.prod(1 - even for even in evens) - math.prod(uneven) - alone) / free
    noise = table.law.deviation**2 * (2 if belief.known else 1)
    if table.law.balanced:  # all cells share the noise of one less
        noise *= left.size / (left.size - 1)
    return float((left**2).sum()) / (noise + chance), free
