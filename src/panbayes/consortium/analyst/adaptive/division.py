"""How the adaptive strategy divides what a study grants: a public plan, made before anything but the total is known.

Whether dependencies are worth measuring is a question of signal and noise. Let n be the (noisy) number of records,
N the number of attributes, k̄ the mean domain size and σ the standard deviation of a count, summed over all holders, if
the whole grant were divided evenly among N tables. The plan follows from

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
from typing import Final, Literal, TypeAlias

from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.privacy.adjacency import Adjacency

__all__ = ["TOTAL", "Budget", "Plan", "PrivacyClass"]

PrivacyClass: TypeAlias = Literal["pure", "zcdp"]

TOTAL: Final = Fraction(1, 200)
"""The share for the noisy total, the first thing asked for."""

CHOOSING: Final = Fraction(35, 100)
TRIPLES: Final = Fraction(4, 10)

_LEAST: Final = 5.0
_START: Final = 10.0
_RANGE: Final = 30.0
_CONCENTRATED: Final = 1.5


@dataclass(frozen=True, slots=True)
class Budget:
    """What a study grants, and what its noise is like: ``grant`` is ε or ρ, ``records`` the most of one person."""

    privacy: PrivacyClass
    adjacency: Adjacency
    grant: Fraction
    records: int

    def law(self, share: Fraction, holders: int) -> NoiseLaw:
        """Return the law of the noise of a cell of one table at a ``share`` of the grant, added up over ``holders``.

        The scales are those of :mod:`panbayes.consortium.holder.grouped_tables`.
        """
        each = (2 if self.adjacency == "replace" else 1) * self.records
        loss = float(self.grant * share)
        if self.privacy == "pure":
            return NoiseLaw(False, ((each / loss, holders),))
        return NoiseLaw(True, ((math.sqrt(each * self.records / (2 * loss)), holders),))


@dataclass(frozen=True, slots=True)
class Plan:
    """Shares of the grant, exact, and how many picks; see the module."""

    singles: Fraction
    pairs: Fraction
    triples: Fraction
    pair_picks: int
    triple_picks: int

    @classmethod
    def of(cls, budget: Budget, sizes: Sequence[int], *, total: float, holders: int) -> Plan:
        """Make the plan for tables of ``total`` records of attributes with these domain ``sizes``."""
        attributes = len(sizes)
        rest = 1 - TOTAL
        sigma = budget.law(Fraction(1, attributes), holders).deviation
        level = max(total, 1.0) / (sigma * math.sqrt(sum(sizes) / attributes))
        level *= _CONCENTRATED if budget.privacy == "zcdp" else 1.0
        if level < _LEAST or attributes < 2:
            return cls(rest, Fraction(0), Fraction(0), 0, 0)
        t = min(1.0, max(0.0, math.log(level / _START) / math.log(_RANGE)))
        singles = Fraction(round(1000 * (0.9 - 0.75 * t**0.75)), 1000) * rest
        picks = max(1, round((attributes - 1) * t**1.2))
        triples = round(1.2 * attributes * max(0.0, t - 0.5)) if attributes > 2 else 0
        left = rest - singles
        for_triples = left * TRIPLES if triples else Fraction(0)
        return cls(singles, left - for_triples, for_triples, picks, triples)
