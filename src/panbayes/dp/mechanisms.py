"""The mechanisms of the thesis on discrete data: pure functions of data, privacy parameters and noise.

==============================  ==================================  ========================================
mechanism                       loss                                thesis
==============================  ==================================  ========================================
:func:`randomized_response`     ln((1 + p)/(1 − p)), p = ``truth``  Algorithm Alg_rand_resp, Theorem
                                                                    thm_rand_resp
:func:`discrete_laplace`        Δ/scale                             Theorem defn_laplace_mech, on integers
:func:`select`                  2Δ/scale                            Theorem defn_expo_mech; permute-and-flip
:func:`discrete_gaussian`       ρ = Δ₂²/(2σ²), zero-concentrated    none
:func:`select_concentrated`     ρ = Δ²/(2·scale²), the same         Theorem defn_expo_mech, as zCDP
==============================  ==================================  ========================================

Each has a companion ``…_loss`` that reads the loss off its parameters, exactly or rounded up, and a companion
``…_release`` that describes one use of it for :mod:`panbayes.privacy.composition`. ``epsilon`` and ``truth``
are exact and belong to the user, so a bad one is an :class:`~panbayes.errors.InputError`; a bad
sensitivity or score is our own mistake and a :class:`ValueError`. No error depends on a bit or a count.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.dp.noise import Noise, Selection
from panbayes.dp.sampler import MAX_SCALE, MIN_SCALE
from panbayes.errors import InputError
from panbayes.exact.bounds import log_above, root_above
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.composition import Step
from panbayes.privacy.written import MAX_EPSILON, parse_epsilon

__all__ = [
    "MAX_COUNT",
    "discrete_gaussian",
    "discrete_gaussian_variance",
    "discrete_laplace",
    "discrete_laplace_loss",
    "discrete_laplace_release",
    "discrete_laplace_scale",
    "randomized_response",
    "randomized_response_error",
    "randomized_response_fraction",
    "randomized_response_loss",
    "randomized_response_release",
    "select",
    "select_concentrated",
    "select_loss",
    "select_release",
    "select_scale",
]

MAX_COUNT: Final = 2**61
"""Counts are clamped to ± this before noise is added, and noisy counts after."""


def randomized_response(bits: NDArray[np.bool_], *, truth: Fraction, noise: Noise) -> NDArray[np.bool_]:
    """Answer for each person: with probability ``truth`` the person's bit, else a fair coin.

    At ``truth`` = 1/2 this is the thesis's version and loses exactly ln 3.

    Thesis: Algorithm Alg_rand_resp; Theorem thm_rand_resp.
    """
    probability = _truth(truth)
    if bits.dtype != np.bool_:
        raise TypeError(f"bits must be an array of bool, found {bits.dtype}")
    keep = noise.bernoulli(bits.size, probability=probability).reshape(bits.shape)
    coin = noise.bernoulli(bits.size, probability=Fraction(1, 2)).reshape(bits.shape)
    return (keep & bits) | (~keep & coin)


def randomized_response_loss(*, truth: Fraction) -> Pure:
    """Return ln((1 + p)/(1 − p)) for p = ``truth``, rounded up to a multiple of 10⁻¹²; p = 1/2 gives ln 3.

    >>> float(randomized_response_loss(truth=Fraction(1, 2)).epsilon) - math.log(3) < 2e-12
    True
    """
    p = _truth(truth)
    return Pure(log_above((1 + p) / (1 - p)))


def randomized_response_release(what: str, *, truth: Fraction) -> Step:
    """Describe one use of :func:`randomized_response`, each person answering once."""
    return Step(what, "randomized response", randomized_response_loss(truth=truth))


def randomized_response_fraction(answers: NDArray[np.bool_], *, truth: Fraction) -> float:
    """Estimate without bias the fraction of ones among the bits behind the ``answers``.

    An answer is 1 with probability p·bit + (1 − p)/2, p = ``truth``, so the estimate is
    (mean answer − (1 − p)/2)/p. It may fall outside [0, 1]; clamping it would bias it.
    """
    p = _truth(truth, positive=True)
    if not answers.size:
        raise ValueError("there are no answers to estimate from")
    mean = Fraction(int(np.count_nonzero(answers)), answers.size)
    return float((mean - (1 - p) / 2) / p)


def randomized_response_error(people: int, *, truth: Fraction) -> float:
    """Return the standard error that the coins give to :func:`randomized_response_fraction`.

    Whatever the bit, an answer has variance (1 − p²)/4, p = ``truth``; so the error, √((1 − p²)/(4n))/p for
    n = ``people``, is known beforehand and does not depend on the data.
    """
    p = _truth(truth, positive=True)
    if people < 1:
        raise ValueError(f"the number of people must be positive, found {people}")
    return math.sqrt((1 - p**2) / (4 * people)) / float(p)


def discrete_laplace_scale(*, sensitivity: int, epsilon: Fraction | Pure) -> Fraction:
    """Return the exact scale Δ/ε of the noise, Δ = ``sensitivity`` in L1, ε = ``epsilon``.

    A scale beyond what the noise sources serve is refused.

    >>> discrete_laplace_scale(sensitivity=2, epsilon=Fraction(1, 903))
    Fraction(1806, 1)
    """
    if operator.index(sensitivity) < 1:
        raise ValueError(f"the sensitivity of counts must be a positive integer, found {sensitivity}")
    scale = operator.index(sensitivity) / _epsilon(epsilon)
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise InputError(
            "epsilon",
            found=f"found {float(_epsilon(epsilon)):g}, which calls for noise of scale {float(scale):g}",
            remedy=f"scales from {float(MIN_SCALE):g} to {float(MAX_SCALE):g} are served",
        )
    return scale


def discrete_laplace(
    counts: NDArray[np.integer], *, sensitivity: int, epsilon: Fraction | Pure, noise: Noise
) -> NDArray[np.int64]:
    """Add independent discrete Laplace noise of scale Δ/ε to integer ``counts`` of any shape.

    ``sensitivity`` is Δ, the most by which the whole array can change in L1 between neighbours, and
    ``epsilon`` is ε, the loss of the whole array. The result is a new array of int64.

    No overflow, and no loss hidden in it. Let L = :data:`MAX_COUNT` = 2⁶¹. Counts are first clamped to ±L,
    which cannot take two inputs further apart. Noise z saturates at ±2L; the sum stays within ±3L < 2⁶³ and
    is clamped to ±L. Where z was saturated, the sum is at or beyond ±L on the side of z, and so is the true
    sum: the result always equals the clamped sum with unbounded noise, that is, a function of a release at ε.

    Thesis: Theorem defn_laplace_mech, with the noise of the integers.
    """
    scale = discrete_laplace_scale(sensitivity=sensitivity, epsilon=epsilon)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"counts must be an array of integers, found {counts.dtype}")
    if counts.dtype == np.uint64:
        counts = np.minimum(counts, np.uint64(MAX_COUNT))
    result = counts.astype(np.int64).clip(-MAX_COUNT, MAX_COUNT)
    result += noise.discrete_laplace(counts.size, scale=scale).reshape(counts.shape)
    return result.clip(-MAX_COUNT, MAX_COUNT, out=result)


def discrete_laplace_loss(*, sensitivity: int, scale: Fraction) -> Pure:
    """Return the loss Δ/``scale`` of counts that change by at most Δ = ``sensitivity`` in L1."""
    return Pure(Fraction(sensitivity) / scale)


def discrete_laplace_release(what: str, *, epsilon: Fraction | Pure) -> Step:
    """Describe one use of :func:`discrete_laplace`."""
    return Step(what, "discrete Laplace", Pure(_epsilon(epsilon)))


def select_scale(*, sensitivity: Fraction | float, epsilon: Fraction | Pure) -> Fraction:
    """Return the exact scale 2Δ/ε of a selection, Δ = ``sensitivity`` of every score, ε = ``epsilon``.

    A float counts as the exact number it is; pad it for the rounding of the scores before handing it over.
    """
    if isinstance(sensitivity, float) and not math.isfinite(sensitivity):
        raise ValueError(f"the sensitivity of scores must be finite, found {sensitivity}")
    exact = Fraction(sensitivity)
    if exact <= 0:
        raise ValueError(f"the sensitivity of scores must be positive, found {sensitivity}")
    return 2 * exact / _epsilon(epsilon)


def select(
    scores: NDArray[np.float64],
    *,
    sensitivity: Fraction | float,
    epsilon: Fraction | Pure,
    mechanism: Selection,
    noise: Noise,
) -> int:
    """Draw the index of a high score at a loss of ε = ``epsilon``.

    ``sensitivity`` is Δ, the most by which any one of the ``scores`` changes between neighbours.
    ``"exponential"`` draws i with probability proportional to exp(ε·scoreᵢ/(2Δ)). ``"permute-and-flip"``
    visits the candidates in random order and takes each with probability exp(ε·(scoreᵢ − best)/(2Δ)); it has
    the same pure ε and never a lower expected score (McKenna and Sheldon, 2020). Under other definitions of
    privacy it is charged more than the exponential mechanism; here there is pure ε only.

    Thesis: Theorem defn_expo_mech; see errata 6.
    """
    scale = select_scale(sensitivity=sensitivity, epsilon=epsilon)
    return noise.select(np.asarray(scores, dtype=np.float64), scale=scale, mechanism=mechanism)


def discrete_gaussian_variance(*, square: int, rho: Fraction) -> Fraction:
    """Return the exact variance Δ₂²/(2ρ) of the noise, Δ₂² = ``square`` of the L2 sensitivity, ρ = ``rho``.

    A variance beyond what the noise sources serve is refused.

    >>> discrete_gaussian_variance(square=2, rho=Fraction(1, 50))
    Fraction(50, 1)
    """
    if operator.index(square) < 1:
        raise ValueError(f"the squared sensitivity of counts must be a positive integer, found {square}")
    if rho <= 0:
        raise ValueError(f"rho must be positive, found {rho}")
    variance = operator.index(square) / (2 * rho)
    if not MIN_SCALE**2 <= variance <= MAX_SCALE**2:
        raise InputError(
            "epsilon",
            found=f"found a share of {float(rho):g} zCDP, which calls for noise of variance {float(variance):g}",
            remedy=f"deviations from {float(MIN_SCALE):g} to {float(MAX_SCALE):g} are served",
        )
    return variance


def discrete_gaussian(counts: NDArray[np.integer], *, square: int, rho: Fraction, noise: Noise) -> NDArray[np.int64]:
    """Add independent discrete Gaussian noise of variance Δ₂²/(2ρ) to integer ``counts`` of any shape.

    ``square`` is Δ₂², the most by which the whole array can change between neighbours in squared L2 norm, and ρ =
    ``rho`` is the zCDP of the whole array (Canonne, Kamath and Steinke 2020, Theorem 4 for every coordinate; the Rényi
    divergences of independent coordinates add up). Clamping is as in :func:`discrete_laplace`, and as harmless.
    """
    variance = discrete_gaussian_variance(square=square, rho=rho)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"counts must be an array of integers, found {counts.dtype}")
    if counts.dtype == np.uint64:
        counts = np.minimum(counts, np.uint64(MAX_COUNT))
    result = counts.astype(np.int64).clip(-MAX_COUNT, MAX_COUNT)
    result += noise.discrete_gaussian(counts.size, variance=variance).reshape(counts.shape)
    return result.clip(-MAX_COUNT, MAX_COUNT, out=result)


def select_concentrated(scores: NDArray[np.float64], *, sensitivity: Fraction, rho: Fraction, noise: Noise) -> int:
    """Draw the index of a high score by the exponential mechanism, at a zCDP of ρ = ``rho``.

    With scale s its pure loss is ε = 2Δ/s, Δ = ``sensitivity`` of every score, and its privacy loss ranges over an
    interval of length ε, so that it satisfies ε²/8-zCDP (Cesar and Rogers 2021): ρ = Δ²/(2s²), s = Δ/√(2ρ). The scale
    is the root rounded up. (Permute-and-flip has no bounded range and would be charged ε²/2; errata 6.)
    """
    if sensitivity <= 0 or rho <= 0:
        raise ValueError(f"sensitivity and rho must be positive, found {sensitivity}, {rho}")
    scale = root_above(sensitivity**2 / (2 * rho))
    return noise.select(np.asarray(scores, dtype=np.float64), scale=scale, mechanism="exponential")


def select_loss(*, sensitivity: Fraction | float, scale: Fraction) -> Pure:
    """Return the loss 2Δ/``scale`` of a selection, Δ = ``sensitivity`` of every score."""
    return Pure(2 * Fraction(sensitivity) / scale)


def select_release(what: str, *, epsilon: Fraction | Pure, mechanism: Selection) -> Step:
    """Describe one use of :func:`select`."""
    names: dict[Selection, str] = {
        "exponential": "exponential mechanism",
        "permute-and-flip": "permute-and-flip",
    }
    return Step(what, names[mechanism], Pure(_epsilon(epsilon)))


def _epsilon(epsilon: Fraction | Pure) -> Fraction:
    """Return ε as an exact positive number, or refuse it."""
    return parse_epsilon(epsilon.epsilon if isinstance(epsilon, Pure) else epsilon)


def _truth(truth: Fraction, *, positive: bool = False) -> Fraction:
    """Return the probability of a true answer, or refuse one that protects nobody (or tells nothing)."""
    if not 0 <= truth < 1 or (positive and truth == 0):
        low = "above 0" if positive else "from 0"
        raise InputError("truth", found=f"found {truth}", remedy=f"give a fraction {low} to below 1, such as 1/2")
    exact = Fraction(truth)
    if (1 + exact) / (1 - exact) > 2**MAX_EPSILON:
        raise InputError("truth", found="found a number next to 1", remedy="give a fraction such as 1/2")
    return exact
