"""How wrong the mutual information of noisy tables is, at any noise and with counts cut off at zero.

The package clips a noisy table at 0, divides it by its sum T, and with φ(x) = x·ln x its score is

    Ĩ = [Σ φ(X_ij) − Σ φ(R_i) − Σ φ(S_j) + φ(T)]/T,    X the cells, R and S the sums of rows and columns.

Each of these is positive, with known mean μ and variance v (:mod:`panbayes.planning.table_error`). Taken for a gamma
variable of that mean and variance, shape a = μ²/v, it has E[φ(X)] = μ·(ψ(a + 1) + ln(v/μ)), ψ the digamma function:
with little noise that is φ(μ) + v/(2μ), the second-order term of :mod:`panbayes.planning.information_error`, and for an
empty cell of nothing but clipped noise it is close to what an exact sum gives. The error is then that bias, a spread of
√(2/((A−1)(B−1))) of it, as for a χ² variable, and to first order √(Σ v·L²)/T, L the supposed slope.

Thesis: Theorems thm_noiy_ss_bias and thm_noiy_ss_mse, beyond where their leading terms hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from panbayes.planning.noise_moments import CellNoise, FloatArray
from panbayes.planning.supposed import TOLD, Cells
from panbayes.planning.table_error import noisy_cells

__all__ = ["NoisyScore", "noisy_score"]


@dataclass(frozen=True, slots=True)
class NoisyScore:
    """The score of a noisy table of independent attributes, in nats: its mean, and the root of its mean squared error.

    What noise-free records of that number would score by chance is in neither.
    """

    mean: float
    error: float


def noisy_score(rows: Cells, columns: Cells, *, records: float, noise: CellNoise, holders_clip: bool) -> NoisyScore:
    """Return the error of the mutual information of a table of independent ``rows`` and ``columns``; see the module."""
    counts = records * np.outer(rows.chance, columns.chance)
    mean, variance = noisy_cells(counts, noise, holders_clip=holders_clip)
    many = np.outer(rows.many, columns.many)
    whole, spread = float((many * mean).sum()), float((many * variance).sum())
    if whole <= 0:
        return NoisyScore(0.0, 0.0)
    cells = float((many * _phi(mean, variance)).sum())
    of_rows = float((rows.many * _phi(mean @ columns.many, variance @ columns.many)).sum())
    of_columns = float((columns.many * _phi(rows.many @ mean, rows.many @ variance)).sum())
    total = float(_phi(np.array([whole]), np.array([spread]))[0])
    bias = max(0.0, (cells - of_rows - of_columns + total) / whole)
    free = max(1.0, (rows.size - 1) * (columns.size - 1))
    first = TOLD**2 * spread / whole**2
    return NoisyScore(bias, math.sqrt(bias**2 * (1 + 2 / free) + first))


def _phi(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return E[X·ln X] of gamma variables."""
    safe, spread = np.maximum(mean, 1e-12), np.maximum(variance, 1e-12)
    shape = safe**2 / spread
    return np.asarray(safe * (digamma(shape + 1) + np.log(spread / safe)))
