"""Merging codes into groups by a public mapping: which value, prefix or range of codes belongs to which group.

A mapping is part of the schema: its content is hashed and travels with it, never the name of a file. It comes from a
list that panbayes has (:mod:`panbayes.schema.lists`), from a CSV or TOML file beside the schema file, or stands in the
schema itself. A value goes to the group whose name it is, else to that of the first ``value`` that is written so, else
to that of the longest ``prefix`` or ``from``–``to`` range that takes it, of equals the first.

Codes are compared in upper case. A prefix is compared without dots: ``E11`` takes ``E11.9`` and ``e119``. A range of
codes of length L is compared with what stands before a dot, cut to L places, and digits alone are filled up with zeros:
``001`` to ``139`` takes ``8``, ``008.45`` and ``00845``; ``C00`` to ``D49`` takes ``C7A.1``, and no word, because a
code must have a digit where both bounds have one, but for the last place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from panbayes.errors import InputError
from panbayes.schema.blanks import stripped
from panbayes.schema.domains import Domain, Scalar, label_text

__all__ = ["CodeMap", "CodeRange"]

MAX_RULES: Final = 100_000
_DIGITS: Final = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Which codes go to a ``group``: one ``value``, all with a ``prefix``, or a range from ``low`` to ``high``."""

    group: str
    value: str | None = None
    prefix: str | None = None
    low: str | None = None
    high: str | None = None

    def __post_init__(self) -> None:
        """Check that it says one of the three."""
        if not self.group.strip():
            raise InputError("mapping", found="found a row without a group", remedy="name the group of every row")
        given = [self.value is not None, self.prefix is not None, self.low is not None or self.high is not None]
        if sum(given) != 1 or (self.low is None) != (self.high is None):
            raise InputError(
                "mapping",
                found=f'found a row of "{self.group}" without one of value, prefix, or from and to',
                remedy="give every row one of the three",
            )
        if self.prefix is not None and not _bare(self.prefix):
            raise InputError("mapping", found="found an empty prefix", remedy="give at least one letter or digit")
        if self.low is not None and self.high is not None:
            low, high = stripped(self.low).upper(), stripped(self.high).upper()
            if len(low) != len(high) or not low or low > high or "." in low + high:
                raise InputError(
                    "mapping",
                    found=f'found a range from "{self.low}" to "{self.high}"',
                    remedy="give two codes of one length without dots, the lower one first",
                )

    def length(self, code: str) -> int:
        """Return how many places of a code the prefix or range takes, 0 if it does not take it."""
        if self.prefix is not None:
            own = _bare(self.prefix)
            return len(own) if _bare(code).startswith(own) else 0
        if self.low is None or self.high is None:
            return 0
        low, high = stripped(self.low).upper(), stripped(self.high).upper()
        head = code.partition(".")[0].upper()[: len(low)]
        head = head.rjust(len(low), "0") if set(head) <= _DIGITS else head
        places = zip(low[:-1], high, head, strict=False)
        alike = all(own in _DIGITS for first, last, own in places if first in _DIGITS and last in _DIGITS)
        return len(low) if len(head) == len(low) and low <= head <= high and alike else 0


def _bare(code: str) -> str:
    return stripped(code).replace(".", "").upper()


@dataclass(frozen=True)
class CodeMap(Domain):
    """A public mapping of codes into groups, in the order in which its rows name them.

    >>> vowels = CodeMap.of([{"value": "?", "group": "odd"}, {"prefix": "25", "group": "sugar"}])
    >>> vowels.labels, vowels.inside("250.01"), vowels.inside("sugar"), vowels.inside("9")
    (('odd', 'sugar'), 1, 1, None)
    """

    rows: tuple[CodeRange, ...]

    def __post_init__(self) -> None:
        """Check that there are rows, and no value twice."""
        if not 1 <= len(self.rows) <= MAX_RULES:
            raise InputError("mapping", found=f"found {len(self.rows)} rows", remedy=f"give 1 to {MAX_RULES:,} rows")
        values = [row.value for row in self.rows if row.value is not None]
        if len(set(values)) != len(values):
            twice = next(value for i, value in enumerate(values) if value in values[:i])
            raise InputError("mapping", found=f'found the value "{twice}" twice', remedy="give every value one group")

    @classmethod
    def of(cls, rows: Iterable[object]) -> CodeMap:
        """Make a mapping of tables that have a ``group`` and one of ``value``, ``prefix``, or ``from`` and ``to``."""
        return cls(tuple(map(_row, rows)))

    @property
    def table(self) -> list[dict[str, str]]:
        """The rows as such tables."""
        return [
            {key: text for key, text in zip(_KEYS, _texts(row), strict=True) if text is not None} for row in self.rows
        ]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The groups, in the order in which rows name them first."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    @cached_property
    def _known(self) -> dict[str, int]:
        """The code of every text that is listed as it is."""
        codes = {label: code for code, label in enumerate(self.labels)}
        values = [(row.value, codes[row.group]) for row in self.rows if row.value is not None]
        known = codes | {value: code for value, code in reversed(values) if value not in codes}
        return {stripped(text): code for text, code in reversed(known.items())} | known

    @cached_property
    def _ranges(self) -> tuple[tuple[CodeRange, int], ...]:
        return tuple((row, self.labels.index(row.group)) for row in self.rows if row.value is None)

    def inside(self, value: Scalar) -> int | None:
        """Return the code of the group that a value, or a group's name, belongs to."""
        text = label_text(value)
        for known in (text, stripped(text)):
            if known in self._known:
                return self._known[known]
        bare = stripped(text)
        length, code = 0, None
        for row, group in self._ranges:
            own = row.length(bare)
            if own > length:
                length, code = own, group
        return code


_KEYS: Final = ("value", "prefix", "from", "to", "group")


def _texts(row: CodeRange) -> tuple[str | None, ...]:
    return row.value, row.prefix, row.low, row.high, row.group


def _row(given: object) -> CodeRange:
    if not isinstance(given, dict) or not set(given) <= set(_KEYS) or "group" not in given:
        raise InputError(
            "mapping",
            found="found a row that is no such table",
            remedy='give tables such as {prefix = "250", group = "diabetes"}, or with from and to, or value',
        )
    texts = {key: text if isinstance(text, str) else label_text(text) for key, text in given.items()}
    return CodeRange(texts["group"], texts.get("value"), texts.get("prefix"), texts.get("from"), texts.get("to"))
