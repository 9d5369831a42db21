"""Deciding whether results bear a sentence out: intervals, and tests of many cells at once.

A sentence about all cells is tested in all of them, with the chance of a false alarm shared out among them (by
Bonferroni): a true sentence is called false once in a thousand runs.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["FALSE_ALARM", "SURE", "as_predicted", "centred", "limits", "percent", "span", "wilson"]

Array: TypeAlias = NDArray[np.float64]

FALSE_ALARM: Final = 1e-3
"""How often a true sentence about all cells is called false."""

SURE: Final = 3.09
"""Standard errors beyond which a difference is taken for one: by chance it is once in a thousand runs."""

_WIDE: Final = 1.959964
"""A normal number is nearer to 0 than this nineteen times of twenty."""


def as_predicted(measured: Array, predicted: Array, repetitions: Array) -> bool:
    """Tell whether mean squares of normal errors agree with their predictions in every cell.

    R·measured/predicted has the χ² law with R = ``repetitions`` degrees of freedom.
    """
    statistic = repetitions * measured / predicted
    tails = 2 * np.minimum(special.chdtr(repetitions, statistic), special.chdtrc(repetitions, statistic))
    return bool(tails.min() >= FALSE_ALARM / measured.size)


def centred(means: Array, mean_squares: Array, repetitions: Array) -> bool:
    """Tell whether means of errors agree with 0 in every cell."""
    tails = 2 * special.ndtr(-np.abs(means) / np.sqrt(mean_squares / repetitions))
    return bool(tails.min() >= FALSE_ALARM / means.size)


def limits(mean_square: Array, repetitions: Array) -> tuple[Array, Array]:
    """Return 95 % intervals of mean squared errors, by the χ² law."""
    total = repetitions * mean_square
    return total / special.chdtri(repetitions, 0.025), total / special.chdtri(repetitions, 0.975)


def wilson(hits: Array, trials: Array) -> tuple[Array, Array]:
    """Return Wilson's 95 % intervals of probabilities.

    >>> low, high = wilson(np.array([5.0]), np.array([10.0]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.237, 0.763)
    """
    share, z2 = hits / trials, _WIDE**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _WIDE / (1 + z2 / trials) * np.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def percent(share: float) -> str:
    """Write a share for people.

    >>> percent(0.5129), percent(1.0)
    ('51 %', '100 %')
    """
    return f"{100 * share:.0f} %"


def span(values: Array, form: str = ".3g") -> str:
    """Write the least and the greatest of some numbers.

    >>> span(np.array([3.0, 1.5]))
    '1.5 to 3'
    """
    low, high = float(values.min()), float(values.max())
    told = [format(value, form) if math.isfinite(value) else "∞" for value in (low, high)]
    return told[0] if told[0] == told[1] else " to ".join(told)
