"""Noisy tables of several holders, drawn as the package draws them, for comparing formulas with."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.simulated import SimulatedNoise
from panbayes.planning.noise_moments import NoiseMoments
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace

FloatArray = NDArray[np.float64]
Counts = DiscreteLaplace | DiscreteGaussian


def event_of(kind: str, deviation: float) -> Counts:
    """Noise of about this ``deviation`` at one holder, of either kind."""
    if kind == "laplace":
        return DiscreteLaplace(Fraction(deviation / 2**0.5).limit_denominator(1000), 2)
    return DiscreteGaussian(Fraction(deviation**2).limit_denominator(1000), 2)


def noise_of(event: Counts, size: int, seed: int) -> NDArray[np.int64]:
    drawn = SimulatedNoise(seed)
    if isinstance(event, DiscreteLaplace):
        return drawn.discrete_laplace(size, scale=event.scale)
    return drawn.discrete_gaussian(size, variance=event.variance)


def noisy_tables(
    law: FloatArray, *, records: int, event: Counts, holders: int, times: int, seed: int
) -> NDArray[np.int64]:
    """Tables [repetition, cell] of records drawn from a law, with the noise of all holders."""
    counts = np.random.default_rng(seed).multinomial(records, law.ravel(), size=times)
    for holder in range(holders):
        counts = counts + noise_of(event, counts.size, seed * 1000 + holder).reshape(counts.shape)
    return counts


def minus_x_ln_x(shares: FloatArray) -> FloatArray:
    kept = np.maximum(shares, 0.0)
    return np.asarray(-kept * np.log(np.where(kept > 0, kept, 1.0)))


def close(found: float, values: FloatArray, *, within: float) -> bool:
    """Whether the mean of simulated ``values`` is what a formula ``found``: within a part of it and six errors."""
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return bool(abs(float(values.mean()) - found) <= within * abs(found) + 6 * error)


def precise(values: FloatArray, *, within: float) -> bool:
    """Whether a simulation is precise enough that :func:`close` would notice an error of 30 %."""
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return bool(within * 1.3 * abs(float(values.mean())) + 6 * error < 0.3 * abs(float(values.mean())))


def second_order(
    f: Callable[[FloatArray], float], law: FloatArray, *, records: float, noise: NoiseMoments
) -> tuple[float, float]:
    """Bias and mean squared error of f(p̃) to second order, from derivatives by differences and the whole covariance."""
    p, step = law.ravel(), 1e-4
    moves = step * np.eye(p.size)
    slope = np.array([(f(p + move) - f(p - move)) / (2 * step) for move in moves])
    bend = np.array(
        [[(f(p + a + b) - f(p + a - b) - f(p - a + b) + f(p - a - b)) / (4 * step**2) for a in moves] for b in moves]
    )
    spread = (np.diag(p) - np.outer(p, p)) / records + noise.second / records**2 * np.eye(p.size)
    bias = float(np.trace(bend @ spread)) / 2
    excess = (noise.fourth - 3 * noise.second**2) * float((np.diag(bend) ** 2).sum()) / (4 * records**4)
    return bias, float(slope @ spread @ slope) + bias**2 + float(np.trace(bend @ spread @ bend @ spread)) / 2 + excess
