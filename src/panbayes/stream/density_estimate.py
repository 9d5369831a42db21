"""A released estimate, and how it looks at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from panbayes.display import Card

__all__ = ["DensityEstimate"]

_WHOLE: Final = "one look at the state and all releases"


@dataclass(frozen=True, slots=True, repr=False)
class DensityEstimate:
    """A released estimate; everything in it follows from the noisy ``statistic`` and public numbers.

    ``density`` is the fraction of the universe that appeared, cut to [0, 1]; ``unbiased`` is not cut. ``low`` and
    ``high`` enclose the true density with probability ``confidence`` or more, the sampling of users included.
    ``distinct`` and its ends are the same in users. ``fresh`` is false if this is the last release again.
    ``rmse`` is the predicted root mean squared error of the density, for the worst density. ``epsilon`` is the total E
    for one look and all releases. ``private`` is false if coins or noise were simulated; ``scope`` is what E is for.

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
    scope: str = _WHOLE

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it; the scope where it is not the whole stream."""
        facts = {**asdict(self), "epsilon": str(self.epsilon)}
        return facts if self.scope != _WHOLE else {name: fact for name, fact in facts.items() if name != "scope"}

    def lines(self, universe: int | None) -> list[tuple[str, ...]]:
        """Return what people want to see, as rows of texts; ``universe`` is how many users there are, if known."""
        percent = f"{100 * self.confidence:g} % interval"
        of = "" if universe is None else f"; of {universe:,}"
        return [
            ("density", f"{self.density:.4g}", f"{percent} {self.low:.4g} to {self.high:.4g}"),
            (
                "distinct users",
                f"{self.distinct:,}",
                f"{percent} {self.distinct_low:,} to {self.distinct_high:,}{of}",
            ),
            ("release", "fresh" if self.fresh else "the last one again", f"{self.releases_left} left"),
        ]

    def notes(self) -> list[str]:
        """Return what must be said below them: nothing."""
        return []

    def _rows(self) -> list[tuple[str, str]]:
        """What people want to see, as names and texts."""
        guarantee = f"E = {self.epsilon} for {self.scope}"
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
