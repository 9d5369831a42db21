"""Estimates that know their noise: empirical Bayes for noisy tables.

A noisy count y = c + noise of known law says little about a small c. What is missing is how large counts are *in this
table*, and the table's other cells tell: let the true counts be drawn from an unknown prior on a grid, fit the prior to
all noisy cells by maximum likelihood (the EM algorithm of the Kiefer–Wolfowitz estimator, started at and held to a base
prior by some pseudo-cells), and take posterior means, which are optimal for the logarithmic loss. Cells lost in the
noise then share what they have in common, cells far above it stay as they are, and no cell gets zero: thresholds,
floors and the merging of small cells all follow from the noise level.

* :func:`estimate_marginal` estimates the distribution of one attribute. The base prior is uniform in the logarithm of
  the count. For ordered values it also tries priors centred at the mean of the neighbours (without the cell itself),
  and keeps the bandwidth under which the noisy table is the most likely, if any beats the exchangeable prior.
* :func:`update_by_groups` corrects such an estimate where a later table says more about it: a table of two attributes
  has noisy sums of rows and columns, and they weigh in by their variances (a Kalman step for each group).
* :func:`estimate_given_model` estimates a table for which a public model already expects e: the prior is on the ratio
  c/e, centred at 1. Where the noise is larger than the cells, the estimate stays at what was expected, so measuring a
  table never does harm beyond its cost.

All of this is computed from releases: it is post-processing and free (Theorem thm_post_proc).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from panbayes.consortium.analyst.adaptive.grouping import Groups
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw

__all__ = ["Estimate", "estimate_given_model", "estimate_marginal", "normalised", "update_by_groups"]

CLEAR: Final = 7.0
"""Cells above so many standard deviations are taken as they are."""

SMALLEST: Final = 0.5
"""The smallest count considered: less than one record."""

HOLD_COUNTS: Final = 10.0
"""Pseudo-cells that hold the prior of counts to its base."""

HOLD_RATIOS: Final = 10.0
"""Pseudo-cells that hold the prior of ratios to its base."""

HOLD_SMOOTH: Final = 5.0
ADVANTAGE: Final = 1.0
"""By so much, in logarithm, a smoothed prior must explain the table better than the exchangeable one."""

BANDWIDTHS: Final = (1.0, 2.0, 4.0, 8.0)
ORDERED_FROM: Final = 6
"""Smoothing is tried for ordered attributes with at least so many values."""

_STEPS: Final = 60
_RATIOS: Final = np.exp(np.linspace(math.log(1 / 400), math.log(10), 61))
_RATIO_PRIOR: Final = 0.97 * np.exp(-0.5 * np.log(_RATIOS) ** 2) / np.exp(-0.5 * np.log(_RATIOS) ** 2).sum() + 0.03 / 61


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The ``distribution`` of one attribute, and how uncertain the counts behind it are (``variance``)."""

    distribution: FloatArray
    variance: FloatArray


def estimate_marginal(noisy: FloatArray, law: NoiseLaw, total: float, *, ordered: bool) -> Estimate:
    """Estimate the distribution of one attribute from its ``noisy`` counts, which add up to about ``total``."""
    deviation = law.deviation
    mean = np.maximum(noisy, SMALLEST)
    variance = np.full(noisy.size, deviation**2)
    small = np.flatnonzero(noisy < CLEAR * deviation)
    if small.size:
        grid, base = _count_grid(deviation)
        evidence = law.log_density(noisy[small, None] - grid)
        mean[small], variance[small], best = _posterior(
            evidence, base, np.broadcast_to(grid, evidence.shape), HOLD_COUNTS
        )
        if ordered and noisy.size >= ORDERED_FROM:
            best += ADVANTAGE
            for bandwidth in BANDWIDTHS:
                centre = _neighbours(noisy, deviation, bandwidth)[small, None]
                counts = centre * _RATIOS
                found = _posterior(law.log_density(noisy[small, None] - counts), _RATIO_PRIOR, counts, HOLD_SMOOTH)
                if found[2] > best:
                    mean[small], variance[small], best = found
    return Estimate(normalised(mean, variance, total), variance)


def update_by_groups(known: Estimate, groups: Groups, measured: FloatArray, error: float, total: float) -> Estimate:
    """Correct an estimate by the ``measured`` counts of groups of its values, with standard error ``error`` each."""
    mean = total * known.distribution
    prior, spread = np.bincount(groups, mean), np.maximum(np.bincount(groups, known.variance), 1e-9)
    gain = spread / (spread + error**2)
    part = known.variance / spread[groups]
    moved = mean + (gain * (measured - prior))[groups] * part
    variance = known.variance * (1 - gain[groups] * part)
    return Estimate(normalised(np.maximum(moved, mean / 10), variance, total), variance)


def estimate_given_model(noisy: FloatArray, expected: FloatArray, law: NoiseLaw) -> FloatArray:
    """Estimate the counts of a table, of any shape, for which a model expects ``expected``; positive everywhere."""
    flat = noisy.ravel()
    centre = np.maximum(expected.ravel(), SMALLEST)
    counts = centre[:, None] * _RATIOS
    mean, _, _ = _posterior(law.log_density(flat[:, None] - counts), _RATIO_PRIOR, counts, HOLD_RATIOS)
    return np.where(flat > CLEAR * law.deviation, flat, mean).reshape(noisy.shape)


def normalised(mean: FloatArray, variance: FloatArray, total: float) -> FloatArray:
    """Turn estimated counts into a distribution: what is missing to ``total`` is shared in proportion to the variance.

    No cell loses more than nine tenths of its estimate.
    """
    found = mean.copy()
    floor = mean / 10
    for _ in range(20):
        missing = total - float(found.sum())
        weight = np.where((missing < 0) & (found <= floor), 0.0, variance)
        whole = float(weight.sum())
        if abs(missing) <= 1e-9 * total or whole <= 0:
            break
        found = np.maximum(found + weight * (missing / whole), floor)
    return np.asarray(found / found.sum())


def _count_grid(deviation: float) -> tuple[FloatArray, FloatArray]:
    """Return counts from less than one record to beyond what is clear, and a base prior uniform in the logarithm."""
    step = 0.35 * deviation
    low = np.exp(np.arange(math.log(SMALLEST), math.log(max(2 * step, 2 * SMALLEST)), 0.3))
    high = np.arange(low[-1] + step, (CLEAR + 4) * deviation, step)
    grid = np.concatenate([low, high])
    edges = np.concatenate([[0.85 * grid[0]], np.sqrt(grid[1:] * grid[:-1]), [1.05 * grid[-1]]])
    weights = np.log(edges[1:] / edges[:-1])
    return grid, weights / weights.sum()


def _posterior(
    evidence: FloatArray, base: FloatArray, counts: FloatArray, hold: float
) -> tuple[FloatArray, FloatArray, float]:
    """Fit the prior; return posterior means and variances of ``counts`` and the logarithm of the likelihood.

    ``evidence`` holds the logarithm of the likelihood of every cell (row) for every point of the grid (column).
    """
    top = evidence.max(axis=1, keepdims=True)
    likelihood = np.exp(evidence - top)
    prior = base
    for _ in range(_STEPS):
        weights = 1 / np.maximum(likelihood @ prior, 1e-300)
        prior = prior * (weights @ likelihood) + hold * base
        prior = prior / prior.sum()
    posterior = likelihood * prior
    sums = np.maximum(posterior.sum(axis=1), 1e-300)
    posterior /= sums[:, None]
    mean = (posterior * counts).sum(axis=1)
    variance = np.maximum((posterior * counts**2).sum(axis=1) - mean**2, 0.0)
    return mean, variance, float((top[:, 0] + np.log(sums)).sum())


def _neighbours(noisy: FloatArray, deviation: float, bandwidth: float) -> FloatArray:
    """Return the mean of each cell's neighbours, without the cell, made positive.

    A mean m with standard error e becomes the mean of a normal law around m cut off at 0: m + e·φ(m/e)/Φ(m/e).
    Clear cells count as just clear, so that a peak does not flood the values beside it.
    """
    places = np.arange(noisy.size)
    kernel = np.exp(-0.5 * ((places[:, None] - places) / bandwidth) ** 2)
    np.fill_diagonal(kernel, 0.0)
    kernel /= np.maximum(kernel.sum(axis=1, keepdims=True), 1e-300)
    mean = kernel @ np.minimum(noisy, CLEAR * deviation)
    error = deviation * np.sqrt((kernel**2).sum(axis=1))
    ratio = np.maximum(mean / error, -6.0)
    positive = error * (ratio + np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi) / ndtr(ratio))
    return np.asarray(np.maximum(positive, SMALLEST))
