"""Which panels of thinned entries estimate the mean of a function of the visits best, whatever the visits are.

A user with c visits is redrawn in a panel of probability θ with probability 1 − (1 − θ)^c. The panels' densities,
weighted by w, have the mean Σᵢ wᵢ(1 − (1 − θᵢ)^c) over users, where φ(c) is wanted: the **bias** at c is the difference
of the two. Over users with any numbers of visits it is an average of such differences, so its size is at most the
largest of them over all c, and a crowd that all came c times has exactly that. No weights make it vanish for every c
unless φ is itself such a sum, so it is part of the error, and is stated.

The **variance** of a weighted density is w²/(4Δ²m) at most (Δ the signal of a bit, m the size of the panel: a bit has a
variance of at most 1/4, the drawing of users into panels included). For weights w the best sizes are proportional to
|w|, and the sum of all variances is then (Σ|w|)²/(4Δ²m) with m the users of all panels.

So the best panels minimise bias² + v·(Σ|w|)². For a fixed price κ of Σ|w| the least of bias + κΣ|w| over all weights
on a grid of θ is a linear program, whose solutions have few weights that are not 0; the best κ is found on a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InternalError
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.laws.thinned_law import WEIGHT, Panel

__all__ = ["Value", "best_panels", "worst_bias"]

Array: TypeAlias = NDArray[np.float64]
Value: TypeAlias = Callable[[Array], Array]
"""φ: what a user with so many visits adds to the figure. It stays the same from some number on."""

_GRID: Final = 28
_NEAR_ONE: Final = 10
_NEGLIGIBLE: Final = 1e-4
_DECAY: Final = 50


def _redrawn(theta: Array, visits: Array) -> Array:
    """The probability that an entry was redrawn: a row for each number of visits, a column for each panel."""
    return np.asarray(1 - (1 - theta[None, :]) ** visits[:, None])


def worst_bias(panels: tuple[Panel, ...], value: Value) -> float:
    """The largest |Σ w(1 − (1 − θ)^c) − φ(c)| over all numbers c of visits.

    Every c is tried up to 50/θ of the least θ; beyond, (1 − θ)^c < e⁻⁵⁰ and the difference is what it is at the end.

    >>> whole = Panel(size=10, keep=COIN, weight=WEIGHT)  # every appearance counts
    >>> worst_bias((whole,), lambda c: np.minimum(c, 1.0)), worst_bias((whole,), lambda c: np.minimum(c, 3.0))
    (0.0, 2.0)
    """
    theta = np.array([panel.theta for panel in panels])
    weights = np.array([panel.weight / WEIGHT for panel in panels])
    visits = np.arange(0, math.ceil(_DECAY / float(theta.min())) + 2, dtype=np.float64)
    return float(np.max(np.abs(_redrawn(theta, visits) @ weights - value(visits))))


def best_panels(value: Value, *, bend: int, sample: int, variance: float) -> tuple[Panel, ...]:
    """Return the panels of ``sample`` users with the least worst-case error for the mean of ``value``.

    ``bend`` is the number of visits from which ``value`` stays the same, and ``variance`` is 1/(4Δ²).
    """
    low = 0.2 / bend
    theta = np.unique(np.concatenate([np.geomspace(low, 1, _GRID), 1 - np.geomspace(0.02, 0.5, _NEAR_ONE)]))
    near = np.arange(1, 3 * bend + 10)
    visits = np.unique(np.concatenate([near, np.round(np.geomspace(near[-1], _DECAY / low, 24))])).astype(np.float64)
    each, unit = _redrawn(theta, visits), variance / sample

    def solve(price: float) -> tuple[float, Array]:
        wanted, one = value(visits), np.ones((visits.size, 1))
        rows = np.vstack([np.hstack([each, -each, -one]), np.hstack([-each, each, -one])])
        costs = np.concatenate([np.full(2 * theta.size, price), [1.0]])
        # Loaded here: a state that is only fed needs none of its 20 MB.
        from scipy import optimize

        found = optimize.linprog(costs, A_ub=rows, b_ub=np.concatenate([wanted, -wanted]), method="highs")
        if found.x is None:
            raise InternalError("no panels were found")
        return float(found.x[-1]), np.asarray(found.x[: theta.size] - found.x[theta.size : -1])

    def error(log_price: float) -> float:
        bias, weights = solve(math.exp(log_price))
        return bias**2 + unit * float(np.abs(weights).sum()) ** 2

    # Loaded here: a state that is only fed needs none of its 20 MB.
    from scipy import optimize

    found = optimize.minimize_scalar(error, bounds=(math.log(1e-5), 0.0), method="bounded", options={"xatol": 0.05})
    weights = solve(math.exp(float(found.x)))[1]
    kept = np.argsort(-np.abs(weights))[:sample]
    kept = np.sort(kept[np.abs(weights[kept]) > _NEGLIGIBLE * np.abs(weights).sum()])
    return _sized(theta[kept], weights[kept], sample)


def _sized(theta: Array, weights: Array, sample: int) -> tuple[Panel, ...]:
    """Share out the users in proportion to |w|, at least one to each panel and the rest to the largest."""
    shares = np.abs(weights) / np.abs(weights).sum()
    sizes = [max(1, math.floor(float(share) * (sample - shares.size))) for share in shares]
    sizes[int(np.argmax(shares))] += sample - sum(sizes)
    return tuple(
        Panel(size, min(COIN, round(float(t) * COIN)), round(float(w) * WEIGHT))
        for size, t, w in zip(sizes, theta, weights, strict=True)
    )
