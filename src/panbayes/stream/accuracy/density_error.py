"""Predicted mean squared error of density estimators.

The estimate is (T/m − μ_init)/(μ_upd − μ_init), where T is the sum of the scores of the m entries plus the output
noise. Its error has three independent parts: the entries' own noise, the sampling of m users out of U, and the
output noise. A :class:`Design` holds what decides them.

The thesis's theorems state the error of each published estimator for a fixed sample while treating each sampled user
as present with probability d; that adds the sampling part d(1 − d)/m of an infinite universe (:func:`published_mse`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Design",
    "Published",
    "geometric_variance",
    "mse",
    "published_mse",
    "published_mse_bound",
    "published_probabilities",
    "truncated_gaussian_moments",
    "worst_rmse",
]

Published: TypeAlias = Literal["dwork", "optimal-bernoulli", "quantized-laplace", "laplace", "truncated-gaussian"]


@dataclass(frozen=True, slots=True)
class Design:
    """The law of the released statistic, up to the density.

    An entry of an absent user has level j with probability ``init[j]``, of a present one ``update[j]``; level j
    counts ``scores[j]``. ``sample`` is m, ``universe`` is U (``None``: infinite), ``noise_scale`` is σ of the
    two-sided geometric noise with probabilities proportional to e^(−|z|/σ).
    """

    init: tuple[float, ...]
    update: tuple[float, ...]
    scores: tuple[int, ...]
    sample: int
    universe: int | None
    noise_scale: float

    def __post_init__(self) -> None:
        """Refuse a sample larger than its universe and other nonsense."""
        if not len(self.init) == len(self.update) == len(self.scores):
            raise ValueError("init, update and scores need one number per level")
        if self.sample < 1 or (self.universe is not None and self.sample > self.universe) or self.noise_scale <= 0:
            raise ValueError("need 1 <= sample <= universe and a positive noise scale")

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
    noise = geometric_variance(design.noise_scale)
    return (design.statistic_variance(density) + noise) / (design.sample * design.signal) ** 2


def worst_rmse(design: Design) -> float:
    """The largest root mean squared error over all densities (the variance is a parabola in the density)."""
    bend = design.signal**2 * design.correction
    tilt = _variance(design.update, design.scores) - _variance(design.init, design.scores)
    top = min(1.0, max(0.0, 0.5 + tilt / (2 * bend))) if bend > 0 else 0.0
    return math.sqrt(max(mse(design, density) for density in (0.0, top, 1.0)))


def truncated_gaussian_moments(epsilon: float) -> tuple[float, float]:
    """Mean and variance of a Gaussian with mean 0 and variance 1/(2ε) truncated to [0, 1] (an absent user's entry).

    A present user's entry is its mirror image, with mean 1 − mean and the same variance.
    """
    deviation = math.sqrt(1 / (2 * epsilon))
    end = 1 / deviation
    mass = math.erf(end / math.sqrt(2)) / 2
    at_zero, at_end = (math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) for x in (0.0, end))
    shift = (at_zero - at_end) / mass
    return deviation * shift, deviation**2 * (1 - end * at_end / mass - shift**2)


def published_mse(estimator: Published, *, epsilon: float, sample: int, density: float) -> float:
    """The mean squared error of a published estimator at ε each for state and output; m = ``sample``, d = ``density``.

    Every one is (own variance of an entry)/(m·signal²) + 2/(m²ε²); the binary ones also carry d(1 − d)/m.

    Thesis: proofs of Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1 (the last gives 2(m+1)/(m²ε²)).

    >>> round(published_mse("laplace", epsilon=0.5, sample=1000, density=0.3), 9)
    0.008008
    """
    output = 2 / (sample * epsilon) ** 2
    if estimator == "laplace":
        return 2 / (sample * epsilon**2) + output
    if estimator == "truncated-gaussian":
        mean, variance = truncated_gaussian_moments(epsilon)
        return variance / (sample * (1 - 2 * mean) ** 2) + output
    init, update = published_probabilities(estimator, epsilon)
    own = (1 - density) * init * (1 - init) + density * update * (1 - update)
    return own / (sample * (update - init) ** 2) + density * (1 - density) / sample + output


def published_probabilities(estimator: Published, epsilon: float) -> tuple[float, float]:
    """p_init and p_upd of the binary estimators."""
    match estimator:
        case "dwork":
            return 0.5, 0.5 + epsilon / 4
        case "optimal-bernoulli":
            return (1 - math.tanh(epsilon / 2)) / 2, (1 + math.tanh(epsilon / 2)) / 2
        case "quantized-laplace":
            return math.exp(-epsilon / 2) / 2, 1 - math.exp(-epsilon / 2) / 2
        case "laplace" | "truncated-gaussian":
            raise ValueError(f"{estimator} is not binary")


def published_mse_bound(estimator: Published, *, epsilon: float, sample: int) -> float:
    """The theorem's bound, free of the density: 2(2m+1)/(m²ε²), 1/(4m·tanh²(ε/2)) + 2/(m²ε²), 2(m+1)/(m²ε²).

    For the quantized Laplace estimator the same derivation gives 1/(4m(p_upd − p_init)²) + 2/(m²ε²).

    Thesis: Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1.
    """
    if estimator in ("laplace", "truncated-gaussian"):
        return published_mse(estimator, epsilon=epsilon, sample=sample, density=0.5)
    init, update = published_probabilities(estimator, epsilon)
    return 1 / (4 * sample * (update - init) ** 2) + 2 / (sample * epsilon) ** 2
