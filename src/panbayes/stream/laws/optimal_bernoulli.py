"""The best law on two levels: two coins as far apart as ε allows."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from panbayes.errors import InputError
from panbayes.exact.bounds import exp_bounds
from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.state_law import COIN, StateLaw

__all__ = ["OPTIMAL_BERNOULLI", "optimal_bernoulli"]


def optimal_bernoulli(epsilon: Fraction, *, centre: Fraction = Fraction(1, 2)) -> StateLaw:
    """Bernoulli(c − x) against Bernoulli(c + x) with the largest x that keeps both ratios ≤ e^ε, exactly.

    ε is ``epsilon`` and c is ``centre``. The bit 1 allows x = c·tanh(ε/2), the bit 0 allows
    x = (1 − c)·tanh(ε/2): a centre above 1/2 breaks the thesis's choice of x, so it is refused, and c = 1/2 is the
    best.

    Thesis: Algorithm OptBernDE; Theorem thm_OptBernDE_priv; see errata 3.
    """
    if not 0 < centre <= Fraction(1, 2):
        raise InputError("centre", found=f"found {float(centre):.6g}", remedy="the centre must be in (0, 1/2]")
    grown = exp_bounds(epsilon)[0]
    half = 2 * centre * COIN / (1 + grown)
    init_one = -(-half.numerator // half.denominator)
    update_one = min(int(init_one * grown), int(2 * centre * COIN) - init_one)
    return StateLaw.binary("optimal-bernoulli", init=init_one, update=update_one)


OPTIMAL_BERNOULLI: Final = LawKind(
    "optimal-bernoulli",
    "two coins as far apart as ε allows, which gives the least error on one bit",
    lambda epsilon, _: optimal_bernoulli(epsilon),
    most_levels=2,
)
