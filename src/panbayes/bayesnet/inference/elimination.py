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
from itertools import combinations
from typing import Literal, TypeAlias

__all__ = ["Heuristic", "Scope", "clique_tree", "eliminate"]

Scope: TypeAlias = tuple[int, ...]
Heuristic: TypeAlias = Literal["fill", "weight"]


def _neighbours(scopes: Iterable[Scope]) -> dict[int, set[int]]:
    graph: dict[int, set[int]] = {}
    for scope in scopes:
        for v in scope:
            graph.setdefault(v, set()).update(scope)
    for v, others in graph.items():
        others.discard(v)
    return graph


def eliminate(scopes: Sequence[Scope], sizes: Sequence[int], heuristic: Heuristic) -> list[tuple[int, frozenset[int]]]:
    """Return (attribute, its neighbours when eliminated) in elimination order."""
    graph = _neighbours(scopes)

    def cost(v: int) -> tuple[float, float, int]:
        near = graph[v]
        fill = sum(1 for a, b in combinations(near, 2) if b not in graph[a])
        weight = math.log(sizes[v]) + sum(math.log(sizes[u]) for u in near)
        return (fill, weight, v) if heuristic == "fill" else (weight, fill, v)

    costs = {v: cost(v) for v in graph}
    queue = list(costs.values())
    heapq.heapify(queue)
    steps: list[tuple[int, frozenset[int]]] = []
    while queue:
        entry = heapq.heappop(queue)
        v = entry[2]
        if costs.get(v) != entry:
            continue
        near = graph.pop(v)
        del costs[v]
        steps.append((v, frozenset(near)))
        touched = set(near)
        filled = False
        for u in near:
            graph[u].discard(v)
        for a, b in combinations(near, 2):
            if b not in graph[a]:
                graph[a].add(b)
                graph[b].add(a)
                filled = True
        if filled:
            for u in near:
                touched |= graph[u]
        for u in touched:
            fresh = cost(u)
            if fresh != costs[u]:
                costs[u] = fresh
                heapq.heappush(queue, fresh)
    return steps


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
