"""How the adaptive strategy divides what a study grants, before anything but the total is known.

Whether dependencies are worth measuring is a question of signal and noise. Let n be the (noisy) number of records,
N the number of attributes, k̄ the mean domain size and σ the standard deviation of a count, summed over all holders, if
the whole grant were divided evenly among N tables. The division follows from

    u = n / (σ·√k̄), and t = ln(u/10)/ln 30, clipped to [0, 1]

(u is taken half as large again under zCDP, where further tables cost less). At t = 0 nearly everything goes into the
tables of single attributes and one dependency is tried at most; below u = 5 none is, and the strategy abstains from the
start. At t = 1 there are as many pairs as a tree has edges, and triples for more than half of the attributes. The curve
between was fixed on a validation part of the Diabetes table and on tables drawn from published networks; it is the
same for every table.

====================== ==========================================
total                  1/200
single attributes      0.9 − 0.75·t^0.75 of the rest
pairs                  what remains, or 0.6 of it if there are triples
triples                0.4 of what remains
of these, choosing     0.35, measuring 0.65
picks of pairs         (N − 1)·t^1.2, at least 1
picks of triples       1.2·N·(t − ½), at least 0
====================== ==========================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.events import Event
from panbayes.privacy.loss import Loss

__all__ = ["CHOOSING", "TOTAL", "Division", "Grant"]

TOTAL: Final = Fraction(1, 200)
"""The fraction for the noisy total, the first thing asked for."""

CHOOSING: Final = Fraction(35, 100)
TRIPLES: Final = Fraction(4, 10)

_LEAST: Final = 5.0
_START: Final = 10.0
_RANGE: Final = 30.0
_CONCENTRATED: Final = 1.5


@dataclass(frozen=True, slots=True)
class Grant:
    """What a study grants, and how far one person can move a table: the noise of any fraction follows."""

    loss: Loss
    moved: TableSensitivity

    @classmethod
    def of(cls, terms: Terms) -> Grant:
        """Read it off a study."""
        return cls(terms.grant, TableSensitivity.of(adjacency=terms.adjacency, max_records=terms.max_records))

    def event(self, fraction: Fraction, *, tables: int = 1) -> Event:
        """Return the noise of ``tables`` tables, each at a ``fraction`` of the grant."""
        together = TableSensitivity(self.moved.l1 * tables, self.moved.l2_squared * tables)
        return self.loss.part(fraction * tables).tables_event(together)

    def law(self, fraction: Fraction, *, holders: int = 1) -> NoiseLaw:
        """Return the law of the noise of a cell of one table at a ``fraction``, added up over ``holders``."""
        return NoiseLaw.of(self.event(fraction), holders=holders)


@dataclass(frozen=True, slots=True)
class Division:
    """Fractions of the grant, exact, and how many picks; see the module."""

    singles: Fraction
    pairs: Fraction
    triples: Fraction
    pair_picks: int
    triple_picks: int

    @classmethod
    def of(cls, grant: Grant, sizes: Sequence[int], *, total: float, holders: int) -> Division:
        """Divide for tables of ``total`` records of attributes with these domain ``sizes``."""
        attributes = len(sizes)
        rest = 1 - TOTAL
        law = grant.law(Fraction(1, attributes), holders=holders)
        level = max(total, 1.0) / (law.deviation * math.sqrt(sum(sizes) / attributes))
        level *= _CONCENTRATED if law.gaussian else 1.0
        if level < _LEAST or attributes < 2:
            return cls(rest, Fraction(0), Fraction(0), 0, 0)
        t = min(1.0, max(0.0, math.log(level / _START) / math.log(_RANGE)))
        singles = Fraction(round(1000 * (0.9 - 0.75 * t**0.75)), 1000) * rest
        picks = max(1, round((attributes - 1) * t**1.2))
        triples = round(1.2 * attributes * max(0.0, t - 0.5)) if attributes > 2 else 0
        left = rest - singles
        for_triples = left * TRIPLES if triples else Fraction(0)
        return cls(singles, left - for_triples, for_triples, picks, triples)
