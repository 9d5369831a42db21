"""A released estimate, and how it looks at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from panbayes.display import Card

__all__ = ["DensityEstimate"]


@dataclass(frozen=True, slots=True, repr=False)
class DensityEstimate:
    """A released estimate; everything in it follows from the noisy ``statistic`` and public numbers.

    ``density`` is the fraction of the universe that appeared, cut to [0, 1]; ``unbiased`` is not cut. ``low`` and
    ``high`` enclose the true density with probability ``confidence`` or more, the sampling of users included.
    ``distinct`` and its ends are the same in users. ``fresh`` is false if this is the last release again.
    ``rmse`` is the predicted root mean squared error of the density, for the worst density. ``epsilon`` is the total E
    for one look and all releases. ``private`` is false if coins or noise were simulated.

    >>> DensityEstimate(0.4, 0.38, 0.42, 0.95, 400, 380, 420, 0.4, 0.01, 512, True, 1, Fraction(1), True)
    DensityEstimate
    density         0.4 (0.38 to 0.42 with confidence 95 %)
    distinct users  400 (380 to 420)
    release         fresh, 1 left
    guarantee       E = 1 for one look at the state and all releases
    """

    density: float
    low: float
    high: float
    confidence: float
    distinct: int
    distinct_low: int
    distinct_high: int
    unbiased: float
    rmse: float
    statistic: int
    fresh: bool
    releases_left: int
    epsilon: Fraction
    private: bool

    def _rows(self) -> list[tuple[str, str]]:
        """What people want to see, as names and texts."""
        guarantee = f"E = {self.epsilon} for one look at the state and all releases"
        return [
            (
                "density",
                f"{self.density:.4g} ({self.low:.4g} to {self.high:.4g} with confidence {100 * self.confidence:g} %)",
            ),
            ("distinct users", f"{self.distinct:,} ({self.distinct_low:,} to {self.distinct_high:,})"),
            ("release", f"{'fresh' if self.fresh else 'the last one again'}, {self.releases_left:,} left"),
            ("guarantee", guarantee if self.private else "none: coins or noise were simulated"),
        ]

    def _card(self) -> Card:
        return Card(("", ""), self._rows(), title="DensityEstimate")

    def __repr__(self) -> str:
        """Show the estimate in a few lines."""
        return self._card().text()

    def _repr_html_(self) -> str:
        """Show the estimate as a small table."""
        return self._card().html()
