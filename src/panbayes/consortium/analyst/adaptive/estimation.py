"""Estimates that know their noise: empirical Bayes for noisy tables.

A noisy count y = c + noise of known law says little about a small c. What is missing is how the counts of *these
tables* lie about what is expected of them, and the other cells tell: let the ratio of the true count to an expected one
be drawn from an unknown prior on a grid, fit the prior to all noisy cells by maximum likelihood (the EM algorithm of
the Kiefer–Wolfowitz estimator, started at and held to a base prior by some pseudo-cells), and take posterior means,
which are optimal for the logarithmic loss. Cells lost in the noise then stay at what was expected, cells far above it
stay as they are, and no cell gets zero: thresholds, floors and the merging of small cells all follow from the noise.

* :func:`estimate_given_model` estimates tables for which a public model already expects e. The prior on c/e is centred
  at 1, learned from all tables of a batch, which tell each other how strong dependencies are, and then bent a little
  for each. Measuring a table never does harm beyond its cost.
* :func:`estimate_marginals` estimates the distributions of all attributes, each from its own table. What is expected
  is the uniform law, which is free, and the attributes tell each other how far from it they are. If all their tables
  together hardly say that any is (:data:`TOLD`), the prior stays close to 1. Otherwise ordered values are about as
  frequent as those beside them, as far as their table says so
  (:mod:`panbayes.consortium.analyst.adaptive.ordered`).
* :func:`update_by_groups` corrects such an estimate where a later table says more about it: a table of two attributes
  has noisy sums of rows and columns, and they weigh in by their variances (a Kalman step for each group).

All of this is computed from releases: it is post-processing and free (Theorem thm_post_proc).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.nested import Groups
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.adaptive.ordered import moments_along

__all__ = ["Estimate", "estimate_given_model", "estimate_marginals", "normalised", "update_by_groups"]

CLEAR: Final = 7.0
"""Cells above so many standard deviations are taken as they are, where the grid is coarser than the noise."""

SMALLEST: Final = 0.5
"""The smallest count considered: less than one record."""

HOLD_RATIOS: Final = 5.0
"""Pseudo-cells that hold the prior of ratios of a batch to its base, and that of a table to the batch's."""

HOLD_SHARED: Final = 2.0
"""Pseudo-attributes that hold the prior of all single attributes to its base; an attribute weighs one."""

HOLD_SINGLE: Final = 40.0
"""Pseudo-cells that hold the prior of one attribute to the shared one."""

TOLD: Final = 2.5
"""By so much, in logarithm, a fitted prior must explain all single attributes better than nearly uniform laws do."""

ORDERED_FROM: Final = 3
"""An order is made use of from so many values on."""

_STEPS: Final = 60
_BATCH_STEPS: Final = 40
_TABLE_STEPS: Final = 15
_BATCH_CELLS: Final = 20_000
"""So many cells of a batch, evenly spread, are enough to learn its prior from."""

_RATIOS: Final = np.exp(np.linspace(math.log(1 / 1000), math.log(60), 81))
_RATIO_PRIOR: Final = 0.97 * np.exp(-0.5 * np.log(_RATIOS) ** 2) / np.exp(-0.5 * np.log(_RATIOS) ** 2).sum() + 0.03 / 81

_BEND: Final = 0.3
_FINE: Final = _BEND * np.sinh(np.linspace(math.asinh(math.log(1e-5) / _BEND), math.asinh(math.log(60) / _BEND), 331))
"""Logarithms of ratios for single attributes: close together about 0, for many attributes are nearly uniform."""

_COARSE: Final = 0.5
"""A clear cell is left to the prior where neighbours on the grid are closer than so many deviations of its noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The ``distribution`` of one attribute, and how uncertain the counts behind it are (``variance``)."""

    distribution: FloatArray
    variance: FloatArray


def estimate_marginals(
    noisy: Sequence[FloatArray], laws: Sequence[NoiseLaw], total: float, ordered: Sequence[int]
) -> list[Estimate]:
    """Estimate the distributions of attributes from their ``noisy`` counts, which add up to about ``total`` each.

    So many of the first values of each are ``ordered``, none where an attribute has no order.
    """
    grids = [np.maximum(_uniform(table, total) * np.exp(_FINE), SMALLEST) for table in noisy]
    likelihood = np.concatenate(list(map(_likelihood, noisy, grids, laws)))
    weights = np.concatenate([np.full(table.size, 1 / table.size) for table in noisy])
    shared = _fit_prior(likelihood, _lognormals(0.16, 0.4, 0.4), HOLD_SHARED, _BATCH_STEPS, weights=weights)
    nearly = _lognormals(0.0, 0.02, 0.94)
    told = float(np.log((likelihood @ shared) / (likelihood @ nearly)).sum()) >= TOLD
    prior = shared if told else nearly
    found = []
    own = np.split(likelihood, np.cumsum([table.size for table in noisy])[:-1])
    for table, law, in_order, grid, mine in zip(noisy, laws, ordered, grids, own, strict=True):
        small = table < CLEAR * law.deviation
        left = small | (table * _gap(table / _uniform(table, total)) < _COARSE * law.deviation)
        mean, variance = _moments(mine * _fit_prior(mine[left], prior, HOLD_SINGLE, _STEPS), grid)
        if told and in_order >= ORDERED_FROM:
            mean[:in_order], variance[:in_order] = moments_along(mine[:in_order], prior, _FINE, grid)
        mean, variance = np.where(left, mean, np.maximum(table, SMALLEST)), np.where(left, variance, law.deviation**2)
        found.append(Estimate(normalised(mean, variance, total), variance))
    return found


def _likelihood(noisy: FloatArray, counts: FloatArray, law: NoiseLaw) -> FloatArray:
    """Return how likely every noisy count (row) is where each of the ``counts`` (columns) is true, 1 at most."""
    evidence = law.log_density(noisy.ravel()[:, None] - counts)
    return np.asarray(np.exp(evidence - evidence.max(axis=1, keepdims=True)))


def _uniform(table: FloatArray, total: float) -> float:
    """Return the count that the uniform law expects in every cell."""
    return max(total / table.size, SMALLEST)


def _lognormals(broad: float, narrow: float, spike: float) -> FloatArray:
    """Mix laws of ratios about 1, of deviations 1, 0.1 and 0.02 in the logarithm, and an even one with the rest."""
    width = np.gradient(_FINE)
    found = (1 - broad - narrow - spike) * width / width.sum()
    for weight, deviation in ((broad, 1.0), (narrow, 0.1), (spike, 0.02)):
        law = np.exp(-0.5 * (_FINE / deviation) ** 2) * width
        found += weight * law / law.sum()
    return np.asarray(found)


def _gap(ratios: FloatArray) -> FloatArray:
    """Return the distance, in logarithm, of the two points of the fine grid that each ratio lies between."""
    logarithms = np.log(np.maximum(ratios, 1e-9))
    place = np.searchsorted(_FINE, logarithms).clip(1, _FINE.size - 1)
    return np.asarray(np.where(logarithms > _FINE[-1], np.inf, _FINE[place] - _FINE[place - 1]))


def update_by_groups(known: Estimate, groups: Groups, measured: FloatArray, error: float, total: float) -> Estimate:
    """Correct an estimate by the ``measured`` counts of groups of its values, with standard error ``error`` each."""
    mean = total * known.distribution
    prior, spread = np.bincount(groups, mean), np.maximum(np.bincount(groups, known.variance), 1e-9)
    gain = spread / (spread + error**2)
    part = known.variance / spread[groups]
    moved = mean + (gain * (measured - prior))[groups] * part
    variance = known.variance * (1 - gain[groups] * part)
    return Estimate(normalised(np.maximum(moved, mean / 10), variance, total), variance)


def estimate_given_model(
    noisy: Sequence[FloatArray], expected: Sequence[FloatArray], laws: Sequence[NoiseLaw]
) -> list[tuple[FloatArray, FloatArray]]:
    """Return means and variances of the counts of tables, noise of these ``laws``, where a model has ``expected``."""
    counts = [np.maximum(table.ravel(), SMALLEST)[:, None] * _RATIOS for table in expected]
    likelihoods = list(map(_likelihood, noisy, counts, laws))
    cells = np.concatenate(likelihoods)
    shared = _fit_prior(cells[:: len(cells) // _BATCH_CELLS + 1], _RATIO_PRIOR, HOLD_RATIOS, _BATCH_STEPS)
    found = []
    for table, grid, law, likelihood in zip(noisy, counts, laws, likelihoods, strict=True):
        posterior = likelihood * _fit_prior(likelihood, shared, HOLD_RATIOS, _TABLE_STEPS)
        mean, variance = _moments(posterior, grid)
        clear = table.ravel() > CLEAR * law.deviation
        mean, variance = np.where(clear, table.ravel(), mean), np.where(clear, law.deviation**2, variance)
        found.append((mean.reshape(table.shape), variance.reshape(table.shape)))
    return found


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


def _fit_prior(
    likelihood: FloatArray, base: FloatArray, hold: float, steps: int, *, weights: FloatArray | float = 1.0
) -> FloatArray:
    """Fit a prior to all cells (rows, of these ``weights``) by EM, held to its ``base`` by so many pseudo-cells."""
    prior = base
    for _ in range(steps):
        prior = prior * ((weights / np.maximum(likelihood @ prior, 1e-300)) @ likelihood) + hold * base
        prior = prior / prior.sum()
    return prior


def _moments(posterior: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of ``counts`` under posteriors that need not be normalised."""
    weights = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    mean = (weights * counts).sum(axis=1)
    return mean, np.maximum((weights * counts**2).sum(axis=1) - mean**2, 0.0)
