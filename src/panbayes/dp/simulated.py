"""Simulated noise: seeded and fast, for experiments and bit-for-bit tests only.

Whoever knows the seed can take the noise off again, so whatever it touches is stamped ``not private``. What is promised
stands in :mod:`panbayes.dp.noise`. This is the one module of the room that may name NumPy's generators.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.noise import check_coins, check_gaussian, check_laplace, check_one_radius, check_selection
from panbayes.dp.one_radius import one_radius
from panbayes.privacy.events import Rule

__all__ = ["SimulatedNoise"]


class SimulatedNoise:
    """Seeded noise for experiments and tests ONLY: anybody who knows the seed can remove it.

    NumPy's PCG64 and floating-point arithmetic: fast, reproducible, and private in no sense. The law is that
    of the exact mechanisms up to floating-point rounding.

    >>> noise = SimulatedNoise(7)
    >>> noise.private
    False
    >>> noise.spawn(b"query 1").bernoulli(8, probability=Fraction(1, 2)).astype(int)
    array([0, 1, 0, 1, 1, 1, 0, 1])
    >>> noise.spawn(b"query 2").bernoulli(8, probability=Fraction(1, 2)).astype(int)
    array([0, 1, 0, 1, 0, 0, 0, 0])
    """

    __slots__ = ("_generator", "_seed")

    def __init__(self, seed: int) -> None:
        """Start the stream of this ``seed``, a non-negative integer of any size."""
        if seed < 0:
            raise ValueError(f"a seed cannot be negative, found {seed}")
        self._seed = seed
        self._generator = np.random.Generator(np.random.PCG64(seed))

    @property
    def private(self) -> bool:
        """False: whoever knows the seed knows the noise."""
        return False

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw the difference of two geometric variables ⌊``scale``·E⌋, E exponential."""
        check_laplace(size, scale)
        return self._laplace(size, float(scale))

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        """Draw from the discrete Laplace law and keep z with probability exp(−(|z| − σ²/t)²/(2σ²)).

        t = ⌊σ⌋ + 1 is the scale of the Laplace law (Canonne, Kamath and Steinke 2020, Algorithm 3).
        """
        check_gaussian(size, variance)
        square = float(variance)
        scale = math.floor(math.sqrt(square)) + 1
        kept = np.zeros(0, dtype=np.int64)
        while kept.size < size:
            drawn = self._laplace(2 * (size - kept.size) + 16, float(scale))
            chance = np.exp(-((np.abs(drawn) - square / scale) ** 2) / (2 * square))
            kept = np.concatenate([kept, drawn[self._generator.random(drawn.size) < chance]])
        return kept[:size]

    def one_radius(self, sizes: Sequence[int], *, scale: Fraction, balanced: bool) -> NDArray[np.int64]:
        """Draw by the algorithm of the secure source."""
        check_one_radius(sizes, scale)

        def below(bound: int) -> int:
            bits = (bound - 1).bit_length()
            while True:
                drawn = int.from_bytes(self._generator.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)
                if drawn < bound:
                    return drawn

        def falling(size: int, step: Fraction) -> NDArray[np.int64]:
            return (self._generator.standard_exponential(size) * float(step)).astype(np.int64)

        return one_radius(sizes, scale=scale, balanced=balanced, below=below, falling=falling)

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw coins by comparing uniform floats with the ``probability``."""
        check_coins(size, probability)
        return self._generator.random(size) < float(probability)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        """Take the largest score plus noise: Gumbel noise makes the exponential mechanism.

        Exponential noise makes permute-and-flip (Ding et al., The Permute-and-Flip Mechanism Is Identical to
        Report-Noisy-Max with Exponential Noise, 2021).
        """
        check_selection(scores, scale, mechanism)
        match mechanism:
            case "exponential":
                return int(np.argmax(scores + self._generator.gumbel(scale=float(scale), size=scores.size)))
            case "permute-and-flip":
                return int(np.argmax(scores + self._generator.exponential(scale=float(scale), size=scores.size)))

    def spawn(self, key: bytes, /) -> SimulatedNoise:
        """Return the stream of ``key``: it depends on this seed and the key, not on what was drawn before."""
        text = b"panbayes simulated noise\0%d\0%s" % (self._seed, key)
        return SimulatedNoise(int.from_bytes(hashlib.sha256(text).digest(), "big"))

    def _laplace(self, size: int, scale: float) -> NDArray[np.int64]:
        up = self._generator.standard_exponential(size) * scale
        down = self._generator.standard_exponential(size) * scale
        return up.astype(np.int64) - down.astype(np.int64)
