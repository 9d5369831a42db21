"""Bias and mean squared error of the mutual information that an analyst computes from noisy counts of several holders.

Let p be the law of two (sets of) attributes, A rows and B columns, r and s its margins, d = A·B, I its mutual
information, n records drawn from it, V and m₄ the moments of the noise of a cell as in
:mod:`panbayes.planning.entropy_error`. The noisy table has the margins of its own cells, so p̃ = p + δ and

    Ĩ = H̃(rows) + H̃(columns) − H̃(cells) = I + Σ g·δ + ½·Σ h·δ·δ + …,
    g_ij = L_ij − 1,   L_ij = ln(p_ij/(r_i·s_j)),   h = diag(1/p) − [same row]/r − [same column]/s.

That is the thesis's estimator, which divides by n. The package divides by the noisy total instead (``normalised``),
T = Σ p̃: Ĩ' = Ĩ/T + ln T, for which

    g' = L − I,    h' = h − (1·gᵀ + g·1ᵀ) + (2I − 1)·1·1ᵀ.

With the covariance C = (diag(p) − p·pᵀ)/n + (V/n²)·1 of δ, to second order

    bias             ½·tr(h·C): chance (A − 1)·(B − 1)/(2n), and noise V/(2n²)·Σ h_ii, with Σ h_ii = Σ 1/p_ij
                     − B·Σ 1/r_i − A·Σ 1/s_j (normalised: + Σ (1 − 2·L_ij + 2·I))
    squared error    gᵀ·C·g + bias² + ½·tr((h·C)²) + (m₄ − 3V²)·Σ h_ii²/(4n⁴).

Where attributes are independent L = 0, normalised g' = 0, and second order is all there is: the error *is* the bias,
upwards, and it grows with the number of cells. So noise alone makes large tables look informative. Where expansions
hold is said in :mod:`panbayes.planning.entropy_error`; what happens beyond, in :mod:`panbayes.planning.score_error`.

Thesis: section "Accuracy Analysis" of "Sharing the Noisy Sufficient Statistics", which reduces Ĩ to three entropies
(Theorems thm_noiy_ss_bias and thm_noiy_ss_mse); see errata 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panbayes.errors import InputError
from panbayes.planning.entropy_error import checked_law, entropy, leading_terms_hold
from panbayes.planning.noise_moments import FloatArray, NoiseMoments

__all__ = ["InformationError", "information", "information_error"]


@dataclass(frozen=True, slots=True)
class InformationError:
    """Bias and mean squared error of Ĩ in nats: ``chance`` and ``noise`` add up to the bias; see the module."""

    chance: float
    noise: float
    mean_squared: float
    holds: bool

    @property
    def bias(self) -> float:
        """The bias, to second order."""
        return self.chance + self.noise

    @property
    def deviation(self) -> float:
        """The root of the mean squared error."""
        return math.sqrt(self.mean_squared)


def information(law: FloatArray) -> float:
    """Return the mutual information of rows and columns of a ``law``, in nats."""
    return entropy(law.sum(axis=0)) + entropy(law.sum(axis=1)) - entropy(law)


@dataclass(frozen=True, slots=True, eq=False)
class _Curvature:
    """g and h of a law without empty cells, as far as traces and norms need them; see the module."""

    law: FloatArray
    normalised: bool

    @property
    def rows(self) -> FloatArray:
        return np.asarray(self.law.sum(axis=1, keepdims=True))

    @property
    def columns(self) -> FloatArray:
        return np.asarray(self.law.sum(axis=0, keepdims=True))

    @property
    def slope(self) -> FloatArray:
        """g, or g'."""
        return self.told - (information(self.law) if self.normalised else 1.0)

    @property
    def told(self) -> FloatArray:
        """L."""
        return np.asarray(np.log(self.law / (self.rows * self.columns)))

    def times(self, values: FloatArray) -> FloatArray:
        """Return h·values, without what normalising adds."""
        return np.asarray(
            values / self.law
            - values.sum(axis=1, keepdims=True) / self.rows
            - values.sum(axis=0, keepdims=True) / self.columns
        )

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal of h, or h'."""
        own = 1 / self.law - 1 / self.rows - 1 / self.columns
        return own + 1 - 2 * self.told + 2 * information(self.law) if self.normalised else np.asarray(own)

    @property
    def squares(self) -> FloatArray:
        """The sum of squares of every column of h, or h'."""
        own = 1 / self.law - 1 / self.rows - 1 / self.columns
        wide, high = self.law.shape[1] - 1, self.law.shape[0] - 1
        found: FloatArray = own**2 + wide / self.rows**2 + high / self.columns**2
        if not self.normalised:
            return found
        g, told = self.told - 1, information(self.law)
        ones, turned = self.times(np.ones_like(self.law)), self.times(g)
        level = 2 * told - 1 - g
        added = 2 * (level * ones - turned) + g.size * level**2 - 2 * level * float(g.sum()) + float((g**2).sum())
        return np.asarray(found + added)

    @property
    def on_law(self) -> FloatArray:
        """h·p, or h'·p."""
        return -self.slope if self.normalised else np.full_like(self.law, -1.0)

    @property
    def chance(self) -> float:
        """tr((h·Σ)²) of Σ = diag(p) − p·pᵀ; normalising changes nothing, as records always add up to n."""
        p, r, s = self.law, self.rows, self.columns
        cell = float(((1 / p - 1 / r - 1 / s) ** 2 * p**2).sum())
        others = float((1 - (p**2 / r**2).sum(axis=1)).sum() + (1 - (p**2 / s**2).sum(axis=0)).sum())
        return cell + others - 1


def information_error(
    law: FloatArray, *, records: float, noise: NoiseMoments, normalised: bool = True
) -> InformationError:
    """Return bias and mean squared error of Ĩ for a ``law`` of rows and columns, n = ``records``; see the module.

    ``normalised`` tells whether the noisy table is divided by its own sum, as the package does, or by n, as the thesis
    has it. Every cell must have some probability.

    >>> independent = np.full((2, 2), 0.25)
    >>> found = information_error(independent, records=1000, noise=NoiseMoments.laplace(5, holders=2))
    >>> round(found.chance, 6), round(found.noise, 6)
    (0.0005, 0.0002)
    """
    checked_law(law)
    if law.ndim != 2 or law.min() <= 0:
        raise InputError("law", found="found an empty cell, or no rows and columns", remedy="give a matrix above 0")
    n, found = float(records), _Curvature(law, normalised)
    chance = (law.shape[0] - 1) * (law.shape[1] - 1) / (2 * n)
    added = noise.second * float(found.diagonal.sum()) / (2 * n**2)
    slope = found.slope
    variance = (float((law * slope**2).sum()) - float((law * slope).sum()) ** 2) / n
    first = variance + noise.second * float((slope**2).sum()) / n**2
    squares = found.squares
    both = float((law * squares).sum() - (found.on_law**2).sum())
    trace = found.chance / n**2 + 2 * noise.second * both / n**3 + noise.second**2 * float(squares.sum()) / n**4
    excess = (noise.fourth - 3 * noise.second**2) * float((found.diagonal**2).sum()) / (4 * n**4)
    squared = first + (chance + added) ** 2 + trace / 2 + excess
    holds = leading_terms_hold(law, records=n, deviation=noise.deviation)
    return InformationError(chance, added, squared, holds)
