"""How often users came: the share of those with exactly t visits and with at least k, by counters modulo p.

Every user's entry is a counter that starts at a random place (mostly 0) and moves on by one at each visit, round a
circle of p = ``most`` + 1 places (:mod:`panbayes.stream.laws.counter_law`). A release is the noisy number of counters
at each place. Let f₀ and f₁ be the probabilities that a counter starts at 0 and at each other place. A user with c
visits stands at place c mod p with probability f₀ and at any other with f₁, so the count at place t has the mean
m·(f₁ + (f₀ − f₁)·s_t), where s_t is the share of users with t visits, modulo p: ::

    ŝ_t = (H_t/m − f₁)/(f₀ − f₁)          unbiased.

That is the density estimator with another event: "present" users are those with t visits, whose entry *counts* (stands
at t) with probability f₀ instead of f₁. The same holds for a set S of numbers of visits, whose entries count with
probability f₀ + (|S| − 1)f₁ against |S|f₁, and the noise of |S| places. So error and exact intervals are those of the
density (:mod:`panbayes.stream.accuracy`). "At least k visits" is taken from whichever of S and its complement has
fewer places.

The mean number of visits is Σ_t t·ŝ_t, a weighted sum of the same counts: unbiased too (modulo p). Its interval is by
the normal law with the largest variance: an entry's number has a mean of (p(p − 1)/2)f₁ + (f₀ − f₁)c for a user with c
visits, and a variance that depends on c, of which the largest is taken; drawing a sample adds (f₀ − f₁)²(p − 1)²/4 at
most.

The loss is ε + 2Σ1/σ exactly (:mod:`panbayes.stream.guarantee.counter_loss`); E is divided for the least error.

Thesis: section "Pan-Privacy", t-incidence and fraction of k-heavy hitters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.errors import InputError
from panbayes.stream.accuracy.density_error import Design, geometric_variance, worst_rmse
from panbayes.stream.accuracy.statistic_law import confidence_interval, failure_probability, worst_failure
from panbayes.stream.guarantee.calibration import Calibration, bounds_of_part, check_planned, drawable_scale
from panbayes.stream.guarantee.counter_loss import HISTOGRAM_SENSITIVITY
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.kind import Universe, sampling_of
from panbayes.stream.laws.counter_law import CounterLaw, counter_law
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.state_law import COIN, MAX_LEVELS, MAX_STATE_EPSILON, MIN_STATE_EPSILON
from panbayes.stream.statistics.methods.density import middle
from panbayes.stream.statistics.methods.statistic import Budget, Released
from panbayes.stream.visits_estimate import Share, VisitsEstimate

__all__ = ["Visits", "check_most"]

_PARTS: Final = 10**6


@dataclass(frozen=True, slots=True)
class Visits:
    """How often users came, telling apart 0 to ``most`` visits.

    >>> Visits(4).figure
    'share with exactly t visits'
    """

    most: int

    def __post_init__(self) -> None:
        """Refuse counters that cannot be kept."""
        check_most(self.most, argument="most")

    @property
    def name(self) -> str:
        """What users and state files call it."""
        return "visits"

    @property
    def figure(self) -> str:
        """What its error is the error of."""
        return "share with exactly t visits"

    @property
    def repeatable(self) -> bool:
        """Every delivery is a visit."""
        return False

    @property
    def deletes(self) -> bool:
        """A visit can be taken back: the counter moves back by one."""
        return True

    def calibrate(self, budget: Budget) -> Calibration[CounterLaw]:
        """Divide E between the counters and the noise for the least error of a share, at worst."""
        check_planned(budget.epsilon, budget.releases)
        part = self._best_part(budget) if budget.state_epsilon is None else budget.state_epsilon
        if not MIN_STATE_EPSILON <= part < budget.epsilon or part > MAX_STATE_EPSILON:
            raise InputError(
                "state epsilon",
                found=f"found {float(part):.6g}",
                remedy=f"the state's part must be at least {float(MIN_STATE_EPSILON):g}, "
                f"at most {float(MAX_STATE_EPSILON):g} and below the total {float(budget.epsilon):.6g}",
            )
        scale = drawable_scale(_rounded_up(_least_scale(budget, part)), budget.epsilon, budget.releases)
        return Calibration(budget.epsilon, part, counter_law(part, self.most + 1), scale, budget.releases)

    def rmse(self, calibration: Calibration[Law], *, sample: int, universe: int | None) -> float:
        """The root mean squared error of the share with exactly t visits, at worst."""
        return worst_rmse(_design(calibration, 1, sample, universe))

    def failure(
        self, calibration: Calibration[Law], *, sample: int, universe: int | None, alpha: float, everywhere: bool
    ) -> float:
        """The probability that the share with exactly t visits errs by ``alpha`` or more."""
        design = _design(calibration, 1, sample, universe)
        if everywhere:
            return worst_failure(design, alpha=alpha)
        return failure_probability(design, alpha=alpha, density=middle(universe))

    def answer(
        self, calibration: Calibration[Law], users: Universe, release: Released, *, confidence: float
    ) -> VisitsEstimate:
        """Turn the noisy histogram into shares with their intervals."""
        sampling = sampling_of(users)
        counts, modulus = release.counts, self.most + 1
        if len(counts) != modulus:
            raise ValueError("a histogram has a count for each place")

        def share(first: int, last: int) -> Share:
            """The share of users with first to last − 1 visits."""
            design = _design(calibration, last - first, sampling.sample, sampling.size)
            total = sum(counts[first:last])
            low, high = confidence_interval(design, statistic=total, confidence=confidence)
            unbiased = design.density_of(total)
            cut = min(1.0, max(0.0, unbiased))
            return Share(cut, min(low, cut), max(high, cut), unbiased)

        exactly = tuple(share(t, t + 1) for t in range(modulus))
        more = (_complement(share(0, k)) if k <= modulus - k else share(k, modulus) for k in range(1, modulus))
        return VisitsEstimate(
            exactly=exactly,
            at_least=(Share(1.0, 1.0, 1.0, 1.0), *more),
            mean=self._mean(calibration, sampling, counts, confidence),
            modulus=modulus,
            confidence=confidence,
            rmse=self.rmse(calibration, sample=sampling.sample, universe=sampling.size),
            counts=counts,
            fresh=release.fresh,
            releases_left=release.left,
            epsilon=calibration.epsilon,
            private=release.private,
            scope=release.scope,
        )

    def error(self, calibration: Calibration[Law], users: Universe) -> float:
        """The root mean squared error, at worst."""
        sampling = sampling_of(users)
        return self.rmse(calibration, sample=sampling.sample, universe=sampling.size)

    def fits(self, law: Law) -> bool:
        """Whether entries of this law can be estimated from: counters that tell so many visits apart."""
        return isinstance(law, CounterLaw) and law.modulus == self.most + 1

    def remarks(self, _calibration: Calibration[Law]) -> list[tuple[str, str]]:
        """Say where the counters go round."""
        past = self.most + 1
        return [("tells apart", f"0 to {self.most} visits; {past} visits look like 0, {past + 1} like 1, and so on")]

    def _mean(
        self, calibration: Calibration[Law], sampling: Sampling, counts: tuple[int, ...], confidence: float
    ) -> Share:
        law, scale, size = _counters(calibration), float(calibration.noise_scale), sampling.sample
        signal, places = (law.init[0] - law.other) / COIN, np.arange(law.modulus)
        weights = np.array(law.init) / COIN
        own = max(_variance(np.roll(weights, shift), places) for shift in places)
        left_out = (sampling.size - size) / max(1, sampling.size - 1)
        drawn = (signal * self.most) ** 2 / 4 * left_out
        noise = geometric_variance(scale) * float((places**2).sum())
        reach = float(special.ndtri((1 + confidence) / 2)) * math.sqrt((own + drawn) / size + noise / size**2) / signal
        around = law.other / COIN * self.most * law.modulus / 2
        unbiased = (float(places @ np.array(counts)) / size - around) / signal
        low, mean, high = (
            min(float(self.most), max(0.0, end)) for end in (unbiased - reach, unbiased, unbiased + reach)
        )
        return Share(mean, low, high, unbiased)

    def _best_part(self, budget: Budget) -> Fraction:
        """Minimise the worst-case error over the counters' part of E, to a millionth of it."""

        def error(fraction: float) -> float:
            part = budget.epsilon * max(1, math.floor(fraction * _PARTS)) / _PARTS
            law, scale = counter_law(part, self.most + 1), float(_least_scale(budget, part))
            return math.log(worst_rmse(_bins(law, 1, scale, budget.sample, budget.universe)))

        bounds = bounds_of_part(budget.epsilon, MAX_STATE_EPSILON)
        # Loaded here: a state that is only fed needs none of its 20 MB.
        from scipy import optimize

        found = optimize.minimize_scalar(error, bounds=bounds, method="bounded")
        return budget.epsilon * max(1, math.floor(float(found.x) * _PARTS)) / _PARTS


def _least_scale(budget: Budget, part: Fraction) -> Fraction:
    """The noise scale 2R/(E − ε) that R releases of histograms need."""
    return HISTOGRAM_SENSITIVITY * budget.releases / (budget.epsilon - part)


def _rounded_up(scale: Fraction) -> Fraction:
    """Round up to a multiple of 2⁻²⁰ (or of 2⁻²⁰ of its own size)."""
    grain = Fraction(2) ** (max(0, math.frexp(float(scale))[1]) - 20)
    return math.ceil(scale / grain) * grain


def _design(calibration: Calibration[Law], places: int, sample: int, universe: int | None) -> Design:
    return _bins(_counters(calibration), places, float(calibration.noise_scale), sample, universe)


def _counters(calibration: Calibration[Law]) -> CounterLaw:
    if not isinstance(calibration.law, CounterLaw):
        raise ValueError("visits need counters")
    return calibration.law


def _variance(weights: NDArray[np.float64], values: NDArray[np.int64]) -> float:
    return float(weights @ (values - weights @ values) ** 2)


def _bins(law: CounterLaw, places: int, scale: float, sample: int, universe: int | None) -> Design:
    """The law of the noisy number of counters at ``places`` places, as that of a density."""
    absent, present = places * law.other, law.init[0] + (places - 1) * law.other
    init, update = ((1 - weight / COIN, weight / COIN) for weight in (absent, present))
    return Design(init, update, (0, 1), sample, universe, scale, places)


def _complement(share: Share) -> Share:
    return Share(1 - share.share, 1 - share.high, 1 - share.low, 1 - share.unbiased)


def check_most(most: int, *, argument: str) -> None:
    """Refuse a number of visits that counters of 32 places cannot tell apart; ``argument`` is what the user wrote."""
    if not 2 <= most < MAX_LEVELS:
        raise InputError(argument, found=f"found {most}", remedy=f"give a number of visits from 2 to {MAX_LEVELS - 1}")
