"""The mechanisms of the thesis on discrete data: pure functions of data, an event and noise.

==============================  ======================================  ========================================
function                        draws                                   thesis
==============================  ======================================  ========================================
:func:`noisy_counts`            the noise of a ``DiscreteLaplace`` or   Theorem defn_laplace_mech, on integers
                                ``DiscreteGaussian`` on every cell
:func:`noisy_tables_of_radius`  noise of one radius on several tables   Hardt and Talwar (2010), on integers
:func:`select`                  one high score, by the rule of a        Theorem defn_expo_mech; permute-and-flip
                                ``Selection``
==============================  ======================================  ========================================

An event (:mod:`panbayes.privacy.events`) holds the exact parameters of the noise; what it costs is read off it by a
class of privacy, and :func:`check_noise` says beforehand whether it can be served. A bad sensitivity or score is our
own mistake and a :class:`ValueError`. No error depends on a count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.noise import Noise
from panbayes.dp.sampler import MAX_SCALE, MIN_SCALE
from panbayes.errors import InputError
from panbayes.exact.bounds import root_above
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, OneRadius, Selection, Together

__all__ = ["MAX_COUNT", "check_noise", "noisy_counts", "noisy_tables_of_radius", "select", "selection_scale"]

MAX_COUNT: Final = 2**61
"""Counts are clamped to ± this before noise is added, and noisy counts after."""


def check_noise(event: Event) -> None:
    """Refuse noise of counts beyond what the noise sources serve."""
    match event:
        case DiscreteLaplace():
            _check_served("scale", event.scale**2)
        case OneRadius():
            _check_served("scale", (event.scale / 2) ** 2)
            _check_served("scale", event.scale**2)
        case DiscreteGaussian():
            _check_served("deviation", event.variance)
        case Together():
            for part in event.events:
                check_noise(part)
        case Selection():
            pass  # Scores have any unit, and so have their scales.
        case _:
            assert_never(event)


def _check_served(word: str, square: Fraction) -> None:
    """Refuse a scale or deviation of this ``square`` that is not served."""
    if not MIN_SCALE**2 <= square <= MAX_SCALE**2:
        found, remedy = ("too little", "more") if square > MAX_SCALE**2 else ("too much", "less")
        raise InputError(
            "epsilon",
            found=f"found {found}: it calls for noise of {word} {math.sqrt(square):g}",
            remedy=f"give {remedy}: {word}s from {float(MIN_SCALE):g} to {float(MAX_SCALE):g} are served",
        )


def noisy_counts(counts: NDArray[np.integer], *, event: Event, noise: Noise) -> NDArray[np.int64]:
    """Add the independent noise of an ``event`` to integer ``counts`` of any shape, which it describes as a whole.

    Discrete Laplace noise of scale b on counts that one person moves by at most Δ₁ in L1 loses ε = Δ₁/b; discrete
    Gaussian noise of variance σ² on counts that move by at most Δ₂ in L2 loses ρ = Δ₂²/(2σ²) (Canonne, Kamath and
    Steinke 2020, Theorem 4 for every coordinate; the Rényi divergences of independent coordinates add up). The result
    is a new array of int64.

    No overflow, and no loss hidden in it. Let L = :data:`MAX_COUNT` = 2⁶¹. Counts are first clamped to ±L,
    which cannot take two inputs further apart. Noise z saturates at ±2L; the sum stays within ±3L < 2⁶³ and
    is clamped to ±L. Where z was saturated, the sum is at or beyond ±L on the side of z, and so is the true
    sum: the result always equals the clamped sum with unbounded noise, that is, a function of a release of the event.

    Thesis: Theorem defn_laplace_mech, with the noise of the integers.
    """
    check_noise(event)
    clamped = _clamped(counts)
    match event:
        case DiscreteLaplace():
            drawn = noise.discrete_laplace(counts.size, scale=event.scale)
        case DiscreteGaussian():
            drawn = noise.discrete_gaussian(counts.size, variance=event.variance)
        case _:
            raise TypeError(f"{event.mechanism} adds no noise to counts")
    return _clamped(clamped + drawn.reshape(counts.shape))


def _clamped(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return integers clamped to ± :data:`MAX_COUNT`, in a new array."""
    if counts.dtype.kind not in "iu":
        raise TypeError(f"counts must be an array of integers, found {counts.dtype}")
    if counts.dtype == np.uint64:
        counts = np.minimum(counts, np.uint64(MAX_COUNT))
    return counts.astype(np.int64).clip(-MAX_COUNT, MAX_COUNT)


def noisy_tables_of_radius(
    counts: NDArray[np.integer], *, sizes: Sequence[int], event: OneRadius, balanced: bool, noise: Noise
) -> NDArray[np.int64]:
    """Add noise of one radius to tables of these ``sizes``, end to end in ``counts``.

    One person moves none of them by more than Δ₁ = ``event.l1`` in L1; where they are ``balanced`` no neighbour has
    another sum in any of them. Then ε = Δ₁/b is lost for all together, b = ``event.scale``
    (:mod:`panbayes.dp.one_radius`). Sums are clamped as those of :func:`noisy_counts`. Counts of records are below 2³¹:
    beyond 2⁶¹ clamping would change the sum of a balanced table.
    """
    check_noise(event)
    clamped = _clamped(counts)
    if sum(sizes) != counts.size:
        raise ValueError(f"the sizes of tables add up to {sum(sizes)}, and there are {counts.size} counts")
    drawn = noise.one_radius(sizes, scale=event.scale, balanced=balanced)
    return _clamped(clamped + drawn.reshape(counts.shape))


def selection_scale(event: Selection, *, sensitivity: Fraction | float) -> Fraction:
    """Return the scale b = 2Δ/ε of a selection, Δ = ``sensitivity`` of every score, ε that of the ``event``.

    It is exact where ε is rational, else rounded up. A float counts as the exact number it is; pad it for the rounding
    of the scores before handing it over.

    >>> selection_scale(Selection("exponential", Fraction(1, 4)), sensitivity=Fraction(3))
    Fraction(12, 1)
    """
    if isinstance(sensitivity, float) and not math.isfinite(sensitivity):
        raise ValueError(f"the sensitivity of scores must be finite, found {sensitivity}")
    exact = Fraction(sensitivity)
    if exact <= 0:
        raise ValueError(f"the sensitivity of scores must be positive, found {sensitivity}")
    return root_above((2 * exact) ** 2 / event.epsilon_squared)


def select(scores: NDArray[np.float64], *, sensitivity: Fraction | float, event: Selection, noise: Noise) -> int:
    """Draw the index of a high score at the loss of the ``event``.

    ``sensitivity`` is Δ, the most by which any one of the ``scores`` changes between neighbours, ε that of the event.
    ``"exponential"`` draws i with probability proportional to exp(ε·scoreᵢ/(2Δ)). ``"permute-and-flip"``
    visits the candidates in random order and takes each with probability exp(ε·(scoreᵢ − best)/(2Δ)); it has
    the same pure ε and never a lower expected score (McKenna and Sheldon, 2020). Under zCDP it is charged more than
    the exponential mechanism, whose loss has a bounded range (errata 6).

    Thesis: Theorem defn_expo_mech; see errata 6.
    """
    scale = selection_scale(event, sensitivity=sensitivity)
    return noise.select(np.asarray(scores, dtype=np.float64), scale=scale, mechanism=event.rule)
