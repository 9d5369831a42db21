"""Bias and mean squared error of the entropy that an analyst computes from noisy counts of several holders.

The estimator of the thesis: c is the table of n records drawn independently from a law p with d cells, Y_i the noise of
cell i added up over M holders (:class:`~panbayes.planning.noise_moments.NoiseMoments`: V = E[Y²], m₄ = E[Y⁴]), and

    H̃ = −Σ p̃_i·ln p̃_i,    p̃_i = (c_i + Y_i)/n,    H = −Σ p_i·ln p_i,    in nats.

The moments of δ_i = p̃_i − p_i are exact, with v_i = p_i·(1 − p_i):

    E[δ²] = v/n + V/n²        E[δ³] = v·(1 − 2p)/n²        Cov(δ_i, δ_j) = −p_i·p_j/n
    E[δ⁴] = 3v²/n² + v·(1 − 6v)/n³ + 6·v·V/n³ + m₄/n⁴

**Bias** (Theorem thm_noiy_ss_bias). The expansion of −x·ln x about p_i gives

    E[H̃] − H = −Σ E[δ²]/(2p) + Σ E[δ³]/(6p²) − Σ E[δ⁴]/(12p³) + …,  whose leading terms are
              −(d − 1)/(2n)  −  V·Σ(1/p_i)/(2n²).

The first is that of the empirical entropy (Lemma lemma_entropy), the second what the noise adds: for Laplace noise of
scale b, V = 2Mb² and it is −M·b²·Σ(1/p_i)/n², with b = 2·C(N, k+1)/ε for the tables of all sets of k+1 of N attributes
(the thesis's proof drops the 2: errata 6).

**Mean squared error** (Theorem thm_noiy_ss_mse), to second order in δ:

    E[(H̃ − H)²] = σ²/n + V·Σ(1 + ln p_i)²/n²                                  first order: chance, noise
                + bias² + ½·tr W² + (m₄ − 3V²)·Σ(1/p_i²)/(4n⁴),                second order
    σ² = Σ p_i·ln² p_i − H²,    tr W² = (d − 1)/n² + 2V·Σ((1 − p_i)/p_i)/n³ + V²·Σ(1/p_i²)/n⁴.

Without noise the second order is (d² − 1)/(4n²), as in Lemma lemma_entropy.

**Where this holds.** Expansions need δ small against p in every cell, and noisy counts that are not cut off at 0. The
noise of a cell must be small against its count: :attr:`EntropyError.holds` asks that √V ≤ 0.15·n·p_min and n·p_min ≥ 10
for the least p_min of all cells. Cells of no probability have no entropy and no place in p, but where the table has
them their clipped noise adds entropy that no leading term knows: :mod:`panbayes.planning.clipped_entropy` has the mean
with clipping, at any noise.

Thesis: Theorems thm_noiy_ss_bias and thm_noiy_ss_mse; Lemmas lemma_multinomial, lemmma_laplace, lemma_entropy; errata
6."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from panbayes.errors import InputError
from panbayes.planning.noise_moments import FloatArray, NoiseMoments

__all__ = [
    "EntropyError",
    "central_moments",
    "checked_law",
    "entropy",
    "entropy_error",
    "epsilon_of_bias",
    "epsilon_of_error",
    "leading_terms_hold",
]

_SMALL: Final = 0.15
_COUNT: Final = 10.0
"""Where expansions hold: the noise of a cell in its count at most, and the least count."""


@dataclass(frozen=True, slots=True)
class EntropyError:
    """Bias and mean squared error of H̃ in nats; see the module.

    ``chance`` and ``noise`` are the leading terms of the bias, ``bias`` has the third and fourth order as well.
    ``mean_squared`` is to second order. ``holds`` tells whether expansions hold there.
    """

    chance: float
    noise: float
    bias: float
    mean_squared: float
    holds: bool

    @property
    def deviation(self) -> float:
        """The root of the mean squared error."""
        return math.sqrt(self.mean_squared)


def entropy(law: FloatArray) -> float:
    """Return −Σ p·ln p of a law p, in nats."""
    kept = law[law > 0]
    return float(-(kept * np.log(kept)).sum())


def checked_law(law: FloatArray) -> FloatArray:
    """Return the positive cells of a law; refuse what is none."""
    flat = np.asarray(law, dtype=np.float64).ravel()
    if not flat.size or not np.all(np.isfinite(flat)) or flat.min() < 0 or abs(float(flat.sum()) - 1) > 1e-9:
        raise InputError("law", found="found no probabilities", remedy="give numbers of 0 or more that add up to 1")
    return flat[flat > 0]


def leading_terms_hold(law: FloatArray, *, records: float, deviation: float) -> bool:
    """Tell whether expansions hold for noise of this ``deviation`` √V in every cell; see the module."""
    least = records * float(law.min())
    return least >= _COUNT and deviation <= _SMALL * least


def central_moments(
    law: FloatArray, *, records: float, noise: NoiseMoments
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E[δ²], E[δ³] and E[δ⁴] of every cell of a ``law`` p, exactly; see the module."""
    n, spread = records, law * (1 - law)
    second = spread / n + noise.second / n**2
    third = spread * (1 - 2 * law) / n**2
    fourth = 3 * spread**2 / n**2 + spread * (1 - 6 * spread + 6 * noise.second) / n**3 + noise.fourth / n**4
    return second, third, fourth


def entropy_error(law: FloatArray, *, records: float, noise: NoiseMoments) -> EntropyError:
    """Return bias and mean squared error of H̃ for the ``law`` p and n = ``records``; see the module.

    >>> found = entropy_error(np.full(4, 0.25), records=1000, noise=NoiseMoments.laplace(5, holders=2))
    >>> round(found.chance, 6), round(found.noise, 6), found.holds
    (-0.0015, -0.0008, True)
    """
    p = checked_law(law)
    n, inverse, logarithm = float(records), 1 / p, np.log(p)
    if not n > 0:
        raise InputError("records", found=f"found {records}", remedy="give more than 0")
    _, third, fourth = central_moments(p, records=n, noise=noise)
    chance, added = -(p.size - 1) / (2 * n), -noise.second * float(inverse.sum()) / (2 * n**2)
    bias = chance + added + float((third * inverse**2 / 6 - fourth * inverse**3 / 12).sum())
    variance = (float((p * logarithm**2).sum()) - entropy(p) ** 2) / n
    first = variance + noise.second * float(((1 + logarithm) ** 2).sum()) / n**2
    trace = (p.size - 1) / n**2 + 2 * noise.second * float((inverse - 1).sum()) / n**3
    trace += noise.second**2 * float((inverse**2).sum()) / n**4
    excess = (noise.fourth - 3 * noise.second**2) * float((inverse**2).sum()) / (4 * n**4)
    squared = first + (chance + added) ** 2 + trace / 2 + excess
    holds = leading_terms_hold(p, records=n, deviation=noise.deviation)
    return EntropyError(chance, added, bias, squared, holds)


def epsilon_of_bias(law: FloatArray, *, records: float, moved: float, holders: int) -> float:
    """Return the ε at which noise adds as much to the bias as chance: the threshold of Theorem thm_noiy_ss_bias.

    Laplace noise has scale b = ``moved``/ε, where one person moves all tables together by ``moved`` = 2·C(N, k+1) in
    L1. From M·b²·Σ(1/p_i)/n² = (d − 1)/(2n):  ε = ``moved``·√(2M·Σ(1/p_i)/((d − 1)·n)), which is the thesis's
    √(M/(p_min·n))·N^(k+1) with its constant. Above it the noise is the smaller of the two.
    """
    p = checked_law(law)
    if p.size < 2:
        return 0.0
    return moved * math.sqrt(2 * holders * float((1 / p).sum()) / ((p.size - 1) * records))


def epsilon_of_error(law: FloatArray, *, records: float, moved: float, holders: int) -> float:
    """Return the ε at which noise adds as much to the variance as chance: the threshold of Theorem thm_noiy_ss_mse.

    From 2M·b²·Σ(1 + ln p_i)²/n² = σ²/n with b = ``moved``/ε. A uniform law has σ² = 0, and no ε is enough: infinite.
    """
    p = checked_law(law)
    logarithm = np.log(p)
    variance = float((p * logarithm**2).sum()) - entropy(p) ** 2
    if variance <= 1e-15:
        return math.inf
    return moved * math.sqrt(2 * holders * float(((1 + logarithm) ** 2).sum()) / (variance * records))
