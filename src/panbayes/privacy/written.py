"""Exact numbers as people write and read them.

A budget that is added up thousands of times and compared with a cap must not drift, so ε is a
:class:`fractions.Fraction` read from what a person wrote ("0.1" is 1/10, not the nearest double). Numerators and
denominators are bounded, so that a number from an untrusted study file cannot be made expensive.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from panbayes.errors import InputError

__all__ = [
    "MAX_DIGITS",
    "MAX_EPSILON",
    "Written",
    "parse_epsilon",
    "parse_number",
    "parse_ratio",
    "rounded",
    "show_fraction",
]

Written: TypeAlias = str | int | float | Fraction
"""A number as a person gives it: 1, 1.0, "0.5", "1/3" or a Fraction."""

MAX_EPSILON: Final = 1000
"""Above this ε the guarantee is empty; a larger number is taken for a slip of the pen."""

MAX_DIGITS: Final = 30
"""Digits allowed in a numerator or a denominator that comes from outside."""

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_RATIO = re.compile(r"([0-9]+)(?:/([0-9]+))?")


def show_fraction(value: Fraction) -> str:
    """Write a fraction for people: a short decimal, and where that is rounded the exact ratio behind it.

    >>> show_fraction(Fraction(1, 8)), show_fraction(Fraction(1, 903))
    ('0.125', '0.00110742 (1/903)')
    """
    decimal = f"{float(value):.6g}"
    return decimal if Fraction(decimal) == value else f"{decimal} ({value})"


def rounded(value: Fraction, *, up: bool = True, digits: int = 4) -> str:
    """Write a number for people who need no more than so many digits: rounded up, or down, never to the nearest.

    >>> rounded(Fraction(1645519, 12500000)), rounded(Fraction(1645519, 12500000), up=False), rounded(Fraction(3))
    ('0.1317', '0.1316', '3')
    >>> rounded(Fraction(1, 10**9)), rounded(Fraction(12345)), rounded(Fraction(0))
    ('1e-9', '12350', '0')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{found:e}" if found and found.adjusted() < -digits else f"{found:f}"


def parse_epsilon(text: Written, *, argument: str = "epsilon") -> Fraction:
    """Read a positive ε exactly from what a person wrote.

    Decimal text, ratios and integers are taken as they stand; a float counts as its shortest decimal text, so that
    ``0.1`` means one tenth. ``argument`` is the name used in the error.

    >>> parse_epsilon("0.1"), parse_epsilon(0.1), parse_epsilon(2), parse_epsilon("5e-1"), parse_epsilon("1/3")
    (Fraction(1, 10), Fraction(1, 10), Fraction(2, 1), Fraction(1, 2), Fraction(1, 3))
    """
    remedy = f"give a decimal number above 0 and at most {MAX_EPSILON}, such as 1.0"
    value = text if isinstance(text, Fraction) else None if isinstance(text, bool) else _exact(text)
    if value is None:
        raise InputError(argument, found=f"found {str(text)[:40]!r}", remedy=remedy)
    if not 0 < value <= MAX_EPSILON or value.denominator >= 10**MAX_DIGITS:
        raise InputError(argument, found=f"found {str(text)[:40]}", remedy=remedy)
    return value


def parse_number(text: Written, *, argument: str) -> Fraction:
    """Read a number of 0 or more exactly from what a person wrote.

    >>> parse_number(1e-9, argument="delta"), parse_number("1/3", argument="split")
    (Fraction(1, 1000000000), Fraction(1, 3))
    """
    value = text if isinstance(text, Fraction) else None if isinstance(text, bool) else _exact(text)
    if value is None or value.denominator >= 10**MAX_DIGITS:
        raise InputError(
            argument, found=f"found {str(text)[:40]!r}", remedy="give a number such as 0.5, or a ratio such as 1/3"
        )
    return value


def _exact(text: str | int | float) -> Fraction | None:
    """Return the number written, None if it is none or has too many digits."""
    written = repr(float(text)) if isinstance(text, float) else str(text).strip()  # NumPy's repr names its type
    if _DECIMAL.fullmatch(written) and sum(character.isdigit() for character in written) <= MAX_DIGITS:
        return Fraction(written)
    return parse_ratio(written)


def parse_ratio(text: object, *, digits: int = MAX_DIGITS) -> Fraction | None:
    """Read a ratio as panbayes writes them ("1/3", "2"), of at most so many ``digits``; None for anything else.

    >>> parse_ratio("1/3"), parse_ratio("1/0"), parse_ratio("0.5"), parse_ratio("100", digits=2)
    (Fraction(1, 3), None, None, None)
    """
    match = _RATIO.fullmatch(text) if isinstance(text, str) else None
    numerator, denominator = (match[1], match[2] or "1") if match else ("", "")
    if match is None or max(len(numerator), len(denominator)) > digits or int(denominator) == 0:
        return None
    return Fraction(int(numerator), int(denominator))
