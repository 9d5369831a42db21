"""Exact privacy losses: how much a release may reveal, as rational numbers.

A budget that is added up thousands of times and compared with a cap must not drift, so ε is a
:class:`fractions.Fraction` parsed from decimal text ("0.1" is 1/10, not the nearest double). Numerators and
denominators are bounded, so that a number from an untrusted study file cannot be made expensive.

A loss is typed by its privacy class: :class:`Pure` (ε-differential privacy) or :class:`ZeroConcentrated` (ρ-zCDP, Bun
and Steinke 2016). A class has its own ``class`` tag in :func:`loss_to_json`, and a reader that does not know the tag
refuses it. Losses of different classes do not add or compare by accident: :func:`total_loss` and :func:`within` turn a
pure ε into ρ = ε²/2, which it implies, where a sum or a limit is in ρ; nothing turns ρ into a pure ε. What (ε, δ) a ρ
stands for is in :mod:`panbayes.privacy.zcdp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from panbayes.errors import InputError

__all__ = [
    "MAX_DIGITS",
    "MAX_EPSILON",
    "NOTHING",
    "Loss",
    "Pure",
    "ZeroConcentrated",
    "amount",
    "loss_from_json",
    "loss_to_json",
    "parse_epsilon",
    "sum_of",
    "total_loss",
    "within",
]

MAX_EPSILON: Final = 1000
"""Above this ε the guarantee is empty; a larger number is taken for a slip of the pen."""

MAX_DIGITS: Final = 30
"""Digits allowed in a numerator or a denominator that comes from outside."""

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_RATIO = re.compile(r"([0-9]{1,30})(?:/([0-9]{1,30}))?")


@dataclass(frozen=True, slots=True, order=True)
class Pure:
    """ε-differential privacy (thesis: Definition defn_dp), with an exact ``epsilon``.

    >>> Pure(Fraction(1, 3)) + Pure(Fraction(1, 6))
    Pure(epsilon=Fraction(1, 2))
    >>> Pure(Fraction(1, 2)) * 3
    Pure(epsilon=Fraction(3, 2))
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        """Refuse what is not an exact, non-negative number."""
        if not isinstance(self.epsilon, Fraction):
            raise TypeError(f"epsilon must be a Fraction, found {type(self.epsilon).__name__}")
        if self.epsilon < 0:
            raise ValueError(f"epsilon cannot be negative, found {self.epsilon}")

    def __add__(self, other: Pure) -> Pure:
        """Add the losses of two releases about the same records (sequential composition)."""
        return Pure(self.epsilon + other.epsilon)

    def __mul__(self, times: int) -> Pure:
        """Multiply the loss: ``times`` releases, or a group of ``times`` people."""
        return Pure(self.epsilon * times)

    def __str__(self) -> str:
        """Show ε exactly where a short decimal can, else as a ratio with its value."""
        return f"ε = {show_fraction(self.epsilon)}"


@dataclass(frozen=True, slots=True, order=True)
class ZeroConcentrated:
    """ρ-zero-concentrated differential privacy (Bun and Steinke 2016), with an exact ``rho``.

    The Rényi divergence of every order α between the outputs of neighbours is at most ρα. ε-differential privacy
    implies it at ρ = ε²/2; losses of several releases add up; a group of k people has k²ρ.

    >>> ZeroConcentrated(Fraction(1, 3)) + ZeroConcentrated(Fraction(1, 6))
    ZeroConcentrated(rho=Fraction(1, 2))
    """

    rho: Fraction

    def __post_init__(self) -> None:
        """Refuse what is not an exact, non-negative number."""
        if not isinstance(self.rho, Fraction):
            raise TypeError(f"rho must be a Fraction, found {type(self.rho).__name__}")
        if self.rho < 0:
            raise ValueError(f"rho cannot be negative, found {self.rho}")

    def __add__(self, other: ZeroConcentrated) -> ZeroConcentrated:
        """Add the losses of two releases about the same records (sequential composition)."""
        return ZeroConcentrated(self.rho + other.rho)

    def __mul__(self, times: int) -> ZeroConcentrated:
        """Multiply the loss: ``times`` releases. (A group of ``times`` people has ``times``² of it.)"""
        return ZeroConcentrated(self.rho * times)

    def __str__(self) -> str:
        """Show ρ exactly where a short decimal can, else as a ratio with its value."""
        return f"ρ = {show_fraction(self.rho)}"


Loss: TypeAlias = Pure | ZeroConcentrated

NOTHING: Final = Pure(Fraction(0))
"""No loss at all; it adds to losses of either class."""


def amount(loss: Loss) -> str:
    """Show the number of a loss without its letter.

    >>> amount(Pure(Fraction(1, 8)))
    '0.125'
    """
    return show_fraction(loss.epsilon if isinstance(loss, Pure) else loss.rho)


def show_fraction(value: Fraction) -> str:
    """Write a fraction for people: a short decimal if that is exact, else a ratio with its rounded value.

    >>> show_fraction(Fraction(1, 8)), show_fraction(Fraction(1, 903))
    ('0.125', '1/903 (0.00110742)')
    """
    decimal = f"{float(value):.6g}"
    return decimal if Fraction(decimal) == value else f"{value} ({decimal})"


def parse_epsilon(text: str | int | float | Fraction, *, argument: str = "epsilon") -> Fraction:
    """Read a positive ε exactly from what a person wrote.

    Decimal text and integers are taken as they stand; a float counts as its shortest decimal text, so that
    ``0.1`` means one tenth. ``argument`` is the name used in the error.

    >>> parse_epsilon("0.1"), parse_epsilon(0.1), parse_epsilon("2"), parse_epsilon("5e-1")
    (Fraction(1, 10), Fraction(1, 10), Fraction(2, 1), Fraction(1, 2))
    """
    remedy = f"give a decimal number above 0 and at most {MAX_EPSILON}, such as 1.0"
    if isinstance(text, Fraction):
        value = text
    elif isinstance(text, bool):
        raise InputError(argument, found=f"found {text}", remedy=remedy)
    else:
        written = repr(text) if isinstance(text, float) else str(text).strip()
        if not _DECIMAL.fullmatch(written) or sum(c.isdigit() for c in written) > MAX_DIGITS:
            raise InputError(argument, found=f"found {written[:40]!r}", remedy=remedy)
        value = Fraction(written)
    if not 0 < value <= MAX_EPSILON or value.denominator >= 10**MAX_DIGITS:
        raise InputError(argument, found=f"found {str(text)[:40]}", remedy=remedy)
    return value


def _in_rho(loss: Loss) -> ZeroConcentrated:
    """Return the zCDP that a loss implies: ρ = ε²/2 for a pure ε (Bun and Steinke 2016, Proposition 3.3)."""
    return ZeroConcentrated(loss.epsilon**2 / 2) if isinstance(loss, Pure) else loss


def total_loss(losses: Iterable[Loss]) -> Loss:
    """Add up losses about the same records (thesis: Theorem thm_composition).

    Pure losses add up to a pure loss. As soon as one is in ρ the total is, and every pure ε among them counts ε²/2.

    >>> total_loss([Pure(Fraction(1)), ZeroConcentrated(Fraction(1, 4)), Pure(Fraction(1))])
    ZeroConcentrated(rho=Fraction(5, 4))
    """
    found = list(losses)
    pure = [loss for loss in found if isinstance(loss, Pure)]
    if len(pure) == len(found):
        return Pure(sum((loss.epsilon for loss in pure), Fraction(0)))
    return ZeroConcentrated(sum((_in_rho(loss).rho for loss in found), Fraction(0)))


def sum_of(loss: Loss, more: Loss) -> Loss:
    """Add two losses; see :func:`total_loss`."""
    return total_loss((loss, more))


def within(loss: Loss, limit: Loss) -> bool:
    """Tell whether ``loss`` is certainly no more than ``limit``.

    >>> within(Pure(Fraction(1)), ZeroConcentrated(Fraction(1, 2)))
    True
    >>> within(ZeroConcentrated(Fraction(1, 10**9)), Pure(Fraction(100)))  # zCDP implies no pure ε
    False
    """
    match loss, limit:
        case Pure(), Pure():
            return loss.epsilon <= limit.epsilon
        case _, ZeroConcentrated():
            return _in_rho(loss).rho <= limit.rho
        case ZeroConcentrated(), Pure():
            return loss.rho == 0
    raise TypeError("a loss is Pure or ZeroConcentrated")


def loss_to_json(loss: Loss) -> dict[str, str]:
    """Write a loss with its class tag and exact ratios.

    >>> loss_to_json(Pure(Fraction(1, 3))), loss_to_json(ZeroConcentrated(Fraction(1, 8)))
    ({'class': 'pure', 'epsilon': '1/3'}, {'class': 'zcdp', 'rho': '1/8'})
    """
    if isinstance(loss, Pure):
        return {"class": "pure", "epsilon": str(loss.epsilon)}
    return {"class": "zcdp", "rho": str(loss.rho)}


def loss_from_json(data: object, *, argument: str) -> Loss:
    """Read what :func:`loss_to_json` wrote; refuse an unknown class rather than guess."""
    match data:
        case {"class": "pure", "epsilon": value, **rest} if not rest:
            return Pure(_exact(value, "epsilon", argument=argument))
        case {"class": "zcdp", "rho": value, **rest} if not rest:
            return ZeroConcentrated(_exact(value, "rho", argument=argument))
    raise InputError(
        argument,
        found="found a privacy loss of an unknown class",
        remedy="use a version of panbayes that knows it; this one knows: pure, zcdp",
    )


def _exact(value: object, name: str, *, argument: str) -> Fraction:
    match = _RATIO.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[2] or 1) == 0:
        raise InputError(argument, found=f"found a damaged {name}", remedy="use the file as panbayes wrote it")
    return Fraction(int(match[1]), int(match[2] or 1))
