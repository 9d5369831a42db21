"""The error of the thesis's own estimators, as its theorems state it.

The theorems hold the sample fixed while treating each sampled user as present with probability d; that adds the
sampling part d(1 − d)/m of an infinite universe. The estimators themselves are in :mod:`reproduction.published`.

Thesis: Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

__all__ = [
    "Published",
    "published_mse",
    "published_mse_bound",
    "published_probabilities",
    "truncated_gaussian_moments",
]

Published: TypeAlias = Literal["dwork", "optimal-bernoulli", "quantized-laplace", "laplace", "truncated-gaussian"]
"""The estimators that the thesis describes."""


def truncated_gaussian_moments(epsilon: float) -> tuple[float, float]:
    """Mean and variance of a Gaussian with mean 0 and variance 1/(2ε) truncated to [0, 1] (an absent user's entry).

    A present user's entry is its mirror image, with mean 1 − mean and the same variance.
    """
    deviation = math.sqrt(1 / (2 * epsilon))
    end = 1 / deviation
    mass = math.erf(end / math.sqrt(2)) / 2
    at_zero, at_end = (math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) for x in (0.0, end))
    shift = (at_zero - at_end) / mass
    return deviation * shift, deviation**2 * (1 - end * at_end / mass - shift**2)


def published_mse(estimator: Published, *, epsilon: float, sample: int, density: float) -> float:
    """The mean squared error of a published estimator at ε each for state and output; m = ``sample``, d = ``density``.

    Every one is (own variance of an entry)/(m·signal²) + 2/(m²ε²); the binary ones also carry d(1 − d)/m.

    Thesis: proofs of Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1 (the last gives 2(m+1)/(m²ε²)).

    >>> round(published_mse("laplace", epsilon=0.5, sample=1000, density=0.3), 9)
    0.008008
    """
    output = 2 / (sample * epsilon) ** 2
    if estimator == "laplace":
        return 2 / (sample * epsilon**2) + output
    if estimator == "truncated-gaussian":
        mean, variance = truncated_gaussian_moments(epsilon)
        return variance / (sample * (1 - 2 * mean) ** 2) + output
    init, update = published_probabilities(estimator, epsilon)
    own = (1 - density) * init * (1 - init) + density * update * (1 - update)
    return own / (sample * (update - init) ** 2) + density * (1 - density) / sample + output


def published_probabilities(estimator: Published, epsilon: float) -> tuple[float, float]:
    """p_init and p_upd of the binary estimators."""
    match estimator:
        case "dwork":
            return 0.5, 0.5 + epsilon / 4
        case "optimal-bernoulli":
            return (1 - math.tanh(epsilon / 2)) / 2, (1 + math.tanh(epsilon / 2)) / 2
        case "quantized-laplace":
            return math.exp(-epsilon / 2) / 2, 1 - math.exp(-epsilon / 2) / 2
        case "laplace" | "truncated-gaussian":
            raise ValueError(f"{estimator} is not binary")


def published_mse_bound(estimator: Published, *, epsilon: float, sample: int) -> float:
    """The theorem's bound, free of the density: 2(2m+1)/(m²ε²), 1/(4m·tanh²(ε/2)) + 2/(m²ε²), 2(m+1)/(m²ε²).

    For the quantized Laplace estimator the same derivation gives 1/(4m(p_upd − p_init)²) + 2/(m²ε²).

    Thesis: Theorems thm_DworkDE_acc1, thm_OptBernDE_acc1, thm_LaplaceDE_acc1.
    """
    if estimator in ("laplace", "truncated-gaussian"):
        return published_mse(estimator, epsilon=epsilon, sample=sample, density=0.5)
    init, update = published_probabilities(estimator, epsilon)
    return 1 / (4 * sample * (update - init) ** 2) + 2 / (sample * epsilon) ** 2
