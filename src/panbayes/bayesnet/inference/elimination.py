"""Eliminating attributes one by one: the cliques of a junction tree, and how they hang together.

The factors' scopes make a graph; eliminating its attributes, each time joining the neighbours of the one removed,
leaves a chordal graph whose cliques form a tree. Which attribute goes next is chosen greedily: the one that adds the
fewest edges (min-fill, ties by the cells of the clique), or the one with the smallest clique (min-weight, ties by
edges).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

__all__ = ["Heuristic", "Scope", "clique_tree", "eliminate"]

Scope: TypeAlias = tuple[int, ...]
Heuristic: TypeAlias = Literal["fill", "weight"]


def eliminate(scopes: Sequence[Scope], sizes: Sequence[int], heuristic: Heuristic) -> list[tuple[int, frozenset[int]]]:
    """Return (attribute, its neighbours when eliminated) in elimination order."""
    graph = _Graph(scopes)

    def cost(v: int) -> tuple[int, int, int]:
        fill = graph.missing(v)
        weight = math.prod([sizes[u] for u in graph.near[v]]) * sizes[v]
        return (fill, weight, v) if heuristic == "fill" else (weight, fill, v)

    costs = {v: cost(v) for v in graph.near}
    queue = list(costs.values())
    heapq.heapify(queue)
    steps: list[tuple[int, frozenset[int]]] = []
    while queue:
        entry = heapq.heappop(queue)
        v = entry[2]
        if costs.get(v) != entry:
            continue
        del costs[v]
        near, touched = graph.remove(v)
        steps.append((v, frozenset(near)))
        for u in touched:
            fresh = cost(u)
            if fresh != costs[u]:
                costs[u] = fresh
                heapq.heappush(queue, fresh)
    return steps


class _Graph:
    """Who is ``near`` whom: as sets, to go through, and as the bits of a number, to count what two have in common."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        """Join all attributes of each scope."""
        self.near: dict[int, set[int]] = {}
        for scope in scopes:
            for v in scope:
                self.near.setdefault(v, set()).update(scope)
        self._bits: dict[int, int] = {}
        for v, others in self.near.items():
            others.discard(v)
            self._bits[v] = sum(1 << u for u in others)

    def missing(self, v: int) -> int:
        """Return how many pairs of neighbours of an attribute are not joined."""
        near, bits = self.near[v], self._bits
        own = bits[v]
        return (len(near) * (len(near) - 1) - sum([(bits[u] & own).bit_count() for u in near])) // 2

    def remove(self, v: int) -> tuple[set[int], set[int]]:
        """Join the neighbours of an attribute and take it out; return them, and all to whom that makes a difference."""
        filled = self.missing(v) > 0
        near, own = self.near.pop(v), self._bits.pop(v)
        touched = set(near)
        for u in near:
            self.near[u].discard(v)
            self._bits[u] &= ~(1 << v)
            if filled:
                self.near[u] |= near
                self.near[u].discard(u)
                self._bits[u] |= own & ~(1 << u)
                touched |= self.near[u]
        return near, touched


def clique_tree(steps: Sequence[tuple[int, frozenset[int]]]) -> list[tuple[frozenset[int], frozenset[int], int]]:
    """Return (clique, separator, parent) with parents before children; components hang on clique 0 by nothing."""
    rank = {v: place for place, (v, _) in enumerate(steps)}
    nodes: list[tuple[frozenset[int], frozenset[int], int]] = []
    node_of: dict[int, int] = {}
    for v, near in reversed(steps):
        if near:
            host = node_of[min(near, key=rank.__getitem__)]
            clique, separator, parent = nodes[host]
            if clique == near:
                nodes[host] = (clique | {v}, separator, parent)
                node_of[v] = host
                continue
        else:
            host = 0 if nodes else -1
        node_of[v] = len(nodes)
        nodes.append((near | {v}, near, host))
    return nodes or [(frozenset(), frozenset(), -1)]
