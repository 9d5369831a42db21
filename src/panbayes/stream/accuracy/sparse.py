"""Streams with few users: what relative error a density has, and what nobody can have.

The error of a density is a fraction of the universe, whatever the density is. As a fraction of the users who came it is
small only if enough came. :func:`least_density` says how many a given design needs. The other two functions are lower
bounds, proved in ``docs/proofs/multiplicative-error.md``: no better law, release or estimate gets below them.
"""

from __future__ import annotations

import math
from typing import Final

from panbayes.stream.accuracy.density_error import Design
from panbayes.stream.accuracy.statistic_law import failure_probability

__all__ = ["invisible_users", "least_density", "least_error"]

_STEPS: Final = 1 << 20


def least_density(design: Design, *, relative: float, beta: float) -> float | None:
    """The least density that is missed by more than ``relative`` of itself with probability at most ``beta``.

    None if there is no such density.

    >>> wide = Design((0.75, 0.25), (0.25, 0.75), (0, 1), sample=10_000, universe=10_000, noise_scale=10.0)
    >>> found = least_density(wide, relative=0.1, beta=0.05)
    >>> found is not None and 0.1 < found < 0.3
    True
    """
    steps = design.universe if design.universe is not None else _STEPS

    def fails(step: int) -> bool:
        density = step / steps
        return failure_probability(design, alpha=relative * density, density=density) > beta

    if fails(steps):
        return None
    low, high = 0, steps
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high / steps


def invisible_users(entries: int, *, epsilon: float, beta: float) -> float:
    """How many users nobody can tell from none, where each of ``entries`` users has an independent entry.

    k = √(m·ln(1 + 4(1 − 2β)²))/(2 sinh(ε/2)): fewer than k users at random places cannot be told from an empty stream
    with error probabilities of at most β, from the whole state, if an entry loses at most ``epsilon`` (Theorem 1).

    >>> round(invisible_users(1_000_000, epsilon=1, beta=0.05))
    1153
    """
    return math.sqrt(entries * math.log1p(4 * (1 - 2 * beta) ** 2)) / (2 * math.sinh(epsilon / 2))


def least_error(users: int, *, epsilon: float, beta: float) -> float:
    """The error in users that every counter of ``users`` possible users exceeds on some stream with probability β.

    For whatever keeps the state private with ``epsilon`` at one look (Theorem 2):
    a = ((1 − 2√β)·√(πn/2·(1/(1 + e^ε) − √β)) − 1)/4, and 0 where that is no number above 0.

    >>> round(least_error(1_000_000, epsilon=1, beta=0.0025))
    132
    """
    slip = math.sqrt(beta)
    room = 1 / (1 + math.exp(epsilon)) - slip
    if room <= 0 or slip >= 0.5:
        return 0.0
    return max(0.0, ((1 - 2 * slip) * math.sqrt(math.pi * users / 2 * room) - 1) / 4)
