"""Which tables of a question share a radius of noise, under pure privacy.

Noise of one radius (:mod:`panbayes.dp.one_radius`) costs a group of tables as much as all of them lose together,
however many they are, and its radius grows with their dimensions D: a cell of a table of k cells then has noise of
about D·s/k, s = Δ/ε of the group. So tables of about as many cells go together, and of weights that are not further
apart than by :data:`_APART`; large ones would drown small ones. The radius is at least D/2, so a group of several loses
about Δ at most, the most by which one person moves a table: what a question may lose beyond that is divided among more
groups, of as many tables each. Where
that leaves Laplace noise the smaller one, as in tables of hundreds of cells or at a large ε, cells get that.

All of it follows from the shapes of the tables, their weights and the loss of the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.privacy.events import OneRadius
from panbayes.privacy.loss import Loss

__all__ = ["Sharing", "sharing"]

_LARGEST: Final = 512
"""Cells of a table that shares a radius, at most; holders refuse larger ones."""

_APART: Final = 2
"""The largest weight of a group is at most so many times its smallest."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Tables that share a radius: their ``places`` in the question, their cells, and the ``event`` of their noise."""

    places: tuple[int, ...]
    cells: tuple[int, ...]
    event: OneRadius
    balanced: bool

    def law(self, cells: int, *, holders: int = 1) -> NoiseLaw:
        """Return the law of the noise of a cell of one of the tables, which has so many ``cells``."""
        whole = sum(self.cells) - (len(self.cells) if self.balanced else 0)
        return NoiseLaw.of_radius(self.event, cells, dimensions=whole, balanced=self.balanced, holders=holders)


def sharing(
    cells: Sequence[int], weights: Sequence[int], *, loss: Loss, moved: int, balanced: bool
) -> tuple[Sharing, ...]:
    """Return which tables of so many ``cells`` share a radius; the others are noisy cell by cell.

    The question has this pure ``loss``, which is divided by ``weights``; one person moves a table by ``moved`` in L1.
    """
    whole = sum(weights)
    found = []
    for alike in _alike(cells, weights):
        part = loss.amount * Fraction(sum(weights[t] for t in alike), whole)
        most = Fraction(moved, 2) if balanced else Fraction(moved)
        many = min(len(alike), max(1, math.ceil(part / most)))
        for number in range(many):
            places = alike[number * len(alike) // many : (number + 1) * len(alike) // many]
            own = loss.amount * Fraction(sum(weights[t] for t in places), whole)
            group = Sharing(tuple(places), tuple(cells[t] for t in places), OneRadius(moved / own, moved), balanced)
            if _is_less(group, [float(loss.amount * Fraction(weights[t], whole)) for t in places]):
                found.append(group)
    return tuple(found)


def _alike(cells: Sequence[int], weights: Sequence[int]) -> list[list[int]]:
    """Put tables together whose cells have as many binary digits and whose weights are alike."""
    order = sorted(
        (t for t in range(len(cells)) if 1 < cells[t] <= _LARGEST),
        key=lambda t: (cells[t].bit_length(), weights[t], t),
    )
    found: list[list[int]] = []
    for t in order:
        group = found[-1] if found else []
        same = group and cells[group[0]].bit_length() == cells[t].bit_length()
        if same and weights[t] <= _APART * weights[group[0]]:
            group.append(t)
        else:
            found.append([t])
    return found


def _is_less(group: Sharing, losses: Sequence[float]) -> bool:
    """Tell whether noise of one radius is no more than Laplace noise on each table at its own of the ``losses``.

    Balanced noise has none in the sum of a table, so its k cells have that of k − 1.
    """
    shared = apart = 0.0
    for cells, own in zip(group.cells, losses, strict=True):
        deviation = group.law(cells).deviation
        shared += cells * deviation**2 * (cells / (cells - 1) if group.balanced else 1.0)
        apart += cells * 2 * (group.event.l1 / own) ** 2
    return shared <= apart
