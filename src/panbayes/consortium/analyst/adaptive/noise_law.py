"""The public law of the noise in a sum of releases: what the analyst knows about how wrong a noisy count may be.

The study and the query fix the scale of every holder's noise, so the law of the sum over holders is public. Estimation
needs its logarithmic density, up to a constant, and its standard deviation:

* zCDP: a sum of discrete Gaussians, taken for the Gaussian of the same variance;
* pure: a sum of discrete Laplace variables, taken for the continuous law with the characteristic function
  ∏ (1 + (b·t)²)^(−k) over the scales b and the number k of holders with that scale; it is inverted once, on a grid.

Estimates use the law as a weight for evidence, so the difference between the discrete and the continuous law does not
matter; privacy does not depend on any of this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event

__all__ = ["FloatArray", "NoiseLaw"]

FloatArray = NDArray[np.float64]

_GRID: Final = 1 << 14
_REACH: Final = 20.0
_TAIL: Final = 6.0


@dataclass(frozen=True)
class NoiseLaw:
    """The law of the noise in one cell: ``parts`` are (scale, how many) of Laplace, or (σ, how many) of Gaussian."""

    gaussian: bool
    parts: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, event: Event, *, holders: int = 1) -> NoiseLaw:
        """Return the law of the sum of the noise of an ``event`` over so many ``holders``.

        The scale is computed from the rounded loss, not rounded itself: questions depend on its last bit, and a run
        that an earlier version began must ask the same ones, to be answered from the ledger.
        """
        match event:
            case DiscreteLaplace():
                return cls(False, ((event.l1 / float(event.l1 / event.scale), holders),))
            case DiscreteGaussian():
                rho = float(event.l2_squared / (2 * event.variance))
                return cls(True, ((math.sqrt(event.l2_squared / (2 * rho)), holders),))
            case _:
                raise TypeError(f"{event.mechanism} adds no noise to counts")

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
        return NoiseLaw(self.gaussian, tuple((scale * factor, times) for scale, times in self.parts))

    def summed(self, holders: int) -> NoiseLaw:
        """Return the law of the sum of this noise over so many ``holders``."""
        return NoiseLaw(self.gaussian, tuple((scale, times * holders) for scale, times in self.parts))

    def plus(self, other: NoiseLaw) -> NoiseLaw:
        """Return the law of the sum of this noise and another's."""
        return NoiseLaw(self.gaussian, (*self.parts, *other.parts))
