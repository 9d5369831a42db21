"""The exact law of a released statistic, and what follows from it: failure probabilities and confidence intervals.

The statistic T is the sum of the scores of m entries plus two-sided geometric noise (or several, added up). If D of
the U users are present, K of the m sampled ones are, with K hypergeometric; given K, the entries are independent. The
characteristic function of T is therefore Σ_K P(K) φ_upd^K φ_init^(m−K) φ_noise, and a Fourier transform turns it into
probabilities (for an infinite universe the first factor is ((1 − d)φ_init + dφ_upd)^m). The transform's length leaves
less than 10⁻¹⁵ outside.

The hypergeometric law has a generating function with real roots, so K is distributed as a sum of independent coins
with some probabilities λ₁ … λ_m, and the sum of scores as a sum of independent entries with laws (1 − λⱼ)init + λⱼupd.
Two uses: tails are monotone in D, and for samples too large to transform the Berry–Esseen theorem bounds the error
of the normal law by 0.56·S/s (S the largest score, s the standard deviation of the sum). That bound is added to the
tail, so that an interval still holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.stream.accuracy.density_error import Design, mse
from panbayes.stream.accuracy.summed_noise import noise_reach, summed_noise

__all__ = ["confidence_interval", "failure_probability", "statistic_law", "worst_failure"]

_MAX_WORK: Final = 1 << 23
_BERRY_ESSEEN: Final = 0.56
_REACH: Final = 8.5
_PLACES: Final = 17
_SILENCE: Final = 50


def _present(design: Design, density: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the plausible numbers K of present users in the sample, and their probabilities."""
    universe = design.universe if design.universe is not None else 0
    present, sample = round(density * universe), design.sample
    deviation = math.sqrt(sample * density * (1 - density) * design.correction)
    lowest = max(0, sample - (universe - present), math.floor(sample * density - _REACH * deviation) - 2)
    highest = min(sample, present, math.ceil(sample * density + _REACH * deviation) + 2)
    k = np.arange(lowest, highest + 1, dtype=np.float64)

    def choose(n: float, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(special.gammaln(n + 1) - special.gammaln(r + 1) - special.gammaln(n - r + 1))

    weights = choose(float(present), k) + choose(float(universe - present), sample - k)
    chances = np.exp(weights - weights.max())
    return k, chances / chances.sum()


def _length(design: Design, density: float) -> int:
    spread = (
        _REACH * math.sqrt(design.statistic_variance(density))
        + noise_reach(design.noise_scale, design.noise_terms)
        + 40
    )
    return 1 << math.ceil(math.log2(2 * spread))


def _too_large(design: Design, density: float) -> bool:
    rows = 1.0
    if design.universe is not None and design.sample < design.universe:
        rows += 2 * _REACH * math.sqrt(design.sample * density * (1 - density) * design.correction)
    return _length(design, density) * rows > _MAX_WORK or design.sample > 1 << 24


def _power(base: NDArray[np.complex128], exponent: float) -> NDArray[np.complex128]:
    """Raise to a whole power; the tiny number keeps the logarithm finite."""
    return np.asarray(np.exp(exponent * np.log(base + 1e-300)))


def _mixture(
    init: NDArray[np.complex128], update: NDArray[np.complex128], chances: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Return Σⱼ chances[j]·updateʲ·init^(n−j) for j = 0 … n by Horner's rule, dividing by the larger of the two."""
    swap = np.abs(update) > np.abs(init)
    larger, smaller = np.where(swap, update, init), np.where(swap, init, update)
    ratio, total = smaller / larger, np.zeros_like(init)
    for down, up in zip(chances[::-1], chances, strict=True):
        total = total * ratio + np.where(swap, up, down)
    return _power(larger, chances.size - 1) * total


def _audible(design: Design, angles: NDArray[np.float64]) -> int:
    """Return how many of the ``angles`` matter: beyond, the characteristic function of bits is below e⁻⁵⁰.

    That of a bit with probability p has the square 1 − 2p(1 − p)(1 − cos θ) ≤ exp(−4p(1 − p)θ²/π²) for |θ| ≤ π, so that
    of m bits with p(1 − p) ≥ v is at most exp(−2mvθ²/π²).
    """
    if design.scores != (0, 1):
        return angles.size
    least = design.sample * min(law[0] * law[1] for law in (design.init, design.update))
    return int(np.count_nonzero(2 * least * angles**2 / np.pi**2 <= _SILENCE))


@lru_cache(maxsize=64)
def statistic_law(design: Design, density: float) -> tuple[int, NDArray[np.float64]]:
    """Return (first, p) with p[i] the probability that the statistic is first + i.

    >>> coin = Design((0.5, 0.5), (0.1, 0.9), (0, 1), sample=2, universe=None, noise_scale=0.01)
    >>> first, p = statistic_law(coin, 0.0)
    >>> [round(float(p[t - first]), 6) for t in (0, 1, 2)]
    [0.25, 0.5, 0.25]
    """
    length, sample = _length(design, density), design.sample
    angle = 2 * np.pi * np.arange(length // 2 + 1) / length
    angle = angle[: _audible(design, angle)]
    turns = np.exp(1j * np.outer(angle, np.array(design.scores, dtype=np.float64)))
    init, update = turns @ np.array(design.init), turns @ np.array(design.update)
    if design.universe is None:
        entries = _power((1 - density) * init + density * update, sample)
    else:
        k, chances = _present(design, density)
        entries = _power(init, sample - k[-1]) * _power(update, k[0]) * _mixture(init, update, chances)
    decay = math.exp(-1 / design.noise_scale)
    noise = (1 - decay) ** 2 / (1 - 2 * decay * np.cos(angle) + decay**2)
    mean = sample * (design.mean_init + density * design.signal)
    first = round(mean) - length // 2
    law = np.fft.irfft(np.conj(entries * noise**design.noise_terms * np.exp(-1j * angle * first)), n=length)
    return first, np.maximum(law, 0.0)


def _at_most(design: Design, density: float, edge: float) -> float:
    """Bound P(T ≤ edge) from above: exactly, or by the normal law and Berry–Esseen."""
    if _too_large(design, density):
        return _normal_tail(design, density, math.floor(edge), side=1)
    first, law = statistic_law(design, density)
    return float(law[: max(0, math.floor(edge) - first + 1)].sum())


def _at_least(design: Design, density: float, edge: float) -> float:
    """Bound P(T ≥ edge) from above in the same way."""
    if _too_large(design, density):
        return _normal_tail(design, density, math.ceil(edge), side=-1)
    first, law = statistic_law(design, density)
    return float(law[max(0, math.ceil(edge) - first) :].sum())


def _normal_tail(design: Design, density: float, edge: int, *, side: int) -> float:
    mean = design.sample * (design.mean_init + density * design.signal)
    deviation = math.sqrt(design.statistic_variance(density))
    z, weights = summed_noise(design.noise_scale, design.noise_terms)
    normal = float(weights @ special.ndtr(side * (edge - z - mean) / deviation))
    return min(1.0, normal + _BERRY_ESSEEN * max(design.scores) / deviation)


def _edges(design: Design, density: float, alpha: float) -> tuple[float, float]:
    """The statistics at which the estimate is α below and α above the density, moved inwards by rounding errors."""
    mean = design.sample * (design.mean_init + density * design.signal)
    reach = alpha * design.sample * design.signal
    slip = 1e-9 * (1 + abs(mean))
    return mean - reach + slip, mean + reach - slip


def failure_probability(design: Design, *, alpha: float, density: float) -> float:
    """The probability that the estimate misses ``density`` by α or more (a multiple of 1/U in a finite universe)."""
    below, above = _edges(design, density, alpha)
    return _at_most(design, density, below) + _at_least(design, density, above)


def worst_failure(design: Design, *, alpha: float) -> float:
    """The largest failure probability over all densities.

    The probability has two scales in the density. Across [0, 1] it follows the variance, a parabola: 17 places
    and the ends follow it within a thousandth. Within one count it jumps whenever an edge of the failing statistics
    passes an integer, upwards on arrival: so at each place the densities nearest to it at which the lower and the upper
    edge arrive are tried.
    """
    steps = design.universe if design.universe is not None else 1 << 40
    weight = design.sample * design.signal
    tried: set[float] = set()
    for place in np.linspace(0, 1, _PLACES):
        below, above = _edges(design, float(place), alpha)
        arrivals = (place + (math.ceil(below) - below) / weight, place - (above - math.floor(above)) / weight)
        arrived = (round(place * steps), math.ceil(arrivals[0] * steps), math.floor(arrivals[1] * steps))
        tried.update(max(0, min(steps, step)) / steps for step in arrived)
    return max(failure_probability(design, alpha=alpha, density=density) for density in tried)


def confidence_interval(design: Design, *, statistic: int, confidence: float) -> tuple[float, float]:
    """Return the densities that a released ``statistic`` does not reject, by inverting the exact test.

    low is the least density with P(T ≥ statistic) above (1 − confidence)/2, high the largest with P(T ≤ statistic)
    above it; both tails are monotone in the density. The interval covers the true density with at least the stated
    probability, whatever the density is. If every density is rejected on one side (the noise carried the statistic
    beyond what any density explains) the interval shrinks to the nearest end.
    """
    level = (1 - confidence) / 2
    steps = design.universe if design.universe is not None else 1 << 26

    def kept_low(step: int) -> bool:
        return _at_least(design, step / steps, statistic) > level

    def kept_high(step: int) -> bool:
        return _at_most(design, (steps - step) / steps, statistic) > level

    guess = min(1.0, max(0.0, design.density_of(statistic)))
    spread = 5 * math.sqrt(mse(design, guess))
    low = _first_kept(kept_low, steps, round((guess - spread) * steps), round(guess * steps))
    high = _first_kept(kept_high, steps, round((1 - guess - spread) * steps), round((1 - guess) * steps))
    return min(low, steps - high) / steps, max(low, steps - high) / steps


def _first_kept(kept: Callable[[int], bool], steps: int, low: int, high: int) -> int:
    """Return the first step of 0 … ``steps`` that is kept, looking between ``low`` and ``high`` first."""
    low = low if low > 0 and not kept(low) else -1
    high = high if high < steps and kept(high) else steps
    while high - low > 1:
        middle = (low + high) // 2
        if kept(middle):
            high = middle
        else:
            low = middle
    return high
