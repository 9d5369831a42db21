"""Loops of a Markov field: parameters of tables into the cliques, margins of the cliques out to the tables.

A clique may hold a hundred tables. Each is first added into a *bundle*, a table over some of the clique's attributes
that holds several; then the few bundles are added into the clique. Margins go the other way. ``maps`` hold for every
cell of the larger table the number of the cell of the smaller one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["gather_margins", "load_potentials", "tree_weight"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = NDArray[np.int32]


@njit(cache=True)
def _spread(
    values: Floats, value_start: Ints, maps: Cells, map_start: Ints, host: Ints, out: Floats, out_start: Ints
) -> None:
    for t in range(host.size):
        place = out_start[host[t]]
        first = value_start[t]
        offset = map_start[t]
        for cell in range(map_start[t + 1] - offset):
            out[place + cell] += values[first + maps[offset + cell]]


@njit(cache=True)
def _sum_up(
    values: Floats, value_start: Ints, maps: Cells, map_start: Ints, host: Ints, out: Floats, out_start: Ints
) -> None:
    for t in range(host.size):
        place = value_start[host[t]]
        first = out_start[t]
        offset = map_start[t]
        for cell in range(map_start[t + 1] - offset):
            out[first + maps[offset + cell]] += values[place + cell]


@njit(cache=True)
def load_potentials(
    base: Floats,
    start: Ints,
    parameters: Floats,
    table_start: Ints,
    table_maps: Cells,
    table_map_start: Ints,
    bundle_of: Ints,
    bundles: Floats,
    bundle_start: Ints,
    bundle_maps: Cells,
    bundle_map_start: Ints,
    clique_of: Ints,
    potentials: Floats,
) -> float:
    """Set ``potentials`` to exp(base + parameters), each clique over its largest; return the logarithm of those."""
    bundles[:] = 0.0
    _spread(parameters, table_start, table_maps, table_map_start, bundle_of, bundles, bundle_start)
    potentials[:] = base
    _spread(bundles, bundle_start, bundle_maps, bundle_map_start, clique_of, potentials, start)
    logarithm = 0.0
    for clique in range(start.size - 1):
        top = -np.inf
        for cell in range(start[clique], start[clique + 1]):
            top = max(top, potentials[cell])
        for cell in range(start[clique], start[clique + 1]):
            potentials[cell] = math.exp(potentials[cell] - top)
        logarithm += top
    return logarithm


@njit(cache=True)
def gather_margins(
    potentials: Floats,
    start: Ints,
    clique_of: Ints,
    bundles: Floats,
    bundle_start: Ints,
    bundle_maps: Cells,
    bundle_map_start: Ints,
    bundle_of: Ints,
    table_start: Ints,
    table_maps: Cells,
    table_map_start: Ints,
    margins: Floats,
) -> None:
    """Sum calibrated cliques into the ``margins`` of all tables."""
    bundles[:] = 0.0
    _sum_up(potentials, start, bundle_maps, bundle_map_start, clique_of, bundles, bundle_start)
    margins[:] = 0.0
    _sum_up(bundles, bundle_start, table_maps, table_map_start, bundle_of, margins, table_start)


@njit(cache=True)
def tree_weight(joined: NDArray[np.bool_], logarithms: Floats) -> float:
    """Return how many cells the cliques have, at most, when the lightest attribute is eliminated first.

    ``joined[a, b]`` tells whether two attributes share a table, ``logarithms`` hold the logarithms of their sizes.
    """
    count = logarithms.size
    graph = joined.copy()
    left = np.ones(count, np.bool_)
    weights = np.empty(count)
    stale = np.ones(count, np.bool_)
    total = 0.0
    for _ in range(count):
        chosen = -1
        least = np.inf
        for v in range(count):
            if left[v]:
                if stale[v]:  # only those next to an eliminated attribute have changed
                    weights[v] = logarithms[v]
                    for u in range(count):
                        if graph[v, u]:
                            weights[v] += logarithms[u]
                    stale[v] = False
                if weights[v] < least:
                    least = weights[v]
                    chosen = v
        total += math.exp(least)
        left[chosen] = False
        for a in range(count):
            if graph[chosen, a]:
                stale[a] = True
                for b in range(count):
                    if graph[chosen, b] and a != b:
                        graph[a, b] = True
        for a in range(count):
            graph[a, chosen] = False
            graph[chosen, a] = False
    return total
