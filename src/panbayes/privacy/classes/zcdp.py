"""ρ-zero-concentrated differential privacy, and which ρ an (ε, δ) allows.

ρ-zCDP implies (ε, δ)-differential privacy for every α > 1 with (Canonne, Kamath and Steinke 2020, Corollary 13)

    δ ≥ exp((α − 1)(αρ − ε)) / (α − 1) · (1 − 1/α)^α.

Solved for ρ, every α > 1 gives a budget that is safe to spend:

    ρ(α) = (ε + (ln δ + ln(α − 1) − α·ln(1 − 1/α)) / (α − 1)) / α,

and the best α gives the largest. It is looked for on a fixed grid in decimal arithmetic, whose logarithms are correctly
rounded on every machine, and the result is rounded down by far more than their error; so all parties to a study find
the same rational ρ, and it is never too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final

from panbayes.errors import InputError
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, OneRadius, Selection, Together
from panbayes.privacy.loss import Loss

__all__ = ["MAX_DELTA", "ZeroConcentrated", "rho_for"]

MAX_DELTA: Final = Fraction(1, 1000)
"""A larger δ lets a mechanism publish some people's records outright; it is taken for a slip of the pen."""

MIN_DELTA: Final = Fraction(1, 10**18)

_PRECISION: Final = 50
_STEPS_PER_UNIT: Final = 64
_MOST: Final = 2**26
_DIGITS: Final = 6
"""Significant digits kept of ρ: what is lost is below one part in 10⁵, and shares of it stay short."""


@dataclass(frozen=True, slots=True)
class ZeroConcentrated(Loss):
    """ρ-zero-concentrated differential privacy (Bun and Steinke 2016), with an exact ``rho``.

    The Rényi divergence of every order α between the outputs of neighbours is at most ρα. ε-differential privacy
    implies it at ρ = ε²/2; losses of several releases add up; a group of k people has k²ρ.

    >>> ZeroConcentrated(Fraction(1, 3)).add(ZeroConcentrated(Fraction(1, 6)))
    ZeroConcentrated(rho=Fraction(1, 2))
    """

    tag: ClassVar[str] = "zcdp"
    title: ClassVar[str] = "zero-concentrated"
    key: ClassVar[str] = "rho"
    letter: ClassVar[str] = "ρ"

    rho: Fraction

    def __post_init__(self) -> None:
        """Refuse what is not an exact, non-negative number."""
        if not isinstance(self.rho, Fraction):
            raise TypeError(f"rho must be a Fraction, found {type(self.rho).__name__}")
        if self.rho < 0:
            raise ValueError(f"rho cannot be negative, found {self.rho}")

    @property
    def amount(self) -> Fraction:
        """ρ."""
        return self.rho

    def with_amount(self, amount: Fraction) -> ZeroConcentrated:
        """Return another ρ."""
        return ZeroConcentrated(amount)

    def expressing(self, other: Loss, /) -> ZeroConcentrated | None:
        """Return ρ = ε²/2 of a pure ε (Bun and Steinke 2016, Proposition 3.3)."""
        return ZeroConcentrated(other.epsilon**2 / 2) if isinstance(other, Pure) else None

    def for_group(self, size: int) -> ZeroConcentrated:
        """Return ``size``²·ρ (Bun and Steinke 2016, Proposition 1.9)."""
        return self.times(size**2)

    def of_event(self, event: Event) -> ZeroConcentrated:
        """Return the ρ of an event.

        Gaussian noise has Δ₂²/(2σ²) (Canonne, Kamath and Steinke 2020, Theorem 4); Laplace noise and noise of one
        radius are charged the ε²/2 of their pure ε; the exponential mechanism has a loss of bounded range and ε²/8
        (Cesar and Rogers 2021); permute-and-flip has not, and is charged ε²/2 (errata 6).
        """
        match event:
            case DiscreteLaplace() | OneRadius():
                return ZeroConcentrated((event.l1 / event.scale) ** 2 / 2)
            case DiscreteGaussian():
                return ZeroConcentrated(event.l2_squared / (2 * event.variance))
            case Selection():
                return ZeroConcentrated(event.epsilon_squared / (8 if event.rule == "exponential" else 2))
            case Together():
                parts = (self.of_event(part).rho for part in event.events)
                return ZeroConcentrated(sum(parts, Fraction(0)) * event.times)

    def tables_event(self, moved: TableSensitivity) -> DiscreteGaussian:
        """Return discrete Gaussian noise of variance Δ₂²/(2ρ)."""
        return DiscreteGaussian(moved.l2_squared / (2 * self.rho), moved.l2_squared)

    def selection_event(self) -> Selection:
        """Return the exponential mechanism at ε² = 8ρ."""
        return Selection("exponential", 8 * self.rho)


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
