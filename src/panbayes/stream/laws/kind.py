"""What a kind of state law is: a name, and the law it gives for each ε.

Each module of this folder that defines a :class:`LawKind` adds one; :mod:`panbayes.stream.laws.registry` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from panbayes.errors import InputError
from panbayes.stream.laws.state_law import MAX_LEVELS, MAX_STATE_EPSILON, MIN_STATE_EPSILON, StateLaw

__all__ = ["Build", "LawKind"]


class Build(Protocol):
    """Builds a law that loses at most ``epsilon``, on ``levels`` levels; both were checked."""

    def __call__(self, epsilon: Fraction, levels: int, /) -> StateLaw:
        """Build the law."""


@dataclass(frozen=True, slots=True)
class LawKind:
    """A kind of state law.

    ``name`` is what users and state files call it and ``summary`` says what it is. ``build`` gives the law for a
    state's ε up to ``largest_epsilon``, on 2 to ``most_levels`` levels.
    """

    name: str
    summary: str
    build: Build
    largest_epsilon: Fraction = MAX_STATE_EPSILON
    most_levels: int = MAX_LEVELS

    def law(self, epsilon: Fraction, *, levels: int = 2) -> StateLaw:
        """Return the law whose likelihood ratios are at most e^``epsilon``, exactly."""
        if not MIN_STATE_EPSILON <= epsilon <= self.largest_epsilon:
            raise InputError(
                "state epsilon",
                found=f"found {float(epsilon):.6g}",
                remedy=f"for {self.name} it must be at least {float(MIN_STATE_EPSILON):g} "
                f"and at most {float(self.largest_epsilon):g}",
            )
        if not 2 <= levels <= self.most_levels:
            allowed = "two levels" if self.most_levels == 2 else f"2 to {self.most_levels} levels"
            raise InputError("levels", found=f"found {levels}", remedy=f"{self.name} has {allowed}")
        return self.build(epsilon, levels)
