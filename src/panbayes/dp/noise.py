"""Where noise comes from: one small protocol, a secure and a simulated implementation."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Noise", "Selection"]

Selection: TypeAlias = Literal["permute-and-flip", "exponential"]


class Noise(Protocol):
    """A source of noise; always an argument, never global."""

    @property
    def private(self) -> bool:
        """Whether the noise is secret; if not, whatever it touches is stamped ``not private``."""
        ...

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        """Draw ``size`` integers z with probability proportional to exp(−|z|/scale)."""
        ...

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        """Draw ``size`` coins that are true with exactly this probability."""
        ...

    def select(self, scores: NDArray[np.float64], *, scale: float, mechanism: Selection) -> int:
        """Draw the index of a high score."""
        ...
