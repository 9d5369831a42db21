"""How a question divides its fraction of the grant among its tables.

Under zCDP k cells at a part s of the grant have noise k·σ²/s, and Σ k/s is least, with Σ s given, where s is in
proportion to √k. Of a centred table the part f is measured, and of its noise as much counts
(:func:`~panbayes.consortium.analyst.adaptive.margins.part_without_margins`): √k·f takes the place of √k. That is what
is **due** to a table.

To a single attribute of k values k^0.6 is due (:func:`alone`): noise in a cell costs bits in inverse proportion to its
count, which alone would make k due, but cells that drown in it cost no more than they hold.

Precision adds up there, so what a table has had of the grant counts: :func:`made_even` gives those most that lack most
of what is due to them, and others next to nothing, but no noise wider than :data:`_WIDEST`. Under pure privacy a table
that is measured by halves has twice the variance of one that is measured at once, and every question divides by itself,
:func:`divided`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from panbayes.bayesnet.markov.field import Axes, shape_of
from panbayes.consortium.analyst.adaptive.margins import part_without_margins
from panbayes.consortium.analyst.adaptive.noise_law import FloatArray

__all__ = ["alone", "as_weight", "divided", "filled", "made_even"]

_ALONE: Final = 0.6
_THOUSANDTHS: Final = 1000
_MILLIONTHS: Final = 10**6
_WIDEST: Final = 2.0**30
"""Half of the largest deviation that holders serve."""


def as_weight(fraction: Fraction) -> int:
    """Write a fraction of the grant as the weight of a table: in millionths, at least one."""
    return max(1, round(fraction * _MILLIONTHS))


def alone(size: int) -> float:
    """Return what is due to the table of a single attribute with so many values."""
    return float(size**_ALONE)


def divided(fraction: Fraction, tables: Sequence[Axes], *, centred: bool) -> list[int]:
    """Divide a fraction of the grant among tables, ``centred`` ones or whole, by what is due to them; as weights."""
    due = _due(tables, centred=centred)
    return [as_weight(fraction * part / sum(due)) for part in due]


def made_even(
    fraction: Fraction, tables: Sequence[Axes], had: Sequence[float], widths: Sequence[float], *, centred: bool
) -> list[int]:
    """Divide a fraction among tables that ``had`` such parts of the grant before; as weights.

    ``widths`` are the deviations of the noise that holders would answer each with at the whole grant.
    """
    due = np.array(_due(tables, centred=centred), dtype=np.float64)
    least = [math.ceil((width / _WIDEST) ** 2 * _MILLIONTHS) for width in widths]
    parts = filled(due, np.array(had), float(fraction)).tolist()
    return [max(as_weight(Fraction(part)), some) for part, some in zip(parts, least, strict=True)]


def filled(due: FloatArray, had: FloatArray, left: float) -> FloatArray:
    """Divide what is ``left`` among those that ``had`` some, so that all have in proportion to what is ``due``.

    Who had more than that gets nothing: x = (κ·due − had)₊, with κ such that Σ x is what is left.

    >>> filled(np.array([1.0, 1.0, 2.0]), np.array([0.0, 5.0, 1.0]), 5.0).tolist()
    [2.0, 0.0, 3.0]
    """
    order = np.argsort(had / due, kind="stable")
    levels = (left + np.cumsum(had[order])) / np.cumsum(due[order])  # of κ, were the first ones alone to get some
    reached = np.flatnonzero(levels >= (had / due)[order])
    return np.asarray(np.maximum(0.0, levels[reached[-1]] * due - had))


def _due(tables: Sequence[Axes], *, centred: bool) -> list[int]:
    """Return what is due to tables, in thousandths of what is due to one cell."""
    shapes = [shape_of(axes) for axes in tables]
    parts = [part_without_margins(shape) if centred and len(shape) > 1 else 1.0 for shape in shapes]
    return [
        max(1, round(_THOUSANDTHS * math.sqrt(math.prod(shape)) * part))
        for shape, part in zip(shapes, parts, strict=True)
    ]
