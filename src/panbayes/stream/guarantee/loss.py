"""The joint loss of one look at the state and every planned output.

**Setting.** One user's entry takes values y with score a(y). It is drawn from the initial law f at the start and
redrawn from the update law g (insertion) or from f (deletion) whenever the stream names the user; other users'
entries do not depend on this user. Adjacent streams differ in any of this user's occurrences, so any two histories of
redraws face each other. The adversary sees the whole state at one time, hence this user's entry x, and R outputs at
any times before or after. Output k is the sum of the scores plus two-sided geometric noise of scale σₖ. Given the
others' entries (independent of this user, so it is enough to bound the ratio for each value of theirs), its
likelihood as a function of this user's entry y is proportional to lₖ(y) = exp(−|oₖ − a(y)|/σₖ).

**Theorem.** Let ρ = Σₖ 1/σₖ. For every pair of histories and every observation (x, o₁ … o_R) the likelihood ratio is
at most ::

    max over x of  max(f(x)/g(x), g(x)/f(x)) · max over q, q' of B(q, q'),
    B(q, q') = Σ_y q(y) · exp(ρ · Σ_y' q'(y') |a(y) − a(y')|),      q, q' ∈ {point mass at x, f, g}.

**Proof.** The entry seen in the intrusion has law p ∈ {f, g} in one history and p' in the other, whence the first
factor. Given x, let Yₖ be the entry at output k in the first history and Y'ₖ in the second. Between redraws the entry
stands still, so given x each Yₖ has law q ∈ {point mass at x, f, g}: it is x itself if no redraw lies between output k
and the intrusion, else the draw of the redraw that produced it. By Jensen's inequality
E Πₖ lₖ(Y'ₖ) ≥ exp(Σₖ E ln lₖ(Y'ₖ)), so the ratio of the outputs' likelihoods is at most

    E exp(Σₖ [ln lₖ(Yₖ) − E' ln lₖ(Y'ₖ)]) ≤ E exp(Σₖ wₖ(Yₖ)/σₖ),  wₖ(y) = E' |a(y) − a(Y'ₖ)|

by the triangle inequality. Hölder's inequality with the exponents ρσₖ (their reciprocals add up to 1) bounds this by
Πₖ (E exp(ρ wₖ(Yₖ)))^(1/(ρσₖ)), a weighted geometric mean of numbers B(q, q'), at most their maximum. ∎

Only ρ enters: R releases cost as much as one if their 1/σₖ add up to the same number. For two levels, with
f = Bernoulli(p_init), g = Bernoulli(p_upd) and p_init ≤ 1/2 ≤ p_upd, the maximum is at q' = point mass at x and
gives the closed form
E = max[a₀ + ln(1 + p_upd(e^ρ − 1)), a₁ + ln(1 + (1 − p_init)(e^ρ − 1))], which is attained (:func:`binary_rate`).
For more levels the bound is attained when the worst x is the lowest or the highest level.

Thesis: Theorems thm_DworkDE_priv, thm_OptBernDE_priv, thm_LaplaceDE_priv, Definition def_pan_privacy; see errata 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.exact.bounds import exp_bounds
from panbayes.stream.laws.state_law import COIN, StateLaw

__all__ = ["binary_rate", "joint_loss", "surely_meets"]

_COIN_LOG: Final = 23
"""More than ln 2³², and so than −ln of any probability of a law."""


def _mean_exp(law: NDArray[np.float64], exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln Σ_y law(y)·exp(exponents[y, …]) without overflow."""
    top = exponents.max(axis=0)
    return np.asarray(top + np.log(np.tensordot(law, np.exp(exponents - top), axes=1)))


def joint_loss(law: StateLaw, rate: float) -> float:
    """Bound the loss of one look and all outputs whose 1/σ add up to ``rate`` (ρ of the theorem), in floating point.

    >>> from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
    >>> law = optimal_bernoulli(Fraction(1, 2))
    >>> round(joint_loss(law, 0.0), 6), round(joint_loss(law, 0.5), 3)
    (0.5, 0.839)
    """
    init, update = (np.array(weights, dtype=np.float64) / COIN for weights in (law.init, law.update))
    scores = np.array(law.scores, dtype=np.float64)
    distance = rate * np.abs(scores[:, None] - scores[None, :])
    state = np.abs(np.log(update) - np.log(init))
    redrawn = [distance @ q for q in (init, update)]
    always = max(float(_mean_exp(q, exponents)) for q in (init, update) for exponents in redrawn)
    outputs = np.maximum.reduce([*(_mean_exp(q, distance) for q in (init, update)), *redrawn])
    return float(np.max(state + np.maximum(outputs, always)))


def surely_meets(law: StateLaw, rate: Fraction, total: Fraction) -> bool:
    """Say whether the theorem's bound is at most ``total``, by rational arithmetic: a yes is a proof."""
    if rate * law.scores[-1] > total + _COIN_LOG:
        return False  # seen at the lowest level, the highest adds at least exp(ρ·a)/2³² to B
    allowed = exp_bounds(total)[0]
    init, update = ([Fraction(w, COIN) for w in weights] for weights in (law.init, law.update))
    levels = range(law.levels)
    distance = [[abs(a - b) for b in law.scores] for a in law.scores]
    powers = {step: exp_bounds(rate * step)[1] for row in distance for step in row}
    redrawn = [
        [exp_bounds(rate * sum((q[z] * distance[y][z] for z in levels), Fraction(0)))[1] for y in levels]
        for q in (init, update)
    ]
    always = max(sum((q[y] * growth[y] for y in levels), Fraction(0)) for q in (init, update) for growth in redrawn)
    for x in levels:
        state = max(Fraction(law.init[x], law.update[x]), Fraction(law.update[x], law.init[x]))
        retained = max(sum((q[y] * powers[distance[y][x]] for y in levels), Fraction(0)) for q in (init, update))
        if state * max(always, retained, redrawn[0][x], redrawn[1][x]) > allowed:
            return False
    return True


def binary_rate(*, p_init: float, p_update: float, total: float) -> float:
    """Return the largest ρ of a two-level law in closed form.

    With a₁ = ln(p_update/p_init), a₀ = ln((1 − p_init)/(1 − p_update)) and E = ``total``:
    ρ = min[ln(1 + (e^(E−a₀) − 1)/p_update), ln(1 + (e^(E−a₁) − 1)/(1 − p_init))]. See errata 1.
    """
    ones = math.log(p_update / p_init)
    zeros = math.log((1 - p_init) / (1 - p_update))
    return min(_solve(total - zeros, p_update), _solve(total - ones, 1 - p_init))


def _solve(rest: float, chance: float) -> float:
    """Return ln(1 + (e^rest − 1)/chance) without overflow."""
    return rest + math.log1p((1 / chance - 1) * -math.expm1(-rest))
