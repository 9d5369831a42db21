"""The density: which fraction of the universe appeared.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; see errata 1, 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from panbayes.stream.accuracy.density_error import Design, worst_rmse
from panbayes.stream.accuracy.statistic_law import confidence_interval, failure_probability, worst_failure
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.guarantee.calibration import Calibration, calibrate, design_of
from panbayes.stream.ids.universes.kind import Universe, sampling_of
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.registry import DEFAULT_LAW
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.statistics.methods.statistic import Budget, Released

__all__ = ["Density", "density_answer", "middle"]


@dataclass(frozen=True, slots=True)
class Density:
    """The fraction of the universe that appeared, from entries of the law ``law`` on ``levels`` levels.

    >>> Density().figure
    'density'
    """

    law: str = DEFAULT_LAW
    levels: int = 2

    @property
    def name(self) -> str:
        """What users and state files call it."""
        return "density"

    @property
    def most(self) -> int | None:
        """None: who came once and who came often are one."""
        return None

    @property
    def figure(self) -> str:
        """What its error is the error of."""
        return "density"

    @property
    def repeatable(self) -> bool:
        """An entry that was drawn twice is distributed like one that was drawn once."""
        return True

    @property
    def deletes(self) -> bool:
        """An entry that is drawn from the initial law again is as it was."""
        return True

    def calibrate(self, budget: Budget) -> Calibration[StateLaw]:
        """Choose the law and the least noise that keep the budget, for the least error."""
        return calibrate(
            epsilon=budget.epsilon,
            sample=budget.sample,
            universe=budget.universe,
            releases=budget.releases,
            law=self.law,
            levels=self.levels,
            state_epsilon=budget.state_epsilon,
            flipped=budget.flipped,
            eta=budget.eta,
            parts=budget.parts,
        )

    def rmse(self, calibration: Calibration[Law], *, sample: int, universe: int | None) -> float:
        """The root mean squared error of the density, at worst."""
        return worst_rmse(_design(calibration, sample, universe))

    def failure(
        self, calibration: Calibration[Law], *, sample: int, universe: int | None, alpha: float, everywhere: bool
    ) -> float:
        """The probability of an error of ``alpha`` or more."""
        design = _design(calibration, sample, universe)
        if everywhere:
            return worst_failure(design, alpha=alpha)
        return failure_probability(design, alpha=alpha, density=middle(universe))

    def answer(
        self, calibration: Calibration[Law], users: Universe, release: Released, *, confidence: float
    ) -> DensityEstimate:
        """Turn the noisy sum of scores into a density with its interval."""
        sampling = sampling_of(users)
        design = _design(calibration, sampling.sample, sampling.size)
        return density_answer(design, release, epsilon=calibration.epsilon, confidence=confidence)

    def error(self, calibration: Calibration[Law], users: Universe) -> float:
        """The root mean squared error, at worst."""
        sampling = sampling_of(users)
        return self.rmse(calibration, sample=sampling.sample, universe=sampling.size)

    def fits(self, law: Law) -> bool:
        """Whether entries of this law can be estimated from: those that are redrawn."""
        return isinstance(law, StateLaw)

    def remarks(self, _calibration: Calibration[Law]) -> list[tuple[str, str]]:
        """Nothing beyond what is said of every stream."""
        return []


def density_answer(design: Design, release: Released, *, epsilon: Fraction, confidence: float) -> DensityEstimate:
    """Turn the noisy sum of scores of a finite universe into a density with its interval."""
    size = design.sample if design.universe is None else design.universe
    if release.half_life:
        # Where entries are forgotten their chances differ, and the binomial law has the heaviest tails.
        design = replace(design, universe=None)
    (statistic,) = release.counts
    low, high = confidence_interval(design, statistic=statistic, confidence=confidence)
    unbiased = design.density_of(statistic)
    density = min(1.0, max(0.0, unbiased))
    return DensityEstimate(
        density=density,
        low=min(low, density),
        high=max(high, density),
        confidence=confidence,
        distinct=round(density * size),
        distinct_low=math.floor(min(low, density) * size),
        distinct_high=math.ceil(max(high, density) * size),
        unbiased=unbiased,
        rmse=worst_rmse(design),
        statistic=statistic,
        fresh=release.fresh,
        releases_left=release.left,
        epsilon=epsilon,
        private=release.private,
        scope=release.scope,
    )


def middle(universe: int | None) -> float:
    """The density nearest to one half."""
    return 0.5 if universe is None else (universe // 2) / universe


def _design(calibration: Calibration[Law], sample: int, universe: int | None) -> Design:
    if not isinstance(calibration.law, StateLaw):
        raise ValueError("a density needs entries that are redrawn")
    scale = float(calibration.noise_scale)
    return design_of(calibration.law, scale, sample=sample, universe=universe, parts=calibration.parts)
