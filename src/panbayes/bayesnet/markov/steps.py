"""Loops of L-BFGS: products of long vectors, and the two loops over the last steps.

They run in one thread: beyond ten thousand numbers the algebra library would wake all of them. Sums may be taken in any
order, so that several numbers are added at once.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["dot", "turned"]

Floats = NDArray[np.float64]


@njit(cache=True, fastmath={"reassoc"})
def dot(one: Floats, other: Floats) -> float:
    """Multiply two vectors."""
    total = 0.0
    for place in range(one.size):
        total += one[place] * other[place]
    return total


@njit(cache=True, fastmath={"reassoc"})
def _dot_within(one: Floats, other: Floats, within: NDArray[np.bool_]) -> float:
    total = 0.0
    for place in range(one.size):
        total += one[place] * other[place] if within[place] else 0.0
    return total


@njit(cache=True)
def turned(
    direction: Floats,
    within: NDArray[np.bool_],
    moved: Floats,
    bent: Floats,
    order: NDArray[np.int64],
    curved: float,
) -> bool:
    """Turn a gradient, 0 but ``within`` what is free, into a ``direction``; tell whether any step was of use.

    Steps are the rows of ``moved`` and of ``bent`` in this ``order``, oldest first. Of each what is free counts alone,
    and it counts if its curvature there is above ``curved``, as a cosine.
    """
    products = np.empty(order.size)
    weights = np.zeros(order.size)
    scale = 0.0
    for place in range(order.size - 1, -1, -1):
        step, bend = moved[order[place]], bent[order[place]]
        product = _dot_within(step, bend, within)
        square = _dot_within(bend, bend, within)
        if product <= curved * math.sqrt(_dot_within(step, step, within) * square):
            products[place] = 0.0
            continue
        products[place] = product
        if scale == 0.0:
            scale = product / square
        weights[place] = dot(step, direction) / product
        for cell in range(direction.size):
            direction[cell] -= weights[place] * bend[cell] if within[cell] else 0.0
    if scale == 0.0:
        return False
    for cell in range(direction.size):
        direction[cell] *= scale
    for place in range(order.size):
        if products[place] > 0.0:
            step, bend = moved[order[place]], bent[order[place]]
            weight = weights[place] - dot(bend, direction) / products[place]
            for cell in range(direction.size):
                direction[cell] += weight * step[cell] if within[cell] else 0.0
    return True
