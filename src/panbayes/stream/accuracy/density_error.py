"""Predicted mean squared error of density estimators.

The estimate is (T/m − μ_init)/(μ_upd − μ_init), where T is the sum of the scores of the m entries plus the output
noise. Its error has three independent parts: the entries' own noise, the sampling of m users out of U, and the
output noise. A :class:`Design` holds what decides them.

The thesis's own estimators, with their own output noise, are in :mod:`panbayes.stream.accuracy.published_error`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Design", "geometric_variance", "mse", "worst_rmse"]


@dataclass(frozen=True, slots=True)
class Design:
    """The law of the released statistic, up to the density.

    An entry of an absent user has level j with probability ``init[j]``, of a present one ``update[j]``; level j
    counts ``scores[j]``. ``sample`` is m, ``universe`` is U (``None``: infinite), ``noise_scale`` is σ of the
    two-sided geometric noise with probabilities proportional to e^(−|z|/σ), of which ``noise_terms`` are added up.
    """

    init: tuple[float, ...]
    update: tuple[float, ...]
    scores: tuple[int, ...]
    sample: int
    universe: int | None
    noise_scale: float
    noise_terms: int = 1

    def __post_init__(self) -> None:
        """Refuse a sample larger than its universe and other nonsense."""
        if not len(self.init) == len(self.update) == len(self.scores):
            raise ValueError("init, update and scores need one number per level")
        if self.sample < 1 or (self.universe is not None and self.sample > self.universe) or self.noise_scale <= 0:
            raise ValueError("need 1 <= sample <= universe and a positive noise scale")
        if self.noise_terms < 1:
            raise ValueError("need at least one term of noise")

    @property
    def mean_init(self) -> float:
        """μ_init, the mean score of an absent user's entry."""
        return _mean(self.init, self.scores)

    @property
    def signal(self) -> float:
        """μ_upd − μ_init."""
        return _mean(self.update, self.scores) - self.mean_init

    @property
    def correction(self) -> float:
        """The finite-population correction (U − m)/(U − 1) of the sampling variance."""
        if self.universe is None:
            return 1.0
        return (self.universe - self.sample) / max(1, self.universe - 1)

    def statistic_variance(self, density: float) -> float:
        """The variance of the sum of scores, without the output noise."""
        own = (1 - density) * _variance(self.init, self.scores) + density * _variance(self.update, self.scores)
        return self.sample * (own + self.signal**2 * density * (1 - density) * self.correction)

    def density_of(self, statistic: float) -> float:
        """The unbiased estimate of the density from a released statistic."""
        return (statistic / self.sample - self.mean_init) / self.signal


def _mean(law: Sequence[float], scores: Sequence[int]) -> float:
    return math.fsum(p * a for p, a in zip(law, scores, strict=True))


def _variance(law: Sequence[float], scores: Sequence[int]) -> float:
    mean = _mean(law, scores)
    return math.fsum(p * (a - mean) ** 2 for p, a in zip(law, scores, strict=True))


def geometric_variance(scale: float) -> float:
    """The variance 2λ/(1 − λ)² of two-sided geometric noise, λ = e^(−1/scale)."""
    ratio = math.exp(-1 / scale)
    return 2 * ratio / math.expm1(-1 / scale) ** 2


def mse(design: Design, density: float) -> float:
    """The mean squared error at a density, sampling included with its finite-population correction.

    >>> half = Design((0.5, 0.5), (0.25, 0.75), (0, 1), sample=100, universe=100, noise_scale=1e-3)
    >>> round(mse(half, 0.0), 6)  # 0.25 / (100 · 0.25²)
    0.04
    """
    noise = design.noise_terms * geometric_variance(design.noise_scale)
    return (design.statistic_variance(density) + noise) / (design.sample * design.signal) ** 2


def worst_rmse(design: Design) -> float:
    """The largest root mean squared error over all densities (the variance is a parabola in the density)."""
    bend = design.signal**2 * design.correction
    tilt = _variance(design.update, design.scores) - _variance(design.init, design.scores)
    top = min(1.0, max(0.0, 0.5 + tilt / (2 * bend))) if bend > 0 else 0.0
    return math.sqrt(max(mse(design, density) for density in (0.0, top, 1.0)))
