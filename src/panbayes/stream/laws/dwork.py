"""Dwork's law: a fair coin against a slightly better one."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.state_law import COIN, StateLaw

__all__ = ["DWORK", "dwork"]


def dwork(epsilon: Fraction) -> StateLaw:
    """Bernoulli(1/2) against Bernoulli(1/2 + ε/4), rounded down; ε = ``epsilon`` ≤ 1/2, as in the theorem.

    Thesis: Algorithm DworkDE; Theorem thm_DworkDE_priv; see errata 1.
    """
    return StateLaw.binary("dwork", init=COIN // 2, update=COIN // 2 + int(epsilon * COIN / 4))


DWORK: Final = LawKind(
    "dwork",
    "a fair coin, and heads with probability 1/2 + ε/4 for who appeared",
    lambda epsilon, _: dwork(epsilon),
    largest_epsilon=Fraction(1, 2),
    most_levels=2,
)
