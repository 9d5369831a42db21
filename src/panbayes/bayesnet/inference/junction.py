"""Junction trees: cliques of attributes, joined so that exact inference needs only two passes over their tables.

The cliques come from eliminating the attributes one by one (:mod:`panbayes.bayesnet.inference.elimination`), in two
orders, of which the one with fewer cells in total is kept. A message goes through all cells of the parent, so every
clique hangs on the smallest that came before it and contains its separator; any of these makes a junction tree, for
what is not in the separator came into no clique before.

Layout. Clique 0 is a root and every clique's parent has a lower number, so a pass upwards is a loop downwards. A
clique's axes begin with its separator (what it shares with its parent), so that its table is a matrix of separator
rows × residual columns: a message is a row sum, and a row is a conditional distribution to sample from.

Thesis: "inference" in Section "Basic Definitions" of Bayesian networks asks for the answers; the method is Lauritzen
and Spiegelhalter's (1988).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.elimination import Heuristic, Scope, clique_tree, eliminate
from panbayes.errors import InputError

__all__ = ["MAX_CELLS", "JunctionTree", "compile_tree", "load_factors"]

MAX_CELLS: Final = 1 << 24
"""The most cells a junction tree may have in total (128 MB of probabilities, and as much again of index maps)."""


@dataclass(frozen=True, slots=True, eq=False)
class JunctionTree:
    """A compiled tree over some of the attributes.

    ``cliques[c]`` is the scope of clique c, separator first; ``parent[c]`` its parent (−1 for clique 0);
    ``start[c]`` where its cells begin in the flat potentials; ``rows[c]`` the cells of its separator.
    ``row_start[c]`` is where its separator's messages lie. ``map_start[c]`` is where, in ``maps``, the separator row
    of every cell of the *parent* of c begins. ``home[v]``, ``outer[v]``, ``inner[v]`` say in which clique attribute
    v is looked up and the products of sizes before and after its axis there (home −1: not in this tree).
    ``having[v]`` lists the cliques with attribute v.
    """

    sizes: NDArray[np.int64]
    cliques: tuple[Scope, ...]
    parent: NDArray[np.int64]
    start: NDArray[np.int64]
    rows: NDArray[np.int64]
    row_start: NDArray[np.int64]
    maps: NDArray[np.int32]
    map_start: NDArray[np.int64]
    home: NDArray[np.int64]
    outer: NDArray[np.int64]
    inner: NDArray[np.int64]
    having: tuple[tuple[int, ...], ...]

    @property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return int(self.start[-1])

    def containing(self, scope: Scope) -> int | None:
        """Return the smallest clique that contains the scope, if there is one."""
        candidates = self.having[scope[0]] if scope else (0,)
        found = [c for c in candidates if set(scope).issubset(self.cliques[c])]
        return min(found, key=lambda c: int(self.start[c + 1] - self.start[c]), default=None)

    def joint(self, potentials: FloatArray, scope: Scope) -> FloatArray:
        """Return the joint law of attributes that share a clique, from calibrated cliques; axes as in the scope."""
        clique = self.containing(scope)
        if clique is None:
            raise ValueError("the attributes share no clique")
        members = self.cliques[clique]
        table = potentials[self.start[clique] : self.start[clique + 1]].reshape(self.shape(clique))
        summed = table.sum(axis=tuple(axis for axis, v in enumerate(members) if v not in scope))
        left = [v for v in members if v in scope]
        return np.asarray(summed / summed.sum()).transpose([left.index(v) for v in scope])

    def shape(self, clique: int) -> tuple[int, ...]:
        """Return the shape of a clique's table."""
        return tuple(int(self.sizes[v]) for v in self.cliques[clique])


def _cells(scope: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[v] for v in scope)


def compile_tree(
    scopes: Sequence[Scope],
    sizes: Sequence[int],
    *,
    lightest: Sequence[int] | None = None,
    max_cells: int = MAX_CELLS,
) -> JunctionTree:
    """Compile a tree in which every scope lies inside some clique.

    ``sizes`` holds the domain size of every attribute that may occur. The tree is the lightest that was found, were
    attributes of the sizes ``lightest`` if these are others. Refuses, before any table is allocated, when the cliques
    would exceed ``max_cells``.
    """
    heuristics: tuple[Heuristic, ...] = ("fill", "weight")
    weighed = sizes if lightest is None else lightest
    trees = [clique_tree(eliminate(scopes, weighed, heuristic)) for heuristic in heuristics]
    found = min(trees, key=lambda tree: sum(_cells(clique, weighed) for clique, _, _ in tree))
    cells = [_cells(clique, sizes) for clique, _, _ in found]
    nodes = _on_smallest(found, cells)
    map_cells = sum(cells[parent] for _, _, parent in nodes if parent >= 0)
    if sum(cells) > max_cells or map_cells > 4 * max_cells:
        worst = max(range(len(nodes)), key=cells.__getitem__)
        raise InputError(
            "network",
            found=f"exact inference needs a clique of {len(nodes[worst][0])} attributes with {cells[worst]:.3g} cells "
            f"({sum(cells):.3g} cells in all, at most {max_cells} are allowed)",
            remedy="give more evidence, ask for fewer attributes together, or learn a network of lower degree",
        )
    return _laid_out(nodes, cells, sizes)


def _on_smallest(
    nodes: Sequence[tuple[frozenset[int], frozenset[int], int]], cells: Sequence[int]
) -> list[tuple[frozenset[int], frozenset[int], int]]:
    """Hang every clique on the smallest before it that contains its separator."""
    having: dict[int, list[int]] = {}
    found = []
    for c, (clique, separator, parent) in enumerate(nodes):
        host = parent
        if separator:
            rarest = min((having[v] for v in separator), key=len)
            host = min((h for h in rarest if separator <= nodes[h][0]), key=cells.__getitem__)
        found.append((clique, separator, host))
        for v in clique:
            having.setdefault(v, []).append(c)
    return found


def _laid_out(
    nodes: Sequence[tuple[frozenset[int], frozenset[int], int]], cells: Sequence[int], sizes: Sequence[int]
) -> JunctionTree:
    cliques = tuple((*sorted(separator), *sorted(clique - separator)) for clique, separator, _ in nodes)
    parent = np.array([host for _, _, host in nodes], dtype=np.int64)
    rows = np.array([_cells(separator, sizes) for _, separator, _ in nodes], dtype=np.int64)
    map_sizes = [cells[host] if host >= 0 else 0 for _, _, host in nodes]
    maps = [_row_map(cliques[host], sorted(separator), sizes) for _, separator, host in nodes if host >= 0]
    home = np.full(len(sizes), -1, dtype=np.int64)
    outer = np.ones(len(sizes), dtype=np.int64)
    inner = np.ones(len(sizes), dtype=np.int64)
    having: list[list[int]] = [[] for _ in sizes]
    for c, clique in enumerate(cliques):
        for axis, v in enumerate(clique):
            having[v].append(c)
            if home[v] < 0 or cells[c] < cells[home[v]]:
                home[v] = c
                outer[v] = _cells(clique[:axis], sizes)
                inner[v] = _cells(clique[axis + 1 :], sizes)
    return JunctionTree(
        sizes=np.array(sizes, dtype=np.int64),
        cliques=cliques,
        parent=parent,
        start=_starts(cells),
        rows=rows,
        row_start=_starts(rows.tolist()),
        maps=np.concatenate([np.zeros(0, dtype=np.int32), *maps]),
        map_start=_starts(map_sizes),
        home=home,
        outer=outer,
        inner=inner,
        having=tuple(map(tuple, having)),
    )


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)


def _row_map(clique: Scope, separator: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Return, for every cell of a clique, the number of the separator row it belongs to."""
    index = np.zeros((1,) * len(clique), dtype=np.int32)
    for v in separator:
        along = [1] * len(clique)
        along[clique.index(v)] = sizes[v]
        index = index * np.int32(sizes[v]) + np.arange(sizes[v], dtype=np.int32).reshape(along)
    return np.broadcast_to(index, [sizes[v] for v in clique]).ravel()


def load_factors(tree: JunctionTree, scopes: Sequence[Scope], factors: Sequence[FloatArray]) -> FloatArray:
    """Multiply every factor into a clique that contains its scope; returns the flat potentials."""
    potentials = np.ones(tree.cells)
    for scope, factor in zip(scopes, factors, strict=True):
        clique = tree.containing(scope)
        if clique is None:
            raise ValueError("the tree was compiled for other scopes")
        order = sorted(range(len(scope)), key=lambda axis: tree.cliques[clique].index(scope[axis]))
        inside = set(scope)
        shape = [int(tree.sizes[v]) if v in inside else 1 for v in tree.cliques[clique]]
        view = potentials[tree.start[clique] : tree.start[clique + 1]].reshape(tree.shape(clique))
        view *= factor.transpose(order).reshape(shape)
    return potentials
