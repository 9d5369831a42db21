"""Moments of the noise in a cell that several holders' noisy counts were added up into, and what clipping makes of it.

Let η be the noise of one holder, and Y = η₁ + … + η_M that of the sum over M holders. Odd moments are 0. Cumulants add
up, so with κ₂, κ₄, κ₆ those of η:

    E[Y²] = M·κ₂        E[Y⁴] = M·κ₄ + 3·(M·κ₂)²        E[Y⁶] = M·κ₆ + 15·M²·κ₄·κ₂ + 15·(M·κ₂)³

===================== ================= ============================ ==============================================
noise                 κ₂                κ₄                           κ₆
===================== ================= ============================ ==============================================
Laplace, scale b      2b²               12b⁴                         240b⁶
discrete Laplace,     2q/(1−q)²         2q(1+4q+q²)/(1−q)⁴           2q(1+26q+66q²+26q³+q⁴)/(1−q)⁶
q = e^(−1/b)
discrete Gaussian, σ² σ²                0                            0
===================== ================= ============================ ==============================================

So for Laplace noise E[Y⁶] = 120·(M³ + 3M² + 2M)·b⁶; the thesis's 240·(M³ + 2M)·b⁶ is the same for M ≤ 2 only (errata
6). The discrete Gaussian has the cumulants of the continuous one up to 10⁻⁷ of them from σ = 1 on.

**Clipping.** A count c ≥ 0 with noise, cut off at 0, is X = max(c + η, 0). For Laplace noise

    E[X] = c + ½·b·e^(−c/b)        E[X²] = c² + 2b² − b²·e^(−c/b)

and for Gaussian noise, with z = c/σ, Φ and φ the standard normal law and its density,

    E[X] = c·Φ(z) + σ·φ(z)         E[X²] = (c² + σ²)·Φ(z) + c·σ·φ(z).

Thesis: Lemma lemmma_laplace; section "Accuracy Analysis"; see errata 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from panbayes.errors import InputError
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event

__all__ = ["CellNoise", "FloatArray", "NoiseMoments", "check_holders"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseMoments:
    """E[Y²], E[Y⁴] and E[Y⁶] of the noise Y of a cell, added up over holders; see the module."""

    second: float
    fourth: float
    sixth: float

    @classmethod
    def of_cumulants(cls, second: float, fourth: float, sixth: float, *, holders: int) -> NoiseMoments:
        """Return the moments of the sum over M = ``holders`` of noise with these cumulants κ₂, κ₄ and κ₆."""
        check_holders(holders)
        k2, k4, k6 = holders * second, holders * fourth, holders * sixth
        return cls(k2, k4 + 3 * k2**2, k6 + 15 * k4 * k2 + 15 * k2**3)

    @classmethod
    def laplace(cls, scale: float, *, holders: int) -> NoiseMoments:
        """Return those of continuous Laplace noise of this ``scale`` at each of so many ``holders``.

        >>> NoiseMoments.laplace(1, holders=3)
        NoiseMoments(second=6, fourth=144, sixth=7200)
        """
        return cls.of_cumulants(2 * scale**2, 12 * scale**4, 240 * scale**6, holders=holders)

    @classmethod
    def of(cls, event: Event, *, holders: int) -> NoiseMoments:
        """Return those of the noise of an ``event`` at each of so many ``holders``."""
        match event:
            case DiscreteLaplace():
                q = math.exp(-1 / float(event.scale))
                rest = -math.expm1(-1 / float(event.scale))
                fourth = 2 * q * (1 + 4 * q + q**2) / rest**4
                sixth = 2 * q * (1 + 26 * q + 66 * q**2 + 26 * q**3 + q**4) / rest**6
                return cls.of_cumulants(2 * q / rest**2, fourth, sixth, holders=holders)
            case DiscreteGaussian():
                return cls.of_cumulants(float(event.variance), 0.0, 0.0, holders=holders)
            case _:
                raise TypeError(f"{event.mechanism} adds no noise to counts")

    @property
    def deviation(self) -> float:
        """The standard deviation √E[Y²]."""
        return math.sqrt(self.second)


def check_holders(holders: int) -> None:
    """Refuse less than one holder."""
    if holders < 1:
        raise InputError("holders", found=f"found {holders}", remedy="give 1 or more")


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The noise that each of M = ``holders`` adds to a cell: Laplace of ``scale`` b, or ``gaussian`` of deviation σ.

    The law of integers is taken for the continuous one, from which it differs by less than a record.
    """

    gaussian: bool
    scale: float
    holders: int

    @classmethod
    def of(cls, event: Event, *, holders: int) -> CellNoise:
        """Return the noise of an ``event`` at each of so many ``holders``."""
        check_holders(holders)
        match event:
            case DiscreteLaplace():
                return cls(False, float(event.scale), holders)
            case DiscreteGaussian():
                return cls(True, math.sqrt(float(event.variance)), holders)
            case _:
                raise TypeError(f"{event.mechanism} adds no noise to counts")

    @property
    def each(self) -> float:
        """The standard deviation of one holder's noise: σ, or √2·b."""
        return self.scale if self.gaussian else math.sqrt(2) * self.scale

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of all holders together."""
        return self.each * math.sqrt(self.holders)

    def clipped_by_holders(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the sum of what every holder cut off at 0, each having 1/M of the ``counts``."""
        mean, square = _clipped(counts / self.holders, self.scale, gaussian=self.gaussian)
        return self.holders * mean, self.holders * np.maximum(square - mean**2, 0.0)

    def clipped_by_analyst(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the noisy sum cut off at 0; Laplace noise of several is taken for Gaussian."""
        gaussian = self.gaussian or self.holders > 1
        mean, square = _clipped(counts, self.deviation if gaussian else self.scale, gaussian=gaussian)
        return mean, np.maximum(square - mean**2, 0.0)


def _clipped(counts: FloatArray, scale: float, *, gaussian: bool) -> tuple[FloatArray, FloatArray]:
    """Return E[X] and E[X²] of noisy ``counts`` cut off at 0; see the module."""
    away = counts / scale
    if gaussian:
        inside, density = ndtr(away), np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi)
        return counts * inside + scale * density, (counts**2 + scale**2) * inside + counts * scale * density
    tail = np.exp(-away)
    return counts + scale * tail / 2, counts**2 + scale**2 * (2 - tail)
