"""Truncated Gaussian entries, cut into levels."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.quantized import Array, quantize
from panbayes.stream.laws.state_law import StateLaw

__all__ = ["QUANTIZED_GAUSSIAN", "quantized_gaussian"]


def quantized_gaussian(epsilon: Fraction, levels: int = 2) -> StateLaw:
    """Gaussian entries truncated to [0, 1], means 0 and 1, cut into ``levels`` by Lloyd–Max boundaries.

    The ratio of the two densities at x is exp((2x − 1)/(2σ²)), so σ² = 1/(2ε) spends exactly ε = ``epsilon`` at the
    ends.

    Thesis: section "Comments on the Use of Other Continuous Distributions".
    """
    # Loaded here: it takes longer than all the rest of this folder, whose names are shown in a help text.
    from scipy import special

    deviation = math.sqrt(1 / (2 * float(epsilon)))

    def cdf(x: Array) -> Array:
        mass = special.ndtr(1 / deviation) - 0.5
        return np.asarray((special.ndtr(np.clip(x, 0, 1) / deviation) - 0.5) / mass)

    return quantize("quantized-gaussian", epsilon, levels, cdf=cdf, support=(0.0, 1.0))


QUANTIZED_GAUSSIAN: Final = LawKind(
    "quantized-gaussian", "Gaussian numbers around 0 and 1, truncated to [0, 1], cut into levels", quantized_gaussian
)
