"""Attributes and their public domains: which values a column may hold, and the code of each.

An attribute has ``categories`` (texts, numbers or booleans) or numeric ``bins`` (k+1 edges make k bins ``[a, b)``,
the last one closed), and may declare two further values:

* ``other``: where a value outside the schema goes. Without it, such a value falls into the last category, or
  into the end bin on its side.
* ``missing``: where a missing value goes. Without it, a missing value becomes the constant ``impute``; without
  that too it counts as a value outside the schema.

So every value of every file has a code, and encoding never fails in a way that depends on the data. Code order:
categories or bins, then ``other``, then ``missing``.
"""

from __future__ import annotations

import bisect
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

from panbayes.errors import InputError, nearest
from panbayes.schema import kinds
from panbayes.schema.declaration import Key

__all__ = ["MAX_SIZE", "Attribute", "Scalar", "label_text"]

Scalar: TypeAlias = str | int | float | bool
"""A category as written: a text, a number or a boolean."""

MAX_SIZE: Final = 65_536
"""The largest domain of one attribute (codes are 8 or 16 bits)."""

SHOWN: Final = 8
"""So many values of a domain are shown at a prompt."""

_EXACT: Final = 2**53


def label_text(value: Scalar) -> str:
    """Write a category as the text it is known by; a whole float counts as its integer.

    >>> [label_text(v) for v in ("Up", 7, 7.0, 0.25, True)]
    ['Up', '7', '7', '0.25', 'true']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class Attribute:
    """One attribute: its name and its public domain.

    >>> age = Attribute("age", bins=(0, 40, 65, 120), missing="missing")
    >>> age.size, age.labels
    (4, ('[0, 40)', '[40, 65)', '[65, 120]', 'missing'))
    >>> age.code_of("70"), age.code_of("[0, 40)")
    (2, 0)
    """

    name: Annotated[str, Key(kinds.text("the name of the column"), "the name of the column")]
    categories: Annotated[
        tuple[Scalar, ...],
        Key(
            kinds.list_of((str, int, float, bool), "texts, numbers or booleans"),
            "the values it may have; either these or `bins`",
        ),
    ] = ()
    bins: Annotated[
        tuple[int | float, ...],
        Key(
            kinds.list_of((int, float), "ascending numbers, one more than there are bins"),
            "edges of intervals that include their lower edge, the last one also its upper",
        ),
    ] = ()
    other: Annotated[
        str | None,
        Key(
            kinds.label("other"),
            "a further value for whatever lies outside the schema; without it that falls into the last category, or "
            "into the end bin on its side",
        ),
    ] = None
    missing: Annotated[str | None, Key(kinds.label("missing"), "a further value for whatever is missing")] = None
    impute: Annotated[
        Scalar | None,
        Key(
            kinds.scalar("one value inside the schema"),
            "the value that a missing one gets, instead of `missing`; without either it counts as outside the schema",
        ),
    ] = None
    drafted: Annotated[
        bool | None,
        Key(
            kinds.flag(),
            "that the values were read off private data: a draft's mark; remove the line when you have put in their "
            "place what is publicly known",
            shared=False,
            added=True,
        ),
    ] = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Check everything that could make a code ambiguous; lists are taken as the tuples they stand for."""
        for key in ("categories", "bins"):
            if isinstance(getattr(self, key), str):
                raise self._error(key, "found a text", "give a list of values")
            object.__setattr__(self, key, tuple(getattr(self, key)))
        if not self.name.strip():
            raise InputError("name", found="found an empty name", remedy="give the name of the column")
        if bool(self.categories) == bool(self.bins):
            if not self.bins:
                raise InputError(
                    f'attribute "{self.name}"', found="found neither categories nor bins", remedy="give one of the two"
                )
            raise self._error("categories", "found both categories and bins", "give one of the two")
        if self.bins:
            self._check_bins()
        else:
            self._check_categories()
        domain = "bins" if self.bins else "categories"
        if self.size > MAX_SIZE:
            raise self._error(domain, f"found {self.size} values", f"at most {MAX_SIZE} are allowed")
        if len(set(self.labels)) != self.size:
            twice = Counter(self.labels).most_common(1)[0][0]
            raise self._error(domain, f'found the value "{twice}" twice', "give every value one name")
        if self.impute is not None:
            if self.missing is not None:
                raise self._error("impute", "found both missing and impute", "give one of the two")
            if self._inside(self.impute) is None:
                raise self._error("impute", f"found {self.impute!r}", "give a value inside the schema")

    def _error(self, key: str, found: str, remedy: str) -> InputError:
        return InputError(f'attribute "{self.name}", {key}', found=found, remedy=remedy)

    def _check_bins(self) -> None:
        if len(self.bins) < 2:
            raise self._error("bins", f"found {len(self.bins)} edge", "give at least two edges, in ascending order")
        if any(isinstance(e, bool) or not abs(e) <= sys.float_info.max for e in self.bins):
            raise self._error("bins", "found an edge that is not a finite number", "give finite numbers")
        if any(b <= a for a, b in pairwise(self.bins)):
            raise self._error("bins", "found edges out of order", "give every edge once, in ascending order")

    def _check_categories(self) -> None:
        kinds = {"number" if self._is_number(value) else type(value).__name__ for value in self.categories}
        if len(kinds) > 1:
            raise self._error("categories", f"found {' and '.join(sorted(kinds))} mixed", "quote them all as texts")
        if self.numeric and any(not abs(v) < _EXACT for v in self.categories if not isinstance(v, str)):
            raise self._error("categories", "found a number beyond 2^53", "quote such values as texts")

    @staticmethod
    def _is_number(value: Scalar) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    @property
    def _numbers(self) -> tuple[float, ...]:
        return tuple(float(value) for value in self.categories)

    @property
    def numeric(self) -> bool:
        """Whether values are compared as numbers: bins, or categories that are all numbers."""
        return bool(self.bins) or all(self._is_number(value) for value in self.categories)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The number that each category or bin stands for, a bin's middle; nothing if values are not numeric.

        >>> Attribute("age", bins=(0, 40, 120), missing="missing").numbers
        (20.0, 80.0)
        """
        if self.bins:
            return tuple((a + b) / 2 for a, b in pairwise(map(float, self.bins)))
        return self._numbers if self.numeric else ()

    @property
    def boolean(self) -> bool:
        """Whether the categories are false and true, which texts may spell in any case."""
        return bool(self.categories) and all(isinstance(value, bool) for value in self.categories)

    @property
    def regular(self) -> int:
        """The number of categories or bins, without ``other`` and ``missing``."""
        return len(self.categories) or len(self.bins) - 1

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.regular + (self.other is not None) + (self.missing is not None)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The text each code is known by, in code order."""
        if self.bins:
            edges = [label_text(edge) for edge in self.bins]
            regular = [f"[{a}, {b})" for a, b in pairwise(edges)]
            regular[-1] = regular[-1][:-1] + "]"
        else:
            regular = [label_text(value) for value in self.categories]
        return (*regular, *(label for label in (self.other, self.missing) if label is not None))

    @property
    def other_code(self) -> int | None:
        """The code of ``other``, if declared."""
        return self.regular if self.other is not None else None

    @property
    def missing_code(self) -> int:
        """The code a missing value gets: ``missing``, else ``impute``'s, else that of an outside value."""
        if self.missing is not None:
            return self.size - 1
        if self.impute is not None:
            inside = self._inside(self.impute)
            return self.outside_code if inside is None else inside
        return self.outside_code

    @property
    def outside_code(self) -> int:
        """The code of a value outside the schema that lies on neither side of the bins."""
        return self.regular if self.other is not None else self.regular - 1

    def _inside(self, value: Scalar) -> int | None:
        """Return the code of a value that lies inside the categories or bins, else None."""
        if not self.numeric:
            text = label_text(value).lower() if self.boolean else label_text(value)
            return next((i for i, label in enumerate(self.labels[: self.regular]) if label == text), None)
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        if self.bins:
            if not self.bins[0] <= number <= self.bins[-1]:
                return None
            return min(bisect.bisect_right(self.bins, number) - 1, self.regular - 1)
        return next((i for i, known in enumerate(self._numbers) if known == number), None)

    def code_of(self, value: Scalar) -> int | None:
        """Return the code of a label, or of a value inside the schema; None if there is none.

        For questions that people ask (evidence, targets): unlike encoding, nothing falls into ``other``.
        """
        text = label_text(value)
        if text in self.labels:
            return self.labels.index(text)
        return self._inside(value)

    def index(self, value: Scalar, *, argument: str = "value") -> int:
        """Return the code of a label or of a value inside the schema, or complain about ``argument``."""
        code = self.code_of(value)
        if code is None:
            text = label_text(value)
            raise InputError(
                argument, found=f'"{text}" is not a value of "{self.name}"', remedy=nearest(text, self.labels)
            )
        return code

    def __repr__(self) -> str:
        """Show the declaration, with a few of its values."""
        values = self.bins or self.categories
        shown = ", ".join(map(repr, values[:SHOWN])) + ("," if len(values) == 1 else "")
        shown += f", … {len(values) - SHOWN} more" if len(values) > SHOWN else ""
        further = {"other": self.other, "missing": self.missing, "impute": self.impute}
        parts = [repr(self.name), f"{'bins' if self.bins else 'categories'}=({shown})"]
        parts += [f"{key}={value!r}" for key, value in further.items() if value is not None]
        return f"Attribute({', '.join(parts)})"
