"""What one user loses over several states of one operator, added up.

Each state keeps its own promise, whatever the others do, so what a user loses over several of them is at most the sum.
Where every period starts anew it is once E for every period that was begun, or for every cycle if panels take turns.

States of different panels under one key share no user, so of those the user meets one only, and the largest counts
instead of the sum. So do the parts of one whole: a user has an entry in one of them. That is all that is ever left out:
filters on fields, other keys and other universes add up, and so do independent sites, whose users may be the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.saved_setup import digest_of
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.inspection import inspect_state

__all__ = ["Holding", "Portfolio", "add_up", "portfolio"]


@dataclass(frozen=True, slots=True)
class Holding:
    """One state: its ``name``, its ``setup``, and how many ``turns`` it has made."""

    name: str
    setup: StreamSetup
    turns: int = 0

    @property
    def times(self) -> int:
        """How many periods, or cycles of panels, were begun: each loses E."""
        users = self.setup.universe
        if not self.setup.renews:
            return 1
        return self.turns // (users.panels if isinstance(users, HashedUniverse) and users.rotates else 1) + 1

    @property
    def loss(self) -> Fraction:
        """What a user can lose in this state, up to the end of the period or cycle."""
        return self.times * self.setup.calibration.epsilon

    @property
    def unit(self) -> str:
        """What ``times`` counts, in words."""
        users = self.setup.universe
        if not self.setup.renews:
            return "the whole stream"
        noun = "cycle" if isinstance(users, HashedUniverse) and users.rotates else "period"
        return f"{self.times} {noun}{'' if self.times == 1 else 's'}"

    @property
    def panel(self) -> tuple[Hashable, int] | None:
        """What makes states of several panels share no user, and the number of this one; None for all users."""
        users = self.setup.universe
        if not isinstance(users, HashedUniverse) or users.panel is None:
            return None
        return (users.key, users.panels, users.ipv6), users.panel

    @property
    def part(self) -> tuple[Hashable, int] | None:
        """What makes parts share no user, and the number of this one; None for a whole state."""
        part = self.setup.part
        return None if part is None else (digest_of(self.setup), part.number)


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Several states: their ``holdings``, and what one user, known by one id, loses over all of them."""

    holdings: tuple[Holding, ...]
    total: Fraction

    @property
    def disjoint(self) -> bool:
        """Whether some states share no user, so that less than everything was added up."""
        return self.total < sum((held.loss for held in self.holdings), Fraction(0))


def add_up(holdings: Iterable[Holding]) -> Portfolio:
    """Add up what one user loses over states."""
    held = tuple(holdings)
    total, panels = Fraction(0), _Disjoint()
    for panel, loss in _wholes(held):
        if panel is None:
            total += loss
        else:
            panels.add(*panel, loss)
    return Portfolio(held, total + sum(panels.largest().values(), Fraction(0)))


class _Disjoint:
    """Losses in states that share no user if they are of one kin and have different numbers."""

    def __init__(self) -> None:
        self._losses: dict[Hashable, dict[int, Fraction]] = defaultdict(dict)

    def add(self, kin: Hashable, number: int, loss: Fraction) -> None:
        """Add a state."""
        self._losses[kin][number] = self._losses[kin].get(number, Fraction(0)) + loss

    def largest(self) -> dict[Hashable, Fraction]:
        """What a user can lose in each kin: that of the worst number."""
        return {kin: max(losses.values()) for kin, losses in self._losses.items()}


def _wholes(held: Iterable[Holding]) -> Iterator[tuple[tuple[Hashable, int] | None, Fraction]]:
    """Yield the panel and the loss of every whole: of a state, or of the worst of its parts."""
    parts, panels = _Disjoint(), dict[Hashable, tuple[Hashable, int] | None]()
    for one in held:
        if one.part is None:
            yield one.panel, one.loss
        else:
            parts.add(*one.part, one.loss)
            panels[one.part[0]] = one.panel
    for kin, loss in parts.largest().items():
        yield panels[kin], loss


def portfolio(paths: Iterable[str | Path]) -> Portfolio:
    """Look up several state files, changing nothing, and add up what one user loses over all of them.

    >>> from tempfile import TemporaryDirectory
    >>> from panbayes import DensityEstimator
    >>> with TemporaryDirectory() as folder:
    ...     states = [Path(folder, name) for name in ("north.state", "south.state")]
    ...     for state in states:
    ...         DensityEstimator.create(state, 1_000, epsilon=1).close()
    ...     print(portfolio(states).total)
    2
    """
    found: dict[Path, Holding] = {}
    for path in map(check_path, paths):
        place = path.resolve()
        if place in found:
            raise InputError(str(path), found="was given twice", remedy="give every state once")
        seen = inspect_state(path)
        found[place] = Holding(str(path), seen.setup, seen.turns)
    if not found:
        raise InputError("states", found="none", remedy="give at least one state file")
    return add_up(found.values())
