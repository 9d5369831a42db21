"""The quantizer of least mean squared error, found by Lloyd and Max's alternation.

Thesis: section "Quantized Laplace Density Estimator".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["lloyd_max"]

_GRID: Final = 1 << 14
_ROUNDS: Final = 4000


def lloyd_max(
    cdf: Callable[[NDArray[np.float64]], NDArray[np.float64]], *, levels: int, support: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ``levels`` − 1 boundaries and the ``levels`` representation points for a symmetric distribution.

    The distribution is taken on a fine grid over ``support``. A boundary lies half-way between its two points, a
    point is the mean of its region; the two are alternated until they stand still. The result is made symmetric
    about the middle of the support, as the distribution is.
    """
    low, high = support
    edges = np.linspace(low, high, _GRID + 1)
    mass = np.concatenate([[0.0], np.cumsum(np.diff(cdf(edges)))])
    moment = np.concatenate([[0.0], np.cumsum(np.diff(cdf(edges)) * (edges[1:] + edges[:-1]) / 2)])
    boundaries = np.interp(np.arange(1, levels) / levels * mass[-1], mass, edges)
    points = np.empty(levels)
    for _ in range(_ROUNDS):
        cuts = np.concatenate([[low], boundaries, [high]])
        points = np.diff(np.interp(cuts, edges, moment)) / np.diff(np.interp(cuts, edges, mass))
        moved = (points[1:] + points[:-1]) / 2
        done = float(np.max(np.abs(moved - boundaries))) < (high - low) * 1e-12
        boundaries = moved
        if done:
            break
    middle = low + high
    return (boundaries + (middle - boundaries)[::-1]) / 2, (points + (middle - points)[::-1]) / 2
