"""Hill climbing: from a structure, one arrow at a time, as long as the penalised likelihood grows.

A move adds an arrow, removes one or turns one around; no attribute gets more than ``degree`` parents and there is never
a cycle. The score is the Bayesian information criterion, which is a sum over attributes, so a move needs the scores of
one or two attributes only. Every (attribute, parents) is scored once. The best move is taken, on a tie the first in
the order of (kind, parent, child); each raises the score, so the climb ends.

Thesis: section section_learning_BNs, "heuristic (local-search) algorithms".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.learning.bic import bic_gains
from panbayes.bayesnet.structure import Family, Structure
from panbayes.errors import InputError

__all__ = ["hill_climbing"]

Parents: TypeAlias = tuple[int, ...]
Change: TypeAlias = dict[int, Parents]
"""The attributes whose parents a move changes, with their new parents (ascending)."""

MIN_GAIN: Final = 1e-12
"""A gain per record below this is rounding, not progress."""


class _Gains:
    """The gain of every (child, parents) over no parents, scored when first asked for, all neighbours at once."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._known: dict[Family, float] = {}

    def prepare(self, child: int, parent_sets: Iterator[Parents]) -> None:
        fresh = sorted({parents for parents in parent_sets if parents and (child, parents) not in self._known})
        if fresh:
            gains = bic_gains(self._counts, fresh, (child,))[:, 0]
            self._known.update(((child, parents), float(gain)) for parents, gain in zip(fresh, gains, strict=True))

    def __call__(self, child: int, parents: Parents) -> float:
        return self._known[child, parents] if parents else 0.0


def hill_climbing(counts: Counts, degree: int, *, start: Structure | None = None) -> Structure:
    """Climb from ``start`` (by default no arrows) to a structure that no single move improves."""
    attributes = len(counts.sizes)
    if not 0 <= degree < max(attributes, 1):
        raise InputError("degree", found=f"found {degree}", remedy=f"give 0 to {max(attributes - 1, 0)}")
    first = start or Structure.independent(attributes)
    parents = [tuple(sorted(first.parents(child))) for child in range(attributes)]
    score = _Gains(counts)
    for child in range(attributes):
        score.prepare(child, _neighbours(parents[child], child, attributes, degree))
    while True:
        best, gained = None, MIN_GAIN
        for change in _moves(parents, degree):
            gain = sum(score(child, new) - score(child, parents[child]) for child, new in change.items())
            if gain > gained:
                best, gained = change, gain
        if best is None:
            return Structure.of((child, parents[child]) for child in _order(parents))
        for child, new in best.items():
            parents[child] = new
            score.prepare(child, _neighbours(new, child, attributes, degree))


def _neighbours(parents: Parents, child: int, attributes: int, degree: int) -> Iterator[Parents]:
    """Yield the parent sets that one move can give to a child, and the one it has."""
    yield parents
    for other in range(attributes):
        if other in parents:
            yield tuple(p for p in parents if p != other)
        elif other != child and len(parents) < degree:
            yield tuple(sorted((*parents, other)))


def _moves(parents: list[Parents], degree: int) -> Iterator[Change]:
    """Yield every move that keeps the degree and makes no cycle: additions, removals, turns."""
    attributes = len(parents)
    reach = _reachable(parents)
    for parent in range(attributes):
        for child in range(attributes):
            room = len(parents[child]) < degree
            if child != parent and parent not in parents[child] and room and not reach[child, parent]:
                yield {child: tuple(sorted((*parents[child], parent)))}
    for child in range(attributes):
        for parent in parents[child]:
            yield {child: tuple(p for p in parents[child] if p != parent)}
    for child in range(attributes):
        for parent in parents[child]:
            around = any(reach[parent, other] for other in parents[child] if other != parent)
            if len(parents[parent]) < degree and not around:
                without = tuple(p for p in parents[child] if p != parent)
                yield {child: without, parent: tuple(sorted((*parents[parent], child)))}


def _reachable(parents: list[Parents]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return whether there is a path from the row's attribute to the column's, along the arrows."""
    reach = np.zeros((len(parents), len(parents)), dtype=np.bool_)
    for child in _order(parents):
        for parent in parents[child]:
            reach[parent, child] = True
            reach[:, child] |= reach[:, parent]
    return reach


def _order(parents: list[Parents]) -> tuple[int, ...]:
    return Structure.of(enumerate(parents)).order
