"""A released estimate by panels of thinned entries, and how it looks at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from panbayes.display import Card

__all__ = ["PanelEstimate"]

_WHOLE: Final = "one look at the state and all releases"


@dataclass(frozen=True, slots=True, repr=False)
class PanelEstimate:
    """A released estimate by panels; everything in it follows from noisy ``counts`` and public numbers.

    ``value`` is the estimate of the ``figure``, cut to what is possible; ``uncut`` is not. It errs in two ways. Noise
    and the drawing of panels have a standard deviation of at most ``deviation``. And its mean is off by at most
    ``bias``, whatever the visits are: by that much for the worst crowd, by far less for most. ``low`` and ``high``
    allow for both, and enclose the true figure with probability ``confidence`` or more by the normal law. ``fresh`` is
    false if this is the last release again, ``epsilon`` is the total E for one look and all releases, and ``private``
    is false if coins or noise were simulated. ``scope`` is what E is for.

    >>> figure = "share of users with two visits or more"
    >>> PanelEstimate(figure, 0.1, 0.0, 0.3, 0.95, 0.1, 0.05, 0.04, (12, 34), True, 0, Fraction(1), True).bias
    0.04
    """

    figure: str
    value: float
    low: float
    high: float
    confidence: float
    uncut: float
    deviation: float
    bias: float
    counts: tuple[int, ...]
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
        crowd = "" if universe is None else f"; of {universe:,} users"
        return [
            (self.figure, f"{self.value:.4g}", f"{percent} {self.low:.4g} to {self.high:.4g}{crowd}"),
            ("noise", f"{self.deviation:.3g}", "standard deviation, at most"),
            ("bias", f"{self.bias:.3g}", "either way, for the worst numbers of visits; part of the interval"),
            ("release", "fresh" if self.fresh else "the last one again", f"{self.releases_left} left"),
        ]

    def notes(self) -> list[str]:
        """Return what must be said below them: nothing."""
        return []

    def _card(self) -> Card:
        guarantee = f"E = {self.epsilon} for {self.scope}"
        rows = [
            (
                self.figure,
                f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g} with confidence {100 * self.confidence:g} %)",
            ),
            ("noise", f"standard deviation {self.deviation:.3g} at most"),
            ("bias", f"{self.bias:.3g} either way, for the worst numbers of visits; part of the interval"),
            ("release", f"{'fresh' if self.fresh else 'the last one again'}, {self.releases_left:,} left"),
            ("guarantee", guarantee if self.private else "none: coins or noise were simulated"),
        ]
        return Card(("", ""), rows, title="PanelEstimate")

    def __repr__(self) -> str:
        """Show the estimate in a few lines."""
        return self._card().text()

    def _repr_html_(self) -> str:
        """Show the estimate as a small table."""
        return self._card().html()
