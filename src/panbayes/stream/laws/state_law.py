"""A state law: the two distributions that one entry of the state is drawn from.

Every user of the sample owns one entry. It is drawn from the *initial* law before the stream starts, and again from
the *update* law each time the user appears (from the initial law when a deletion names the user). The intruder sees
the entry; how far the two laws may lie apart is what the state's ε bounds.

A :class:`StateLaw` lives on L levels. Its probabilities are integers out of 2³², because that is what a 32-bit coin
can draw: what is proved about the law is proved about the integers, not about real numbers they approximate. They
are rounded so that every likelihood ratio stays at most e^ε, exactly. A level counts with an integer score, so that
the released statistic is an integer too.

The continuous laws of the thesis cannot be calibrated soundly: an entry is wide or unbounded, and the low bits of a
floating-point number depend on the law it was drawn from. They are kept in :mod:`reproduction.published`
for reproducing the thesis. The quantized laws of this folder are their sound versions, on up to 32 levels.

Thesis: Algorithms DworkDE, OptBernDE, LaplaceDE; see errata 1, 3, 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.exact.bounds import surely_at_most_exp

__all__ = ["COIN", "MAX_LEVELS", "MAX_SCORE", "MAX_STATE_EPSILON", "MIN_STATE_EPSILON", "StateLaw"]

COIN: Final = 1 << 32
"""Probabilities are integers out of this number."""

MAX_LEVELS: Final = 32

MAX_SCORE: Final = 1 << 20
"""The statistic of 2⁴⁰ users still fits into 62 bits."""

MAX_STATE_EPSILON: Final = Fraction(20)
"""Beyond this a probability would be below one coin (ln 2³² is 22.2)."""

MIN_STATE_EPSILON: Final = Fraction(1, 10**6)
"""Not far below this the laws of an entry on 32 levels come down to the same coins, and tell nobody apart."""


@dataclass(frozen=True, slots=True)
class StateLaw:
    """The laws of one entry: ``init[j]`` and ``update[j]`` out of 2³² for level j, which counts ``scores[j]``."""

    name: str
    init: tuple[int, ...]
    update: tuple[int, ...]
    scores: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a pair of laws with full support."""
        if not 2 <= len(self.scores) <= MAX_LEVELS or not len(self.init) == len(self.update) == len(self.scores):
            raise ValueError("a state law needs 2 to 32 levels, each with two probabilities and a score")
        if min(*self.init, *self.update) < 1 or sum(self.init) != COIN or sum(self.update) != COIN:
            raise ValueError("the probabilities of a state law are positive integers that add up to 2**32")
        if self.scores[-1] > MAX_SCORE:
            raise ValueError("the scores of a state law are at most 2**20")
        if self.scores[0] != 0 or any(a >= b for a, b in zip(self.scores, self.scores[1:], strict=False)):
            raise ValueError("the scores of a state law start at 0 and increase")
        if self.mean(self.update) <= self.mean(self.init):
            raise ValueError("the update law must have the larger mean score")

    @classmethod
    def binary(cls, name: str, *, init: int, update: int) -> StateLaw:
        """Return the law of a bit that is 1 with probability ``init`` or ``update`` out of 2³²."""
        return cls(name, (COIN - init, init), (COIN - update, update), (0, 1))

    @property
    def levels(self) -> int:
        """L, the number of levels."""
        return len(self.scores)

    @property
    def signal(self) -> Fraction:
        """The difference of the mean scores: what one present user adds to the expected statistic."""
        return self.mean(self.update) - self.mean(self.init)

    def mean(self, weights: tuple[int, ...]) -> Fraction:
        """The mean score under ``weights`` (``init`` or ``update``)."""
        return Fraction(sum(w * a for w, a in zip(weights, self.scores, strict=True)), COIN)

    def loss(self) -> float:
        """The loss of a look at the entry alone: max |ln(update/init)| over the levels, to machine precision."""
        return max(abs(math.log(u) - math.log(i)) for i, u in zip(self.init, self.update, strict=True))

    def surely_within(self, epsilon: Fraction) -> bool:
        """Say whether every likelihood ratio is at most e^ε, exactly."""
        pairs = zip(self.init, self.update, strict=True)
        worst = max(max(Fraction(u, i), Fraction(i, u)) for i, u in pairs)
        return surely_at_most_exp(worst, epsilon)

    def state_bytes(self, sample: int) -> int:
        """The size of ``sample`` entries: one bit each for two levels, else one byte, rounded up to whole words.

        >>> StateLaw.binary("even", init=COIN // 4, update=COIN // 2).state_bytes(10**9)
        125000000
        """
        return 8 * math.ceil(sample / 64) if self.levels == 2 else 8 * math.ceil(sample / 8)
