"""Means of functions of the visits by panels of thinned entries: the t-cropped mean, and who came back.

Every panel estimates, like a density, the share of its users whose entry was redrawn; the estimate is a weighted sum of
these (:mod:`panbayes.stream.statistics.methods.panel_design`). Unlike counters it is not fooled by users who came very
often; but it has a bias that depends on the visits, whose largest size over all numbers of visits is stated and is part
of the interval.

**Interval.** The error is a bias of at most b, plus the error of the bits and the panels with a standard deviation of
at most s, plus the sum of the panels' output noises, each times the largest w/(mΔ). The half-width is the least h with
P(|b + N(0, s²) + noise| ≤ h) ≥ confidence; the normal law is an approximation, good for panels of some hundred users.
For s: bits within a panel and the drawing of panels without replacement have together at most the variance of
independent coins, Σ w²/(4Δ²m)·U/(U − 1), because the covariances between panels add up to −Var(Σᵢ wᵢ sᵢ)/U ≤ 0.

Thesis: section "Pan-Privacy", t-cropped mean.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.errors import InputError
from panbayes.stream.accuracy.density_error import geometric_variance
from panbayes.stream.accuracy.summed_noise import summed_noise
from panbayes.stream.guarantee.calibration import Calibration, calibrate
from panbayes.stream.ids.universes.kind import Universe, sampling_of
from panbayes.stream.laws.law import Law
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.laws.thinned_law import WEIGHT, ThinnedLaw
from panbayes.stream.panel_estimate import PanelEstimate
from panbayes.stream.statistics.methods.panel_design import best_panels, worst_bias
from panbayes.stream.statistics.methods.statistic import Budget, Released

__all__ = ["MOST_VISITS", "CroppedMean", "Returning", "check_crop"]

MOST_VISITS: Final = 100
"""The largest number of visits to crop at."""

_PANELS: Final = 6
"""About how many panels there will be."""


@dataclass(frozen=True, slots=True)
class _Errors:
    """How an estimate errs: ``bias`` and ``deviation`` at most, and ``unit`` times a sum of ``terms`` noises."""

    bias: float
    deviation: float
    unit: float
    terms: int
    scale: float

    @property
    def noise(self) -> float:
        """The standard deviation of everything that is drawn."""
        return math.hypot(self.deviation, self.unit * math.sqrt(self.terms * geometric_variance(self.scale)))

    def within(self, reach: float) -> float:
        """The probability of an error of at most ``reach``, at worst."""
        z, weights = summed_noise(self.scale, self.terms)
        ends = (special.ndtr((side * reach - self.bias - self.unit * z) / self.deviation) for side in (1, -1))
        above, below = (float(weights @ end) for end in ends)
        return above - below

    def reach(self, confidence: float) -> float:
        """The half-width that an interval needs."""
        top = self.bias + self.noise
        while self.within(top) < confidence:
            top *= 2
        # Loaded here: a state that is only fed needs none of its 20 MB.
        from scipy import optimize

        return float(optimize.brentq(lambda h: self.within(h) - confidence, 0.0, top, xtol=1e-12))


class _Thinned(ABC):
    """What every statistic by panels does; it adds ``value`` and ``bend``."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """What users and state files call it."""

    @property
    @abstractmethod
    def figure(self) -> str:
        """What its error is the error of."""

    @property
    @abstractmethod
    def bend(self) -> int:
        """The number of visits from which the value stays the same."""

    @abstractmethod
    def value(self, visits: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a user with so many visits adds to the figure."""

    @property
    def repeatable(self) -> bool:
        """Every delivery is a visit."""
        return False

    @property
    def deletes(self) -> bool:
        """A redraw cannot be taken back for one visit of several."""
        return False

    def calibrate(self, budget: Budget) -> Calibration[ThinnedLaw]:
        """Find the best panels, then divide E between the bits and the noise as for densities of panels."""

        def divided(panels: int) -> Calibration[StateLaw]:
            return calibrate(
                epsilon=budget.epsilon,
                sample=max(1, budget.sample // panels),
                universe=None,
                releases=budget.releases,
                state_epsilon=budget.state_epsilon,
            )

        signal = float(divided(_PANELS).law.signal)
        panels = best_panels(self.value, bend=self.bend, sample=budget.sample, variance=1 / (4 * signal**2))
        chosen = divided(len(panels))
        law = ThinnedLaw(chosen.law, panels, os.urandom(96))
        return Calibration(chosen.epsilon, chosen.state_epsilon, law, chosen.noise_scale, chosen.releases)

    def rmse(self, calibration: Calibration[Law], *, sample: int, universe: int | None) -> float:
        """The root of the largest bias squared and the largest variance."""
        errors = self._errors(calibration, sample, universe)
        return math.hypot(errors.bias, errors.noise)

    def failure(
        self, calibration: Calibration[Law], *, sample: int, universe: int | None, alpha: float, everywhere: bool
    ) -> float:
        """The probability of an error of ``alpha`` or more, for the worst numbers of visits."""
        del everywhere  # the worst numbers of visits are known at once
        return 1 - self._errors(calibration, sample, universe).within(alpha)

    def answer(
        self, calibration: Calibration[Law], users: Universe, release: Released, *, confidence: float
    ) -> PanelEstimate:
        """Weigh the panels' shares of redrawn users."""
        sampling = sampling_of(users)
        law, errors = _thinned(calibration), self._errors(calibration, sampling.sample, sampling.size)
        absent, signal = float(law.law.mean(law.law.init)), float(law.law.signal)
        parts = zip(law.panels, release.counts, strict=True)
        uncut = math.fsum(p.weight / WEIGHT * (count / p.size - absent) / signal for p, count in parts)
        ceiling, reach = float(self.value(np.array([math.inf]))[0]), errors.reach(confidence)
        low, value, high = (min(ceiling, max(0.0, end)) for end in (uncut - reach, uncut, uncut + reach))
        return PanelEstimate(
            figure=self.figure,
            value=value,
            low=low,
            high=high,
            confidence=confidence,
            uncut=uncut,
            deviation=errors.noise,
            bias=errors.bias,
            counts=release.counts,
            fresh=release.fresh,
            releases_left=release.left,
            epsilon=calibration.epsilon,
            private=release.private,
            scope=release.scope,
        )

    def error(self, calibration: Calibration[Law], users: Universe) -> float:
        """The root of the largest bias squared and the largest variance."""
        sampling = sampling_of(users)
        return self.rmse(calibration, sample=sampling.sample, universe=sampling.size)

    def fits(self, law: Law) -> bool:
        """Whether entries of this law can be estimated from: thinned ones."""
        return isinstance(law, ThinnedLaw)

    def remarks(self, calibration: Calibration[Law]) -> list[tuple[str, str]]:
        """Say how much of the error is bias."""
        law = _thinned(calibration)
        errors = self._errors(calibration, law.sample, None)
        thetas = ", ".join(f"{panel.theta:.3g}" for panel in law.panels)
        return [
            ("of which", f"bias {errors.bias:.3g} for the worst numbers of visits, noise {errors.noise:.3g}"),
            ("panels", f"{errors.terms}, whose visits count with probability {thetas}"),
        ]

    def _errors(self, calibration: Calibration[Law], sample: int, universe: int | None) -> _Errors:
        law = _thinned(calibration)
        if law.sample != sample:
            raise ValueError("every sampled user is in one panel")
        signal = float(law.law.signal)
        crowd = 1.0 if universe is None else universe / max(1, universe - 1)
        spread = math.fsum((p.weight / WEIGHT) ** 2 / p.size for p in law.panels) * crowd / (4 * signal**2)
        unit = max(abs(p.weight / WEIGHT) / p.size for p in law.panels) / signal
        bias = worst_bias(law.panels, self.value)
        return _Errors(bias, math.sqrt(spread), unit, len(law.panels), float(calibration.noise_scale))


@dataclass(frozen=True, slots=True)
class CroppedMean(_Thinned):
    """The mean over all users of their visits, those beyond ``most`` not counted.

    >>> CroppedMean(5).figure
    'mean of min(visits, 5)'
    """

    most: int

    def __post_init__(self) -> None:
        """Refuse what is a density, and what would be all bias."""
        check_crop(self.most, argument="most")

    @property
    def name(self) -> str:
        """What users and state files call it."""
        return "cropped-mean"

    @property
    def figure(self) -> str:
        """What its error is the error of."""
        return f"mean of min(visits, {self.most})"

    @property
    def bend(self) -> int:
        """The number of visits from which the value stays the same."""
        return self.most

    def value(self, visits: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a user with so many visits adds to the mean."""
        return np.minimum(visits, float(self.most))


@dataclass(frozen=True, slots=True)
class Returning(_Thinned):
    """The share of users who came at least twice.

    >>> Returning().figure
    'share of users with two visits or more'
    """

    @property
    def name(self) -> str:
        """What users and state files call it."""
        return "returning"

    @property
    def most(self) -> int | None:
        """None: who came twice and who came often are one."""
        return None

    @property
    def figure(self) -> str:
        """What its error is the error of."""
        return "share of users with two visits or more"

    @property
    def bend(self) -> int:
        """The number of visits from which the value stays the same."""
        return 2

    def value(self, visits: NDArray[np.float64]) -> NDArray[np.float64]:
        """One for who came at least twice."""
        return (visits >= 2).astype(np.float64)


def check_crop(most: int, *, argument: str) -> None:
    """Refuse a number of visits to crop at that makes no sense; ``argument`` is what the user wrote."""
    if not 2 <= most <= MOST_VISITS:
        raise InputError(argument, found=f"found {most}", remedy=f"give a number of visits from 2 to {MOST_VISITS}")


def _thinned(calibration: Calibration[Law]) -> ThinnedLaw:
    if not isinstance(calibration.law, ThinnedLaw):
        raise ValueError("panels need thinned entries")
    return calibration.law
