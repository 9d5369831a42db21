"""State laws: the two distributions one entry of the state is drawn from.

Every user of the sample owns one entry. It is drawn from the *initial* law before the stream starts, and again from
the *update* law each time the user appears (from the initial law when a deletion names the user). The intruder sees
the entry; how far the two laws may lie apart is what the state's ε bounds.

A :class:`StateLaw` lives on L levels. Its probabilities are integers out of 2³², because that is what a 32-bit coin
can draw: what is proved about the law is proved about the integers, not about real numbers they approximate. They
are rounded so that every likelihood ratio stays at most e^ε, exactly. A level counts with an integer score, so that
the released statistic is an integer too.

The continuous laws of the thesis (:class:`ContinuousLaw`) cannot be calibrated soundly: the low bits of a
floating-point entry depend on the law it was drawn from. They exist for reproducing the thesis, and their names say
so; :func:`quantized_laplace` and :func:`quantized_gaussian` are their sound versions on up to 32 levels.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; section "Quantized Laplace Density Estimator"; see errata 1, 3, 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import stats

from panbayes.panprivate.quantizer import lloyd_max
from panbayes.panprivate.rational import exp_bounds, surely_at_most_exp
from panbayes.public.errors import InputError

__all__ = [
    "COIN",
    "MAX_LEVELS",
    "MAX_STATE_EPSILON",
    "ContinuousLaw",
    "Family",
    "StateLaw",
    "dwork",
    "law_of",
    "optimal_bernoulli",
    "published_laplace",
    "published_truncated_gaussian",
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


@dataclass(frozen=True, slots=True)
class ContinuousLaw:
    """A pair of continuous laws by their quantile functions, means and variances; for reproducing the thesis only."""

    name: str
    draw_init: Callable[[np.ndarray], np.ndarray]
    draw_update: Callable[[np.ndarray], np.ndarray]
    mean_init: float
    mean_update: float
    variance_init: float
    variance_update: float


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
    _check(epsilon)
    init, update = (stats.laplace(loc=mean, scale=1 / float(epsilon)) for mean in (0.0, 1.0))
    return _quantized("quantized-laplace", epsilon, levels, init.cdf, update.cdf, (-40 / float(epsilon), 40 / float(epsilon) + 1))


def quantized_gaussian(epsilon: Fraction, *, levels: int = 2) -> StateLaw:
    """Gaussian entries truncated to [0, 1], means 0 and 1, cut into ``levels`` by Lloyd–Max boundaries.

    The ratio of the two densities at x is exp((2x − 1)/(2σ²)), so σ² = 1/(2ε) spends exactly ε at the ends.

    Thesis: section "Comments on the Use of Other Continuous Distributions".
    """
    _check(epsilon)
    init, update = (_truncated_normal(float(epsilon), mean) for mean in (0.0, 1.0))
    return _quantized("quantized-gaussian", epsilon, levels, init.cdf, update.cdf, (0.0, 1.0))


def _truncated_normal(epsilon: float, mean: float) -> stats.rv_frozen:
    deviation = math.sqrt(1 / (2 * epsilon))
    return stats.truncnorm(-mean / deviation, (1 - mean) / deviation, loc=mean, scale=deviation)


def _quantized(
    name: str,
    epsilon: Fraction,
    levels: int,
    init_cdf: Callable[[np.ndarray], np.ndarray],
    update_cdf: Callable[[np.ndarray], np.ndarray],
    support: tuple[float, float],
) -> StateLaw:
    """Cut two continuous laws that mirror each other at 1/2 into levels and round them onto coins."""
    if not 2 <= levels <= MAX_LEVELS:
        raise InputError("levels", found=f"found {levels}", remedy=f"give 2 to {MAX_LEVELS} levels")
    boundaries, points = lloyd_max(lambda x: (init_cdf(x) + update_cdf(x)) / 2, levels=levels, support=support)
    init = np.diff(init_cdf(np.concatenate([[-np.inf], boundaries, [np.inf]])))
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


def published_laplace(epsilon: float) -> ContinuousLaw:
    """Laplace(0, 1/ε) against Laplace(1, 1/ε) in floating point: not private, for reproducing the thesis.

    Thesis: Algorithm LaplaceDE; Theorem thm_LaplaceDE_priv; see errata 1.
    """
    init, update = (stats.laplace(loc=mean, scale=1 / epsilon) for mean in (0.0, 1.0))
    return ContinuousLaw("published-laplace", init.ppf, update.ppf, 0.0, 1.0, 2 / epsilon**2, 2 / epsilon**2)


def published_truncated_gaussian(epsilon: float) -> ContinuousLaw:
    """Gaussians truncated to [0, 1] in floating point: not private, for reproducing the thesis.

    Thesis: section "Comments on the Use of Other Continuous Distributions"; see errata 1.
    """
    init, update = (_truncated_normal(epsilon, mean) for mean in (0.0, 1.0))
    return ContinuousLaw(
        "published-truncated-gaussian",
        init.ppf,
        update.ppf,
        float(init.mean()),
        float(update.mean()),
        float(init.var()),
        float(update.var()),
    )
