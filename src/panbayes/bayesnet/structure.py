"""The structure of a Bayesian network: for every attribute, the attributes it depends on directly.

A structure is public: it is agreed upon, or it has been released. It is a directed acyclic graph over the positions
``0 … N−1`` of a schema's attributes, written as ordered pairs (child, parents), one pair for every attribute. The
order of the pairs is the order in which a search placed them; the order of the parents fixes the axes of the
child's table (see :mod:`panbayes.bayesnet.network`).

Thesis: Definition def_BN_structure; Definition def_BN_degree.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from panbayes.errors import InputError

__all__ = ["Family", "Structure"]

Family: TypeAlias = tuple[int, tuple[int, ...]]
"""A child and its parents, as positions of attributes."""


@dataclass(frozen=True)
class Structure:
    """Ordered (child, parents) pairs, one for every attribute ``0 … N−1``, without a cycle.

    >>> structure = Structure(((0, ()), (2, (0,)), (1, (2, 0))))
    >>> structure.degree, structure.order, structure.parents(1)
    (2, (0, 2, 1), (2, 0))
    >>> Structure(((0, (1,)), (1, (0,))))
    Traceback (most recent call last):
    ...
    panbayes.errors.InputError: structure: found a cycle through attributes 0, 1; remove one of its arrows
    """

    pairs: tuple[Family, ...]

    def __post_init__(self) -> None:
        """Check that every attribute has one pair, that parents exist, and that there is no cycle."""
        children = [child for child, _ in self.pairs]
        size = len(children)
        if not children:
            raise _error("found no attribute", "give one pair (child, parents) for every attribute")
        if sorted(children) != list(range(size)):
            raise _error(
                "found an attribute that is missing or given twice",
                f"give one pair for each of the attributes 0 to {size - 1}",
            )
        for child, parents in self.pairs:
            if len(set(parents)) != len(parents) or child in parents:
                raise _error(f"found attribute {child} with a parent twice, or itself", "give every parent once")
            if any(not 0 <= parent < size for parent in parents):
                raise _error(f"found attribute {child} with an unknown parent", f"parents are 0 to {size - 1}")
        stuck = sorted(set(range(size)) - set(self.order))
        if stuck:
            on_cycle = ", ".join(map(str, self._cycle(stuck)))
            raise _error(f"found a cycle through attributes {on_cycle}", "remove one of its arrows")

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, Sequence[int]]]) -> Structure:
        """Make a structure from any pairs of integers."""
        return cls(tuple((int(child), tuple(int(parent) for parent in parents)) for child, parents in pairs))

    @classmethod
    def independent(cls, size: int) -> Structure:
        """Return the structure without any arrow: all attributes independent."""
        return cls(tuple((child, ()) for child in range(size)))

    def __len__(self) -> int:
        """Count the attributes."""
        return len(self.pairs)

    @cached_property
    def _parents(self) -> tuple[tuple[int, ...], ...]:
        by_child = dict(self.pairs)
        return tuple(by_child[child] for child in range(len(self.pairs)))

    def parents(self, child: int) -> tuple[int, ...]:
        """Return the parents of an attribute, in the order of its table's axes."""
        return self._parents[child]

    def children(self, parent: int) -> tuple[int, ...]:
        """Return the attributes that have this one as a parent, ascending."""
        return tuple(child for child in range(len(self)) if parent in self._parents[child])

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The arrows (parent, child), in the order of the pairs."""
        return tuple((parent, child) for child, parents in self.pairs for parent in parents)

    @property
    def degree(self) -> int:
        """The largest number of parents, k."""
        return max(len(parents) for _, parents in self.pairs)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """A topological order: every attribute after its parents, in the order of the pairs where that allows."""
        rank = {child: place for place, (child, _) in enumerate(self.pairs)}
        waiting = {child: len(parents) for child, parents in self.pairs}
        ready = [rank[child] for child, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        followers: dict[int, list[int]] = {child: [] for child in waiting}
        for parent, child in self.edges:
            followers[parent].append(child)
        order: list[int] = []
        while ready:
            placed = self.pairs[heapq.heappop(ready)][0]
            order.append(placed)
            for child in followers[placed]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    heapq.heappush(ready, rank[child])
        return tuple(order)

    def ancestors(self, attributes: Iterable[int]) -> frozenset[int]:
        """Return the attributes themselves and everything they descend from."""
        found: set[int] = set()
        todo = list(attributes)
        while todo:
            attribute = todo.pop()
            if attribute not in found:
                found.add(attribute)
                todo.extend(self._parents[attribute])
        return frozenset(found)

    def _cycle(self, stuck: list[int]) -> list[int]:
        """Walk upwards among attributes that never became ready; the walk must close a cycle."""
        inside = set(stuck)
        walk = [stuck[0]]
        while True:
            step = next(parent for parent in self._parents[walk[-1]] if parent in inside)
            if step in walk:
                return sorted(walk[walk.index(step) :])
            walk.append(step)


def _error(found: str, remedy: str) -> InputError:
    return InputError("structure", found=found, remedy=remedy)
