"""Who came to any of several sites, from flipped copies of their states.

A *site* has a state of its own; the states of all sites have one key and one geometry, so that a user has the same cell
everywhere. A user may come to several sites: the states are independent given who came where, and **losses add up**.
Gathering the states themselves would be the one look at each; so every site hands over a *flipped copy*
(:mod:`panbayes.stream.flipped_copy`), which is paid for there.

**The estimate.** A bit of copy j is 1 with probability a_j without and b_j with a user in the cell, the extra flip
included. So z_j = 1 − (x_j − a_j)/(b_j − a_j) has the mean 1 for an empty cell and 0 for an occupied one, and the
product y of the z_j of all sites, independent given who came where, has the mean 1 for a cell that is empty everywhere
and 0 for any other. The mean Q of y over the B cells of a section is therefore **unbiased for the fraction of cells
that are empty everywhere**, whoever came where.

**Its variance.** Given who came where, that of y is E y² − [empty], so the mean of y² over the cells, less Q, over B,
is unbiased for the variance of Q. For hashed users add that of the number of empty cells, of n users over V cells, q/B
+ (1 − 1/B)q₂ − q² with q = (1 − 1/V)ⁿ and q₂ = (1 − 2/V)ⁿ; for a sample of known ones that of sampling.

**Users.** Of known users Q is the share of those who came nowhere. Of hashed ones the estimate is the n at which
Σ_t w_t(n)·(q_t(n) − Q_t) = 0, over the sections t, with the weights w = −q'(n)/variance, and the interval has every n
around it at which that sum is within z of its standard deviations. That is a normal law of measured variance: its
coverage is measured (``tests/stream/test_union.py``), not proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.display import Card
from panbayes.errors import InputError
from panbayes.stream.flipped_copy import FlippedCopy
from panbayes.stream.laws.state_law import COIN

__all__ = ["UnionEstimate", "empty_cells_variance", "union"]

Floats = NDArray[np.float64]

_STEPS_A_FACTOR: Final = 16
_LEAST: Final = 1e-12
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True, repr=False)
class UnionEstimate:
    """How many ``users`` came to any of several ``sites``.

    They are between ``low`` and ``high`` with probability ``confidence``, as measured; ``high`` is None where no number
    is too large. ``relative_error`` is the predicted standard error as a part of ``users``; ``universe`` is how many
    there could be, if known. ``epsilon`` is what a user of all sites loses, over one look at each, all releases and
    copies. ``private`` is false if coins were simulated.

    >>> UnionEstimate(1000, 940, 1061, 0.95, 0.031, 2, None, Fraction(4), True)
    UnionEstimate
    distinct users  1,000 (940 to 1,061 with confidence 95 %)
    error           3.1 % predicted
    sites           2
    guarantee       E = 4 for a user of all sites, one look at each, all releases and copies
    """

    users: int
    low: int
    high: int | None
    confidence: float
    relative_error: float
    sites: int
    universe: int | None
    epsilon: Fraction
    private: bool

    @property
    def error(self) -> str:
        """The predicted error in words."""
        return f"{100 * self.relative_error:.2g} %" if self.relative_error < 1 else "above 100 %"

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it."""
        return {**asdict(self), "epsilon": str(self.epsilon), "interval": "tested"}

    def rows(self) -> list[tuple[str, str]]:
        """Return what people want to see, as names and texts."""
        reach = f"{self.low:,} or more" if self.high is None else f"{self.low:,} to {self.high:,}"
        of = "" if self.universe is None else f"; of {self.universe:,}"
        guarantee = f"E = {self.epsilon} for a user of all sites, one look at each, all releases and copies"
        return [
            ("distinct users", f"{self.users:,} ({reach} with confidence {100 * self.confidence:g} %{of})"),
            ("error", f"{self.error} predicted"),
            ("sites", f"{self.sites}"),
            ("guarantee", guarantee if self.private else "none: coins were simulated"),
        ]

    def _card(self) -> Card:
        return Card(("", ""), self.rows(), title="UnionEstimate")

    def __repr__(self) -> str:
        """Show the estimate in a few lines."""
        return self._card().text()

    def _repr_html_(self) -> str:
        """Show the estimate as a small table."""
        return self._card().html()


def union(copies: Iterable[FlippedCopy], *, names: Iterable[str] = (), confidence: float = 0.95) -> UnionEstimate:
    """Estimate how many users came to any of the sites that these are flipped copies of, one of each.

    Refused, by name, where the copies are not of one key and geometry, and where two are of one site. ``names`` are
    what errors call the copies.

    >>> from panbayes import DistinctCounter
    >>> from panbayes.stream.flipped_copy import FlippedCopies
    >>> copies, key = [], "00" * 16
    >>> for visitors in (range(8_000), range(4_000, 12_000)):
    ...     with DistinctCounter(epsilon=8, expect=12_000, key=key, flipped=FlippedCopies.plan(1, 3)) as site:
    ...         site.update(visitors)
    ...         copies.append(site.look())
    >>> 11_000 < union(copies).users < 13_000
    True
    """
    if not 0 < confidence < 1:
        raise InputError("confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
    given = list(copies)
    called = list(names) or [f"copy {place}" for place in range(1, len(given) + 1)]
    if len(given) < 2:
        raise InputError("copies", found=f"found {len(given)}", remedy="give a flipped copy of every site")
    for one, name in zip(given, called, strict=True):
        _check_kin(given[0], one, name)
    _check_sites(given, called)
    empty, square = _moments(given)
    first, z = given[0], NormalDist().inv_cdf((1 + confidence) / 2)
    if first.size is None:
        users, low, high, error = _hashed(first, empty, square, z)
    else:
        users, low, high, error = _known(first.entries, first.size, float(empty[0]), float(square[0]), z)
    return UnionEstimate(
        users=users,
        low=low,
        high=high,
        confidence=confidence,
        relative_error=error,
        sites=len(given),
        universe=first.size,
        epsilon=sum((one.epsilon for one in given), Fraction(0)),
        private=all(one.private for one in given),
    )


def _check_kin(first: FlippedCopy, one: FlippedCopy, name: str) -> None:
    """Refuse a copy that cannot be united with another."""
    if 0 < one.forget < COIN:
        raise InputError(name, found="is of a state that forgets", remedy="unite states without a half-life")
    differs = (
        (one.entries, first.entries, f"has {one.entries:,} entries, and the first {first.entries:,}"),
        (one.sections, first.sections, f"has {one.sections} tiers, and the first {first.sections}"),
        (one.spread, first.spread, "spreads users over other cells than the first"),
        (one.size, first.size, "is of another universe than the first"),
        (one.universe, first.universe, "is of another key than the first"),
        (one.where, first.where, "counts other events than the first"),
        (one.turn, first.turn, f"is of period {one.turn}, and the first of period {first.turn}"),
        (one.private, first.private, "was made with simulated coins and the first was not, or the other way round"),
    )
    for mine, theirs, found in differs:
        if mine != theirs:
            raise InputError(name, found=found, remedy="open the states of all sites with the same options and --key")


def _check_sites(given: list[FlippedCopy], called: list[str]) -> None:
    """Refuse two copies of one site: the product takes their coins for independent, and the state's are the same."""
    for place, one in enumerate(given):
        for earlier in range(place):
            if one.site == given[earlier].site:
                found = f"is of the same site as {called[earlier]}"
            elif np.array_equal(given[earlier].bits, one.bits):
                found = f"has the same bits as {called[earlier]}"
            else:
                continue
            raise InputError(called[place], found=found, remedy="give one copy of every site")


def _moments(copies: list[FlippedCopy]) -> tuple[Floats, Floats]:
    """The means over the cells of each section of y and of y²."""
    size, bits = copies[0].entries // copies[0].sections, [copy.cells() for copy in copies]
    first, second = np.zeros(copies[0].sections), np.zeros(copies[0].sections)
    for start in range(0, size, _BLOCK):
        product = np.ones((copies[0].sections, min(_BLOCK, size - start)))
        for copy, cells in zip(copies, bits, strict=True):
            init, update = copy.chances
            absent, present = 1 + init / (update - init), 1 - (1 - init) / (update - init)
            product *= np.where(cells[:, start : start + _BLOCK], present, absent)
        first += product.sum(axis=1)
        second += (product**2).sum(axis=1)
    return first / size, second / size


def _known(entries: int, size: int, empty: float, square: float, z: float) -> tuple[int, int, int | None, float]:
    """Users, their interval and their relative error, where they are known."""
    share = min(1.0, max(0.0, 1 - empty))
    sampling = share * (1 - share) * (size - entries) / max(1, size - 1)
    deviation = math.sqrt((max(_LEAST, square - empty) + sampling) / entries)
    low, high = (min(1.0, max(0.0, 1 - empty + side * z * deviation)) for side in (-1, 1))
    return round(share * size), math.floor(low * size), math.ceil(high * size), deviation / max(share, 1 / size)


def _hashed(first: FlippedCopy, empty: Floats, square: Floats, z: float) -> tuple[int, int, int | None, float]:
    """Users, their interval and their relative error, where ids are hashed."""
    cells, spread = first.entries // first.sections, np.array(first.spread, dtype=np.float64)
    most = math.ceil(float(spread.max()) * math.log(2 * cells))
    coins = np.maximum(square - empty, _LEAST) / cells

    def score(users: float) -> tuple[float, float]:
        """How many deviations Q says more users than these, and the relative error here."""
        log_empty = users * np.log1p(-1 / spread)
        variance = coins + empty_cells_variance(users, cells, spread)
        logs = log_empty - np.log(variance) + np.log(-np.log1p(-1 / spread))
        weights = np.exp(logs - logs.max())
        slopes = np.exp(log_empty) * -np.log1p(-1 / spread)
        deviation = math.sqrt(float(weights**2 @ variance))
        said = math.sqrt(max(float(slopes**2 @ (1 / variance)), 1e-300))
        return float(weights @ (np.exp(log_empty) - empty)) / deviation, 1 / (said * max(1.0, users))

    steps = math.ceil(_STEPS_A_FACTOR * math.log(most))
    tried = [0.0, *np.exp(np.linspace(0, math.log(most), steps)).tolist()]
    scores = [score(users)[0] for users in tried]
    found = _crossing(lambda users: score(users)[0], tried, scores, 0.0)
    users = float(most) if found is None else found
    low = _crossing(lambda users: score(users)[0], tried, scores, z)
    high = _crossing(lambda users: score(users)[0], tried, scores, -z)
    bottom = math.floor(users if low is None else min(low, users))
    return round(users), bottom, None if high is None else math.ceil(max(high, users)), score(max(1.0, users))[1]


def empty_cells_variance(users: float, cells: int, spread: Floats) -> Floats:
    """The variance of the fraction of empty cells, of ``cells`` of ``spread``, that so many users leave."""
    one, two = np.exp(users * np.log1p(-1 / spread)), np.exp(users * np.log1p(-2 / spread))
    return np.asarray(np.maximum(one / cells + (1 - 1 / cells) * two - one**2, 0.0))


def _crossing(score: Callable[[float], float], tried: list[float], scores: list[float], level: float) -> float | None:
    """Return where the score first falls below ``level``; None if it never does, or 0 if it is there from the start."""
    below = next((place for place, value in enumerate(scores) if value < level), None)
    if below is None:
        return None
    if below == 0:
        return 0.0
    low, high = tried[below - 1], tried[below]
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if score(middle) < level:
            high = middle
        else:
            low = middle
    return low
