"""The law of a counter: an entry that goes round.

An entry is a number from 0 to p − 1. It starts at 0 with the odds e^ε against each other number, and moves on by one,
from p − 1 back to 0, whenever its user appears. After c visits it is therefore the start plus c, modulo p: the law is
the initial one, shifted by c, and it says c modulo p to whoever counts many entries and nothing much to whoever sees
one. (A counter that stops at its end instead would give away everybody who reached it.)

Probabilities are integers out of 2³², as for every law, and the odds are at most e^ε, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from panbayes.exact.bounds import exp_bounds, surely_at_most_exp
from panbayes.stream.laws.state_law import COIN, MAX_LEVELS

__all__ = ["CounterLaw", "counter_law"]


@dataclass(frozen=True, slots=True)
class CounterLaw:
    """A counter modulo ``modulus`` (p) that starts at each number but 0 with probability ``other`` out of 2³²."""

    modulus: int
    other: int

    def __post_init__(self) -> None:
        """Refuse what does not start at 0 most often."""
        if not 3 <= self.modulus <= MAX_LEVELS:
            raise ValueError("a counter goes round after 3 to 32 visits")
        if not 1 <= self.other < COIN // self.modulus:
            raise ValueError("a counter starts at 0 more often than anywhere else")

    @property
    def name(self) -> str:
        """What state files call it."""
        return "counter"

    @property
    def levels(self) -> int:
        """p, the number of values of an entry."""
        return self.modulus

    @property
    def init(self) -> tuple[int, ...]:
        """The probabilities of the start out of 2³²."""
        return (COIN - (self.modulus - 1) * self.other, *([self.other] * (self.modulus - 1)))

    @property
    def odds(self) -> Fraction:
        """How much more often a counter starts at 0 than at any other number."""
        return Fraction(self.init[0], self.other)

    def loss(self) -> float:
        """The loss of a look at the entry alone: ln of the odds."""
        return math.log(self.init[0]) - math.log(self.other)

    def surely_within(self, epsilon: Fraction) -> bool:
        """Say whether the odds are at most e^ε, exactly."""
        return surely_at_most_exp(self.odds, epsilon)

    def state_bytes(self, sample: int) -> int:
        """The size of ``sample`` entries: one byte each, rounded up to whole words."""
        return 8 * math.ceil(sample / 8)


def counter_law(epsilon: Fraction, modulus: int) -> CounterLaw:
    """Return the counter with the largest odds up to e^``epsilon`` that coins of 32 bits can draw.

    With w = ⌈2³²/(e^ε + p − 1)⌉ for each other number the odds are 2³²/w − (p − 1) ≤ e^ε.

    >>> law = counter_law(Fraction(1), 8)
    >>> law.surely_within(Fraction(1)), round(law.loss(), 6)
    (True, 1.0)
    """
    share = COIN / (exp_bounds(epsilon)[0] + modulus - 1)
    return CounterLaw(modulus, -(-share.numerator // share.denominator))
