"""The density estimators that are compared: every published one, and beside it the sound one of the same total.

A published estimator at ε claims a total of 2ε for one look and its output. Its sound counterpart is calibrated for
E = 2ε with the same kind of law: Dwork's, Optimal Bernoulli and the binary quantized Laplace law as they are, the two
continuous ones on eight levels, since no continuous state can be kept soundly (errata 1).

The error has three independent parts: the entries' own noise, the sampling of m users out of U, and the output's.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.stream.accuracy.density_error import Design, mse
from panbayes.stream.accuracy.published_error import (
    Published,
    published_probabilities,
    truncated_gaussian_moments,
)
from panbayes.stream.accuracy.statistic_law import failure_probability, statistic_law
from panbayes.stream.guarantee.calibration import Calibration, calibrate, design_of
from panbayes.stream.laws.state_law import COIN, StateLaw
from reproduction.published import PublishedLaw, published_law

__all__ = ["BINARY", "ESTIMATORS", "PROPOSED", "Contender", "contenders", "published", "sound", "sound_calibration"]

BINARY: Final[tuple[Published, ...]] = ("dwork", "optimal-bernoulli", "quantized-laplace")
PROPOSED: Final[tuple[Published, ...]] = ("optimal-bernoulli", "quantized-laplace", "laplace", "truncated-gaussian")
ESTIMATORS: Final[tuple[Published, ...]] = ("dwork", *PROPOSED)

_LEVELS: Final = 8
_COUNTERPARTS: Final[dict[Published, tuple[str, int]]] = {
    "dwork": ("dwork", 2),
    "optimal-bernoulli": ("optimal-bernoulli", 2),
    "quantized-laplace": ("quantized-laplace", 2),
    "laplace": ("quantized-laplace", _LEVELS),
    "truncated-gaussian": ("quantized-gaussian", _LEVELS),
}
_SILENT: Final = 1e-3
"""A scale at which geometric noise is 0 but for one time in e¹⁰⁰⁰."""

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contender:
    """An estimator at one ε and sample size, with its theory.

    ``law`` draws its entries; ``noise`` is added to the mean entry divided by the signal. ``mse`` and ``failure`` are
    the exact mean squared error at a density, and the probability of an error of α or more (by the normal law where an
    entry has more than two values).
    """

    estimator: Published
    kind: Literal["published", "sound"]
    law: PublishedLaw
    sample: int
    noise: Callable[[np.random.Generator], float]
    mse: Callable[[float], float]
    failure: Callable[[float, float], float]

    def estimate(self, present: int, generator: np.random.Generator) -> float:
        """Draw the entries of ``present`` users and of the absent rest, and estimate the density.

        An entry is drawn again at every appearance, and only its last draw is left, so one draw from the update law has
        the law of all of them; the order of entries does not matter for their mean.
        """
        uniform = generator.random(self.sample) + 2.0**-54
        total = float(self.law.update(uniform[:present]).sum()) + float(self.law.init(uniform[present:]).sum())
        signal = self.law.mean_update - self.law.mean_init
        return (total / self.sample - self.law.mean_init) / signal + self.noise(generator)


def contenders(*, epsilon: float, sample: int, universe: int) -> list[Contender]:
    """Return every published estimator at ε each for state and output, and its sound counterpart at E = 2ε."""
    return [
        *(published(name, epsilon=epsilon, sample=sample, universe=universe) for name in ESTIMATORS),
        *(sound(name, epsilon=epsilon, sample=sample, universe=universe) for name in ESTIMATORS),
    ]


def published(estimator: Published, *, epsilon: float, sample: int, universe: int | None) -> Contender:
    """Return a published estimator with its output noise Laplace(0, 1/(εm)); no ``universe`` is an infinite one."""
    law, scale = published_law(estimator, epsilon=epsilon), 1 / (epsilon * sample)
    own = {"laplace": (2 / epsilon**2,) * 2}.get(estimator)
    if estimator == "truncated-gaussian":
        own = (truncated_gaussian_moments(epsilon)[1],) * 2
    if own is None:
        low, high = published_probabilities(estimator, epsilon)
        own = (low * (1 - low), high * (1 - high))
    absent, there = own
    signal = law.mean_update - law.mean_init
    left_out = 1.0 if universe is None else (universe - sample) / max(1, universe - 1)

    def error(density: float) -> float:
        entries = ((1 - density) * absent + density * there) / (sample * signal**2)
        return entries + density * (1 - density) / sample * left_out + 2 * scale**2

    def failure(alpha: float, density: float) -> float:
        if estimator not in BINARY:
            return _normal_failure(alpha, error(density))
        design = Design(
            (1 - law.mean_init, law.mean_init),
            (1 - law.mean_update, law.mean_update),
            (0, 1),
            sample,
            universe,
            _SILENT,
        )
        first, chances = statistic_law(design, density)
        off = ((first + np.arange(chances.size)) / sample - law.mean_init) / signal - density
        return float(chances @ (_laplace_tail((alpha - off) / scale) + _laplace_tail((alpha + off) / scale)))

    return Contender(
        estimator, "published", law, sample, lambda generator: float(generator.laplace(0, scale)), error, failure
    )


def sound(estimator: Published, *, epsilon: float, sample: int, universe: int) -> Contender:
    """Return the sound counterpart of a published estimator, at E = 2ε."""
    calibration = sound_calibration(estimator, epsilon=epsilon, sample=sample, universe=universe)
    law, scale = _drawn(calibration.law), float(calibration.noise_scale)
    design = design_of(calibration.law, scale, sample=sample, universe=universe)
    rise = -math.expm1(-1 / scale)

    def failure(alpha: float, density: float) -> float:
        if calibration.law.levels > 2:
            return _normal_failure(alpha, mse(design, density))
        return failure_probability(design, alpha=alpha, density=density)

    def noise(generator: np.random.Generator) -> float:
        return float(generator.geometric(rise) - generator.geometric(rise)) / (sample * design.signal)

    return Contender(
        estimator,
        "sound",
        law,
        sample,
        noise,
        lambda density: mse(design, density),
        failure,
    )


@cache
def sound_calibration(
    estimator: Published, *, epsilon: float, sample: int, universe: int | None
) -> Calibration[StateLaw]:
    """Return the calibration of the sound counterpart, at E = 2ε."""
    law, levels = _COUNTERPARTS[estimator]
    total = 2 * Fraction(repr(epsilon))
    return calibrate(epsilon=total, sample=sample, universe=universe, law=law, levels=levels)


def _drawn(law: StateLaw) -> PublishedLaw:
    """Return a law on levels in the form in which the continuous ones come."""
    scores = np.array(law.scores, dtype=np.float64)

    def drawing(weights: tuple[int, ...]) -> Callable[[Array], Array]:
        if law.levels == 2:
            return lambda uniform: (uniform < weights[1] / COIN).astype(np.float64)
        edges = np.cumsum(weights)[:-1] / COIN
        return lambda uniform: scores[np.searchsorted(edges, uniform, side="right")]

    return PublishedLaw(drawing(law.init), drawing(law.update), float(law.mean(law.init)), float(law.mean(law.update)))


def _normal_failure(alpha: float, mean_square: float) -> float:
    """P(|error| ≥ α) of a normal error: the mean of thousands of entries with many values is as good as normal."""
    return float(2 * special.ndtr(-alpha / math.sqrt(mean_square)))


def _laplace_tail(z: Array) -> Array:
    """P(Z ≥ z) of standard Laplace noise."""
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z >= 0, tail, 1 - tail)
