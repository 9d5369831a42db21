"""Secure noise: integers from the operating system's randomness, exactly distributed.

OpenDP draws tables of up to :data:`OPENDP_CELLS` cells and all Gaussian noise; larger tables of Laplace noise come from
:mod:`panbayes.dp.sampler`, which is proved beside its code and some sixty times faster, and selections from
:mod:`panbayes.dp.selection`, whose time does not depend on the scores. What is promised stands in
:mod:`panbayes.dp.noise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from secrets import randbelow
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.dp import opendp_bridge, sampler, selection
from panbayes.dp.noise import check_coins, check_gaussian, check_laplace, check_one_radius, check_selection
from panbayes.dp.one_radius import one_radius
from panbayes.privacy.events import Rule

__all__ = ["OPENDP_CELLS", "SecureNoise"]

OPENDP_CELLS: Final = 100_000
"""Up to this many cells OpenDP draws the noise of a table; it takes about a CPU-second for that many."""


class SecureNoise:
    """Noise that nobody can predict or repeat, exactly distributed: the one for people's data."""

    __slots__ = ()

    @property
    def private(self) -> bool:
        """True: nobody knows the noise."""
        return True

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw from OpenDP, or from :mod:`panbayes.dp.sampler` where there are many cells.

        The law is exact at the scale served: :func:`~panbayes.dp.opendp_bridge.padded_scale` of ``scale`` by
        OpenDP, :func:`~panbayes.dp.sampler.small_terms` of it by the sampler. Neither is below ``scale``.
        """
        check_laplace(size, scale)
        if size > OPENDP_CELLS:
            return sampler.discrete_laplace(size, scale)
        if not size:
            return np.zeros(0, dtype=np.int64)
        drawn = opendp_bridge.add_discrete_laplace([0] * size, scale=opendp_bridge.padded_scale(scale))
        return drawn.clip(-sampler.MAX_NOISE, sampler.MAX_NOISE)

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        """Draw from OpenDP, exactly at the σ of :func:`~panbayes.dp.opendp_bridge.padded_deviation`.

        It takes about a CPU-second for 70,000 cells.
        """
        check_gaussian(size, variance)
        if not size:
            return np.zeros(0, dtype=np.int64)
        drawn = opendp_bridge.add_discrete_gaussian([0] * size, scale=opendp_bridge.padded_deviation(variance))
        return drawn.clip(-sampler.MAX_NOISE, sampler.MAX_NOISE)

    def one_radius(self, sizes: Sequence[int], *, scale: Fraction, balanced: bool) -> NDArray[np.int64]:
        """Draw from :mod:`panbayes.dp.one_radius`, exactly, at :func:`~panbayes.dp.sampler.small_terms` of the scale.

        ``secrets`` draws integers of any size from the operating system's bytes by rejection, each as likely.
        """
        check_one_radius(sizes, scale)
        return one_radius(sizes, scale=scale, balanced=balanced, below=randbelow, falling=sampler.falling)

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw coins of exactly this ``probability``."""
        check_coins(size, probability)
        return sampler.bernoulli(size, probability)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        """Draw from :mod:`panbayes.dp.selection`, exactly at this ``scale``, with the same work for all scores."""
        check_selection(scores, scale, mechanism)
        return selection.select(scores, scale=scale, rule=mechanism)

    def spawn(self, _key: bytes, /) -> SecureNoise:
        """Return itself: fresh randomness needs no key."""
        return self
