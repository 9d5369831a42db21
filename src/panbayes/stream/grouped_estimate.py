"""Released numbers of users, one for each group, and how they look at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass

from panbayes.display import Card
from panbayes.stream.distinct_estimate import DistinctEstimate

__all__ = ["GroupedEstimate"]


@dataclass(frozen=True, slots=True, repr=False)
class GroupedEstimate:
    """A release by groups: for each value of ``field`` in ``groups`` an estimate of how many users had such an event.

    Each interval holds by itself. Who is in several groups is in several figures, so they do not add up.
    """

    field: str
    groups: dict[str, DistinctEstimate]

    def __getitem__(self, group: str) -> DistinctEstimate:
        """Return the estimate of a group."""
        return self.groups[group]

    @property
    def _any(self) -> DistinctEstimate:
        return next(iter(self.groups.values()))

    @property
    def fresh(self) -> bool:
        """Whether this is a new release, and not the last one again."""
        return self._any.fresh

    @property
    def releases_left(self) -> int:
        """How many fresh estimates are left."""
        return self._any.releases_left

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it."""
        one = self._any
        own = ("users", "low", "high", "relative_error", "counts")
        return {
            "field": self.field,
            "groups": {name: {key: found.facts()[key] for key in own} for name, found in self.groups.items()},
            "confidence": one.confidence,
            "interval": one.interval,
            "fresh": one.fresh,
            "releases_left": one.releases_left,
            "epsilon": str(one.epsilon),
            "private": one.private,
            "scope": one.scope,
        }

    def lines(self, _universe: int | None) -> list[tuple[str, ...]]:
        """Return what people want to see, as rows of texts."""
        one = self._any
        percent, how = f"{100 * one.confidence:g} % interval", "exact" if one.interval == "exact" else "measured"
        rows = [(name, f"{found.users:,}", found.reach, found.error) for name, found in self.groups.items()]
        return [(self.field, "distinct users", f"{percent}, {how}", "predicted error"), *rows]

    def notes(self) -> list[str]:
        """Return what must be said below them."""
        kind = "This release is fresh" if self.fresh else "This is the last release again"
        return [
            f"{kind}; {self.releases_left} left. Each interval holds by itself.",
            f"A user counts in one of the {len(self.groups)} groups only, which a hash of the id chooses; each figure "
            "speaks of all users of its group, and who is in several groups is in several figures.",
            *(f"{name}: {note}" for name, found in self.groups.items() for note in found.notes()),
        ]

    def _card(self) -> Card:
        rows = [(name, f"{found.users:,} ({found.reach})") for name, found in self.groups.items()]
        one = self._any
        guarantee = f"E = {one.epsilon} for {one.scope}, of all groups together"
        rows.append(("guarantee", guarantee if one.private else "none: coins or noise were simulated"))
        return Card(("", ""), rows, title=f"GroupedEstimate by {self.field}")

    def __repr__(self) -> str:
        """Show the estimates in a few lines."""
        return self._card().text()

    def _repr_html_(self) -> str:
        """Show the estimates as a small table."""
        return self._card().html()
