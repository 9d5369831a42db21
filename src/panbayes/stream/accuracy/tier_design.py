"""How many users a tuple of counts speaks of, and how precisely.

A tier has B cells, and its ids fall as densely as if all n users were spread over V cells of which these B are kept.
A cell without a user is one with probability p₀, one with a user with p₁; the released count adds two-sided geometric
noise. With q_k = (1 − k/V)ⁿ, the chance that k given cells are empty, and Δ = p₁ − p₀, a count has ::

    mean       B·(p₀ + Δ(1 − q₁)),
    variance   B·(p₀(1 − p₀)q₁ + p₁(1 − p₁)(1 − q₁)) + Δ²·(Bq₁ + B(B − 1)q₂ − B²q₁²) + that of the noise.

**The estimate** solves Σ_t w_t(n)·(count_t − mean_t(n)) = 0, where w_t(n) = mean_t'(n)/variance_t(n) weighs each tier
by how much it says at n. That is maximum likelihood without the part that takes the spread of a count for evidence,
which says next to nothing and is quadratic in the counts, so that one more 1 might lower its estimate. Here the left
side increases with every count at every n, so the least n at which it falls below zero does too: **one more 1 never
lowers the estimate.** Its relative error is 1/(n·√Σ_t mean_t'²/variance_t).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.accuracy.density_error import geometric_variance

__all__ = ["TierDesign", "estimate_users", "relative_error"]

_STEPS_A_FACTOR: Final = 16
"""Numbers of users tried for each factor of e; a solution is then found between two of them."""


@dataclass(frozen=True, slots=True)
class TierDesign:
    """The law of released counts, up to the number of users.

    A cell is one with probability ``init`` without and ``update`` with a user; every tier has ``cells`` cells, and is
    as dense as if all users were spread over ``spread`` of them; ``noise_scale`` is σ of the noise of each count, of
    which ``noise_terms`` are added up, as many for all tiers or so many for each.
    """

    init: float
    update: float
    cells: int
    spread: tuple[int, ...]
    noise_scale: float
    noise_terms: int | tuple[int, ...] = 1

    def __post_init__(self) -> None:
        """Refuse what is no such law."""
        if not 0 < self.init < self.update < 1 or self.noise_scale <= 0 or not self.spread:
            raise ValueError("need 0 < init < update < 1, a positive noise scale and a tier")
        if len(self.terms) != len(self.spread):
            raise ValueError("every tier has its noises")
        if min(self.terms) < 1 or self.cells < 1 or min(self.spread) < max(self.cells, 3):
            raise ValueError("users are spread over the cells of a tier, or over more, and counts have noise")

    @property
    def terms(self) -> tuple[int, ...]:
        """How many noises the count of each tier has."""
        return self.noise_terms if isinstance(self.noise_terms, tuple) else (self.noise_terms,) * len(self.spread)

    @property
    def noise_variance(self) -> NDArray[np.float64]:
        """The variance of the noise of each count."""
        return np.array(self.terms, dtype=np.float64) * geometric_variance(self.noise_scale)

    @property
    def most(self) -> int:
        """The number of users at which half a cell of the last tier is expected to be empty: more cannot be told."""
        return math.ceil(max(self.spread) * math.log(2 * self.cells))

    def means(self, users: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean count of each tier (columns) for each number of users (rows)."""
        return self.cells * (self.init - (self.update - self.init) * np.expm1(self._log_empty(users)))

    def variances(self, users: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of each count, noise included."""
        empty = np.exp(self._log_empty(users))
        own = self.init * (1 - self.init) * empty + self.update * (1 - self.update) * (1 - empty)
        # B(B − 1)q₂ − B(B − 1)q₁², which nearly cancel: q₂/q₁² is (1 − 1/(V − 1)²)ⁿ.
        together = np.expm1(np.asarray(users)[..., None] * np.log1p(-1 / (self._spread - 1) ** 2))
        occupied = self.cells * (self.cells - 1) * empty**2 * together + self.cells * (empty - empty**2)
        state = self.cells * own + (self.update - self.init) ** 2 * np.maximum(occupied, 0)
        return np.asarray(state + self.noise_variance)

    def log_slopes(self, users: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logarithm of how much one more user adds to each mean."""
        rate = -np.log1p(-1 / self._spread)
        return np.asarray(np.log(self.cells * (self.update - self.init) * rate) + self._log_empty(users))

    def weights(self, users: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each tier says at a number of users, as parts of the largest."""
        logs = self.log_slopes(users) - np.log(self.variances(users))
        return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))

    @property
    def _spread(self) -> NDArray[np.float64]:
        return np.array(self.spread, dtype=np.float64)

    def _log_empty(self, users: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln q₁ for each number of users and tier."""
        return np.asarray(users)[..., None] * np.log1p(-1 / self._spread)


def relative_error(design: TierDesign, users: float) -> float:
    """The standard error of the estimate as a part of ``users``.

    >>> half_a_megabit = TierDesign(0.27, 0.73, 1 << 19, (1 << 19,), 20.0)
    >>> round(relative_error(half_a_megabit, 1 << 19), 4)
    0.0038
    """
    at = np.array(users, dtype=np.float64)
    logs = 2 * design.log_slopes(at) - np.log(design.variances(at))
    # Far from any number that can be told the slopes are below every float.
    top = float(logs.max())
    said = top + math.log(float(np.exp(logs - top).sum()))
    return math.exp(min(700.0, -said / 2 - math.log(users)))


def estimate_users(design: TierDesign, counts: Sequence[int]) -> float:
    """The number of users that released ``counts`` speak of, between 0 and ``design.most``."""
    seen = np.array(counts, dtype=np.float64)

    def excess(users: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((design.weights(users) * (seen - design.means(users))).sum(axis=-1))

    steps = math.ceil(_STEPS_A_FACTOR * math.log(design.most))
    tried = np.concatenate([[0.0], np.exp(np.linspace(0, math.log(design.most), steps))])
    below = np.flatnonzero(excess(tried) < 0)
    if below.size == 0:
        return float(design.most)
    if below[0] == 0:
        return 0.0
    low, high = float(tried[below[0] - 1]), float(tried[below[0]])
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if excess(np.array(middle)) < 0:
            high = middle
        else:
            low = middle
    return low
