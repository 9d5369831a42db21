"""Ordered values are about as frequent as those beside them: how much so, their noisy table tells.

Let rᵢ be the ratio of the i-th count to the one that the uniform law expects, on a grid. Along the values it goes in
steps:

    P(rᵢ₊₁ | rᵢ) = (1 − q)·w(rᵢ₊₁)·exp(−|ln rᵢ₊₁ − ln rᵢ|/τ)/Z(rᵢ) + q·P(rᵢ₊₁),

with chance 1 − q by about τ in the logarithm (w is the width of a grid point, Z makes the sum 1), and else to anywhere,
as the ``prior`` P that all attributes share has it. So a law may be smooth, may jump at its ends, or with q = 1 may
know nothing of an order, as codes do that happen to be numbers. Given the likelihood of every noisy count this is a
hidden Markov chain: one pass forwards and one backwards give the posterior of every ratio, and how likely the whole
table is. A step is a sweep over the grid each way, for what comes from a point falls by one factor from any point to
the next.

Which τ and q are right is not known, nor from which end the chain goes: all of :data:`STEPS` with :data:`JUMPS` are
tried, from the first value and from the last, and q = 1, and each weighs as much as the table is likely under it.
"""

from __future__ import annotations

from itertools import product
from typing import Final

import numpy as np
from numba import njit

from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["moments_along"]

STEPS: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Every τ that is tried."""

JUMPS: Final = (0.02, 0.1, 0.3)
"""Every q that is tried beside 1."""


def moments_along(
    likelihood: FloatArray, prior: FloatArray, logarithms: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return posterior means and variances of the counts of ordered values; see the module.

    ``likelihood`` has a row for every value and a column for every point of the grid, at which ``logarithms`` of ratios
    and ``counts`` stand; rows may be scaled, and have a largest element of about 1. The prior is nowhere 0.
    """
    gaps, widths = np.diff(logarithms, prepend=logarithms[0]), np.gradient(logarithms)
    ways = [likelihood, np.ascontiguousarray(likelihood[::-1])]
    tried = [*product(range(2), STEPS, JUMPS), (0, 1.0, 1.0)]
    told = np.empty(len(tried))
    firsts, seconds = np.empty((2, len(tried), len(likelihood)))
    for place, (way, step, jump) in enumerate(tried):
        falls = np.exp(-gaps / step)
        told[place] = _pass_along(ways[way], prior, falls, widths, jump, counts, firsts[place], seconds[place])
        if way:
            firsts[place], seconds[place] = firsts[place, ::-1].copy(), seconds[place, ::-1].copy()
    weights = np.exp(told - told.max())
    weights /= weights.sum()
    mean = weights @ firsts
    return mean, np.maximum(weights @ seconds - mean**2, 0.0)


@njit(cache=True)
def _spread(values: FloatArray, falls: FloatArray, out: FloatArray) -> None:
    """Put into ``out`` the sum of all ``values``, each less by what it ``falls`` on the way."""
    carried = 0.0
    for point in range(values.size):
        carried = carried * falls[point] + values[point]
        out[point] = carried
    carried = 0.0
    for point in range(values.size - 1, 0, -1):
        carried = (carried + values[point]) * falls[point]
        out[point - 1] += carried


@njit(cache=True)
def _pass_along(
    likelihood: FloatArray,
    prior: FloatArray,
    falls: FloatArray,
    widths: FloatArray,
    jump: float,
    counts: FloatArray,
    firsts: FloatArray,
    seconds: FloatArray,
) -> float:
    """Fill in the posterior mean of every count and of its square; return the logarithm of the likelihood."""
    values, points = likelihood.shape
    norms, reached, ahead = np.empty(points), np.empty(points), np.ones(points)
    _spread(widths, falls, norms)
    before = np.empty((values, points))
    told = 0.0
    for value in range(values):
        if value:
            _spread(before[value - 1] / norms, falls, reached)
            reached = (1 - jump) * widths * reached + jump * prior
        else:
            reached = prior.copy()
        before[value] = reached * likelihood[value]
        whole = before[value].sum()
        before[value] /= whole
        told += np.log(whole)
    for value in range(values - 1, -1, -1):
        posterior = before[value] * ahead
        whole = posterior.sum()
        firsts[value] = (posterior * counts).sum() / whole
        seconds[value] = (posterior * counts**2).sum() / whole
        coming = ahead * likelihood[value]
        _spread(widths * coming, falls, reached)
        ahead = (1 - jump) * reached / norms + jump * (prior * coming).sum()
        ahead /= ahead.max()
    return told
