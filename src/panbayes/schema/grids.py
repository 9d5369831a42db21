"""Public grids: domains fine enough to look for the ones that a column needs, made without looking at it.

Whoever knows nothing at all about a column of numbers has the edges ±1, ±2, ±5 times every power of ten, and 0
(:func:`decades`): they cover all finite numbers a computer has, three cells to a factor of ten. Whoever knows where
values lie gives the ends and a step (:func:`steps`); dates have their calendar (:func:`calendar`). What lies beyond a
grid falls into the cell at that end, what is no number or date is ``missing``, as under any schema.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Final

from panbayes.errors import InputError
from panbayes.schema.attribute import MAX_SIZE, Attribute
from panbayes.schema.code_map import CodeMap
from panbayes.schema.domains import label_text
from panbayes.schema.public_list import public_lists

__all__ = ["MISSING", "OTHER", "calendar", "code_groups", "decade_edges", "decades", "free_label", "listed", "steps"]

MISSING: Final = "missing"
"""Where values go that are none."""

OTHER: Final = "other"
"""Where values go that are not on a list."""

_YEARS: Final = ("1900", "2100")


@cache
def decade_edges() -> tuple[float, ...]:
    """Return 0 and ±1, ±2, ±5 times every power of ten that a float can hold, in order.

    >>> edges = decade_edges()
    >>> len(edges), edges[0], edges[-1], edges[edges.index(1.0) - 1 : edges.index(1.0) + 4]
    (3699, -1e+308, 1e+308, (0.5, 1.0, 2.0, 5.0, 10.0))
    """
    above = [float(f"{digit}e{power}") for power in range(-308, 308) for digit in (1, 2, 5)] + [1e308]
    return (*(-edge for edge in reversed(above)), 0.0, *above)


def decades(column: str) -> Attribute:
    """Return the grid of somebody who knows nothing about a column of numbers."""
    return Attribute(column, bins=decade_edges(), missing=MISSING)


def steps(column: str, *, low: Fraction, high: Fraction, step: Fraction) -> Attribute:
    """Return the grid from ``low`` to ``high`` in equal steps; edges are whole numbers where all of them are whole.

    >>> steps("age", low=Fraction(0), high=Fraction(120), step=Fraction(40)).bins
    (0, 40, 80, 120)
    """
    if not low < high:
        raise InputError("high", found=f"found {float(high):g}, not above the low end", remedy="give a higher one")
    if step <= 0 or (high - low) / step != (high - low) // step:
        raise InputError("step", found=f"found {step}", remedy="give a step that divides the range into equal parts")
    cells = int((high - low) / step)
    if not 2 <= cells < MAX_SIZE:
        raise InputError(
            "step", found=f"makes {cells:,} cells", remedy=f"give one that makes 2 to {MAX_SIZE - 1:,} of them"
        )
    edges = [low + step * place for place in range(cells + 1)]
    whole = low.denominator == step.denominator == 1
    return Attribute(column, bins=tuple(int(edge) if whole else float(edge) for edge in edges), missing=MISSING)


def calendar(
    column: str, period: str, *, low: str | None = None, high: str | None = None, form: str | None = None
) -> Attribute:
    """Return the grid of the periods from ``low`` to ``high``, by default of the years 1900 to 2100.

    >>> calendar("born", "year").between, calendar("seen", "month", low="2020-01", high="2021-03").regular
    (('1900', '2100'), 15)
    """
    if period in ("weekday", "hour"):
        raise InputError("period", found=f'found "{period}"', remedy="it has no bounds; write it into the schema")
    between = (low or f"{_YEARS[0]}-01-01", high or f"{_YEARS[1]}-12-31")
    return Attribute(column, period=period, between=between, format=form, missing=MISSING)


def listed(column: str, values: tuple[str, ...]) -> Attribute:
    """Return the domain of a public list of values; those that are all whole numbers count as such.

    >>> listed("ward", ("3", "12")).categories, listed("code", ("03", "12")).categories
    ((3, 12), ('03', '12'))
    """
    whole = all(text.lstrip("-").isdecimal() and label_text(int(text)) == text for text in values)
    categories = tuple(map(int, values)) if whole else values
    other, missing = (free_label(label, values) for label in (OTHER, MISSING))
    return Attribute(column, categories=categories, other=other, missing=missing)


def code_groups(column: str, groups: str | CodeMap) -> Attribute:
    """Return the domain of the groups of a mapping, or of a list that panbayes has, by its name."""
    found = public_lists()[groups].groups if isinstance(groups, str) else groups
    other, missing = (free_label(label, found.labels) for label in (OTHER, MISSING))
    return Attribute(column, mapping=found, other=other, missing=missing)


def free_label(label: str, taken: tuple[str, ...]) -> str:
    """Return a label that is not on the list."""
    while label in taken:
        label = f"({label})"
    return label
