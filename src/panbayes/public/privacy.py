"""Exact privacy losses: how much a release may reveal, as rational numbers.

A budget that is added up thousands of times and compared with a cap must not drift, so ε is a
:class:`fractions.Fraction` parsed from decimal text ("0.1" is 1/10, not the nearest double). Numerators and
denominators are bounded, so that a number from an untrusted study file cannot be made expensive.

A loss is typed by its privacy class. There is one class today, :class:`Pure` (ε-differential privacy); a new
class is a new type with its own ``class`` tag in :func:`loss_to_json`, and a reader that does not know the tag
refuses it. Losses of different classes never compare or add.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.public.errors import InputError

__all__ = [
    "MAX_DIGITS",
    "MAX_EPSILON",
    "Pure",
    "loss_from_json",
    "loss_to_json",
    "parse_epsilon",
    "rational_above",
    "total_loss",
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


def total_loss(losses: Iterable[Pure]) -> Pure:
    """Add up losses about the same records (thesis: Theorem thm_composition)."""
    return Pure(sum((loss.epsilon for loss in losses), Fraction(0)))


def rational_above(value: float, *, digits: int = 12) -> Fraction:
    """Return a fraction with denominator ``10**digits`` that is not below the real number ``value`` stands for.

    For losses that are logarithms: ``value`` is within one ulp of the real number, which is stepped over.

    >>> rational_above(math.log(3)) >= Fraction(math.log(3))
    True
    """
    scale = 10**digits
    return Fraction(math.ceil(Fraction(math.nextafter(value, math.inf)) * scale), scale)


def loss_to_json(loss: Pure) -> dict[str, str]:
    """Write a loss with its class tag and exact ratios.

    >>> loss_to_json(Pure(Fraction(1, 3)))
    {'class': 'pure', 'epsilon': '1/3'}
    """
    return {"class": "pure", "epsilon": str(loss.epsilon)}


def loss_from_json(data: object, *, argument: str) -> Pure:
    """Read what :func:`loss_to_json` wrote; refuse an unknown class rather than guess."""
    if not isinstance(data, Mapping) or data.get("class") != "pure" or set(data) != {"class", "epsilon"}:
        raise InputError(
            argument,
            found="found a privacy loss of an unknown class",
            remedy="use a version of panbayes that knows it; this one knows: pure",
        )
    match = _RATIO.fullmatch(data["epsilon"]) if isinstance(data["epsilon"], str) else None
    if match is None or int(match[2] or 1) == 0:
        raise InputError(argument, found="found a damaged epsilon", remedy="use the file as panbayes wrote it")
    return Pure(Fraction(int(match[1]), int(match[2] or 1)))
