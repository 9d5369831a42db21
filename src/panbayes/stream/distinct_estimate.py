"""A released number of users, and how it looks at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from panbayes.display import Card

__all__ = ["DistinctEstimate"]

_WHOLE: Final = "one look at the state and all releases"


@dataclass(frozen=True, slots=True, repr=False)
class DistinctEstimate:
    """A released number of users; everything in it follows from the noisy ``counts`` and public numbers.

    ``users`` is the estimate. ``low`` and ``high`` enclose the true number with probability ``confidence``: at least
    so, if ``interval`` is "exact"; about so, as measured, if it is "tested" (several tiers). ``high`` is None where the
    state is so full that no number is too large. ``relative_error`` is the predicted standard error as a part of
    ``users``. ``fresh`` is false if this is the last release again. ``epsilon`` is the total E for one look and all
    releases. ``private`` is false if coins or noise were simulated, and ``scope`` is what E is for.

    >>> DistinctEstimate(1000, 940, 1061, 0.95, "tested", 0.031, (700, 620), True, 1, Fraction(1), True)
    DistinctEstimate
    distinct users  1,000 (940 to 1,061 with confidence 95 %)
    error           3.1 % predicted
    release         fresh, 1 left
    guarantee       E = 1 for one look at the state and all releases
    """

    users: int
    low: int
    high: int | None
    confidence: float
    interval: str
    relative_error: float
    counts: tuple[int, ...]
    fresh: bool
    releases_left: int
    epsilon: Fraction
    private: bool
    scope: str = _WHOLE

    @property
    def reach(self) -> str:
        """The interval in words."""
        return f"{self.low:,} or more" if self.high is None else f"{self.low:,} to {self.high:,}"

    @property
    def error(self) -> str:
        """The predicted error in words."""
        return f"{100 * self.relative_error:.2g} %" if self.relative_error < 1 else "above 100 %"

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it; the scope where it is not the whole stream."""
        facts = {**asdict(self), "epsilon": str(self.epsilon)}
        return facts if self.scope != _WHOLE else {name: fact for name, fact in facts.items() if name != "scope"}

    def lines(self, _universe: int | None) -> list[tuple[str, ...]]:
        """Return what people want to see, as rows of texts."""
        how = "exact" if self.interval == "exact" else "of measured coverage"
        return [
            ("distinct users", f"{self.users:,}", f"{100 * self.confidence:g} % interval {self.reach}, {how}"),
            ("error", self.error, "predicted"),
            ("release", "fresh" if self.fresh else "the last one again", f"{self.releases_left} left"),
        ]

    def notes(self) -> list[str]:
        """Return what must be said below them."""
        full = "The state is full: it cannot tell how many more there are. Start again with more memory."
        return [full] if self.high is None else []

    def _rows(self) -> list[tuple[str, str]]:
        """What people want to see, as names and texts."""
        guarantee = f"E = {self.epsilon} for {self.scope}"
        return [
            ("distinct users", f"{self.users:,} ({self.reach} with confidence {100 * self.confidence:g} %)"),
            ("error", f"{self.error} predicted"),
            ("release", f"{'fresh' if self.fresh else 'the last one again'}, {self.releases_left:,} left"),
            ("guarantee", guarantee if self.private else "none: coins or noise were simulated"),
        ]

    def _card(self) -> Card:
        return Card(("", ""), self._rows(), title="DistinctEstimate")

    def __repr__(self) -> str:
        """Show the estimate in a few lines."""
        return self._card().text()

    def _repr_html_(self) -> str:
        """Show the estimate as a small table."""
        return self._card().html()
