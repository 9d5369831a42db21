"""Loops of a Markov field: parameters of tables into the cliques, margins of the cliques out to the tables.

A clique may hold a hundred tables. Each is first added into a *bundle*, a table over some of the clique's attributes
that holds several; then the few bundles are added into the clique. Margins go the other way. ``maps`` hold for every
cell of the larger table the number of the cell of the smaller one.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["gather_margins", "load_potentials", "tree_weight"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = NDArray[np.int32]

VANISHING: Final = -600.0
"""The logarithm below which what is a little smaller could not be told from nothing."""


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
def _clear(cells: Floats) -> None:
    for cell in range(cells.size):
        cells[cell] = 0.0


@njit(cache=True)
def load_potentials(
    base: Floats,
    highest: Floats,
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
    """Set ``potentials`` to base·exp(parameters), divided by something; return the logarithm of that.

    Every bundle is divided by its largest cell, so that no cell grows beyond the ``highest`` of the base in its clique.
    Where even the largest of a clique might vanish then, logarithms are added up, and it is divided by its largest.
    """
    _clear(bundles)
    _spread(parameters, table_start, table_maps, table_map_start, bundle_of, bundles, bundle_start)
    for cell in range(base.size):
        potentials[cell] = base[cell]
    cliques = start.size - 1
    least = np.empty(cliques)  # what the largest cell of each clique is at least
    for clique in range(cliques):
        least[clique] = math.log(highest[clique])
    tops = np.empty(clique_of.size)
    for b in range(clique_of.size):
        tops[b] = bottom = bundles[bundle_start[b]]
        for cell in range(bundle_start[b], bundle_start[b + 1]):
            tops[b] = max(tops[b], bundles[cell])
            bottom = min(bottom, bundles[cell])
        least[clique_of[b]] += bottom - tops[b]
    logarithm = 0.0
    for clique in range(cliques):
        if least[clique] < VANISHING:
            for cell in range(start[clique], start[clique + 1]):
                potentials[cell] = math.log(potentials[cell]) if potentials[cell] > 0.0 else -math.inf
    for b in range(clique_of.size):
        first = bundle_start[b]
        place = start[clique_of[b]]
        offset = bundle_map_start[b]
        many = bundle_map_start[b + 1] - offset
        if least[clique_of[b]] < VANISHING:
            for cell in range(many):
                potentials[place + cell] += bundles[first + bundle_maps[offset + cell]]
        else:
            logarithm += tops[b]
            for cell in range(first, bundle_start[b + 1]):
                bundles[cell] = math.exp(bundles[cell] - tops[b])
            for cell in range(many):
                potentials[place + cell] *= bundles[first + bundle_maps[offset + cell]]
    for clique in range(cliques):
        if least[clique] < VANISHING:
            top = -math.inf
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
    _clear(bundles)
    _sum_up(potentials, start, bundle_maps, bundle_map_start, clique_of, bundles, bundle_start)
    _clear(margins)
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
