"""The exact law of a weighted sum of released counts, and the interval that it gives.

**The law.** n users fall into cells independently, a given cell of tier t with probability 1/V_t. Let the number of
users be Poisson of mean u instead: then cells fill independently, and E Π_t z_t^{ones of tier t} is Π_t (1 + (z_t −
1)(p₀ + Δ(1 − e^(−u/V_t))))^B. Multiplied by e^u this is Σ_n (uⁿ/n!)·(the same for exactly n users), for every complex
u; so what belongs to n is n! times the coefficient of uⁿ, an integral over the circle |u| = n, which the trapezoid
rule gives to machine precision with a few dozen nodes. With z_t = e^(iωw_t) and the factors of the noise it is the
characteristic function of S = Σ_t w_t·count_t, and a Fourier series turns it into P(S ≥ s). The frequencies run up to
where the cells' own coins leave less than 10⁻¹².

For one tier S is the count itself and the tail is exact. With several tiers, S is a little lumpy, because a change of
one in the count of greatest weight moves it by that weight; frequencies beyond the first lobe describe the lumps and
are left out, which moves tails by some thousandths of themselves.

**The interval** holds every n at which neither P_n(S ≥ s) nor P_n(S ≤ s) is below (1 − confidence)/2, with the
weights that are best at that n. With one tier the count grows stochastically with n (one more user fills one more
cell or none), so both tails are monotone and the interval holds with at least the stated probability. With several
its coverage is measured (``tests/stream/accuracy/test_tier_law.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.accuracy.tier_design import TierDesign, estimate_users, relative_error

__all__ = ["tail", "user_interval", "whole_weights"]

_FINEST: Final = 1000
"""The largest weight: weights are integers, so that S is one."""

_REACH: Final = 7.5
_NOISE_REACH: Final = 30
_MORE_REACH: Final = 12
_MOST_WORK: Final = 1 << 24
_NODE: Final = 0.25
_NODES_OUT: Final = 11


def whole_weights(design: TierDesign, users: int) -> NDArray[np.float64]:
    """The best weights at a number of users, as integers; one tier has weight 1."""
    if len(design.spread) == 1:
        return np.ones(1)
    return np.rint(_FINEST * design.weights(np.array(float(users))))


def tail(design: TierDesign, weights: NDArray[np.float64], users: int, edge: int) -> float:
    """P(S ≥ ``edge``) for S the sum of the counts with these integer ``weights``, at exactly so many users."""
    kept = np.flatnonzero(weights)
    weights, at = weights[kept], np.array(float(users))
    mean = float(weights @ design.means(at)[kept])
    deviation = math.sqrt(float(weights**2 @ design.variances(at)[kept]))
    reach = _REACH * deviation + (_noise_reach(design) + 1) * float(weights.max())
    half = 2 * math.ceil(reach)
    if abs(edge - mean) >= reach:
        return float(edge < mean)
    own = _own_deviation(design) * math.sqrt(float(weights @ weights))
    highest = min(half - 1, math.ceil(half / math.pi * 2 * _REACH / own))
    # Only odd frequencies: the even ones do not tell the upper half of the period from the lower.
    angle = np.arange(1, highest + 1, 2, dtype=np.float64) * (math.pi / half)
    transform = _characteristic(design, kept, weights, users, angle)
    terms = transform * np.exp(-1j * angle * edge) / (1 - np.exp(-1j * angle))
    return min(1.0, max(0.0, 0.5 + 2 / half * float(terms.sum().real)))


def _noise_reach(design: TierDesign) -> float:
    """How far the noise of any count may go: beyond lies less than 10⁻¹².

    The sum of s noises of scale 1 exceeds x with probability e^(−tx)/(1 − t²)^s at most, for every t < 1 (Chernoff's
    bound); at x = 30 + 12(√s − 1) the best t leaves less than that for every s.
    """
    return (_NOISE_REACH + _MORE_REACH * (math.sqrt(max(design.terms)) - 1)) * design.noise_scale


def _own_deviation(design: TierDesign) -> float:
    """The least standard deviation that the coins of the cells of a tier leave."""
    return math.sqrt(design.cells * min(p * (1 - p) for p in (design.init, design.update)))


def _drowned(design: TierDesign) -> bool:
    """Whether noise is so much larger than what the cells say that its law takes too long to add up."""
    return _noise_reach(design) * _REACH / _own_deviation(design) * 2 * _NODES_OUT / _NODE > _MOST_WORK


def _characteristic(
    design: TierDesign, kept: NDArray[np.intp], weights: NDArray[np.float64], users: int, angle: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """E e^(iωS) for each ω of ``angle``."""
    step = _NODE / math.sqrt(max(1, users))
    out = _NODES_OUT / math.sqrt(max(1, users))
    if out < math.pi:
        turn = np.arange(-round(out / step), round(out / step) + 1) * step
    else:
        count = math.ceil(2 * math.pi / step)
        turn = 2 * math.pi * np.arange(count) / count - math.pi
    # ln of e^u·u⁻ⁿ, up to a constant, on the circle |u| = n.
    whole = users * (-2 * np.sin(turn / 2) ** 2 + 1j * (np.sin(turn) - turn)) if users else np.zeros(1, dtype=complex)
    circle = users * np.exp(1j * turn) if users else np.zeros(1, dtype=complex)
    total = np.zeros((angle.size, circle.size), dtype=np.complex128) + whole
    decay, noise = math.exp(-1 / design.noise_scale), np.ones(angle.size)
    for tier, weight in zip(kept.tolist(), weights.tolist(), strict=True):
        filled = -np.expm1(-circle / design.spread[tier])
        one = np.expm1(1j * weight * angle)
        total += design.cells * np.log1p(np.outer(one, design.init + (design.update - design.init) * filled))
        noise *= ((1 - decay) ** 2 / (1 - 2 * decay * np.cos(weight * angle) + decay**2)) ** design.terms[tier]
    return np.asarray(noise * np.exp(total).sum(axis=1) / np.exp(whole).sum())


def user_interval(design: TierDesign, counts: Sequence[int], *, confidence: float) -> tuple[int, int | None]:
    """Return the least and the largest number of users that ``counts`` do not reject; None where they reject none."""
    level, seen = (1 - confidence) / 2, np.array(counts, dtype=np.float64)
    if _drowned(design):
        return 0, None

    def tested(users: int, *, upwards: bool) -> bool:
        weights = whole_weights(design, users)
        edge = round(float(weights @ seen))
        up = tail(design, weights, users, edge if upwards else edge + 1)
        return (up if upwards else 1 - up) > level

    guess = round(estimate_users(design, counts))
    spread = guess * relative_error(design, guess) if guess else math.sqrt(float(design.noise_variance.max()))
    low = _first(partial(tested, upwards=True), 0, guess, spread)
    if tested(design.most, upwards=False):
        return low, None
    return low, design.most - _first(
        lambda less: tested(design.most - less, upwards=False), 0, design.most - guess, spread
    )


def _first(kept: Callable[[int], bool], low: int, high: int, spread: float) -> int:
    """Return the first number from ``low`` to ``high`` that is kept: ``high`` is, and some ``spread`` below none is."""
    if kept(low):
        return low
    step = max(1, round(2 * min(spread, high - low)))
    while high - step > low and kept(high - step):
        high -= step
        step *= 2
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if kept(middle):
            high = middle
        else:
            low = middle
    return high
