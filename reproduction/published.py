"""The published estimators, for reproducing the thesis's figures. They are not private.

Their state is as in the thesis; their output noise Laplace(0, 1/(εm)) is too small for the claimed 2ε (errata 1), the
continuous ones store floating-point numbers whose low bits betray their law, and their randomness comes from a seeded
generator (errata 5). :class:`PublishedDensityEstimator` says so in its name and warns.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; section "Comments on the Use of Other Continuous Distributions".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from panbayes.errors import InputError
from panbayes.privacy.written import parse_epsilon
from panbayes.stream.accuracy.published_error import Published, published_probabilities, truncated_gaussian_moments
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.state.coins import seeded_coins

__all__ = [
    "PublishedDensityEstimator",
    "PublishedLaw",
    "UnsoundCalibrationWarning",
    "published_law",
    "published_rate",
]

Array: TypeAlias = NDArray[np.float64]


class UnsoundCalibrationWarning(UserWarning):
    """The published calibration does not keep its stated guarantee."""


@dataclass(frozen=True, slots=True)
class PublishedLaw:
    """An entry's law: ``init`` and ``update`` turn uniform numbers into entries with these means."""

    init: Callable[[Array], Array]
    update: Callable[[Array], Array]
    mean_init: float
    mean_update: float


def published_law(estimator: Published, *, epsilon: float) -> PublishedLaw:
    """Return the law of an entry of a published estimator at state budget ε."""
    match estimator:
        case "laplace":
            return PublishedLaw(lambda u: _laplace(u) / epsilon, lambda u: 1 + _laplace(u) / epsilon, 0.0, 1.0)
        case "truncated-gaussian":
            deviation, (mean, _) = math.sqrt(1 / (2 * epsilon)), truncated_gaussian_moments(epsilon)
            mass = special.ndtr(1 / deviation) - 0.5

            def init(u: Array) -> Array:
                return np.asarray(deviation * special.ndtri(0.5 + u * mass))

            return PublishedLaw(init, lambda u: 1 - init(u), mean, 1 - mean)
        case "dwork" | "optimal-bernoulli" | "quantized-laplace":
            low, high = published_probabilities(estimator, epsilon)
            return PublishedLaw(
                lambda u: (u < low).astype(np.float64), lambda u: (u < high).astype(np.float64), low, high
            )


def published_rate(law: StateLaw, *, epsilon: float) -> float:
    """Return the rate 1/σ of the output noise Laplace(0, 1/(εm)): ε over the signal, far above what is sound.

    >>> from fractions import Fraction
    >>> from panbayes.stream.guarantee.loss import joint_loss
    >>> from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
    >>> law = optimal_bernoulli(Fraction(1, 2))
    >>> round(joint_loss(law, published_rate(law, epsilon=0.5)), 2)  # the thesis claims 1
    2.14
    """
    return epsilon / float(law.signal)


def _laplace(uniform: Array) -> Array:
    """Turn uniform numbers in [0, 1) into standard Laplace ones."""
    centred = uniform - 0.5
    return np.asarray(-np.sign(centred) * np.log1p(-2 * np.abs(centred)))


class PublishedDensityEstimator:
    """A published estimator on the users 0 … U−1, of whom the first m of a seeded shuffle have an entry."""

    __slots__ = ("_coins", "_entries", "_epsilon", "_law", "_slots")

    def __init__(
        self,
        estimator: Published,
        *,
        epsilon: str | int | float | Fraction,
        universe: int,
        sample: int,
        seed: int,
    ) -> None:
        """Draw the sample and the initial entries; ``epsilon`` is ε of the state and of the output, each."""
        part = float(parse_epsilon(epsilon))
        warnings.warn(
            f"the published calibration of {estimator} does not keep its claim of {2 * part:g}-pan-privacy, and its "
            "randomness is simulated: use it to reproduce the thesis, never on people's data",
            UnsoundCalibrationWarning,
            stacklevel=2,
        )
        if part > 0.5:
            raise InputError("epsilon", found=f"found {part:g}", remedy="the theorems need 0 < ε ≤ 1/2")
        if not 1 <= sample <= universe:
            raise InputError("sample", found=f"found {sample}", remedy=f"sample 1 to {universe} users")
        self._coins = seeded_coins(seed)
        self._law, self._epsilon = published_law(estimator, epsilon=part), part
        self._slots = np.full(universe, -1, dtype=np.int64)
        self._slots[np.argsort(self._uniform(universe))[:sample]] = np.arange(sample)
        self._entries = self._law.init(self._uniform(sample))

    def update(self, ids: NDArray[np.int64]) -> None:
        """Redraw the entries of the users that appear."""
        slots = self._slots[ids]
        slots = slots[slots >= 0]
        self._entries[slots] = self._law.update(self._uniform(slots.size))

    def estimate(self) -> float:
        """Return the density with the published output noise Laplace(0, 1/(εm))."""
        mean = float(self._entries.mean())
        noise = float(_laplace(self._uniform(1))[0]) / (self._epsilon * self._entries.size)
        return (mean - self._law.mean_init) / (self._law.mean_update - self._law.mean_init) + noise

    def _uniform(self, count: int) -> Array:
        """Draw numbers between 0 and 1, neither included: odd multiples of 2⁻⁵³."""
        buffer = np.empty(8 * count, dtype=np.uint8)
        self._coins(buffer)
        return np.asarray(((buffer.view(np.uint64) >> np.uint64(12)) + 0.5) * 2.0**-52)
