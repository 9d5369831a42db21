"""Which events a state counts: conditions on fields of the records.

A condition looks at one record alone, so two streams that differ in one user's events still differ in one user's events
after it: every guarantee holds as it stands. The conditions are public and belong to the state.

A record without the field, or whose value is empty, meets no condition, ``!=`` neither. ``=`` and ``!=`` compare texts
(:mod:`panbayes.stream.ids.records`), and ``<``, ``<=``, ``>``, ``>=`` numbers: what is not written as a number meets
none of these. Nothing in a record can stop a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.canonical import canonical, canonical_bytes
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.records import texts_of

__all__ = [
    "LONGEST",
    "MOST_CONDITIONS",
    "Condition",
    "Where",
    "describe",
    "one_text",
    "parse_where",
    "selected",
    "which",
]

Where: TypeAlias = tuple["Condition", ...]
"""All of them must hold; none selects everything."""

LONGEST: Final = 100
"""Characters of a field's name or of a value that a state writes down."""

MOST_CONDITIONS: Final = 16

_WRITTEN: Final = re.compile(r"([^=!<>]+)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_ANY_NUMBER: Final = re.compile(rb"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?")
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

    def met(self, values: Texts) -> NDArray[np.bool_]:
        """Say which values meet the condition."""
        if _SIGNS[self.sign]:
            return self._met_by_numbers(values)
        found = which(values, (self.value,))
        met: NDArray[np.bool_] = found == (0 if self.sign == "=" else -1)
        found[:] = 0
        # White space was taken off: what is empty now has no value.
        met &= values.lengths > 0
        return met

    def _met_by_numbers(self, values: Texts) -> NDArray[np.bool_]:
        from panbayes.stream.ids.kernels.comparisons import UNSURE, compare_numbers

        with canonical(values) as texts:
            found = np.zeros(texts.starts.size, dtype=np.int8)
            compare_numbers(texts.data, texts.starts, texts.lengths, float(self.value), found)
            for t in np.flatnonzero(found == UNSURE).tolist():
                start = int(texts.starts[t])
                found[t] = _compare(texts.data[start : start + int(texts.lengths[t])].tobytes(), self.value)
        met: NDArray[np.bool_] = np.isin(found, _SIGNS[self.sign])
        found[:] = 0
        return met


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and len(text.strip("-").replace(".", "")) <= _MANY_DIGITS


def _compare(text: bytes, bound: str) -> int:
    """Compare a number that only its decimals tell apart, as the loop does."""
    from panbayes.stream.ids.kernels.comparisons import EQUAL, GREATER, LESS, NO_NUMBER

    if len(text) > 4 * LONGEST or _ANY_NUMBER.fullmatch(text) is None:
        return NO_NUMBER
    value, other = Decimal(text.decode("ascii")), Decimal(bound)
    return LESS if value < other else GREATER if value > other else EQUAL


def which(values: Texts, texts: Sequence[str]) -> NDArray[np.int64]:
    """Say of every value which of some texts it is, by its number; −1 if none. White space is taken off the values.

    >>> which(Texts.of(["DE", " FR ", "", None, "de"]), ("FR", "DE")).tolist()
    [1, 0, -1, -1, -1]
    """
    from panbayes.stream.ids.kernels.comparisons import which_text

    wanted = Texts.of(texts)
    with canonical(values) as found:
        numbers = np.empty(found.starts.size, dtype=np.int64)
        which_text(found.data, found.starts, found.lengths, wanted.data, wanted.starts, wanted.lengths, numbers)
        values.lengths[found.lengths == 0] = 0
    return numbers


def selected(where: Where, fields: Mapping[str, object]) -> NDArray[np.bool_] | None:
    """Say which records of a batch meet all conditions; None if there are none."""
    kept: NDArray[np.bool_] | None = None
    for condition in where:
        if condition.field not in fields:
            raise InputError(
                "fields", found=f"there is no {condition.field!r}", remedy="give every field of the filter"
            )
        parts = [condition.met(values) for values in texts_of(fields[condition.field])]
        met = np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)
        if kept is not None and kept.size != met.size:
            raise InputError("fields", found="they have different lengths", remedy="give a value for every record")
        kept = met if kept is None else kept & met
    return kept


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
