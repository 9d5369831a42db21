"""What a domain of values is, and the two plain ones: categories and bins of numbers.

Domains of dates are in :mod:`panbayes.schema.periods`, groups of codes in :mod:`panbayes.schema.code_map`.
"""

from __future__ import annotations

import bisect
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

from panbayes.errors import InputError
from panbayes.schema.blanks import stripped

__all__ = ["Bins", "Categories", "Domain", "Scalar", "bin_labels", "check_edges", "is_number", "label_text"]

Scalar: TypeAlias = str | int | float | bool
"""A category as written: a text, a number or a boolean."""

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


def is_number(value: Scalar) -> bool:
    """Tell whether a category is a number, which a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Domain(ABC):
    """The values that have a code of their own, beside ``other`` and ``missing``."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The text each code is known by, in code order."""

    @abstractmethod
    def inside(self, value: Scalar) -> int | None:
        """Return the code of a value that lies inside the domain, else None."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """The number that each code stands for; nothing if values are not numbers."""
        return ()

    @property
    def ordered(self) -> bool:
        """Whether values that are beside each other are like each other."""
        return bool(self.numbers)


@dataclass(frozen=True)
class Categories(Domain):
    """Values that are listed: texts, numbers or booleans.

    >>> Categories((1, 2.5)).inside("2.50"), Categories(("No", "Up")).inside(" Up")
    (1, 1)
    """

    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        """Check that values are of one kind, and numbers exact."""
        kinds = {"number" if is_number(value) else type(value).__name__ for value in self.values}
        if len(kinds) > 1:
            raise InputError(
                "categories", found=f"found {' and '.join(sorted(kinds))} mixed", remedy="quote them all as texts"
            )
        if self.numeric and any(not abs(value) < _EXACT for value in self.values if not isinstance(value, str)):
            raise InputError("categories", found="found a number beyond 2^53", remedy="quote such values as texts")

    @property
    def numeric(self) -> bool:
        """Whether values are compared as numbers."""
        return all(map(is_number, self.values))

    @property
    def boolean(self) -> bool:
        """Whether the values are false and true, which texts may spell in any case."""
        return all(isinstance(value, bool) for value in self.values)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The values as texts."""
        return tuple(label_text(value) for value in self.values)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values themselves, if they are numbers."""
        return tuple(float(value) for value in self.values) if self.numeric else ()

    def inside(self, value: Scalar) -> int | None:
        """Return the place of a value, written exactly so, else but for blanks around it."""
        if self.numeric:
            return _place(self.numbers, _float(value))
        text = label_text(value).lower() if self.boolean else label_text(value)
        code = _place(self.labels, text)
        code = _place(self.labels, stripped(text)) if code is None else code
        return _place([stripped(label) for label in self.labels], stripped(text)) if code is None else code


def _place(known: Sequence[object], wanted: object) -> int | None:
    return next((i for i, value in enumerate(known) if value == wanted), None)


def _float(value: Scalar) -> float | None:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def check_edges(edges: Sequence[int | float]) -> None:
    """Complain about edges that cannot be those of bins."""
    if len(edges) < 2:
        raise InputError("bins", found=f"found {len(edges)} edge", remedy="give at least two edges, in ascending order")
    if any(isinstance(e, bool) or not abs(e) <= sys.float_info.max for e in edges):
        raise InputError("bins", found="found an edge that is not a finite number", remedy="give finite numbers")
    if any(b <= a for a, b in pairwise(edges)):
        raise InputError("bins", found="found edges out of order", remedy="give every edge once, in ascending order")


def bin_labels(edges: Sequence[int | float]) -> tuple[str, ...]:
    """Name every bin by its edges.

    >>> bin_labels((0, 40, 65.5))
    ('[0, 40)', '[40, 65.5]')
    """
    labels = [f"[{a}, {b})" for a, b in pairwise(map(label_text, edges))]
    return (*labels[:-1], labels[-1][:-1] + "]")


@dataclass(frozen=True)
class Bins(Domain):
    """Intervals of numbers that include their lower edge, the last one also its upper."""

    edges: tuple[int | float, ...]

    def __post_init__(self) -> None:
        """Check the edges."""
        check_edges(self.edges)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Name every bin by its edges."""
        return bin_labels(self.edges)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The middle of every bin."""
        return tuple((a + b) / 2 for a, b in pairwise(map(float, self.edges)))

    def inside(self, value: Scalar) -> int | None:
        """Return the place of the bin that holds a number."""
        number = _float(value)
        if number is None or not self.edges[0] <= number <= self.edges[-1]:
            return None
        return min(bisect.bisect_right(self.edges, number), len(self.edges) - 1) - 1
