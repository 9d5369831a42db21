"""State laws: the two distributions one entry of the state is drawn from.

Every user of the sample owns one entry. It is drawn from the *initial* law before the stream starts, and again from
the *update* law each time the user appears (from the initial law when a deletion names the user). The intruder sees
the entry; how far the two laws may lie apart is what the state's ε bounds.

A :class:`StateLaw` lives on L levels. Its probabilities are integers out of 2³², because that is what a 32-bit coin
can draw: what is proved about the law is proved about the integers, not about real numbers they approximate. They
are rounded so that every likelihood ratio stays at most e^ε, exactly. A level counts with an integer score, so that
the released statistic is an integer too.

The continuous laws of the thesis cannot be calibrated soundly: an entry is wide or unbounded, and the low bits of a
floating-point number depend on the law it was drawn from. They are kept in :mod:`panbayes.reproduce.published`
for reproducing the thesis; :func:`quantized_laplace` and :func:`quantized_gaussian` are their sound versions, released
through the quantized state, on up to 32 levels.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; section "Quantized Laplace Density Estimator"; see errata 1, 3, 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.errors import InputError
from panbayes.exact.bounds import exp_bounds, surely_at_most_exp
from panbayes.stream.guarantee.quantizer import lloyd_max

__all__ = [
    "COIN",
    "MAX_LEVELS",
    "MAX_STATE_EPSILON",
    "Family",
    "StateLaw",
    "dwork",
    "law_of",
    "optimal_bernoulli",
    "quantized_gaussian",
    "quantized_laplace",
]

COIN: Final = 1 << 32
"""Probabilities are integers out of this number."""

MAX_LEVELS: Final = 32

MAX_STATE_EPSILON: Final = 20
"""Beyond this a probability would be below one coin (ln 2³² is 22.2)."""

SCORE_STEPS: Final = 60
"""The score of the highest level where there are more than two."""

Array: TypeAlias = NDArray[np.float64]

Family: TypeAlias = Literal["dwork", "optimal-bernoulli", "quantized-laplace", "quantized-gaussian"]


@dataclass(frozen=True, slots=True)
class StateLaw:
    """The laws of one entry: ``init[j]`` and ``update[j]`` out of 2³² for level j, which counts ``scores[j]``."""

    name: str
    init: tuple[int, ...]
    update: tuple[int, ...]
    scores: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a pair of laws with full support."""
        if not 2 <= len(self.scores) <= MAX_LEVELS or not len(self.init) == len(self.update) == len(self.scores):
            raise ValueError("a state law needs 2 to 32 levels, each with two probabilities and a score")
        if min(*self.init, *self.update) < 1 or sum(self.init) != COIN or sum(self.update) != COIN:
            raise ValueError("the probabilities of a state law are positive integers that add up to 2**32")
        if self.scores[0] != 0 or any(a >= b for a, b in zip(self.scores, self.scores[1:], strict=False)):
            raise ValueError("the scores of a state law start at 0 and increase")
        if self.mean(self.update) <= self.mean(self.init):
            raise ValueError("the update law must have the larger mean score")

    @property
    def levels(self) -> int:
        """L, the number of levels."""
        return len(self.scores)

    @property
    def signal(self) -> Fraction:
        """The difference of the mean scores: what one present user adds to the expected statistic."""
        return self.mean(self.update) - self.mean(self.init)

    def mean(self, weights: tuple[int, ...]) -> Fraction:
        """The mean score under ``weights`` (``init`` or ``update``)."""
        return Fraction(sum(w * a for w, a in zip(weights, self.scores, strict=True)), COIN)

    def loss(self) -> float:
        """The loss of a look at the entry alone: max |ln(update/init)| over the levels, to machine precision."""
        return max(abs(math.log(u) - math.log(i)) for i, u in zip(self.init, self.update, strict=True))

    def surely_within(self, epsilon: Fraction) -> bool:
        """Say whether every likelihood ratio is at most e^ε, exactly."""
        pairs = zip(self.init, self.update, strict=True)
        worst = max(max(Fraction(u, i), Fraction(i, u)) for i, u in pairs)
        return surely_at_most_exp(worst, epsilon)


def _check(epsilon: Fraction) -> Fraction:
    if not 0 < epsilon <= MAX_STATE_EPSILON:
        raise InputError(
            "state epsilon",
            found=f"found {float(epsilon):.6g}",
            remedy=f"it must be above 0 and at most {MAX_STATE_EPSILON}",
        )
    return epsilon


def _binary(name: str, init_one: int, update_one: int) -> StateLaw:
    return StateLaw(name, (COIN - init_one, init_one), (COIN - update_one, update_one), (0, 1))


def dwork(epsilon: Fraction) -> StateLaw:
    """Bernoulli(1/2) against Bernoulli(1/2 + ε/4), rounded down; ε ≤ 1/2, as in the theorem.

    Thesis: Algorithm DworkDE; Theorem thm_DworkDE_priv; see errata 1.
    """
    if not 0 < epsilon <= Fraction(1, 2):
        raise InputError(
            "state epsilon",
            found=f"found {float(epsilon):.6g}",
            remedy="Dwork's estimator is defined for 0 < ε ≤ 1/2; use optimal-bernoulli",
        )
    return _binary("dwork", COIN // 2, COIN // 2 + int(epsilon * COIN / 4))


def optimal_bernoulli(epsilon: Fraction, *, centre: Fraction = Fraction(1, 2)) -> StateLaw:
    """Bernoulli(c − x) against Bernoulli(c + x) with the largest x that keeps both ratios ≤ e^ε, exactly.

    ``centre`` is c. The bit 1 allows x = c·tanh(ε/2), the bit 0 allows x = (1 − c)·tanh(ε/2): a centre above 1/2
    breaks the thesis's choice of x, so it is refused, and c = 1/2 is the best.

    Thesis: Algorithm OptBernDE; Theorem thm_OptBernDE_priv; see errata 3.
    """
    _check(epsilon)
    if not 0 < centre <= Fraction(1, 2):
        raise InputError("centre", found=f"found {float(centre):.6g}", remedy="the centre must be in (0, 1/2]")
    grown = exp_bounds(epsilon)[0]
    half = 2 * centre * COIN / (1 + grown)
    init_one = -(-half.numerator // half.denominator)
    update_one = min(int(init_one * grown), int(2 * centre * COIN) - init_one)
    return _binary("optimal-bernoulli", init_one, update_one)


def quantized_laplace(epsilon: Fraction, *, levels: int = 2) -> StateLaw:
    """Laplace entries with means 0 and 1 and scale 1/ε, cut into ``levels`` by Lloyd–Max boundaries.

    Two levels give Bernoulli(e^(−ε/2)/2) against Bernoulli(1 − e^(−ε/2)/2).

    Thesis: section "Quantized Laplace Density Estimator".
    """
    rate = float(_check(epsilon))

    def cdf(x: Array) -> Array:
        tail = np.exp(-rate * np.abs(x)) / 2
        return np.where(x < 0, tail, 1 - tail)

    return _quantized("quantized-laplace", epsilon, levels, cdf, (-40 / rate, 40 / rate + 1))


def quantized_gaussian(epsilon: Fraction, *, levels: int = 2) -> StateLaw:
    """Gaussian entries truncated to [0, 1], means 0 and 1, cut into ``levels`` by Lloyd–Max boundaries.

    The ratio of the two densities at x is exp((2x − 1)/(2σ²)), so σ² = 1/(2ε) spends exactly ε at the ends.

    Thesis: section "Comments on the Use of Other Continuous Distributions".
    """
    deviation = math.sqrt(1 / (2 * float(_check(epsilon))))

    def cdf(x: Array) -> Array:
        mass = special.ndtr(1 / deviation) - 0.5
        return np.asarray((special.ndtr(np.clip(x, 0, 1) / deviation) - 0.5) / mass)

    return _quantized("quantized-gaussian", epsilon, levels, cdf, (0.0, 1.0))


def _quantized(
    name: str,
    epsilon: Fraction,
    levels: int,
    cdf: Callable[[Array], Array],
    support: tuple[float, float],
) -> StateLaw:
    """Cut a continuous initial law and its mirror image about 1/2 into levels and round them onto coins."""
    if not 2 <= levels <= MAX_LEVELS:
        raise InputError("levels", found=f"found {levels}", remedy=f"give 2 to {MAX_LEVELS} levels")
    boundaries, points = lloyd_max(lambda x: (cdf(x) + 1 - cdf(1 - x)) / 2, levels=levels, support=support)
    init = np.diff(cdf(np.concatenate([[-np.inf], boundaries, [np.inf]])))
    steps = 1 if levels == 2 else SCORE_STEPS
    span = points[-1] - points[0]
    scores = [round(steps * float(point - points[0]) / span) for point in points]
    for j in range(1, levels):
        scores[j] = max(scores[j], scores[j - 1] + 1)
    weights = _round_mirrored([float(p) for p in init], epsilon)
    return StateLaw(name, weights, weights[::-1], tuple(scores))


def _round_mirrored(probabilities: list[float], epsilon: Fraction) -> tuple[int, ...]:
    """Round a law whose mirror image is the other law so that no ratio exceeds e^ε.

    Level j faces level L−1−j. In each facing pair the larger weight is capped at e^ε times the smaller one; what is
    then missing from the total goes to the middle, half to each member of the innermost pair (or to the middle level),
    where adding the same number to both brings their ratio closer to 1.
    """
    grown = exp_bounds(epsilon)[0]
    count = len(probabilities)
    weights = [0] * count
    for j in range(count // 2):
        small = max(1, math.ceil(probabilities[count - 1 - j] * COIN))
        large = min(int(small * grown), int(probabilities[j] * COIN))
        weights[count - 1 - j], weights[j] = small, max(small, large)
    if count % 2:
        weights[count // 2] = COIN - sum(weights)
        return tuple(weights)
    missing, inner = COIN - sum(weights), count // 2
    weights[inner - 1] += missing // 2
    weights[inner] += missing - missing // 2
    return tuple(weights)


def law_of(family: Family, epsilon: Fraction, *, levels: int = 2) -> StateLaw:
    """Build the law of a family; ``levels`` matters to the quantized ones only."""
    if family in ("dwork", "optimal-bernoulli") and levels != 2:
        raise InputError("levels", found=f"found {levels}", remedy=f"{family} has two levels")
    match family:
        case "dwork":
            return dwork(epsilon)
        case "optimal-bernoulli":
            return optimal_bernoulli(epsilon)
        case "quantized-laplace":
            return quantized_laplace(epsilon, levels=levels)
        case "quantized-gaussian":
            return quantized_gaussian(epsilon, levels=levels)
