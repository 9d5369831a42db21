"""Cutting a continuous law and its mirror image into levels whose likelihood ratios stay within e^ε, exactly.

Thesis: section "Quantized Laplace Density Estimator".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.exact.bounds import exp_bounds
from panbayes.stream.laws.quantizer import lloyd_max
from panbayes.stream.laws.state_law import COIN, StateLaw

__all__ = ["Array", "quantize"]

Array: TypeAlias = NDArray[np.float64]

_SCORE_STEPS: Final = 60
"""The score of the highest level where there are more than two."""


def quantize(
    name: str, epsilon: Fraction, levels: int, *, cdf: Callable[[Array], Array], support: tuple[float, float]
) -> StateLaw:
    """Cut the initial law with distribution function ``cdf``, and its mirror image about 1/2, into ``levels``.

    The boundaries are Lloyd's and Max's for the mean of the two laws over ``support``. The probabilities are rounded
    onto coins so that no ratio exceeds e^``epsilon``.
    """
    boundaries, points = lloyd_max(lambda x: (cdf(x) + 1 - cdf(1 - x)) / 2, levels=levels, support=support)
    init = np.diff(cdf(np.concatenate([[-np.inf], boundaries, [np.inf]])))
    steps = 1 if levels == 2 else _SCORE_STEPS
    span = points[-1] - points[0]
    scores = [round(steps * float(point - points[0]) / span) for point in points]
    for j in range(1, levels):
        scores[j] = max(scores[j], scores[j - 1] + 1)
    weights = _round_mirrored([float(p) for p in init], epsilon)
    return StateLaw(name, weights, weights[::-1], tuple(scores))


def _round_mirrored(probabilities: list[float], epsilon: Fraction) -> tuple[int, ...]:
    """Round a law whose mirror image is the other law so that no ratio exceeds e^ε.

    Level j faces level L−1−j. In each facing pair the larger weight is capped at e^ε times the smaller one; what is
    then missing from the total goes to the middle, half to each member of the innermost pair (or to the middle level),
    where adding the same number to both brings their ratio closer to 1.
    """
    grown = exp_bounds(epsilon)[0]
    count = len(probabilities)
    weights = [0] * count
    for j in range(count // 2):
        small = max(1, math.ceil(probabilities[count - 1 - j] * COIN))
        large = min(int(small * grown), int(probabilities[j] * COIN))
        weights[count - 1 - j], weights[j] = small, max(small, large)
    if count % 2:
        weights[count // 2] = COIN - sum(weights)
        return tuple(weights)
    missing, inner = COIN - sum(weights), count // 2
    weights[inner - 1] += missing // 2
    weights[inner] += missing - missing // 2
    return tuple(weights)
