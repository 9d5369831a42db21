"""Which events a state counts: conditions on fields of the records.

A condition looks at one record alone, so two streams that differ in one user's events still differ in one user's events
after it: every guarantee holds as it stands. The conditions are public and belong to the state.

A record without the field, or whose value is empty, meets no condition, ``!=`` neither. ``=`` and ``!=`` compare texts
(:mod:`panbayes.stream.ids.records`), and ``<``, ``<=``, ``>``, ``>=`` numbers: what is not written as a number meets
none of these. Nothing in a record can stop a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.canonical import canonical, canonical_bytes
from panbayes.stream.ids.chunk import Texts

__all__ = [
    "LONGEST",
    "MOST_CONDITIONS",
    "Condition",
    "Where",
    "describe",
    "one_text",
    "parse_where",
    "which",
]

Where: TypeAlias = tuple["Condition", ...]
"""All of them must hold; none selects everything."""

LONGEST: Final = 100
"""Characters of a field's name or of a value that a state writes down."""

MOST_CONDITIONS: Final = 16

_WRITTEN: Final = re.compile(r"([^=!<>]+)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SIGNS: Final = {"=": (), "!=": (), "<": (0,), "<=": (0, 1), ">": (2,), ">=": (1, 2)}
"""For every sign that compares numbers, which outcomes of a comparison meet it: less 0, equal 1, greater 2."""

_MANY_DIGITS: Final = 15


def one_text(written: str) -> str:
    """Return a name or a value as records are compared with it; nothing if it cannot be one."""
    found = canonical_bytes(written.encode("utf-8", "replace")).decode()
    return found if found.isprintable() and len(found) <= LONGEST else ""


@dataclass(frozen=True, slots=True)
class Condition:
    """That ``field`` stands in the relation ``sign`` to ``value``.

    >>> str(Condition("country", "=", "DE"))
    'country=DE'
    """

    field: str
    sign: str
    value: str

    def __post_init__(self) -> None:
        """Refuse what no record could be compared with."""
        if self.sign not in _SIGNS or not self.field or not self.value:
            raise ValueError("a condition has a field, a sign and a value")
        if one_text(self.field) != self.field or one_text(self.value) != self.value:
            raise ValueError("names and values are in their one form")
        if re.search("[=!<>]", self.field):
            raise ValueError("no sign is part of a name")
        if _SIGNS[self.sign] and not _is_number(self.value):
            raise ValueError("numbers are compared with a number")

    def __str__(self) -> str:
        """Return the condition as users write it."""
        return f"{self.field}{self.sign}{self.value}"

    def keep(self, values: Texts, kept: NDArray[np.bool_], arena: Arena) -> None:
        """Clear the mark in ``kept`` of every value that does not meet the condition."""
        from panbayes.stream.ids.kernels import comparisons

        if not _SIGNS[self.sign]:
            found = which(values, (self.value,), arena)
            # White space was taken off: what is empty now has no value.
            comparisons.keep_equal(found, values.lengths, self.sign == "=", kept)
            return
        texts, outcomes = canonical(values, arena), _SIGNS[self.sign]
        digits, point, negative = _decimal(self.value)
        comparisons.keep_numbers(
            texts.data, texts.starts, texts.lengths, float(self.value), digits, point, negative,
            0 in outcomes, 1 in outcomes, 2 in outcomes, kept,
        )  # fmt: skip


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and len(text.strip("-").replace(".", "")) <= _MANY_DIGITS


def _decimal(number: str) -> tuple[NDArray[np.uint8], int, bool]:
    """Return a number as 0.d₁d₂… times a power of ten: its digits (d₁ is not 0), the power, and whether it is negative.

    >>> _decimal("-0.05")
    (array([5], dtype=uint8), -1, True)
    """
    before, _, after = number.lstrip("-").partition(".")
    written = (before + after).lstrip("0")
    point = len(written) - len(after)
    digits = np.array([int(digit) for digit in written.rstrip("0")], dtype=np.uint8)
    return digits, point if digits.size else 0, number.startswith("-") and digits.size > 0


def which(values: Texts, texts: Sequence[str], arena: Arena) -> NDArray[np.int64]:
    """Say of every value which of some texts it is, by its number; −1 if none. White space is taken off the values.

    >>> which(Texts.of(["DE", " FR ", "", "de"]), ("FR", "DE"), Arena()).tolist()
    [1, 0, -1, -1]
    """
    from panbayes.stream.ids.kernels.comparisons import which_text

    wanted, found, numbers = Texts.of(texts), canonical(values, arena), arena.array(values.size, np.int64)
    which_text(found.data, found.starts, found.lengths, wanted.data, wanted.starts, wanted.lengths, numbers)
    np.copyto(values.lengths, found.lengths)
    return numbers


def describe(where: Where) -> str:
    """Return conditions as people read them.

    >>> describe((Condition("country", "=", "DE"), Condition("age", ">=", "18")))
    'country=DE and age>=18'
    """
    return " and ".join(map(str, where))


def parse_where(written: Iterable[str], *, argument: str = "--where") -> Where:
    """Read conditions as users write them.

    >>> parse_where(["country = DE", "bytes>1000"])
    (Condition(field='country', sign='=', value='DE'), Condition(field='bytes', sign='>', value='1000'))
    """
    found = tuple(_parse(text, argument) for text in written)
    if len(found) > MOST_CONDITIONS:
        raise InputError(argument, found=f"found {len(found)}", remedy=f"give {MOST_CONDITIONS} at most")
    return found


def _parse(text: str, argument: str) -> Condition:
    shown = f"found {text[:60]!r}"
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise InputError(argument, found=shown, remedy="write FIELD=VALUE, with =, !=, <, <=, > or >=, all in quotes")
    field, sign, value = one_text(match[1]), match[2], one_text(match[3])
    if not field or not value:
        remedy = f"name a field and a value, both of 1 to {LONGEST} printable characters"
        raise InputError(argument, found=shown, remedy=remedy)
    if value[0] in "=<>":
        remedy = "the signs are =, !=, <, <=, > and >=; no value begins with one"
        raise InputError(argument, found=shown, remedy=remedy)
    if _SIGNS[sign] and not _is_number(value):
        remedy = f"compare with a number of at most {_MANY_DIGITS} digits, such as 18 or 0.5; texts with = or != only"
        raise InputError(argument, found=shown, remedy=remedy)
    return Condition(field, sign, value)
