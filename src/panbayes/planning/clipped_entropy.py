"""The exact mean of the noisy entropy where counts below zero are cut off, at any noise.

The mean of a sum over cells needs the law of each cell alone: c ~ Binomial(n, p), and the noise Y of M holders, which
are both laws of integers, so c + Y has the product of their characteristic functions. With f(x) = −x·ln x, f(0) = 0,

    E[H̃] = Σ_i E[f(max(c_i + Y_i, 0)/n)],

a sum over all integers within reach; what lies beyond has a chance below 10⁻¹². Cells of probability 0 count: noise
fills them. This is what the leading terms of :mod:`panbayes.planning.entropy_error` are close to where they hold, and
what replaces them where they do not.

Thesis: Theorem thm_noiy_ss_bias, with the clipping of Algorithm "Distributed BN Parameter Learning" after the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from panbayes.errors import InputError
from panbayes.planning.noise_moments import FloatArray, NoiseMoments
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event

__all__ = ["clipped_entropy_mean"]

_REACH: Final = 40.0
"""Deviations of noise that are looked at: beyond, one Laplace variable has a chance of e^(−40·√2)."""

_MOST: Final = 1 << 22


def clipped_entropy_mean(law: FloatArray, *, records: int, event: Event, holders: int) -> float:
    """Return E[H̃] in nats for the ``law`` p of all cells, n = ``records`` and the noise of an ``event``.

    >>> from fractions import Fraction
    >>> from panbayes.privacy.events import DiscreteLaplace
    >>> noise = DiscreteLaplace(Fraction(1), 2)
    >>> round(clipped_entropy_mean(np.array([0.5, 0.5]), records=1000, event=noise, holders=1), 5)
    0.69264
    """
    p = np.asarray(law, dtype=np.float64).ravel()
    if not p.size or p.min() < 0 or abs(float(p.sum()) - 1) > 1e-9:
        raise InputError("law", found="found no probabilities", remedy="give numbers of 0 or more that add up to 1")
    if records < 1:
        raise InputError("records", found=f"found {records}", remedy="give 1 or more")
    deviation = NoiseMoments.of(event, holders=holders).deviation
    size = 1 << math.ceil(math.log2(2 * (_REACH * deviation + 10 * math.sqrt(records / 4) + 64)))
    if size > _MOST:
        raise InputError("epsilon", found="found too little for an exact sum", remedy="give more")
    frequency: FloatArray = np.asarray(2 * math.pi * np.fft.rfftfreq(size), dtype=np.float64)
    noise = _characteristic(event, frequency) ** holders
    return math.fsum(_cell(chance, many, records, noise, frequency, size) for chance, many in _counted(p))


def _counted(law: FloatArray) -> Iterable[tuple[float, int]]:
    values, many = np.unique(law, return_counts=True)
    return zip(values.tolist(), many.tolist(), strict=True)


def _cell(chance: float, many: int, records: int, noise: FloatArray, frequency: FloatArray, size: int) -> float:
    """Return what cells of this ``chance`` add to the mean: the law is centred at a count near n·p."""
    centre = round(records * chance)
    turned = (1 - chance + chance * np.exp(-1j * frequency)) ** records * np.exp(1j * frequency * centre)
    found = np.fft.irfft(turned * noise, size)
    places = np.arange(size)
    share = np.maximum(np.where(places < size // 2, places, places - size) + centre, 0) / records
    return many * float(-(found * share * np.log(np.where(share > 0, share, 1.0))).sum())


def _characteristic(event: Event, frequency: FloatArray) -> FloatArray:
    """Return the characteristic function of the noise of one holder, which is real."""
    match event:
        case DiscreteLaplace():
            q = math.exp(-1 / float(event.scale))
            return np.asarray((1 - q) ** 2 / (1 - 2 * q * np.cos(frequency) + q**2))
        case DiscreteGaussian():
            reach = math.ceil(12 * math.sqrt(float(event.variance))) + 1
            weights = np.exp(-(np.arange(1, reach) ** 2) / (2 * float(event.variance)))
            if reach <= 64:
                waves = np.cos(np.outer(frequency, np.arange(1, reach)))
                return np.asarray((1 + 2 * waves @ weights) / (1 + 2 * weights.sum()))
            # From σ = 5 on the law of integers has the transform of the continuous one to the last digit.
            return np.asarray(np.exp(-float(event.variance) * frequency**2 / 2))
        case _:
            raise TypeError(f"{event.mechanism} adds no noise to counts")
