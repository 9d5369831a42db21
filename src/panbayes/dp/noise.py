"""Where noise comes from: one small protocol, a secure and a simulated implementation.

Noise is always an argument, never global, and always of an exact, public scale. :class:`SecureNoise` is the
one for people's data: integers from the operating system's randomness, exactly distributed. OpenDP draws
tables of up to :data:`OPENDP_CELLS` cells and every selection; larger tables come from
:mod:`panbayes.dp.sampler`, which is proved beside its code and some sixty times faster.
:class:`SimulatedNoise` is seeded and fast, for experiments and bit-for-bit tests only: whoever knows the seed
can take the noise off again, so whatever it touches is stamped ``not private``.

All implementations keep the same contract:

* the scale served is never below the scale asked for; a secure one is at most one part in 2³⁰ above it;
* integers saturate at ±:data:`~panbayes.dp.sampler.MAX_NOISE` = ±2⁶². Counts within ±2⁶¹ plus noise therefore
  fit int64, and clamping the sum to ±2⁶¹ gives exactly what clamping the unbounded sum would give (see
  :func:`panbayes.dp.mechanisms.discrete_laplace`), so saturation costs no privacy;
* scales of counts lie between :data:`~panbayes.dp.sampler.MIN_SCALE` and
  :data:`~panbayes.dp.sampler.MAX_SCALE`, those of scores, whose unit may be any, between 2⁻²⁰⁰ and 2²⁰⁰;
* a failure to draw does not depend on any record.

A further law of noise is a further method here.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.dp import opendp_bridge, sampler

__all__ = ["OPENDP_CELLS", "Noise", "SecureNoise", "Selection", "SimulatedNoise"]

Selection: TypeAlias = Literal["permute-and-flip", "exponential"]
"""How a high score is chosen; both spend ε = 2Δ/scale, permute-and-flip chooses better."""

OPENDP_CELLS: Final = 100_000
"""Up to this many cells OpenDP draws the noise of a table; it takes about a CPU-second for that many."""

_MIN_SELECTION: Final = Fraction(1, 2**200)


class Noise(Protocol):
    """A source of noise."""

    @property
    def private(self) -> bool:
        """Whether the noise is secret; if not, whatever it touches is stamped ``not private``."""
        ...

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw ``size`` integers z with probability proportional to exp(−|z|/``scale``)."""
        ...

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        """Draw ``size`` integers z with probability proportional to exp(−z²/(2·``variance``))."""
        ...

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw ``size`` coins that are true with this ``probability``."""
        ...

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Selection) -> int:
        """Draw the index of a high score; a score's odds fall by the factor e for each ``scale`` it lacks."""
        ...

    def spawn(self, key: bytes, /) -> Noise:
        """Return the source for one purpose, named by ``key`` (say, a holder and a query)."""
        ...


class SecureNoise:
    """Noise that nobody can predict or repeat, exactly distributed: the one for people's data."""

    __slots__ = ()

    @property
    def private(self) -> bool:
        """Yes."""
        return True

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw from OpenDP, or from :mod:`panbayes.dp.sampler` where there are many cells.

        The law is exact at the scale served: :func:`~panbayes.dp.opendp_bridge.padded_scale` of ``scale`` by
        OpenDP, :func:`~panbayes.dp.sampler.small_terms` of it by the sampler. Neither is below ``scale``.
        """
        _check(size, scale)
        if size > OPENDP_CELLS:
            return sampler.discrete_laplace(size, scale)
        if not size:
            return np.zeros(0, dtype=np.int64)
        drawn = opendp_bridge.add_discrete_laplace([0] * size, scale=opendp_bridge.padded_scale(scale))
        return drawn.clip(-sampler.MAX_NOISE, sampler.MAX_NOISE)

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        """Draw from OpenDP, exactly at the σ of :func:`~panbayes.dp.opendp_bridge.padded_deviation`.

        It takes about a CPU-second for 70,000 cells.
        """
        _check_variance(size, variance)
        if not size:
            return np.zeros(0, dtype=np.int64)
        drawn = opendp_bridge.add_discrete_gaussian([0] * size, scale=opendp_bridge.padded_deviation(variance))
        return drawn.clip(-sampler.MAX_NOISE, sampler.MAX_NOISE)

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw coins of exactly this ``probability``."""
        return sampler.bernoulli(size, probability)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Selection) -> int:
        """Let OpenDP choose, which takes the scores for the exact rationals they are.

        How long that takes depends on the scores as well as on the noise: where whoever asks can measure time, let
        the reply wait for a moment that does not depend on it.
        """
        _check_scores(scores, scale)
        served = opendp_bridge.padded_scale(scale)
        return opendp_bridge.noisy_max(scores, scale=served, gumbel=_is_exponential(mechanism))

    def spawn(self, _key: bytes, /) -> SecureNoise:
        """Return itself: fresh randomness needs no key."""
        return self


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
        """No, never."""
        return False

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw the difference of two geometric variables ⌊``scale``·E⌋, E exponential."""
        _check(size, scale)
        up = self._generator.standard_exponential(size) * float(scale)
        down = self._generator.standard_exponential(size) * float(scale)
        return up.astype(np.int64) - down.astype(np.int64)

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        """Draw from the discrete Laplace law and keep z with probability exp(−(|z| − σ²/t)²/(2σ²)).

        t = ⌊σ⌋ + 1 is the scale of the Laplace law (Canonne, Kamath and Steinke 2020, Algorithm 3).
        """
        _check_variance(size, variance)
        square = float(variance)
        scale = math.floor(math.sqrt(square)) + 1
        kept = np.zeros(0, dtype=np.int64)
        while kept.size < size:
            drawn = self.discrete_laplace(2 * (size - kept.size) + 16, scale=Fraction(scale))
            chance = np.exp(-((np.abs(drawn) - square / scale) ** 2) / (2 * square))
            kept = np.concatenate([kept, drawn[self._generator.random(drawn.size) < chance]])
        return kept[:size]

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw coins by comparing uniform floats with the ``probability``."""
        if not 0 <= probability <= 1:
            raise ValueError(f"a probability lies between 0 and 1, found {probability}")
        return self._generator.random(size) < float(probability)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Selection) -> int:
        """Take the largest score plus noise: Gumbel noise makes the exponential mechanism.

        Exponential noise makes permute-and-flip (Ding et al., The Permute-and-Flip Mechanism Is Identical to
        Report-Noisy-Max with Exponential Noise, 2021).
        """
        _check_scores(scores, scale)
        exponential = _is_exponential(mechanism)
        draw = self._generator.gumbel if exponential else self._generator.exponential
        return int(np.argmax(scores + draw(scale=float(scale), size=scores.size)))

    def spawn(self, key: bytes, /) -> SimulatedNoise:
        """Return the stream of ``key``: it depends on this seed and the key, not on what was drawn before."""
        text = b"panbayes simulated noise\0%d\0%s" % (self._seed, key)
        return SimulatedNoise(int.from_bytes(hashlib.sha256(text).digest(), "big"))


def _check(size: int, scale: Fraction) -> None:
    """Refuse a size or a scale outside the contract."""
    if size < 0:
        raise ValueError(f"the size cannot be negative, found {size}")
    if not sampler.MIN_SCALE <= scale <= sampler.MAX_SCALE:
        low, high = sampler.MIN_SCALE, sampler.MAX_SCALE
        raise ValueError(f"the scale must lie between {low} and {high}, found {float(scale):g}")


def _check_variance(size: int, variance: Fraction) -> None:
    """Refuse a size or a variance outside the contract."""
    if size < 0:
        raise ValueError(f"the size cannot be negative, found {size}")
    if not sampler.MIN_SCALE**2 <= variance <= sampler.MAX_SCALE**2:
        raise ValueError(f"the deviation must lie between {sampler.MIN_SCALE} and {sampler.MAX_SCALE}")


def _check_scores(scores: NDArray[np.float64], scale: Fraction) -> None:
    """Refuse scores among which there is nothing to choose, or a scale outside the contract."""
    if scores.ndim != 1 or not scores.size:
        raise ValueError(f"scores must be a non-empty vector, found shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    if not _MIN_SELECTION <= scale <= 1 / _MIN_SELECTION:
        raise ValueError("the scale of a selection must lie between 2**-200 and 2**200")


def _is_exponential(mechanism: Selection) -> bool:
    """Tell the two mechanisms apart, and refuse any other."""
    if mechanism not in ("exponential", "permute-and-flip"):
        raise ValueError(f"the mechanism must be 'exponential' or 'permute-and-flip', found {mechanism!r}")
    return mechanism == "exponential"
