"""Message passing over a junction tree: the two passes of exact inference, as compiled loops over flat arrays.

``collect`` sends messages from the leaves to the root, scaling each so that its largest entry is one (tables of
evidence with tiny probability stay far from underflow) and adding up the logarithms of the scales. Afterwards every
row of a clique is proportional to the conditional distribution of its residual attributes given its separator and
the evidence below it. ``distribute`` sends messages back, after which every clique holds its joint posterior.
With maxima instead of sums, the same pass upwards finds the most probable configuration.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["collect", "distribute", "enter_evidence", "marginals", "trace_best"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True)
def enter_evidence(
    potentials: Floats, start: Ints, home: Ints, outer: Ints, inner: Ints, sizes: Ints, attributes: Ints, codes: Ints
) -> None:
    """Set the cells that contradict ``attributes[j] = codes[j]`` to zero, each in the attribute's home clique."""
    for j in range(attributes.size):
        v = attributes[j]
        place = start[home[v]]
        for _ in range(outer[v]):
            for code in range(sizes[v]):
                if code != codes[j]:
                    for cell in range(place, place + inner[v]):
                        potentials[cell] = 0.0
                place += inner[v]


@njit(cache=True)
def collect(
    potentials: Floats,
    parent: Ints,
    start: Ints,
    rows: Ints,
    row_start: Ints,
    maps: NDArray[np.int32],
    map_start: Ints,
    messages: Floats,
    by_maximum: bool,
) -> float:
    """Pass messages to the root; returns the log of the total (or largest) weight, −∞ if there is none."""
    log_scale = 0.0
    for clique in range(parent.size - 1, -1, -1):
        columns = (start[clique + 1] - start[clique]) // rows[clique]
        place = start[clique]
        first = row_start[clique]
        largest = 0.0
        for row in range(rows[clique]):
            weight = 0.0
            if by_maximum:
                for _ in range(columns):
                    weight = max(weight, potentials[place])
                    place += 1
            else:
                for _ in range(columns):
                    weight += potentials[place]
                    place += 1
            messages[first + row] = weight
            largest = max(largest, weight)
        if largest <= 0.0:
            return -np.inf
        log_scale += math.log(largest)
        for row in range(first, first + rows[clique]):
            messages[row] /= largest
        host = parent[clique]
        if host >= 0:
            offset = map_start[clique]
            top = start[host]
            largest = 0.0
            for cell in range(start[host + 1] - top):
                potentials[top + cell] *= messages[first + maps[offset + cell]]
                largest = max(largest, potentials[top + cell])
            if 0.0 < largest < 1e-100:
                # Many unlikely messages meet here: lift them before their product underflows.
                log_scale += math.log(largest)
                for cell in range(top, start[host + 1]):
                    potentials[cell] /= largest
    return log_scale


@njit(cache=True)
def distribute(
    potentials: Floats,
    parent: Ints,
    start: Ints,
    rows: Ints,
    maps: NDArray[np.int32],
    map_start: Ints,
    work: Floats,
) -> None:
    """Pass messages from the root after :func:`collect`; every clique ends as its normalised joint posterior."""
    total = 0.0
    for cell in range(start[1]):
        total += potentials[cell]
    for cell in range(start[1]):
        potentials[cell] /= total
    for clique in range(1, parent.size):
        host = parent[clique]
        top = start[host]
        offset = map_start[clique]
        count = rows[clique]
        for row in range(count):
            work[row] = 0.0
        for cell in range(start[host + 1] - top):
            work[maps[offset + cell]] += potentials[top + cell]
        columns = (start[clique + 1] - start[clique]) // count
        place = start[clique]
        for row in range(count):
            # The row's own sum, not the scaled message: the quotient is then exactly normalised.
            total = 0.0
            for cell in range(place, place + columns):
                total += potentials[cell]
            ratio = work[row] / total if total > 0.0 else 0.0
            for cell in range(place, place + columns):
                potentials[cell] *= ratio
            place += columns


@njit(cache=True)
def marginals(
    potentials: Floats, start: Ints, home: Ints, outer: Ints, inner: Ints, sizes: Ints, offsets: Ints, out: Floats
) -> None:
    """Sum the calibrated home clique of every attribute into ``out[offsets[v]:]``; absent attributes are left out."""
    for v in range(home.size):
        if home[v] < 0:
            continue
        place = start[home[v]]
        for _ in range(outer[v]):
            for code in range(sizes[v]):
                total = 0.0
                for _ in range(inner[v]):
                    total += potentials[place]
                    place += 1
                out[offsets[v] + code] += total
        # Normalised once more, so that rounding never makes a certain value more than certain.
        whole = 0.0
        for code in range(sizes[v]):
            whole += out[offsets[v] + code]
        for code in range(sizes[v]):
            out[offsets[v] + code] /= whole


@njit(cache=True)
def trace_best(
    potentials: Floats, parent: Ints, start: Ints, rows: Ints, maps: NDArray[np.int32], map_start: Ints, best: Ints
) -> None:
    """Set ``best[c]`` to the best cell of every clique after :func:`collect` by maximum (lowest cell on a tie)."""
    for clique in range(parent.size):
        columns = (start[clique + 1] - start[clique]) // rows[clique]
        row = 0
        if parent[clique] >= 0:
            row = maps[map_start[clique] + best[parent[clique]]]
        first = start[clique] + row * columns
        chosen = 0
        for column in range(1, columns):
            if potentials[first + column] > potentials[first + chosen]:
                chosen = column
        best[clique] = row * columns + chosen
