"""The joint laws of all pairs of attributes of a field, from one calibrated junction tree.

Two attributes meet in the clique highest up that parts them. What is below it is known there by what it says given a
separator: with S the separator of a child d and a an attribute below it,

    P(a, b) = Σ_{S, S'} P(a | S) · P(S, S') · P(b | S')

for b below another child with separator S', and P(S, S') is a sum over the cells of the clique. An attribute that
comes in with the clique itself is one more such *source*, with itself as separator. Going up from the leaves, sources
meet, and what all of them say given the separator of the clique becomes a source of its parent:

    P(a | S_up) = Σ_S P(a | S) · P(S, S_up) / P(S_up).

So no pair is computed twice, and every sum goes over the few attributes of two separators instead of the whole tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.elimination import Scope
from panbayes.bayesnet.inference.junction import JunctionTree

__all__ = ["pair_laws"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """What some groups say of themselves: ``given[s, g]`` is the probability of ``groups[g]`` where S is in cell s."""

    separator: Scope
    groups: Ints
    given: Floats

    def beside(self, other: _Source) -> _Source:
        """Return both as one, of the same separator."""
        groups = np.concatenate([self.groups, other.groups])
        return _Source(self.separator, groups, np.concatenate([self.given, other.given], axis=1))


def pair_laws(tree: JunctionTree, calibrated: FloatArray) -> FloatArray:
    """Return the joint probabilities of all pairs of attributes, all in one square matrix.

    ``calibrated`` holds the joint law of every clique. An attribute that is in none of them has one group.
    """
    start = np.concatenate([[0], np.cumsum(tree.sizes)])
    found = np.zeros((int(start[-1]), int(start[-1])))
    law = np.ones(int(start[-1]))
    below: list[list[_Source]] = [[] for _ in tree.cliques]
    for number in range(len(tree.cliques) - 1, -1, -1):
        clique = _Clique.of(tree, number, calibrated)
        sources: dict[Scope, _Source] = {}
        for source in (*clique.sources(start), *below[number]):
            for other in sources.values():
                _meet(clique, source, other, found)
            known = sources.get(source.separator)
            sources[source.separator] = source if known is None else known.beside(source)
        below[number] = []  # they are in the sources now, and would take most of the memory
        for source in sources.values():
            law[source.groups] = clique.law(source.separator) @ source.given
        if number:
            below[int(tree.parent[number])].append(_passed_up(clique, list(sources.values())))
    np.fill_diagonal(found, law)  # a group never meets another of its own attribute
    alone = np.repeat(tree.home < 0, tree.sizes)
    found[alone] = law
    found[:, alone] = law[:, None]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Clique:
    """The joint law of some ``members``, of which those ``above`` are in the parent too."""

    members: Scope
    above: Scope
    joint: FloatArray

    @classmethod
    def of(cls, tree: JunctionTree, number: int, calibrated: FloatArray) -> _Clique:
        """Return a clique of a tree."""
        members = tree.cliques[number]
        hosts = tree.cliques[int(tree.parent[number])] if number else ()
        joint = calibrated[tree.start[number] : tree.start[number + 1]].reshape(tree.shape(number))
        return cls(members, tuple(v for v in members if v in hosts), joint)

    def sources(self, start: Ints) -> list[_Source]:
        """Return what members that are not in the parent say of themselves; groups are numbered from ``start`` on."""
        return [
            _Source((v,), np.arange(start[v], start[v + 1]), np.eye(size))
            for v, size in zip(self.members, self.joint.shape, strict=True)
            if v not in self.above
        ]

    def law(self, scope: Scope) -> FloatArray:
        """Return the joint law of some members, cell by cell."""
        together, cells, _ = self.meeting(scope, ())
        found = np.empty(together.size)
        found[cells] = together
        return found

    def meeting(self, one: Scope, other: Scope) -> tuple[FloatArray, Ints, Ints]:
        """Return the joint law of two scopes, and of each of its cells which cell of either scope it is in."""
        either = {*one, *other}
        left = [v for v in self.members if v in either]
        table = self.joint.sum(axis=tuple(axis for axis, v in enumerate(self.members) if v not in either))
        first, second = (
            np.broadcast_to(_numbered(scope, left, table.shape), table.shape).flatten() for scope in (one, other)
        )
        return table.ravel(), first, second


def _numbered(scope: Scope, axes: Sequence[int], shape: Sequence[int]) -> Ints:
    """Return the number of the cell of a ``scope`` along the axes of a table."""
    index = np.zeros((1,) * len(axes), dtype=np.int64)
    for v in scope:
        axis = axes.index(v)
        along = np.arange(shape[axis]).reshape([-1 if place == axis else 1 for place in range(len(axes))])
        index = index * shape[axis] + along
    return index


def _meet(clique: _Clique, one: _Source, other: _Source, found: FloatArray) -> None:
    """Set the joint laws of the groups of two sources of a clique."""
    if one.groups.size > other.groups.size:
        one, other = other, one
    together, cells, others = clique.meeting(one.separator, other.separator)
    carried = np.zeros((other.given.shape[0], one.groups.size))
    _carry(together, cells, others, one.given, carried)
    block = np.zeros((one.groups.size, other.groups.size))
    _multiply(carried, other.given, block)
    found[np.ix_(one.groups, other.groups)] = block
    found[np.ix_(other.groups, one.groups)] = block.T


def _passed_up(clique: _Clique, sources: Sequence[_Source]) -> _Source:
    """Return what all sources of a clique say given what it shares with its parent."""
    law = clique.law(clique.above)
    given = []
    for source in sources:
        together, cells, rows = clique.meeting(source.separator, clique.above)
        carried = np.zeros((law.size, source.groups.size))
        _carry(together, cells, rows, source.given, carried)
        given.append(np.divide(carried, law[:, None], out=carried, where=law[:, None] > 0))
    return _Source(clique.above, np.concatenate([source.groups for source in sources]), np.concatenate(given, axis=1))


@njit(cache=True)
def _carry(together: Floats, cells: Ints, others: Ints, given: Floats, carried: Floats) -> None:
    """Add P(S, S')·P(group | S) to ``carried[S', group]``."""
    for cell in range(together.size):
        source = given[cells[cell]]
        to = carried[others[cell]]
        for group in range(source.size):
            to[group] += together[cell] * source[group]


@njit(cache=True)
def _multiply(carried: Floats, given: Floats, block: Floats) -> None:
    """Add the product of the transposed first and the second to ``block``, in one thread."""
    for row in range(given.shape[0]):
        for first in range(block.shape[0]):
            factor = carried[row, first]
            if factor != 0.0:
                for second in range(block.shape[1]):
                    block[first, second] += factor * given[row, second]
