"""One round of choosing: what each holder is offered, what it should expect, and how many tables it may take.

A holder takes its part of the tables, in proportion to its records. Where holders choose **together**, offers are dealt
out among them, so that none takes what another has: by sets of attributes, at random, anew in every round, in
proportion to their records. Where they choose in **turns**, the largest holder first, each is offered what is left: in
a forest, what closes no cycle either.

What they took is put together in the order of their picks, all first ones first, for these are likely the best. Of
pairs that close a cycle in a forest the later ones are left out: together, no holder knows what the others take, and
what two pairs say of a third is better seen after they were measured.

How many a holder may take is offered as a few counts, of which a noisy look tells the largest that is worth it. Counts
at which the noise of choosing would drown the choices are not offered; and where the look itself would drown, there is
none: the largest count is taken, and every choice may still be for no table.

**What is not offered.** Offers that are worth nothing draw choices all the same, as noise has it, and under pure
privacy, where every choice costs linearly, noise is large. A pair with a value that nearly all records have cannot be
far from what is expected (:meth:`~panbayes.consortium.analyst.adaptive.offers.Offer.furthest`). So there a pair is
offered only if that could be more than what is deducted for chance, and than its price were half as many tables taken
as a tree has edges: a rule of thumb, for if fewer are taken it would cost less. What is expected follows from releases,
so all this is public. No count is larger than there are sets of attributes that a holder could take were it the only
one, in a forest than pairs that close no cycle.

**The last round** is for the records at hand too: with hardly any noise, what chance has made of them can be measured,
and synthetic records that have it are closer to them. So there chance is deducted from the worth of a pair as far only
as its noise is not below it: the part min(1, :data:`_CHANCE`·σ²·m/n) of what it would show, with n records in m cells
and noise of deviation σ, were as many tables taken as may be.

A holder that drops out when it is to choose takes nothing. In turns, those after it are offered its part as well;
together, what was dealt to it may be offered again in the next round.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from typing import Final, Literal

import numpy as np

from panbayes.bayesnet.markov.field import Axes
from panbayes.bayesnet.markov.nested import Nested
from panbayes.consortium.agreement.strategies.adaptive import most_picks
from panbayes.consortium.analyst.adaptive.division import Grant
from panbayes.consortium.analyst.adaptive.margins import raked
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray, NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import Offer
from panbayes.privacy.adjacency import TableSensitivity

__all__ = ["LOOK", "LOOKED_AT", "SEEN", "Choice"]

_STEPS: Final = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Numbers of tables that are looked at, in edges of a tree."""

_DOUBLING: Final = (0.0, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
_DOUBLING_FROM: Final = 2
"""Those from the third round on under pure privacy, the least one table: one interaction may be all that is left to
see, and a look at fewer numbers has less noise."""

LOOK: Final = Fraction(2, 27)
"""The part of what is spent on choosing that is for the look."""

_TOLD: Final = 0.6
"""The noise of a choice among all offers is below so many of the holder's records; or else fewer tables are taken."""

SEEN: Final = 0.1
LOOKED_AT: Final = 4
"""A look at so many counts has noise below this part of the holder's records; or else there is none."""

_MOST: Final = (1.0, 1.0, 2.0, 4.0, 8.0)
"""The largest of them in each round: what is strong first, for it explains much of what looks like more."""


_CHANCE: Final = 0.1
"""Of what chance would show in the last round, this part of the ratio of the variances of noise and chance counts."""

_PAIR: Final = 2

_FINE: Final = 8.0
"""Half records that a unit of price has at least."""


def _members(axes: Axes) -> tuple[int, ...]:
    return tuple([attribute for attribute, _ in axes])


class _Joined:
    """Which attributes pairs have joined."""

    def __init__(self, attributes: int, pairs: Iterable[Axes] = ()) -> None:
        self._part = list(range(attributes))
        for axes in pairs:
            self.join(axes)

    def fits(self, axes: Axes) -> bool:
        """Whether a table closes no cycle; one of three or more attributes never does."""
        return len(axes) != _PAIR or self._part[axes[0][0]] != self._part[axes[1][0]]

    def join(self, axes: Axes) -> bool:
        """Join the attributes of a pair; tell whether it closes no cycle."""
        fits = self.fits(axes)
        if fits and len(axes) == _PAIR:
            first, second = (self._part[attribute] for attribute, _ in axes)
            self._part = [first if found == second else found for found in self._part]
        return fits


@dataclass(frozen=True, eq=False)
class Choice:
    """A round of ``offers``; see the module.

    ``records`` are those of the holders that take part, ``own`` the laws of single attributes of every holder that
    measured them, ``common`` those of all; ``price`` is that of a cell, ``fraction`` what the round spends,
    ``choosing`` how much of that on choices, ``number`` the round's, ``last`` whether there is none after it; ``rng``
    deals the offers out. Tables of a ``target`` have half the price: they are to say more, at some cost to the rest.
    """

    grant: Grant
    offers: Sequence[Offer]
    in_turns: bool
    records: Mapping[str, float]
    own: Mapping[str, Sequence[FloatArray]]
    common: Sequence[FloatArray]
    nested: Sequence[Nested]
    price: float
    fraction: Fraction
    choosing: Fraction
    number: int
    rule: Literal["forest", "any"]
    rng: np.random.Generator
    target: int | None = None
    last: bool = False

    def penalty(self, name: str, offer: Offer, expected: FloatArray) -> int:
        """Return what is deducted for chance, in half records, where a holder is ``expected`` to hold so many."""
        return self._deducted(name, offer, expected, self._noises[name])

    def _deducted(self, name: str, offer: Offer, expected: FloatArray, deviation: float) -> int:
        """Return what is deducted for chance, at noise of a ``deviation``."""
        found = offer.penalty(self.records[name], expected)
        if not self.last or offer.deviation or 1 in expected.shape:
            return found
        return round(found * min(1.0, _CHANCE * deviation**2 * offer.cells / self.records[name]))

    def cells(self, name: str, offer: Offer, expected: FloatArray) -> int:
        """Return what a holder's unit of price is multiplied by, where it is ``expected`` to hold so many records.

        That is :meth:`~panbayes.consortium.analyst.adaptive.offers.Offer.costly`, half of it if the table tells of the
        target. Units are whole half records. Where a cell costs less than :data:`_FINE` of them, the cells of so many
        go as one and the unit is so many times as large.
        """
        return max(1, round(self._charged(offer, expected, self._noises[name]) * self._scales[name]))

    def _charged(self, offer: Offer, expected: FloatArray, deviation: float) -> float:
        """Return how many cells are charged for, at noise of a ``deviation``."""
        found = offer.costly(expected, deviation)
        return max(1.0, found / 2) if self.target in _members(offer.axes) else found

    @cached_property
    def _noises(self) -> dict[str, float]:
        """The deviation of a cell in each holder's part of the records, were as many tables taken as may be."""
        found = {}
        for name in self.records:
            tables = self._by_all(name, self.counts(name)[-1][0])
            found[name] = self._cost(name, tables) / self.price
        return found

    @cached_property
    def _scales(self) -> dict[str, float]:
        """How many units of price a cell has to each holder, at most one."""
        return {name: min(1.0, self._cost(name, self._by_all(name, 1)) / _FINE) for name in self.records}

    def among(self, names: Collection[str]) -> Choice:
        """Return the choice as it is for those of the holders that are left."""
        left = {name: number for name, number in self.records.items() if name in names}
        return self if len(left) == len(self.records) else replace(self, records=left)

    @property
    def turns(self) -> list[tuple[str, ...]]:
        """Who is asked at the same time, turn after turn."""
        if not self.in_turns:
            return [tuple(sorted(self.records))]
        return [(name,) for name in sorted(self.records, key=lambda name: (-self.records[name], name))]

    def offered(self, turn: Sequence[str], taken: Iterable[Axes]) -> dict[str, list[Offer]]:
        """Return what is offered to the holders of a turn, where others have ``taken`` some before."""
        known = list(taken)
        done = {_members(axes) for axes in known}
        joined = _Joined(len(self.common), known if self.rule == "forest" else ())
        found = {}
        for name in turn:
            left = [offer for offer in self._open[name] if joined.fits(offer.axes) and _members(offer.axes) not in done]
            found[name] = [offer for offer in left if len(turn) == 1 or self._dealt[_members(offer.axes)] == name]
        return {name: offers for name, offers in found.items() if offers}

    @cached_property
    def _open(self) -> dict[str, Sequence[Offer]]:
        """What each holder may be offered."""
        if not self.grant.pure:
            return dict.fromkeys(self.records, self.offers)
        return {name: [offer for offer in self.offers if self._may_pay(name, offer)] for name in self.records}

    def _may_pay(self, name: str, offer: Offer) -> bool:
        """Tell whether an offer may be worth its price to a holder; see the module."""
        if offer.deviation:  # an interaction
            return True
        expected = self.expected(name, offer)
        own = expected  # with the margins that the holder's records have, as far as they are known
        if len(self.own) > 1:
            own = self.records[name] * raked(expected, [self._grouped(self.own[name], axis) for axis in offer.axes])
        cost = self._half_a_tree[name]
        price = cost * self._charged(offer, expected, cost / self.price)
        furthest = offer.furthest(own) + float(np.abs(own - expected).sum())
        return furthest > self._deducted(name, offer, expected, cost / self.price) + price

    @cached_property
    def _half_a_tree(self) -> dict[str, float]:
        """What a cell costs each holder, were half as many tables taken as a tree has edges."""
        tables = max(1, (len(self.common) - 1) // 2)
        return {name: self._cost(name, tables) for name in self.records}

    @cached_property
    def _places(self) -> dict[tuple[int, ...], float]:
        """A place between 0 and 1 for every set of attributes, evenly spread and at random."""
        sets = list(dict.fromkeys(_members(offer.axes) for offer in self.offers))
        places = (self.rng.permutation(len(sets)) + 0.5) / max(len(sets), 1)
        return dict(zip(sets, places.tolist(), strict=True))

    @cached_property
    def _dealt(self) -> dict[tuple[int, ...], str]:
        """Whom every set of attributes is dealt out to, among all holders."""
        names = sorted(self.records)
        shares = np.cumsum([self.records[name] for name in names]) / sum(self.records.values())
        return {members: names[int(np.searchsorted(shares, place))] for members, place in self._places.items()}

    def merged(self, taken: Iterable[Sequence[Axes]]) -> list[Axes]:
        """Put together what holders have taken, each in the order of its picks."""
        kept: list[Axes] = []
        joined = _Joined(len(self.common))
        for picks in zip_longest(*taken):
            kept += [axes for axes in picks if axes is not None and (self.rule == "any" or joined.join(axes))]
        return kept

    def expected(self, name: str, offer: Offer) -> FloatArray:
        """Return what a holder should expect of its own records, whose single attributes may differ from others'."""
        found: FloatArray = self.records[name] * offer.expected
        if len(self.own) > 1 and not offer.deviation:
            for place, axis in enumerate(offer.axes):
                ratio = self._grouped(self.own[name], axis) / np.maximum(self._grouped(self.common, axis), 1e-300)
                found = found * (ratio[:, None] if place == 0 else ratio)
            found *= self.records[name] / max(float(found.sum()), 1e-300)
        return found

    def _grouped(self, laws: Sequence[FloatArray], axis: tuple[int, int]) -> FloatArray:
        """Return the law of an attribute's groups."""
        attribute, count = axis
        return np.asarray(np.bincount(self.nested[attribute].groups(count), laws[attribute]), dtype=np.float64)

    def counts(self, name: str) -> list[tuple[int, int]]:
        """Return how many tables the holder may take, and the unit of price then: noise of all tables together."""
        edges, whole = len(self.common) - 1, 1 / self._share(name)
        doubling = self.grant.pure and self.number >= _DOUBLING_FROM
        most_steps = _MOST[min(self.number, len(_MOST) - 1)]
        steps = [step for step in (_DOUBLING if doubling else _STEPS) if step <= most_steps]
        most = min(most_picks(len(self.common)), self._room[name])
        tables = sorted({min(most, max(1, round(step * edges / whole))) for step in steps})
        told = [number for number in tables if self._told(name, number)]
        if not told:
            told = [max((number for number in range(1, tables[0]) if self._told(name, number)), default=1)]
        if not self.look(name):
            told = told[-1:]
        return [(number, self._unit(name, self._by_all(name, number))) for number in told]

    @cached_property
    def _room(self) -> dict[str, int]:
        """How many tables each holder could take at most, were it the only one."""
        found = {}
        for name, offers in self._open.items():
            joined = _Joined(len(self.common))
            sets = {_members(offer.axes): offer.axes for offer in dict.fromkeys(offers)}  # a plan repeats them
            found[name] = max(1, sum(self.rule == "any" or joined.join(axes) for axes in sets.values()))
        return found

    def _share(self, name: str) -> float:
        """Return the holder's part of all records."""
        return self.records[name] / sum(self.records.values())

    def _by_all(self, name: str, tables: int) -> int:
        """Return how many tables all take together where a holder takes so many: in proportion to its records.

        They never take more than each may, however few of all records the holder has.
        """
        most = most_picks(len(self.common)) * len(self.records)
        return max(1, min(round(tables / self._share(name)), most))

    def _unit(self, name: str, tables: int) -> int:
        """Return the unit of price to the holder, if all together take so many ``tables``."""
        return min(math.ceil(self._cost(name, tables) / self._scales[name]), 2**31 - 1)

    def _cost(self, name: str, tables: int) -> float:
        """Return what the noise of a cell costs the holder, in half records."""
        measuring = self.fraction * (1 - self.choosing)
        law = self.grant.law(measuring / tables, holders=len(self.records), tables=tables)
        return self.price * law.deviation * self._share(name)

    def look(self, name: str) -> Fraction:
        """Return the part of what is spent on choosing that is for the look: none where it would tell nothing."""
        return LOOK if self._seen(LOOKED_AT).deviation <= SEEN * self.records[name] else Fraction(0)

    def least(self, name: str) -> int:
        """Return what a table must be worth in a look, to be told from its noise."""
        return round(self._seen(len(self.counts(name))).deviation) if self.look(name) else 0

    def _told(self, name: str, tables: int) -> bool:
        """Tell whether the noise of so many choices among all offers leaves something of them."""
        picks = self.grant.loss.part(self.fraction * self.choosing * (1 - LOOK) / tables)
        scale = 2 * self.grant.moved.l1 / math.sqrt(picks.selection_event().epsilon_squared)
        return scale * math.log(max(2, len(self._open[name]))) <= _TOLD * self.records[name]

    def _seen(self, counts: int) -> NoiseLaw:
        """Return the law of the noise of a look at so many ``counts``."""
        loss, moved = self.grant.loss.part(self.fraction * self.choosing * LOOK), self.grant.moved.l1
        return NoiseLaw.of(loss.tables_event(TableSensitivity(counts * moved, counts * moved**2)))
