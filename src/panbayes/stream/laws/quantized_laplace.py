"""Laplace entries, cut into levels."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.quantized import Array, quantize
from panbayes.stream.laws.state_law import StateLaw

__all__ = ["QUANTIZED_LAPLACE", "quantized_laplace"]


def quantized_laplace(epsilon: Fraction, levels: int = 2) -> StateLaw:
    """Laplace entries with means 0 and 1 and scale 1/ε, cut into ``levels`` by Lloyd–Max boundaries; ε is ``epsilon``.

    Two levels give Bernoulli(e^(−ε/2)/2) against Bernoulli(1 − e^(−ε/2)/2).

    Thesis: section "Quantized Laplace Density Estimator".
    """
    rate = float(epsilon)

    def cdf(x: Array) -> Array:
        tail = np.exp(-rate * np.abs(x)) / 2
        return np.where(x < 0, tail, 1 - tail)

    return quantize("quantized-laplace", epsilon, levels, cdf=cdf, support=(-40 / rate, 40 / rate + 1))


QUANTIZED_LAPLACE: Final = LawKind(
    "quantized-laplace", "Laplace numbers of scale 1/ε around 0 and 1, cut into levels", quantized_laplace
)
