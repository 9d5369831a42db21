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

import math
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
    """Fill in the posterior mean of every count and of its square; return the logarithm of the likelihood.

    It is written cell by cell: whole arrays would take Numba three times as long to compile.
    """
    values, points = likelihood.shape
    norms, reached, passed = np.empty(points), np.empty(points), np.empty(points)
    _spread(widths, falls, norms)
    before = np.empty((values, points))
    told = 0.0
    for value in range(values):
        if value:
            for point in range(points):
                passed[point] = before[value - 1, point] / norms[point]
            _spread(passed, falls, reached)
        whole = 0.0
        for point in range(points):
            came = (1 - jump) * widths[point] * reached[point] + jump * prior[point] if value else prior[point]
            before[value, point] = came * likelihood[value, point]
            whole += before[value, point]
        for point in range(points):
            before[value, point] /= whole
        told += math.log(whole)
    ahead = np.ones(points)
    for value in range(values - 1, -1, -1):
        whole = first = second = anywhere = 0.0
        for point in range(points):
            chance = before[value, point] * ahead[point]
            whole += chance
            first += chance * counts[point]
            second += chance * (counts[point] * counts[point])
            coming = ahead[point] * likelihood[value, point]
            anywhere += prior[point] * coming
            passed[point] = widths[point] * coming
        firsts[value] = first / whole
        seconds[value] = second / whole
        _spread(passed, falls, reached)
        largest = 0.0
        for point in range(points):
            ahead[point] = (1 - jump) * reached[point] / norms[point] + jump * anywhere
            largest = max(largest, ahead[point])
        for point in range(points):
            ahead[point] /= largest
    return told
