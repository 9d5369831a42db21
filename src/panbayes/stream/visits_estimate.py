"""A released estimate of how often users came, and how it looks at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from panbayes.display import Card

__all__ = ["Share", "VisitsEstimate"]

_WHOLE: Final = "one look at the state and all releases"


@dataclass(frozen=True, slots=True)
class Share:
    """A share or a mean, cut to what is possible; ``unbiased`` is not; ``low`` and ``high`` enclose the true one.

    >>> Share(0.0, 0.0, 0.02, unbiased=-0.01).share
    0.0
    """

    share: float
    low: float
    high: float
    unbiased: float


@dataclass(frozen=True, slots=True, repr=False)
class VisitsEstimate:
    """A released estimate of how often users came; everything in it follows from noisy ``counts`` and public numbers.

    ``exactly[t]`` is the share of users who came t times (the thesis's t-incidence) and ``at_least[k]`` of those who
    came k times or more (its fraction of k-heavy hitters), for t and k from 0 to the largest number told apart;
    ``mean`` is the mean number of visits of all users, whose interval is by the normal law. Who came ``modulus`` times
    or more is counted at the remainder: with a modulus of 8, eight visits look like none. Each interval holds by itself
    with probability ``confidence`` or more, the sampling of users included. ``rmse`` is the predicted root mean squared
    error of a share of ``exactly``, at worst. ``fresh`` is false if this is the last release again, ``epsilon`` is the
    total E for one look and all releases, and ``private`` is false if coins or noise were simulated. ``scope`` is
    what E is for.

    >>> from panbayes import StreamEstimator, Visits
    >>> with StreamEstimator(10_000, Visits(3), epsilon=4) as estimator:
    ...     estimator.update(range(5_000))
    ...     answer = estimator.estimate()
    >>> answer.modulus, abs(answer.exactly[1].share - 0.5) < 0.2
    (4, True)
    """

    exactly: tuple[Share, ...]
    at_least: tuple[Share, ...]
    mean: Share
    modulus: int
    confidence: float
    rmse: float
    counts: tuple[int, ...]
    fresh: bool
    releases_left: int
    epsilon: Fraction
    private: bool
    scope: str = _WHOLE

    @property
    def returning(self) -> Share:
        """The share of users who came at least twice."""
        return self.at_least[2]

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it; the scope where it is not the whole stream."""
        facts = {**asdict(self), "epsilon": str(self.epsilon)}
        return facts if self.scope != _WHOLE else {name: fact for name, fact in facts.items() if name != "scope"}

    def lines(self, universe: int | None) -> list[tuple[str, ...]]:
        """Return what people want to see, as rows of texts; ``universe`` is how many users there are, if known."""
        heading, *rows = self._table()
        return [heading, *rows, *([] if universe is None else [("of", f"{universe:,}", "users", "", "")])]

    def notes(self) -> list[str]:
        """Return what must be said below them."""
        past, most = self.modulus, self.modulus - 1
        mean = f"{_text(self.mean)} ({100 * self.confidence:g} % interval {_ends(self.mean)})"
        return [
            f"Mean number of visits of a user: {mean}.",
            f"Right if nobody came more than {most} times: {past} visits look like 0, {past + 1} like 1, and so on.",
            f"This release is {'fresh' if self.fresh else 'the last one again'}; {self.releases_left:,} left.",
        ]

    def _table(self) -> list[tuple[str, ...]]:
        percent = f"{100 * self.confidence:g} %"
        rows: list[tuple[str, ...]] = [("visits", "exactly", f"{percent} interval", "at least", f"{percent} interval")]
        for t, (exact, more) in enumerate(zip(self.exactly, self.at_least, strict=True)):
            rows.append((str(t), _text(exact), _ends(exact), _text(more) if t else "", _ends(more) if t else ""))
        return rows

    def _card(self) -> Card:
        guarantee = f"E = {self.epsilon} for {self.scope}"
        kept = guarantee if self.private else "none: coins or noise were simulated"
        heading, *rows = self._table()
        below = (*self.notes(), f"Guarantee: {kept}.")
        return Card(heading, rows, title="VisitsEstimate", below=below, most=len(rows))

    def __repr__(self) -> str:
        """Show the estimate as a table of texts."""
        return self._card().text()

    def _repr_html_(self) -> str:
        """Show the estimate as a table."""
        return self._card().html()


def _text(share: Share) -> str:
    return f"{share.share:.4g}"


def _ends(share: Share) -> str:
    return f"{share.low:.4g} to {share.high:.4g}"
