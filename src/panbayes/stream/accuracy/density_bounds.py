"""The thesis's bounds: sample size for (α, β), and β for a sample size.

The error |d̃ − d| ≥ α is split by δ₁, δ₂ among three sources, each bounded on its own (m is the sample size)::

    p₁ = 2·exp(−2mα²(1 − δ₁)²)                 sampling
    p₂ = 2·exp(−κmα²δ₁²(1 − δ₂)²)              the entries
    p₃ = exp(−εαmδ₁δ₂)                         the output

with κ = ε²/8 for Dwork and Laplace and 2·(p_upd − p_init)² for the binary estimators in general, which is
2·tanh²(ε/2) for Optimal Bernoulli. For the sample size, δ₃ and δ₄ are the shares of β given to p₁ and p₂. Choosing all
four δ to minimise max(m₁, m₂, m₃) is the same as finding the least m for which some δ₁, δ₂ give p₁ + p₂ + p₃ ≤ β:
given such an m, δ₃ = p₁/β and δ₄ = p₂/β make m₁, m₂, m₃ ≤ m, and the other way round.

Thesis: Theorems thm_DworkDE_acc2, thm_OptBernDE_acc2, thm_LaplaceDE_acc2; section subSEC_sample_size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from panbayes.stream.accuracy.published_error import published_probabilities

__all__ = ["Bounded", "FailureBound", "SampleSize", "failure_bound", "sample_size_bound"]

Bounded: TypeAlias = Literal["dwork", "optimal-bernoulli", "quantized-laplace", "laplace"]

_GRID: Final = 65
_ZOOMS: Final = 14


@dataclass(frozen=True, slots=True)
class FailureBound:
    """``beta`` bounds the probability that the error is α or more; ``deltas`` are δ₁, δ₂; ``parts`` are p₁, p₂, p₃."""

    beta: float
    deltas: tuple[float, float]
    parts: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The least ``sample`` (m*) of the bounds, with the four ``deltas`` that reach it."""

    sample: int
    deltas: tuple[float, float, float, float]


def _kappa(estimator: Bounded, epsilon: float) -> float:
    match estimator:
        case "laplace":
            return epsilon**2 / 8
        case "dwork" | "optimal-bernoulli" | "quantized-laplace":
            init, update = published_probabilities(estimator, epsilon)
            return 2 * (update - init) ** 2


def failure_bound(estimator: Bounded, *, epsilon: float, alpha: float, sample: float) -> FailureBound:
    """Minimise p₁ + p₂ + p₃ over δ₁, δ₂ for a fixed sample, on a grid that zooms in around its best point."""
    kappa = _kappa(estimator, epsilon)
    centre, width = np.array([0.5, 0.5]), 1.0
    best = (math.inf, (0.5, 0.5), (1.0, 1.0, 1.0))
    for _ in range(_ZOOMS):
        first, second = (np.clip(np.linspace(c - width / 2, c + width / 2, _GRID), 0, 1) for c in centre)
        one, two = first[:, None], second[None, :]
        sampling = 2 * np.exp(-2 * sample * alpha**2 * (1 - one) ** 2) + 0 * two
        entries = 2 * np.exp(-kappa * sample * (alpha * one * (1 - two)) ** 2)
        output = np.exp(-epsilon * alpha * sample * one * two)
        total = sampling + entries + output
        i, j = np.unravel_index(int(np.argmin(total)), total.shape)
        if total[i, j] < best[0]:
            parts = (float(sampling[i, j]), float(entries[i, j]), float(output[i, j]))
            best = (float(total[i, j]), (float(first[i]), float(second[j])), parts)
        centre, width = np.array(best[1]), width / 4
    return FailureBound(min(1.0, best[0]), best[1], best[2])


def sample_size_bound(estimator: Bounded, *, epsilon: float, alpha: float, beta: float) -> SampleSize:
    """Return m*, the least sample size of the thesis's bounds; ε is the budget of the state and of the output, each.

    >>> sample_size_bound("optimal-bernoulli", epsilon=0.5, alpha=0.1, beta=0.05).sample
    5679
    """
    low, high = 1.0, 2.0
    while failure_bound(estimator, epsilon=epsilon, alpha=alpha, sample=high).beta > beta:
        low, high = high, 2 * high
    while math.ceil(low) < math.floor(high) and high - low > 0.25:
        middle = (low + high) / 2
        if failure_bound(estimator, epsilon=epsilon, alpha=alpha, sample=middle).beta > beta:
            low = middle
        else:
            high = middle
    sample = math.ceil(high)
    bound = failure_bound(estimator, epsilon=epsilon, alpha=alpha, sample=sample)
    return SampleSize(sample, (*bound.deltas, bound.parts[0] / beta, bound.parts[1] / beta))
