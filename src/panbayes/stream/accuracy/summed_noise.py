"""The law of a sum of independent two-sided geometric noises, on a grid."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["noise_reach", "summed_noise"]

_MOST: Final = 1 << 18
_FEWEST: Final = 64


def noise_reach(scale: float, terms: int) -> float:
    """How far a sum of ``terms`` noises may go; beyond lies less than 10⁻¹⁵.

    The sum of s exponential variables exceeds 40 + 4(s − 1) with probability Σ_{j<s} y^j e^(−y)/j! < 10⁻¹⁵.
    """
    return (40 + 4 * (terms - 1)) * scale


@lru_cache(maxsize=16)
def summed_noise(scale: float, terms: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return places z and their probabilities: all integers, or a grid of 2¹⁸ places where there are more.

    >>> z, p = summed_noise(1.0, 2)
    >>> round(float(p @ z**2), 4)  # twice 2λ/(1 − λ)², λ = 1/e
    3.6827
    """
    reach = max(_FEWEST, math.ceil(noise_reach(scale, terms)) + 1)
    z = np.linspace(-reach, reach, min(2 * reach, _MOST) + 1)
    weights = np.exp(-np.abs(z) / scale)
    weights /= weights.sum()
    if terms > 1:
        wave = np.fft.fft(np.fft.ifftshift(weights)) ** terms
        weights = np.maximum(np.fft.fftshift(np.fft.ifft(wave).real), 0.0)
    return z, weights
