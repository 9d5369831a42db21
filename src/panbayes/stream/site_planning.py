"""What a union of independent sites costs, before any is opened, and whether it is of any use.

Every site loses E to a user who comes there, for one look, one release and one flipped copy; a user of all K sites
loses K times E. Of E the state gets a part s and the copy an η, so that the bits of a copy are 1 with the probabilities
a and 1 − a, 1 − 2a = tanh(s/2)·tanh(η/2). With v = a(1 − a)/(1 − 2a)² the second moment of a product y
(:mod:`panbayes.stream.union`) is at most (v + q^(1/K))^K, at a fraction q of cells that are empty everywhere, for users
who come to one site each, spread evenly; less where they come to several. So errors grow like (1 + v)^(K/2): at E = 1 v
is 35, and every further site multiplies the error by 6.

The site's own release gets what its noise needs to be about that of the cells' coins, next to nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.distinct_planning import users_to_plan_for
from panbayes.stream.flipped_copy import FlippedCopies, flip_chance
from panbayes.stream.guarantee.calibration import check_planned, largest_rate
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.laws.registry import DEFAULT_LAW, law_kind
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.setup import configure_hashed
from panbayes.stream.union import empty_cells_variance

__all__ = ["LEAST_EPSILON", "MOST_SITES", "USELESS", "SitePlan", "plan_sites", "union_error"]

MOST_SITES: Final = 100

USELESS: Final = 0.5
"""From this relative error on an estimate says nothing: its interval of 95 % reaches from nobody to twice as many."""

LEAST_EPSILON: Final = 2
"""Below, a copy of a site is next to noise."""


@dataclass(frozen=True, slots=True)
class SitePlan:
    """The union of ``sites``: what each gives ``open``, and relative ``errors`` at numbers of ``users``."""

    sites: int
    epsilon: Fraction
    state_epsilon: Fraction
    eta: Fraction
    cells: int
    tiers: int
    users: tuple[int, ...]
    errors: tuple[float, ...]

    @property
    def total(self) -> Fraction:
        """What a user of all sites loses."""
        return self.sites * self.epsilon

    @property
    def useless(self) -> bool:
        """Whether no number of users can be told."""
        return min(self.errors) >= USELESS


def plan_sites(*, sites: int, epsilon: Fraction, users: HashedUniverse, expect: int | None = None) -> SitePlan:
    """Divide each site's ``epsilon`` between state and copy for the least error of the union.

    >>> users = HashedUniverse.of_memory(8192, expect=65_536, key=bytes(16))
    >>> found = plan_sites(sites=2, epsilon=Fraction(4), users=users, expect=65_536)
    >>> found.total, f"{100 * found.errors[2]:.1f} %"
    (Fraction(8, 1), '1.0 %')
    """
    if not 2 <= sites <= MOST_SITES:
        raise InputError("sites", found=f"found {sites}", remedy=f"give 2 to {MOST_SITES}")
    check_planned(epsilon, 1)
    state, eta = _best_split(epsilon, users.entries)
    setup = configure_hashed(users, epsilon=epsilon, state_epsilon=state, flipped=FlippedCopies(1, eta))
    law = setup.calibration.law
    if not isinstance(law, StateLaw):
        raise TypeError("hashed users have bits")
    signal = _signal(law, eta)
    shown = users_to_plan_for(expect)
    errors = tuple(union_error(signal, users, sites=sites, count=count) for count in shown)
    return SitePlan(sites, epsilon, state, eta, users.cells, users.tiers, shown, errors)


def union_error(signal: float, users: HashedUniverse, *, sites: int, count: int) -> float:
    """The relative error of the union at ``count`` users, each of whom comes to one site.

    A bit of a copy differs by ``signal`` between a cell with a user and one without.
    """
    spread = np.array(users.spread, dtype=np.float64)
    own = (1 - signal**2) / (4 * signal**2)
    empty = np.exp(count * np.log1p(-1 / spread))
    square = (own + empty ** (1 / sites)) ** sites
    variance = (square - empty) / users.cells + empty_cells_variance(count, users.cells, spread)
    slopes = empty * np.log1p(-1 / spread)
    said = float((slopes**2 / variance).sum())
    return min(1e9, 1 / (count * math.sqrt(max(said, 1e-300))))


def _signal(law: StateLaw, eta: Fraction) -> float:
    return (law.update[1] - law.init[1]) / COIN * (1 - 2 * flip_chance(eta) / COIN)


def _best_split(epsilon: Fraction, entries: int) -> tuple[Fraction, Fraction]:
    """The state's part of E and the η of a copy whose bits say most, beside one release of little noise."""
    beside = 2 / math.sqrt(entries)
    best: tuple[float, Fraction, Fraction] | None = None
    for step in range(5, 100):
        state = epsilon * step / 100
        if state > law_kind(DEFAULT_LAW).largest_epsilon:
            break
        law = law_kind(DEFAULT_LAW).law(state, levels=2)
        left = largest_rate(law, float(epsilon)) - beside
        eta = Fraction(math.floor(1000 * left), 1000)
        if eta > 0:
            signal = _signal(law, eta)
            best = max(best, (signal, state, eta)) if best else (signal, state, eta)
    if best is None:
        raise InputError("epsilon", found=f"found {epsilon}", remedy="it leaves nothing for a copy: give more")
    return best[1], best[2]
