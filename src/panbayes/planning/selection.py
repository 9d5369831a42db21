"""How good a private choice is: the chance that a mechanism picks within a margin of the best.

Let s_i be the scores of K candidates, b = 2Δ/ε the scale of the mechanism, Δ the sensitivity of a score, and
q_i = e^(−(max s − s_i)/b).

* **Exponential mechanism**: candidate i has the chance q_i/Σ q_j.
* **Permute-and-flip** visits candidates in random order and takes each with chance q_i. Give each an independent
  uniform time; i is taken at time t if none before it was, so its chance is q_i·∫₀¹ ∏_{j≠i} (1 − t·q_j) dt.

The chance to be **within a margin** m is the sum over all i with max s − s_i ≤ m: exact for given gaps.

**Without the gaps**, the worst that can be: one best, and K − 1 others just beyond the margin, q = e^(−m/b) each. For
either mechanism another candidate within the margin, or a lower score outside, only lowers the chance of a miss. So

    P(miss) ≤ (K − 1)·q/(1 + (K − 1)·q)    and    P(miss) ≤ 1 − (1 − (1 − q)^K)/(K·q).

Thesis: Theorem defn_expo_mech; Algorithm "Noisy Majority Voting"; see errata 6. Permute-and-flip: McKenna and Sheldon
2020."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from panbayes.errors import InputError
from panbayes.planning.noise_moments import FloatArray
from panbayes.privacy.events import Rule

__all__ = ["chances", "margin_at_most", "miss_at_most", "within"]

_NODES: Final = 256


def chances(scores: FloatArray, *, scale: float, rule: Rule) -> FloatArray:
    """Return the chance of every candidate to be chosen, at this ``scale`` b = 2Δ/ε.

    >>> chances(np.array([0.0, -math.log(2)]), scale=1.0, rule="permute-and-flip").round(6)
    array([0.75, 0.25])
    """
    if not scores.size or not np.all(np.isfinite(scores)) or not scale > 0:
        raise InputError("scores", found="found none, or no numbers", remedy="give finite scores and a scale above 0")
    odds = np.exp((scores - scores.max()) / scale)
    if rule == "exponential":
        return np.asarray(odds / odds.sum())
    # What is integrated falls like e^(−t·Σq): in u, where t = −ln(1 − u·(1 − e^(−Σq)))/Σq, it is nearly constant.
    whole = float(odds.sum())
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    share = -math.expm1(-whole)
    left = 1 - (nodes + 1) / 2 * share
    times, weights = -np.log(left) / whole, weights / 2 * share / (whole * left)
    others = np.log1p(-np.minimum(np.outer(times, odds), 1 - 1e-300))
    passed = np.exp(others.sum(axis=1, keepdims=True) - others)
    found = odds * (weights @ passed)
    return np.asarray(found / found.sum())


def within(scores: FloatArray, margin: float, *, scale: float, rule: Rule) -> float:
    """Return the chance that the choice has a score within a ``margin`` of the best."""
    return float(chances(scores, scale=scale, rule=rule)[scores >= scores.max() - margin].sum())


def miss_at_most(margin: float, *, candidates: int, scale: float, rule: Rule) -> float:
    """Return the chance of a score further than a ``margin`` from the best, at most, whatever the scores are."""
    if candidates < 1 or margin < 0 or not scale > 0:
        raise InputError("candidates", found=f"found {candidates}", remedy="give 1 or more, and a margin of 0 or more")
    q = math.exp(-margin / scale)
    if candidates == 1 or q == 0:
        return 0.0
    if rule == "exponential":
        return (candidates - 1) * q / (1 + (candidates - 1) * q)
    kept = -math.expm1(candidates * math.log1p(-q)) if q < 1 else 1.0
    return max(0.0, 1 - kept / (candidates * q))


def margin_at_most(miss: float, *, candidates: int, scale: float, rule: Rule) -> float:
    """Return the margin that is missed with at most this chance: the other way round of :func:`miss_at_most`.

    >>> round(margin_at_most(0.05, candidates=100, scale=1.0, rule="exponential"), 3)
    7.54
    """
    if not 0 < miss < 1:
        raise InputError("miss", found=f"found {miss:g}", remedy="give a chance between 0 and 1")
    low, high = 0.0, scale
    while miss_at_most(high, candidates=candidates, scale=scale, rule=rule) > miss:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if miss_at_most(middle, candidates=candidates, scale=scale, rule=rule) > miss:
            low = middle
        else:
            high = middle
    return high
