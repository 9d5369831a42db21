"""Which ρ an (ε, δ) allows: zero-concentrated differential privacy as a budget for (ε, δ).

ρ-zCDP implies (ε, δ)-differential privacy for every α > 1 with (Canonne, Kamath and Steinke 2020, Corollary 13)

    δ ≥ exp((α − 1)(αρ − ε)) / (α − 1) · (1 − 1/α)^α.

Solved for ρ, every α > 1 gives a budget that is safe to spend:

    ρ(α) = (ε + (ln δ + ln(α − 1) − α·ln(1 − 1/α)) / (α − 1)) / α,

and the best α gives the largest. It is looked for on a fixed grid in decimal arithmetic, whose logarithms are correctly
rounded on every machine, and the result is rounded down by far more than their error; so all parties to a study find
the same rational ρ, and it is never too large.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

from panbayes.errors import InputError

__all__ = ["MAX_DELTA", "rho_for"]

MAX_DELTA: Final = Fraction(1, 1000)
"""A larger δ lets a mechanism publish some people's records outright; it is taken for a slip of the pen."""

MIN_DELTA: Final = Fraction(1, 10**18)

_PRECISION: Final = 50
_STEPS_PER_UNIT: Final = 64
_MOST: Final = 2**26
_DIGITS: Final = 6
"""Significant digits kept of ρ: what is lost is below one part in 10⁵, and shares of it stay short."""


@lru_cache(maxsize=64)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ (to six digits, rounded down) whose zCDP implies (``epsilon``, ``delta``).

    >>> rho_for(Fraction(1), Fraction(1, 10**9))
    Fraction(14973, 1000000)
    """
    if not MIN_DELTA <= delta <= MAX_DELTA:
        raise InputError(
            "delta",
            found=f"found {float(delta):g}",
            remedy="give 0 for pure ε, or a number from 1e-18 to 1e-3, such as 1e-9",
        )
    with localcontext(Context(prec=_PRECISION)):
        eps, log_delta = _decimal(epsilon), _decimal(delta).ln()
        low, high = 1, _MOST
        # The budget rises and then falls in α; thirds of the grid close in on the top.
        while high - low > 2:
            third = (high - low) // 3
            left, right = low + third, high - third
            if _budget(eps, log_delta, left) < _budget(eps, log_delta, right):
                low = left
            else:
                high = right
        best = max(_budget(eps, log_delta, steps) for steps in range(low, high + 1))
        if best <= 0:
            raise InputError(
                "epsilon",
                found=f"found {float(epsilon):g}, which is too small for delta = {float(delta):g}",
                remedy="give a larger ε, or delta = 0",
            )
        # One part in 10¹² is far above the error of the arithmetic and far below what rounding takes away.
        safe = best * (1 - Decimal("1e-12"))
        quantum = Decimal(1).scaleb(safe.adjusted() - _DIGITS + 1)
        return Fraction(safe.quantize(quantum, rounding=ROUND_FLOOR))


def _budget(epsilon: Decimal, log_delta: Decimal, steps: int) -> Decimal:
    """Return ρ(α) for α = 1 + ``steps``/64."""
    above = Decimal(steps) / _STEPS_PER_UNIT
    alpha = 1 + above
    return (epsilon + (log_delta + above.ln() - alpha * (above / alpha).ln()) / above) / alpha


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
