"""The few things panbayes asks of OpenDP, behind small typed functions.

OpenDP is imported inside the functions, because its library takes a quarter of a second to load, and module
by module, because ``opendp.prelude`` loads much more. Of its opt-in features only ``contrib`` is enabled. Its
measurements hold no data and no randomness, so the latest ones are kept for the next call.

OpenDP takes the scale as a float and reports the loss as a float rounded upwards, so that asking for the
scale 2k and mapping a distance of 2 reports more than 1/k for almost every k. :func:`padded_scale` avoids
this: the true loss and the reported one then both stay at or below the charge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from panbayes.exact.bounds import float_above

__all__ = [
    "add_discrete_gaussian",
    "add_discrete_laplace",
    "discrete_gaussian_map",
    "discrete_laplace_map",
    "padded_deviation",
    "padded_scale",
]

_PADDING: Final = 1 + Fraction(1, 2**50)


_Output_co = TypeVar("_Output_co", covariant=True)


class _Measurement(Protocol[_Output_co]):
    """The part of OpenDP's measurements that is used here."""

    def __call__(self, arg: object) -> _Output_co:
        """Release."""

    def map(self, d_in: float) -> float:
        """Return the loss for inputs at this distance."""


def padded_scale(scale: Fraction) -> float:
    """Return a float scale at which neither the true loss nor OpenDP's map exceeds the charge.

    Let the charge be ε = Δ/``scale``, u = 2⁻⁵². The result σ is at least ``scale``·(1 + 4u), so the true loss Δ/σ is
    below ε. OpenDP rounds Δ up to a float d ≤ Δ·(1 + u), divides, and rounds the quotient up to a float. The
    largest float e not above ε satisfies e > ε/(1 + u), and d/σ ≤ ε·(1 + u)/(1 + 4u) < ε/(1 + u) < e;
    rounding up cannot pass the float e, so the map is at most e ≤ ε. (All of these are normal floats within
    the limits of :mod:`panbayes.dp.noise`.) The noise grows by less than one part in 10¹⁵.
    """
    return float_above(scale * _PADDING)


@lru_cache(maxsize=64)
def padded_deviation(variance: Fraction) -> float:
    """Return a float σ for which neither ρ = Δ²/(2σ²) nor OpenDP's map exceeds the charge Δ²/(2·``variance``).

    σ² is at least ``variance``·(1 + 16u), u = 2⁻⁵², checked exactly. OpenDP rounds Δ up to a float, divides by σ,
    squares and halves, rounding up each time: a factor of at most (1 + u)⁶ on ρ, which the margin covers, as in
    :func:`padded_scale`.
    """
    wanted = variance * (1 + Fraction(16, 2**52))
    sigma = math.sqrt(float_above(wanted))
    while Fraction(sigma) ** 2 < wanted:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def _gaussian(scale: float) -> _Measurement[list[int]]:
    """Build OpenDP's discrete Gaussian measurement on vectors of 64-bit integers."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=scale)


def _laplace(scale: float) -> _Measurement[list[int]]:
    """Build OpenDP's discrete Laplace measurement on vectors of 64-bit integers."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)


def add_discrete_laplace(counts: Sequence[int], *, scale: float) -> NDArray[np.int64]:
    """Add discrete Laplace noise of this float ``scale`` to integers, saturating at the ends of int64."""
    return np.array(_laplace(scale)(list(counts)), dtype=np.int64)


def add_discrete_gaussian(counts: Sequence[int], *, scale: float) -> NDArray[np.int64]:
    """Add discrete Gaussian noise of this float ``scale`` to integers, saturating at the ends of int64."""
    return np.array(_gaussian(scale)(list(counts)), dtype=np.int64)


def discrete_gaussian_map(sensitivity: float, *, scale: float) -> float:
    """Return the ρ that OpenDP reports for counts that differ by ``sensitivity`` in L2."""
    return float(_gaussian(scale).map(sensitivity))


def discrete_laplace_map(sensitivity: int, *, scale: float) -> float:
    """Return the ε that OpenDP reports for counts that differ by ``sensitivity`` in L1."""
    return float(_laplace(scale).map(sensitivity))
