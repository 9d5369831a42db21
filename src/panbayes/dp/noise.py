"""Where noise comes from: the protocol that every source keeps, and the checks they share.

Noise is always an argument, never global, and always of an exact, public scale. There are two sources:

=============================================== ==========================================================
:class:`~panbayes.dp.secure.SecureNoise`        unpredictable and exact: the one for people's data
:class:`~panbayes.dp.simulated.SimulatedNoise`  seeded, for experiments and tests; ``private`` is false
=============================================== ==========================================================

All of them keep the same contract:

* the scale served is never below the scale asked for; a secure one is at most one part in 2³⁰ above it;
* integers saturate at ±:data:`~panbayes.dp.sampler.MAX_NOISE` = ±2⁶². Counts within ±2⁶¹ plus noise therefore
  fit int64, and clamping the sum to ±2⁶¹ gives exactly what clamping the unbounded sum would give (see
  :func:`panbayes.dp.mechanisms.noisy_counts`), so saturation costs no privacy;
* scales of counts lie between :data:`~panbayes.dp.sampler.MIN_SCALE` and
  :data:`~panbayes.dp.sampler.MAX_SCALE`, those of scores, whose unit may be any, between
  :data:`MIN_SELECTION_SCALE` and its reciprocal; all of these are served, and any other is a :class:`ValueError`;
* a failure to draw does not depend on any record;
* whoever draws from a seed is not private.

A further law of noise is a further method here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.one_radius import MAX_CELLS
from panbayes.dp.sampler import MAX_SCALE, MIN_SCALE
from panbayes.privacy.events import Rule

__all__ = [
    "MIN_SELECTION_SCALE",
    "Noise",
    "check_coins",
    "check_gaussian",
    "check_laplace",
    "check_one_radius",
    "check_selection",
]

MIN_SELECTION_SCALE: Final = Fraction(1, 2**200)
"""The smallest scale of a selection; the largest is its reciprocal."""


class Noise(Protocol):
    """A source of noise."""

    @property
    def private(self) -> bool:
        """Whether the noise is secret; if not, whatever it touches is stamped ``not private``."""
        ...

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw ``size`` integers z with probability proportional to exp(−|z|/``scale``)."""
        ...

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        """Draw ``size`` integers z with probability proportional to exp(−z²/(2·``variance``))."""
        ...

    def one_radius(self, sizes: Sequence[int], *, scale: Fraction, balanced: bool) -> NDArray[np.int64]:
        """Draw noise of one radius for tables of these ``sizes``, end to end (:mod:`panbayes.dp.one_radius`)."""
        ...

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw ``size`` coins that are true with this ``probability``."""
        ...

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        """Draw the index of a high score; a score's odds fall by the factor e for each ``scale`` it lacks."""
        ...

    def spawn(self, key: bytes, /) -> Noise:
        """Return the source for one purpose, named by ``key`` (say, a holder and a query)."""
        ...


def check_laplace(size: int, scale: Fraction) -> None:
    """Refuse a ``size`` or a ``scale`` of discrete Laplace noise outside the contract."""
    _check_size(size)
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise ValueError(f"the scale must lie between {MIN_SCALE} and {MAX_SCALE}, found {float(scale):g}")


def check_one_radius(sizes: Sequence[int], scale: Fraction) -> None:
    """Refuse ``sizes`` of tables or a ``scale`` of noise of one radius outside the contract."""
    if not sizes or not all(1 <= cells <= MAX_CELLS for cells in sizes):
        raise ValueError(f"tables of one radius are some, of 1 to {MAX_CELLS} cells, found {tuple(sizes)[:20]}")
    check_laplace(0, scale / 2)  # the least scale of what is drawn, and the largest one
    check_laplace(0, scale)


def check_gaussian(size: int, variance: Fraction) -> None:
    """Refuse a ``size`` or a ``variance`` of discrete Gaussian noise outside the contract."""
    _check_size(size)
    if not MIN_SCALE**2 <= variance <= MAX_SCALE**2:
        low, high = MIN_SCALE**2, MAX_SCALE**2
        raise ValueError(f"the variance must lie between {low} and {high}, found {float(variance):g}")


def check_coins(size: int, probability: Fraction) -> None:
    """Refuse a ``size`` or a ``probability`` of coins that there cannot be."""
    _check_size(size)
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability lies between 0 and 1, found {probability}")


def check_selection(scores: NDArray[np.float64], scale: Fraction, mechanism: Rule) -> None:
    """Refuse ``scores`` among which there is nothing to choose, a ``scale`` outside the contract, an unknown rule."""
    if scores.ndim != 1 or not scores.size:
        raise ValueError(f"scores must be a non-empty vector, found shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    if not MIN_SELECTION_SCALE <= scale <= 1 / MIN_SELECTION_SCALE:
        raise ValueError("the scale of a selection must lie between 2**-200 and 2**200")
    if mechanism not in get_args(Rule):
        raise ValueError(f"the mechanism must be one of {get_args(Rule)}, found {mechanism!r}")


def _check_size(size: int) -> None:
    if size < 0:
        raise ValueError(f"the size cannot be negative, found {size}")
