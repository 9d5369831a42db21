"""How the adaptive strategy divides what a study grants, from the number of records alone.

Let n be the (noisy) number of records, N the number of attributes, k̄ the mean domain size and σ the standard deviation
of a count, summed over all holders, if the whole grant were divided evenly among N tables. How much can be learned is a
question of signal and noise (that of cells by themselves, also where tables will share a radius of it), the level

    t = ln(u/10)/ln 30, clipped to [0, 1], with u = n / (σ·√k̄), half as large again under zCDP.

====================== =================================================== ==================================
                       zCDP                                                pure
====================== =================================================== ==================================
total                  1/200                                               1/200
a first look, if       3/100, 5·E > 0.03                                   3/100, E·(1/p² − 1) > 0.03
single attributes      e + (s − e)·(1 − t/a)₊ of the rest, s = 0.4 + 0.5·[(k̄ − 3)/7]; all of it if u < 5;
                                                                           times 1 − w/2
… at a high level, e   0.1, a = 0.35                                       0.12 + 0.1·v + 0.2·[(k̄ − 7)/5], a = 0.5
rounds                 2 + 3·t                                             r + (5 − r)·w, r = 1 + 2·t
each round             0.8 − 0.3·t − 0.15·c of what is left                q + (0.3 − q)·w of it, q = 1 − 0.2·t
of a round: choices    27 % − 12 %·c                                       40 % − 10 %·(1 − (1 − v)·(1 − w))
====================== =================================================== ==================================

with c = [(t − 0.6)/0.3], v = [(k̄ − 3)/3] and w = [ln(u/150)/ln 10], but 0 in a small schema, which has blocks where
noise is low (x₊ is x or 0, [x] is x clipped to [0, 1]; numbers of rounds are rounded). Where noise is low, c or w, the
**calm**, is high: choices are sure for less, and what the first rounds leave measures in the end what turned out to be
worth it.

Under zCDP a thing may as well be measured twice, half at a time; under pure privacy that doubles the variance. So zCDP
begins with little for single attributes and adds more, as far as their estimates turn out to need it
(:meth:`Division.more`), and more again where other tables are centred and tell nothing of them. What holders choose is
set against single attributes, and what these have wrong looks like a dependency of all their pairs; so they are
measured again **before** anything is chosen. At the highest level, where there is a fifth round and noise is small,
that is done with the tables of the first round instead, which saves a round trip.

Let E be the bits that noise costs single attributes if they get the whole grant, Σ k·(k − 1)·σ²/(2·ln 2·n²), σ the
deviation of a count of an attribute with k values. Where E is not small, to look for more than there is costs
independence a multiple of it, under pure privacy as single attributes then have a part p only (as the table has it
without w). So a **first look** says whether any attributes hang together at all
(:mod:`panbayes.consortium.analyst.adaptive.first_look`). If not, single attributes get all that is left, at once.

**Blocks.** Under pure privacy every choice costs linearly, and a small schema has so few pairs that blocks of up to
four attributes cover all of them (:mod:`panbayes.consortium.analyst.adaptive.covering`). Then nothing is chosen: blocks
are the first round, with all that is left, and single attributes are read off them as well. Let B be the bits that
noise then costs single attributes (:func:`~panbayes.consortium.analyst.adaptive.covering.noise_of_margins`). Where
nothing hangs together that is the price of blocks, for what noise alone says of pairs is told from it and left out
(:mod:`panbayes.consortium.analyst.adaptive.blocks`); where much does, B says how well pairs will be known. So they are
measured

* if B ≤ 0.001, without a first look; with four fifths, unless there is one block of all attributes: noise is low, and
  two rounds more look for interactions that lie in no block;
* if B ≤ 0.012 and no first look is due, or it could tell nothing. It can tell where the mean holder has at least 12
  times as many records as a count has noise at the look's part, and less so the more holders share the records;
* if B ≤ 0.2 and a first look that can tell says that attributes hang together.

B takes counts for even. Values of chance p and 1 − p cost 1/(4·p·(1 − p)) times as much, 13 times where one is one in
fifty; that they add up to the records halves it, and estimates that know their noise lessen it. With 0.012 independent
attributes, most with rare values, were within 0.05 bits of private independence (``docs/accuracy.md``). All of it
follows from the schema, the number of holders, the grant, and the noisy number of records.

Under zCDP choices are cheap, for a thing may be measured twice, and rounds find what lies in no block at smaller ε:
there are no blocks.

A round looks how many tables are worth measuring, chooses so many, and measures them
(:mod:`panbayes.consortium.analyst.strategies.adaptive`). What the last one leaves measures known tables again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.strategies.adaptive import ROUNDS
from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.analyst.adaptive.covering import covering, is_small, noise_of_margins
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.radii import Sharing, sharing
from panbayes.consortium.analyst.adaptive.shares import alone
from panbayes.privacy.adjacency import Adjacency, TableSensitivity
from panbayes.privacy.events import DiscreteLaplace, Event
from panbayes.privacy.loss import Loss

__all__ = ["TOTAL", "TYPICAL", "Division", "Grant"]

TYPICAL: Final = 16
"""Cells of a table, where it is not known how many it will have."""

TOTAL: Final = Fraction(1, 200)
"""The fraction for the noisy total, the first thing asked for."""

_CHOOSING: Final = Fraction(27, 100)
_CHOOSING_PURELY: Final = Fraction(40, 100)
"""The fraction of a round for the look and the choices; the rest is for measuring."""

_LESS_CHOOSING_PURELY: Final = 10
"""So many hundredths less are for choices, as attributes go from three to six values in the mean, or it is calm."""

_LESS_CHOOSING: Final = 12
_LESS_SPENDING: Final = 0.15
_CALM: Final = 0.6
_CALMER: Final = 0.3
"""So many hundredths of a round less are for choices, and so much less of what is left for a round, as the level goes
from 0.6 to 0.9."""

_CALM_PURELY: Final = 150.0
_CALMER_PURELY: Final = 10.0
_SPENDING_PURELY: Final = 0.3
"""Under pure privacy it is calm from u = 150 to ten times as much; then a round gets so much of what is left."""

_MORE: Final = 0.28
_MORE_ALONE: Final = 0.3
_MORE_LOUD: Final = 0.36
"""How much of the grant single attributes get for the root of the bits their noise costs; and at least for powers of
0.2 and 0.3 of them, where other tables are centred and tell nothing of them."""

_LEAST_FROM: Final = 0.35
_MOST_AGAIN: Final = Fraction(3, 5)
_MOST_AGAIN_AT_LOW_LEVELS: Final = Fraction(1, 2)
"""From this level on they begin with the least under zCDP; again they get at most so much of what is left."""

_FIRST: Final = Fraction(3, 100)
"""The fraction for the first look."""

_NOISY: Final = 0.03
_RISK: Final = 5.0
"""There is one where more than so many bits are at risk, under zCDP so many times E."""

_BLOCKS: Final = 0.012
_BLOCKS_SEEN: Final = 0.2
"""The bits that blocks may cost single attributes, and that they may after a look that attributes hang together."""

_TELLING: Final = 12.0
"""A first look can tell where a holder has so many times as many records as a count at its part has noise."""

_CLEAR_BLOCKS: Final = 0.001
_LESS_FOR_BLOCKS: Final = Fraction(4, 5)
_ROUNDS_AFTER: Final = 2
"""Where blocks cost so few bits they have this part only, and so many rounds more look for what lies in no block."""

_LEAST: Final = 5.0
_START: Final = 10.0
_RANGE: Final = 30.0
_CONCENTRATED: Final = 1.5
_MILLIONTHS: Final = 10**6
"""Fractions of the grant are rounded to millionths, so that messages carry few digits."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a study grants, and who counts as a neighbour: the noise of any fraction follows.

    Tables are ``balanced`` if all neighbours have as many records; how many is public then.
    """

    loss: Loss
    adjacency: Adjacency
    max_records: int = 1
    balanced: bool = False

    @classmethod
    def of(cls, terms: Terms) -> Grant:
        """Read it off a study."""
        balanced = terms.adjacency == "replace" and terms.schema.unit is None
        return cls(terms.grant, terms.adjacency, terms.max_records, balanced)

    @property
    def moved(self) -> TableSensitivity:
        """How far one person can move a table."""
        return TableSensitivity.of(adjacency=self.adjacency, max_records=self.max_records)

    @property
    def pure(self) -> bool:
        """Whether noise is Laplace noise: everything that is asked for costs linearly."""
        return isinstance(self.event(Fraction(1)), DiscreteLaplace)

    @property
    def centred(self) -> bool:
        """Whether tables of two attributes and more are measured centred: where the noise of their margins is dear.

        In L2 and under add-remove that saves all that margins would cost. Under replace it saves little, for the
        records of two persons may differ in one attribute alone; in L1 nothing, for a centred table moves in many
        cells. There whole tables are measured, and tell of single attributes too.
        """
        return self.adjacency == "add-remove" and not self.pure

    def event(self, fraction: Fraction, *, tables: int = 1, shape: Sequence[int] = ()) -> Event:
        """Return the noise of ``tables`` tables, each at a ``fraction`` of the grant; centred ones have a ``shape``."""
        one = self.moved
        if shape:
            one = TableSensitivity.of_centred(shape, adjacency=self.adjacency, max_records=self.max_records)
        together = TableSensitivity(one.l1 * tables, one.l2_squared * tables)
        return self.loss.part(fraction * tables).tables_event(together)

    def sharing(self, fraction: Fraction, cells: Sequence[int], weights: Sequence[int]) -> tuple[Sharing, ...]:
        """Return which tables of so many ``cells``, at a ``fraction`` divided by ``weights``, share a radius of noise.

        Under zCDP none do: L2 pays for many tables less than for each of them already.
        """
        if not self.pure:
            return ()
        loss = self.loss.part(fraction)
        return sharing(cells, weights, loss=loss, moved=self.moved.l1, balanced=self.balanced)

    def law(self, fraction: Fraction, *, holders: int = 1, tables: int = 1, cells: int = TYPICAL) -> NoiseLaw:
        """Return the law of the noise of a cell of one of ``tables`` like tables, each at a ``fraction``.

        Each has so many ``cells``; counts are added up over ``holders``.
        """
        for group in self.sharing(fraction * tables, [cells] * tables, [1] * tables):
            return group.law(cells, holders=holders)
        return NoiseLaw.of(self.event(fraction), holders=holders)


@dataclass(frozen=True, slots=True)
class Division:
    """Fractions of the grant, exact; see the module. Where there are ``blocks``, they are the first of the rounds."""

    level: float
    calm: float
    first: Fraction
    singles: Fraction
    rounds: int
    choosing: Fraction
    concentrated: bool
    centred: bool
    blocks: Fraction = Fraction(0)

    @classmethod
    def of(cls, grant: Grant, sizes: Sequence[int], *, total: float, holders: int, look_first: bool = True) -> Division:
        """Divide for tables of ``total`` records of attributes with these domain ``sizes``; see the module.

        Where there is a target no first look is taken: what hangs together with it is worth knowing at some cost.
        """
        attributes = len(sizes)
        mean = sum(sizes) / attributes
        law = NoiseLaw.of(grant.event(Fraction(1, attributes)), holders=holders)
        signal = max(total, 1.0) / (law.deviation * math.sqrt(mean)) * (_CONCENTRATED if law.gaussian else 1.0)
        if signal < _LEAST or attributes < 2:
            choosing = _choosing(0.0, mean, concentrated=law.gaussian)
            return cls(0.0, 0.0, Fraction(0), 1 - TOTAL, 0, choosing, law.gaussian, grant.centred)
        level = _clipped(math.log(signal / _START) / math.log(_RANGE))
        small = not law.gaussian and is_small(sizes)
        calm = (level - _CALM) / _CALMER if law.gaussian else math.log(signal / _CALM_PURELY) / math.log(_CALMER_PURELY)
        calm = 0.0 if small else _clipped(calm)
        choosing = _choosing(calm, mean, concentrated=law.gaussian)
        high, until = (0.1, _LEAST_FROM) if law.gaussian else (_least_purely(mean), 0.5)
        singles = high + (0.4 + 0.5 * _clipped((mean - 3) / 7) - high) * max(0.0, 1 - level / until)
        rounds = 2 + round(3 * level) if law.gaussian else round(_towards(ROUNDS, 1 + 2 * level, calm))
        noise = _noise_of_singles(grant, sizes, total=total, holders=holders)
        risk = noise * (_RISK if law.gaussian else 1 / singles**2 - 1)
        first = _FIRST if look_first and risk > _NOISY else Fraction(0)
        if first:
            rounds = min(rounds, ROUNDS - 1)
        singles *= 1.0 if law.gaussian else 1 - calm / 2
        share = _rounded(singles * float(1 - TOTAL - first))
        found = cls(level, calm, first, share, rounds, choosing, law.gaussian, grant.centred)
        return found._with_blocks(grant, sizes, total=total, holders=holders) if small else found

    def alone(self) -> Division:
        """Return the division where no attributes hang together: all that is left is for single attributes."""
        return replace(self, singles=1 - TOTAL - self.first, rounds=0, blocks=Fraction(0))

    def _with_blocks(self, grant: Grant, sizes: Sequence[int], *, total: float, holders: int) -> Division:
        """Return the division of a small schema: with blocks if they are worth it, see the module."""

        def variance(share: float, cells: int) -> float:
            part = Fraction(share).limit_denominator(_MILLIONTHS)
            return grant.law(part, holders=holders, tables=max(1, round(1 / share)), cells=cells).deviation ** 2

        bits = noise_of_margins(sizes, variance, total=total)
        telling = total / holders >= _TELLING * NoiseLaw.of(grant.event(_FIRST)).deviation
        if bits > (_BLOCKS_SEEN if self.first and telling else _BLOCKS):
            return self
        clear = bits <= _CLEAR_BLOCKS
        first = self.first if telling and not clear else Fraction(0)
        more = _ROUNDS_AFTER if clear and len(covering(tuple(sizes))) > 1 else 0
        blocks = _rounded(float((1 - TOTAL - first) * _LESS_FOR_BLOCKS)) if more else 1 - TOTAL - first
        return replace(self, first=first, singles=Fraction(0), rounds=1 + more, blocks=blocks)

    @property
    def before(self) -> bool:
        """Whether single attributes are measured again before anything is chosen, if at all."""
        return self.rounds < ROUNDS

    def spend(self, left: Fraction) -> Fraction:
        """Return what a round may spend of what is ``left``."""
        if not self.concentrated:
            return _rounded(_towards(_SPENDING_PURELY, 1 - 0.2 * self.level, self.calm) * float(left))
        return _rounded((0.8 - 0.3 * self.level - _LESS_SPENDING * self.calm) * float(left))

    def more(self, bits: float, *, left: Fraction) -> Fraction:
        """Return what single attributes get once more, whose noise costs so many ``bits``, of what is ``left``.

        Noise of variance v costs v/(2·ln 2·n·c) bits in a cell of c of n records, so bits·share is what it costs per
        share. Their share becomes 0.1 + 0.28·√x, x = bits·share/0.1, if that is more than they had; where other tables
        are centred, which are cheaper then and tell nothing of single attributes, at least 0.1 + 0.3·x^0.2, and from a
        level of 0.35 on, where they began with the least, 0.1 + 0.36·x^0.3. It is rounded to the hundredth, for last
        digits depend on the processor, and at most three fifths of what is left, half of it below that level.
        """
        if not self.concentrated or not self.rounds:
            return Fraction(0)
        share = float(self.singles)
        cost = bits * share / 0.1
        wanted = _MORE * math.sqrt(cost)
        begun_with_least = self.level >= _LEAST_FROM
        if self.centred:
            wanted = max(wanted, _MORE_ALONE * cost**0.2, _MORE_LOUD * cost**0.3 if begun_with_least else 0.0)
        found = min(max(0.0, 0.1 + wanted - share), 0.9 - share)
        most = _MOST_AGAIN if begun_with_least else _MOST_AGAIN_AT_LOW_LEVELS
        return min(most * left, Fraction(round(found * 100), 100))


def _noise_of_singles(grant: Grant, sizes: Sequence[int], *, total: float, holders: int) -> float:
    """Return E: the bits that noise costs single attributes, each at its part of the whole grant."""
    whole = sum(map(alone, sizes))
    bits = 0.0
    for size, many in Counter(sizes).items():
        part = Fraction(alone(size) / whole).limit_denominator(_MILLIONTHS)
        law = NoiseLaw.of(grant.event(part), holders=holders)
        bits += many * size * (size - 1) * law.deviation**2 / (2 * math.log(2) * max(total, 1.0) ** 2)
    return bits


def _least_purely(mean: float) -> float:
    """Return e of the module under pure privacy, for attributes of so many values in the mean."""
    return 0.12 + 0.1 * _clipped((mean - 3) / 3) + 0.2 * _clipped((mean - 7) / 5)


def _choosing(calm: float, mean: float, *, concentrated: bool) -> Fraction:
    """Return the fraction of a round for choices, to the hundredth."""
    if concentrated:
        return _CHOOSING - Fraction(round(_LESS_CHOOSING * calm), 100)
    less = _towards(1.0, _clipped((mean - 3) / 3), calm)
    return _CHOOSING_PURELY - Fraction(round(_LESS_CHOOSING_PURELY * less), 100)


def _towards(there: float, here: float, part: float) -> float:
    """Return what lies so far on the way from here to there."""
    return here + (there - here) * part


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


def _rounded(fraction: float) -> Fraction:
    return Fraction(round(fraction * _MILLIONTHS), _MILLIONTHS)
