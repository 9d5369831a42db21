"""The adaptive strategy before it has seen anything: its rounds, the tables it may take, and the noise of each.

How it divides its grant follows from the number of records (:class:`~panbayes.consortium.analyst.adaptive.division.
Division`), and how many tables a holder may take at most from what it is offered
(:class:`~panbayes.consortium.analyst.adaptive.choice.Choice`): both are its own public plan, not a copy. How many it
*will* take, and whether a round finds anything, depends on the records: expected are four fifths of what is offered in
the first round, and in later ones half of what a tree has or of what is offered, whichever is less, as long as
there are pairs. Where blocks hold all pairs, a round after them is expected to find nothing, and to be the last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations, islice
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes, shape_of
from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.analyst.adaptive.choice import Choice
from panbayes.consortium.analyst.adaptive.covering import covering, margin_variance, shares
from panbayes.consortium.analyst.adaptive.division import TOTAL, TYPICAL, Division, Grant
from panbayes.consortium.analyst.adaptive.grouping import groups_within
from panbayes.consortium.analyst.adaptive.margins import part_without_margins
from panbayes.consortium.analyst.adaptive.offers import GRAINS, Offer, price
from panbayes.consortium.analyst.adaptive.shares import alone
from panbayes.planning.forecast import Setting
from panbayes.planning.noise_moments import CellNoise
from panbayes.planning.supposed import size_classes, supposed_law

__all__ = ["AdaptivePlan", "Round"]

_FIRST: Final = 0.8
_LATER: Final = 0.5
"""Tables that are expected to be taken: of those offered in the first round; later of a tree's edges, or of those."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round: fractions of the grant for choosing, measuring and single attributes once more; tables of several.

    ``again`` is for tables that are known, in the last round. ``tables`` are expected, ``offered`` is how many holders
    of equal size may take, ``most`` what no holders exceed.
    """

    choosing: Fraction
    measuring: Fraction
    singles: Fraction
    again: Fraction
    tables: float
    offered: int
    most: int
    trips: int


@dataclass(frozen=True)
class AdaptivePlan:
    """What the adaptive strategy would do in a ``setting``; see the module."""

    setting: Setting

    @cached_property
    def grant(self) -> Grant:
        """What the study grants."""
        return Grant.of(self.setting.study)

    @cached_property
    def division(self) -> Division:
        """How it is divided."""
        study, setting = self.setting.study, self.setting
        look = study.target is None
        return Division.of(self.grant, setting.sizes, total=setting.records, holders=setting.holders, look_first=look)

    def noise(self, fraction: Fraction | float, *, tables: float = 1, cells: int = TYPICAL) -> CellNoise:
        """Return the noise of a cell of one of so many like ``tables``, each at a ``fraction`` of the grant.

        Where they share a radius of noise, that of so many ``cells`` is taken for Laplace noise of the same deviation.
        """
        exact = Fraction(fraction).limit_denominator(10**12) or Fraction(1, 10**12)
        law = self.grant.law(exact, tables=max(1, round(tables)), cells=cells)
        return CellNoise(law.gaussian, law.deviation / (1 if law.gaussian else math.sqrt(2)), self.setting.holders)

    def part_of_noise(self, shape: Sequence[int]) -> float:
        """Return how much of the noise of a cell is left in a table of this ``shape`` without its margins.

        Of a table that is measured whole the root of its part is left; one that is centred costs only that part too.
        """
        part = part_without_margins(shape)
        return part if self.division.centred else math.sqrt(part)

    def noise_of_single(self, fraction: float, size: int) -> CellNoise:
        """Return the noise of a value of an attribute of so many, if all attributes get a ``fraction`` of the grant."""
        return self.noise(fraction * self.share(size), tables=len(self.setting.sizes), cells=size)

    def share(self, size: int) -> float:
        """Return the part of what single attributes get that goes to one with so many values."""
        return alone(size) / self._whole

    @cached_property
    def _whole(self) -> float:
        return sum(map(alone, self.setting.sizes))

    @cached_property
    def blocks(self) -> tuple[Axes, ...]:
        """The blocks that are measured at first, if there are any."""
        return covering(self.setting.sizes) if self.division.blocks else ()

    @cached_property
    def block_noise(self) -> tuple[CellNoise, ...]:
        """The noise of a cell of each block."""
        return tuple(
            self.noise(float(self.division.blocks) * share, tables=1 / share, cells=math.prod(shape_of(axes)))
            for share, axes in zip(shares(self.blocks), self.blocks, strict=True)
        )

    def margin(self, attributes: Sequence[int]) -> float:
        """Return the standard deviation of the noise of a cell of a table that is read off the blocks."""
        variances = [noise.deviation**2 for noise in self.block_noise]
        return math.sqrt(margin_variance(self.blocks, variances, attributes))

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of choosing, as long as each finds something."""
        if self.blocks:
            return self._after_blocks()
        division = self.division
        left = 1 - TOTAL - division.first - division.singles
        found: list[Round] = []
        for number in range(division.rounds):
            more = Fraction(0) if number else division.more(self._cost_of_singles, left=left)
            fraction = division.spend(left - more)
            choosing = fraction * division.choosing
            last = number == division.rounds - 1
            measuring = (left - more if last and not number else fraction) - choosing
            again = left - choosing - measuring - more if last else Fraction(0)
            offered, most = self._offered_to_all(fraction, number), self._most(fraction, number)
            edges = len(self.setting.sizes) - 1
            tables = max(1.0, _FIRST * offered if not number else _LATER * min(offered, edges))
            tables = min(tables, math.comb(edges + 1, 2) - sum(known.tables for known in found))
            found.append(Round(choosing, measuring, more, again, tables, offered, most, self._trips(number)))
            left -= choosing + measuring + more + again
        return tuple(found)

    def _after_blocks(self) -> tuple[Round, ...]:
        if self.division.rounds < 2:
            return ()
        fraction = self.division.spend(1 - TOTAL - self.division.first - self.division.blocks)
        none = Fraction(0)
        offered, most = self._offered_to_all(fraction, 1), self._most(fraction, 1)
        choosing = fraction * self.division.choosing
        return (Round(choosing, none, none, none, 0.0, offered, most, self._trips(1) - 1),)

    @cached_property
    def most_tables(self) -> int:
        """How many tables of several attributes no run exceeds.

        Where the number of records is private, the strategy divides its grant by a noisy one, and may come to more
        rounds than the true one gives; all of them together take more tables than blocks and what follows them.
        """
        every = [self._most(Fraction(1), number) for number in range(adaptive.ROUNDS)]
        if not self.grant.balanced:
            return sum(every) if len(self.setting.sizes) > 1 else 0
        return len(self.blocks) + sum(every[1 if self.blocks else 0 : self.division.rounds])

    @property
    def left(self) -> Fraction:
        """What is left after all rounds, and measures known tables again."""
        spent = TOTAL + self.division.first + self.division.singles + self.division.blocks
        return 1 - spent - sum((r.choosing + r.measuring + r.singles + r.again for r in self.rounds), Fraction(0))

    def _trips(self, number: int) -> int:
        turns = self.setting.study.choices == "turns" and number < adaptive.TURNS
        return (self.setting.holders if turns else 1) + 1

    @cached_property
    def _cost_of_singles(self) -> float:
        """The bits that noise costs single attributes: v/(2·ln 2·n·c) in a cell of c records, c no less than √v."""
        bits, records = 0.0, self.setting.records
        for size, many in size_classes(self.setting.sizes):
            deviation = self.noise_of_single(float(self.division.singles), size).deviation
            counts = np.maximum(records * supposed_law(size), deviation)
            bits += many * float((deviation**2 / (2 * math.log(2) * records * counts)).sum())
        return bits

    def _offered_to_all(self, fraction: Fraction, number: int) -> int:
        """Return how many tables holders of equal size may take together in a round, as they are offered."""
        setting = self.setting
        holders = {str(holder): setting.each for holder in range(setting.holders)}
        tables = setting.holders * self._count(self.grant, holders, fraction, number)
        return min(tables, len(setting.sizes) - 1) if not number else tables

    def _most(self, fraction: Fraction, number: int) -> int:
        """Return how many tables holders of any size may take together at most, were noise no matter.

        Each takes its part of what one alone would take, rounded, and one at least.
        """
        setting, edges = self.setting, len(self.setting.sizes) - 1
        if not number:
            return edges
        plenty = replace(self.grant, loss=self.grant.loss.with_amount(Fraction(10**9)))
        return self._count(plenty, {"0": float(setting.records)}, fraction, number) + setting.holders

    def _count(self, grant: Grant, holders: Mapping[str, float], fraction: Fraction, number: int) -> int:
        """Return the largest number of tables that the first of some holders is offered to take.

        Which pairs are not worth offering under pure privacy is not known here: all of them are counted.
        """
        sizes = self.setting.sizes
        choice = Choice(
            grant=grant,
            offers=_any_offers(len(sizes), later=bool(number)),
            in_turns=self.setting.study.choices == "turns",
            records=holders,
            own={},
            common=[np.ones(1)] * len(sizes),
            nested=(),
            price=price(self.division.level, first=not number),
            fraction=fraction,
            choosing=self.division.choosing,
            number=number,
            rule="any" if number else "forest",
            rng=np.random.default_rng(0),
        )
        return max(count for count, _ in choice.counts("0"))

    def table_noise(self, found: Round) -> CellNoise:
        """Return the noise of a cell of a table of several attributes that is measured in a round."""
        tables = max(1.0, found.tables)
        return self.noise(float(found.measuring) / tables, tables=tables)

    def groups(self, sizes: Sequence[int], noise: CellNoise) -> list[int]:
        """Return in how many groups a pair of attributes is measured, if a cell has this noise."""
        deviation = noise.deviation
        least = max(GRAINS[1] * deviation, deviation**2)
        return groups_within(sizes, max(4.0, min(adaptive.TABLE_CELLS, self.setting.records / least)))

    def offered(self, measuring: Fraction) -> tuple[float, float]:
        """Return how many pairs are offered in a round, each at its granularities, and their cells."""
        sizes = self.setting.sizes
        grains = GRAINS[: adaptive.granularities(len(sizes))]
        deviation = self.noise(measuring / len(sizes), tables=len(sizes)).deviation
        every = math.comb(len(sizes), 2)
        most = min(adaptive.TABLE_CELLS, adaptive.OFFERED_CELLS / max(1, every * len(grains)))
        classes = size_classes(sizes)
        offers = cells = 0.0
        for place, (one, some) in enumerate(classes):
            for other, more in classes[place:]:
                many = some * more if other != one else some * (some - 1) / 2
                found = {
                    tuple(groups_within((one, other), max(4.0, min(most, self.setting.records / (grain * deviation)))))
                    for grain in grains
                }
                offers += many * len(found)
                cells += many * sum(math.prod(groups) for groups in found)
        return offers, cells


@lru_cache(maxsize=4)
def _any_offers(attributes: int, *, later: bool) -> list[Offer]:
    """Return offers where only their sets matter: all pairs, ``later`` larger sets too, as many as may be taken."""
    every = range(attributes)
    pairs = list(map(_any_offer, combinations(every, 2))) * max(1, adaptive.granularities(attributes))
    if not later:
        return pairs
    beside = adaptive.most_picks(attributes) - math.comb(attributes, 2)
    larger = chain.from_iterable(combinations(every, size) for size in (3, 4))
    return pairs + list(map(_any_offer, islice(larger, max(0, beside))))


def _any_offer(members: Sequence[int]) -> Offer:
    return Offer(tuple((a, 2) for a in members), np.zeros(1), 1, 1.0)
