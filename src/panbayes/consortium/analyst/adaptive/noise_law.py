"""The public law of the noise in a sum of releases: what the analyst knows about how wrong a noisy count may be.

The study and the query fix the scale of every holder's noise, so the law of the sum over holders is public. Estimation
needs its logarithmic density, up to a constant, and its standard deviation:

* zCDP: a sum of discrete Gaussians, taken for the Gaussian of the same variance;
* pure: a sum of discrete Laplace variables, taken for the continuous law with the characteristic function
  ∏ (1 + (b·t)²)^(−k) over the scales b and the number k of holders with that scale; it is inverted once, on a grid;
* pure, of one radius: a cell is taken for a sum of k such variables as well, k any positive number, of its variance
  and fourth moment (:meth:`NoiseLaw.of_radius`).

Estimates use the law as a weight for evidence, so the difference between the discrete and the continuous law does not
matter; privacy does not depend on any of this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, OneRadius

__all__ = ["FloatArray", "NoiseLaw"]

FloatArray = NDArray[np.float64]

_GRID: Final = 1 << 14
_REACH: Final = 20.0
_TAIL: Final = 6.0
_HARDLY_ANY: Final = 500.0
"""Falling variables of a scale below one over this are 0."""

_NEARLY_NORMAL: Final = 30.0
"""So many Laplace variables stand for a law with lighter tails than any sum of them has."""


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise in one cell: ``parts`` are (scale, how many) of Laplace, or (σ, how many) of Gaussian.

    The noise of a ``balanced`` table adds up to 0 over its cells; else cells are not correlated.
    """

    gaussian: bool
    parts: tuple[tuple[float, float], ...]
    balanced: bool = False

    @classmethod
    def of(cls, event: Event, *, holders: int = 1) -> NoiseLaw:
        """Return the law of the sum of the noise of an ``event`` over so many ``holders``.

        The scale is computed from the rounded loss, not rounded itself: questions depend on its last bit.
        """
        match event:
            case DiscreteLaplace():
                return cls(False, ((event.l1 / float(event.l1 / event.scale), holders),))
            case DiscreteGaussian():
                rho = float(event.l2_squared / (2 * event.variance))
                return cls(True, ((math.sqrt(event.l2_squared / (2 * rho)), holders),))
            case _:
                raise TypeError(f"{event.mechanism} adds no noise to counts")

    @classmethod
    def of_radius(cls, event: OneRadius, cells: int, *, dimensions: int, balanced: bool, holders: int = 1) -> NoiseLaw:
        """Return the law of a cell of a table of so many ``cells`` whose noise is of one radius, over ``holders``.

        All tables that share it have so many ``dimensions`` together. An even point of a ball of radius 1 in dimension
        d has the norm t with E[t^j] = d/(d + j). Of a balanced one n cells are above 0, with probability proportional
        to C(k, n)·C(k − 2, n − 1), and have t divided evenly among them, the others −t: then E[z²] is the mean of
        2·t²/(n + 1) + 2·t²/(k − n + 1) over k, likewise E[z⁴]. Of another the k magnitudes and a rest divide 1. A ball
        of whole numbers is half larger than its radius, whose moments are those of a sum of falling variables, without
        their fourth cumulant: that is next to nothing where many dimensions share a radius.
        """
        s = float(event.scale) / (2 if balanced else 1)
        mean = 1 / math.expm1(min(1 / s, _HARDLY_ANY))
        spread = (dimensions + 1) * mean * (1 + mean)
        middle = -(-dimensions // 2) + (dimensions + 1) * mean + 0.5
        square = middle**2 + spread
        fourth = middle**4 + 6 * middle**2 * spread + 4 * middle * spread * (1 + 2 * mean) + 3 * spread**2
        second_of_one, fourth_of_one = _moments_in_ball(cells, balanced=balanced)
        variance = second_of_one * square
        excess = fourth_of_one * fourth / variance**2 - 3
        number = min(_NEARLY_NORMAL, 3 / excess) if excess > 0 else _NEARLY_NORMAL
        return cls(False, ((math.sqrt(variance / (2 * number)), number * holders),), balanced)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation."""
        square = sum(times * scale**2 for scale, times in self.parts)
        return math.sqrt(square if self.gaussian else 2 * square)

    def log_density(self, distance: FloatArray) -> FloatArray:
        """Return the logarithm of the density at a distance from the true count, up to a constant."""
        away = np.abs(distance)
        if self.gaussian:
            return np.asarray(-(away**2) / (2 * self.deviation**2))
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return np.asarray(-away / self.parts[0][0])
        # Beyond the tail the density falls as that of its widest part.
        tail = _TAIL * self.deviation
        inside = np.interp(np.minimum(away, tail), *self._table)
        return np.asarray(inside - np.maximum(away - tail, 0) / max(scale for scale, _ in self.parts))

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Positions from 0 on, and the logarithm of the density there."""
        step = 2 * _REACH * self.deviation / _GRID
        frequency = 2 * np.pi * np.fft.fftfreq(_GRID, d=step)
        characteristic = np.ones(_GRID)
        for scale, times in self.parts:
            characteristic *= (1 + (scale * frequency) ** 2) ** -float(times)
        density = np.fft.ifft(characteristic).real[: _GRID // 2]
        places = np.arange(_GRID // 2, dtype=np.float64) * step
        logarithms: FloatArray = np.log(np.maximum(density, density[0] * 1e-12))
        return places, logarithms

    def scaled(self, factor: float) -> NoiseLaw:
        """Return the law of ``factor`` times this noise."""
        return replace(self, parts=tuple((scale * factor, times) for scale, times in self.parts))

    def summed(self, holders: float) -> NoiseLaw:
        """Return the law of the sum of this noise over so many ``holders``."""
        return replace(self, parts=tuple((scale, times * holders) for scale, times in self.parts))

    def plus(self, other: NoiseLaw) -> NoiseLaw:
        """Return the law of the sum of this noise and another's."""
        return NoiseLaw(self.gaussian, (*self.parts, *other.parts), self.balanced and other.balanced)


@lru_cache(maxsize=512)
def _moments_in_ball(cells: int, *, balanced: bool) -> tuple[float, float]:
    """Return E[z²] and E[z⁴] of a cell of an even point in a ball of radius 1; see :meth:`NoiseLaw.of_radius`."""
    k = cells
    if not balanced:
        return 2 / ((k + 1) * (k + 2)), 24 / ((k + 1) * (k + 2) * (k + 3) * (k + 4))
    d = k - 1
    weights = [math.comb(k, n) * math.comb(k - 2, n - 1) for n in range(1, k)]
    second = fourth = 0.0
    for n, weight in enumerate(weights, start=1):
        chance = weight / sum(weights)
        for many in (n, k - n):
            second += chance * 2 / (many + 1)
            fourth += chance * 24 / ((many + 1) * (many + 2) * (many + 3))
    return d / (d + 2) * second / k, d / (d + 4) * fourth / k
