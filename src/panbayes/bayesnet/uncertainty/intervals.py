"""Intervals around a published probability, from what the replicates answer and what was never measured.

Let l be the published log-odds, d_k how far replicate k is from them, and R the standard deviation of what no replicate
knows (:mod:`panbayes.bayesnet.uncertainty.residual`). Upwards and downwards have their own spread,

    s² = c²·(mean of 2d² over the side's replicates, the others counting as 0) + R²,

for a small probability can be much smaller, but not much larger. The interval goes z·s to either side, on the scale of
log-odds or that of probabilities, whichever is wider: so it reaches zero where an answer cannot be told from zero.

Nor can what never happens be told from what hardly ever does: the parameters of a law are bounded
(:mod:`panbayes.bayesnet.markov.maxent`), all its replicates stand at the same bounds, and rows are smoothed. So what is
at most :data:`HARDLY` as likely as it would be were its attributes independent may be never (:func:`perhaps_never`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np

from panbayes.bayesnet.counts import FloatArray

__all__ = ["HARDLY", "LEVEL", "Limits", "around", "log_odds", "mean_limits", "perhaps_never"]

Limits: TypeAlias = tuple[FloatArray, FloatArray]
"""The lower and the upper ends of intervals."""

LEVEL: Final = 0.9
"""The part of all questions whose true answer lies in the interval."""

_REACH: Final = 1.645
"""Ninety percent of a normal law lie within so many standard deviations."""

_WIDER: Final = 1.1
"""The spread of a few replicates is uncertain itself: Student's law of a dozen instead of the normal one."""

HARDLY: Final = 0.02
"""Several times the exponential of the lowest parameter, for others make up for some of it."""

_SMALLEST: Final = 1e-15


def log_odds(probabilities: FloatArray) -> FloatArray:
    """Return ln p/(1 − p), with certainty at some distance from infinity."""
    inside = np.clip(probabilities, _SMALLEST, 1 - _SMALLEST)
    return np.asarray(np.log(inside / (1 - inside)))


def around(published: FloatArray, answers: Iterable[FloatArray], residual: FloatArray) -> Limits | None:
    """Return the limits of ``published`` probabilities; None if no replicate has an answer."""
    centre = log_odds(published)
    above, below = np.zeros_like(centre), np.zeros_like(centre)
    number = 0
    for answer in answers:
        away = log_odds(answer) - centre
        above += np.maximum(away, 0) ** 2
        below += np.minimum(away, 0) ** 2
        number += 1
    if not number:
        return None
    up, down = (_REACH * np.sqrt(2 * _WIDER**2 * side / number + residual) for side in (above, below))
    slope = published * (1 - published)
    low = np.minimum(_probability(centre - down), published - down * slope)
    high = np.maximum(_probability(centre + up), published + up * slope)
    low, high = np.where(down > 0, low, published), np.where(up > 0, high, published)
    return np.clip(low, 0.0, published), np.clip(high, published, 1.0)


def perhaps_never(limits: Limits, published: FloatArray, independent: FloatArray) -> Limits:
    """Let limits reach 0 where what is ``published`` is hardly any of what it were were its attributes ``independent``.

    And 1 where that holds of the opposite.
    """
    low, high = limits
    never, always = published <= HARDLY * independent, 1 - published <= HARDLY * (1 - independent)
    return np.where(never, 0.0, low), np.where(always, 1.0, high)


def mean_limits(
    published: float, answers: Iterable[float], residual: float, numbers: FloatArray
) -> tuple[float, float]:
    """Return the limits of a mean of ``numbers``, ``residual`` being the deviation of what no replicate knows."""
    away = np.array(list(answers)) - published
    reach = _REACH * float(np.sqrt(_WIDER**2 * (away**2).mean() + residual**2))
    return max(published - reach, float(numbers.min())), min(published + reach, float(numbers.max()))


def _probability(odds: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700.0, 700.0))))
