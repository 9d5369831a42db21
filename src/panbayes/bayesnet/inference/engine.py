"""Exact answers from a network, by position and code: posteriors, most probable configuration, conditional samples.

Two ways to a junction tree. The tree of the whole network is compiled once; evidence then only zeroes cells. Where
that tree would be too large, or a question asks for attributes jointly that share no clique, a tree is compiled for
the question: attributes that are neither asked about, nor observed, nor ancestors of such are left out (they sum
to one), and observed attributes are fixed in the factors, which cuts the graph.

Measured against pyAgrum's lazy propagation and pgmpy's variable elimination in ``bench/networks.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.balanced import draw_rows_balanced
from panbayes.bayesnet.inference.elimination import Scope
from panbayes.bayesnet.inference.junction import MAX_CELLS, JunctionTree, compile_tree, load_factors
from panbayes.bayesnet.inference.propagation import collect, distribute, enter_evidence, marginals, trace_best
from panbayes.bayesnet.inference.sampling import CodeType, cumulative_rows, draw_rows
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from panbayes.tables.codes import Codes

__all__ = ["Engine", "ZeroProbabilityError"]


class ZeroProbabilityError(Exception):
    """The evidence has probability zero."""


@dataclass(slots=True, eq=False)
class Engine:
    """Exact inference for one network. ``evidence`` is always a mapping from position to code.

    ``max_cells`` bounds the memory of a tree; with ``reuse`` false, every question gets a tree of its own. The only
    state is a cache: the compiled tree of the whole network, or None if it would be too large.
    """

    structure: Structure
    sizes: tuple[int, ...]
    tables: tuple[FloatArray, ...]
    max_cells: int = MAX_CELLS
    reuse: bool = True
    _whole: tuple[JunctionTree, FloatArray] | None = field(default=None, init=False)
    _offsets: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Lay out where every attribute's marginal goes."""
        self._offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def _scope(self, child: int) -> Scope:
        return (*self.structure.parents(child), child)

    def _whole_tree(self) -> tuple[JunctionTree, FloatArray] | None:
        if self._whole is None and self.reuse:
            scopes = [self._scope(child) for child in range(len(self.sizes))]
            try:
                tree = compile_tree(scopes, self.sizes, max_cells=self.max_cells)
                self._whole = (tree, load_factors(tree, scopes, self.tables))
            except InputError:
                self.reuse = False
        return self._whole

    def _ready(
        self, evidence: Mapping[int, int], together: Scope = (), only: Scope | None = None
    ) -> tuple[JunctionTree, FloatArray]:
        """Return a tree and its potentials with the evidence entered.

        ``together`` must share a clique; ``only`` says that nothing else will be asked for (None: everything).
        """
        whole = self._whole_tree()
        if whole is not None and (not together or whole[0].containing(together) is not None):
            tree, base = whole
            potentials = base.copy()
            enter_evidence(
                potentials,
                tree.start,
                tree.home,
                tree.outer,
                tree.inner,
                tree.sizes,
                np.fromiter(evidence.keys(), dtype=np.int64, count=len(evidence)),
                np.fromiter(evidence.values(), dtype=np.int64, count=len(evidence)),
            )
            return tree, potentials
        return self._own_tree(evidence, together, only)

    def _own_tree(
        self, evidence: Mapping[int, int], together: Scope, only: Scope | None
    ) -> tuple[JunctionTree, FloatArray]:
        asked = range(len(self.sizes)) if only is None else only
        relevant = sorted(self.structure.ancestors([*asked, *evidence]))
        scopes: list[Scope] = []
        factors: list[FloatArray] = []
        for child in relevant:
            scope = self._scope(child)
            scopes.append(tuple(v for v in scope if v not in evidence))
            factors.append(self.tables[child][tuple(evidence.get(v, slice(None)) for v in scope)])
        tree = compile_tree([*scopes, together], self.sizes, max_cells=self.max_cells)
        return tree, load_factors(tree, scopes, factors)

    def _collect(self, tree: JunctionTree, potentials: FloatArray, *, by_maximum: bool = False) -> float:
        messages = np.empty(int(tree.row_start[-1]))
        weight = collect(
            potentials,
            tree.parent,
            tree.start,
            tree.rows,
            tree.row_start,
            tree.maps,
            tree.map_start,
            messages,
            by_maximum,
        )
        if weight == -np.inf:
            raise ZeroProbabilityError
        return weight

    def _distribute(self, tree: JunctionTree, potentials: FloatArray) -> None:
        distribute(
            potentials,
            tree.parent,
            tree.start,
            tree.rows,
            tree.maps,
            tree.map_start,
            np.empty(int(tree.rows.max())),
        )

    def _marginals(self, tree: JunctionTree, potentials: FloatArray) -> tuple[FloatArray, float]:
        """Return the distributions of all attributes in the tree end to end, and the log of the total weight."""
        weight = self._collect(tree, potentials)
        self._distribute(tree, potentials)
        flat = np.zeros(int(self._offsets[-1]))
        marginals(potentials, tree.start, tree.home, tree.outer, tree.inner, tree.sizes, self._offsets, flat)
        return flat, weight

    def log_evidence(self, evidence: Mapping[int, int]) -> float:
        """Return ln p(evidence); −∞ if it is impossible."""
        tree, potentials = self._ready(evidence, only=())
        try:
            return self._collect(tree, potentials)
        except ZeroProbabilityError:
            return -np.inf

    def posteriors(self, evidence: Mapping[int, int]) -> list[FloatArray]:
        """Return p(v | evidence) for every attribute v, in schema order."""
        tree, potentials = self._ready(evidence)
        flat, _ = self._marginals(tree, potentials)
        for attribute, code in evidence.items():
            flat[self._offsets[attribute] : self._offsets[attribute + 1]] = 0.0
            flat[self._offsets[attribute] + code] = 1.0
        return np.split(flat, self._offsets[1:-1])

    def joints(self, attribute: int, groups: NDArray[np.intp]) -> list[FloatArray]:
        """Return for every attribute v the joint distribution of (the groups of ``attribute``, v), in schema order.

        ``groups[c]`` is the group of code c, counted from 0. Two passes over the tree for each group, so that nothing
        of the size of two domains is held for all pairs at once. The entry of ``attribute`` itself has one group, its
        own, above zero for every value.
        """
        tree, base = self._ready({})
        home = int(tree.home[attribute])
        cells = slice(int(tree.start[home]), int(tree.start[home + 1]))
        shape = (int(tree.outer[attribute]), self.sizes[attribute], int(tree.inner[attribute]))
        found = np.zeros((int(groups.max()) + 1, int(self._offsets[-1])))
        for group, row in enumerate(found):
            potentials = base.copy()
            potentials[cells].reshape(shape)[:, groups != group] = 0.0
            try:
                flat, weight = self._marginals(tree, potentials)
            except ZeroProbabilityError:
                continue
            row[:] = flat * np.exp(weight)
        return np.split(found, self._offsets[1:-1], axis=1)

    def posterior(self, targets: Scope, evidence: Mapping[int, int]) -> FloatArray:
        """Return p(targets | evidence) with one axis per target, in order."""
        free = tuple(v for v in targets if v not in evidence)
        tree, potentials = self._ready(evidence, together=free, only=free)
        self._collect(tree, potentials)
        result = np.zeros([self.sizes[v] for v in targets])
        place = tuple(evidence.get(v, slice(None)) for v in targets)
        if not free:
            result[place] = 1.0
            return result
        self._distribute(tree, potentials)
        result[place] = tree.joint(potentials, free)
        return result

    def most_probable(self, evidence: Mapping[int, int]) -> tuple[int, ...]:
        """Return the most probable codes of all attributes together, given the evidence."""
        tree, potentials = self._ready(evidence)
        self._collect(tree, potentials, by_maximum=True)
        best = np.zeros(len(tree.cliques), dtype=np.int64)
        trace_best(potentials, tree.parent, tree.start, tree.rows, tree.maps, tree.map_start, best)
        codes = dict(evidence)
        for clique, cell in enumerate(best.tolist()):
            found = np.unravel_index(cell, tree.shape(clique))
            codes.update(zip(tree.cliques[clique], (int(code) for code in found), strict=True))
        return tuple(codes[v] for v in range(len(self.sizes)))

    def sample(
        self,
        evidence: Mapping[int, int],
        n: int,
        rng: np.random.Generator,
        dtype: CodeType,
        *,
        independent: bool,
    ) -> Codes:
        """Draw ``n`` records, each exactly from p(· | evidence); returns codes of shape (attributes, n).

        They are ``independent`` of each other, or balanced (:mod:`panbayes.bayesnet.inference.balanced`). After the
        pass upwards, a clique's rows are distributions of its residual given its separator, which its parent has
        already drawn: one draw per clique, from the root down.
        """
        tree, potentials = self._ready(evidence)
        self._collect(tree, potentials)
        codes: Codes = np.empty((len(self.sizes), n), dtype=dtype)
        for attribute, code in evidence.items():
            codes[attribute] = code
        cells: list[NDArray[np.int64]] = []
        for clique, scope in enumerate(tree.cliques):
            host = int(tree.parent[clique])
            count = int(tree.rows[clique])
            rows = np.zeros(n, dtype=np.int64)
            if host >= 0:
                offset = int(tree.map_start[clique])
                rows = tree.maps[offset : int(tree.map_start[clique + 1])][cells[host]].astype(np.int64)
            weights = potentials[tree.start[clique] : tree.start[clique + 1]].reshape(count, -1)
            if independent:
                drawn = np.empty(n, dtype=np.int64)
                draw_rows(cumulative_rows(weights), rows, rng.random(n), drawn)
            else:
                drawn = draw_rows_balanced(cumulative_rows(weights), rows, rng)
            cells.append(rows * weights.shape[1] + drawn)
            if scope:
                for v, values in zip(scope, np.unravel_index(cells[-1], tree.shape(clique)), strict=True):
                    codes[v] = values
        return codes
