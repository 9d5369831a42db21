"""A Markov field: a law over all attributes that is fixed by one parameter for every cell of some tables.

    p(x) = ∏_v q_v(x_v) · exp(Σ_t θ_t[cell of x in table t]) / Z

q_v, ``distributions``, are the laws of single attributes; a table t has one axis per attribute, each a grouping of the
attribute's values (:mod:`panbayes.bayesnet.markov.nested`). Inside a group values follow q_v whatever the other
attributes are, so the law lives on the finest grouping of each attribute that any table uses: its *reduced* domain. It
is computed there by message passing over a junction tree, whose cliques hold every table's attributes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.junction import JunctionTree, compile_tree
from panbayes.bayesnet.inference.propagation import collect, distribute, enter_evidence
from panbayes.bayesnet.markov.kernels import gather_margins, load_potentials, tree_weight
from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.markov.pair_laws import pair_laws

__all__ = ["Axes", "Field", "reduced_sizes", "shape_of", "weight_of"]

Axes: TypeAlias = tuple[tuple[int, int], ...]
"""A table: (attribute, number of groups) of every axis, attributes ascending."""

_Values = TypeVar("_Values", FloatArray, NDArray[np.int64])

_BUNDLE: Final = 16
"""A bundle has at most this part of its clique's cells, so that going through the bundles is what costs."""


def shape_of(axes: Axes) -> tuple[int, ...]:
    """Return the shape of a table."""
    return tuple(count for _, count in axes)


def reduced_sizes(attributes: int, tables: Sequence[Axes]) -> list[int]:
    """Return the number of groups of each attribute in the finest grouping used; one where no table speaks of it."""
    sizes = [1] * attributes
    for axes in tables:
        for attribute, count in axes:
            sizes[attribute] = max(sizes[attribute], count)
    return sizes


def weight_of(tables: Sequence[Axes], sizes: Sequence[int]) -> float:
    """Return about how many cells a junction tree for these tables has, were attributes of these ``sizes``."""
    joined = np.zeros((len(sizes), len(sizes)), dtype=np.bool_)
    for axes in tables:
        for (one, _), (other, _) in combinations(axes, 2):
            joined[one, other] = joined[other, one] = True
    return float(tree_weight(joined, np.log(np.asarray(sizes, dtype=np.float64))))


@dataclass(frozen=True, eq=False)
class Field:
    """A family of laws, one for each vector of parameters; see the module. In vectors ``tables`` lie end to end."""

    distributions: tuple[FloatArray, ...]
    nested: tuple[Nested, ...]
    tables: tuple[Axes, ...]

    @cached_property
    def sizes(self) -> list[int]:
        """The reduced domains."""
        return reduced_sizes(len(self.distributions), self.tables)

    @cached_property
    def reduced(self) -> list[FloatArray]:
        """The laws of single attributes on the reduced domains."""
        return [
            np.bincount(nested.groups(size), distribution).astype(np.float64) if size > 1 else np.ones(1)
            for nested, distribution, size in zip(self.nested, self.distributions, self.sizes, strict=True)
        ]

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree on the reduced domains."""
        return self._tree(self.sizes)

    def _tree(self, lightest: Sequence[int]) -> JunctionTree:
        return compile_tree([tuple(a for a, _ in axes) for axes in self.tables], self.sizes, lightest=lightest)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where each table begins in a vector of parameters or margins."""
        return _starts([math.prod(shape_of(axes)) for axes in self.tables])

    def split(self, values: FloatArray) -> list[FloatArray]:
        """Cut a vector into the tables."""
        return [
            values[first:last].reshape(shape_of(axes))
            for axes, first, last in zip(self.tables, self.start[:-1], self.start[1:], strict=True)
        ]

    @cached_property
    def _base(self) -> FloatArray:
        """The cliques where all parameters are 0."""
        base = np.ones(self.tree.cells)
        for attribute, law in enumerate(self.reduced):
            home = int(self.tree.home[attribute])
            if home >= 0:
                clique = self.tree.cliques[home]
                view = base[self.tree.start[home] : self.tree.start[home + 1]].reshape(self.tree.shape(home))
                view *= _along(law, clique.index(attribute), len(clique))
        return base

    @cached_property
    def _highest(self) -> FloatArray:
        """The largest cell of each clique of the base."""
        return np.maximum.reduceat(self._base, self.tree.start[:-1])

    @cached_property
    def _layout(self) -> _Layout:
        return _Layout.of(self)

    @cached_property
    def mapped(self) -> int:
        """How many cells are kept at most to find the tables in the tree: of each, those of the bundle it is in."""
        largest: dict[int | None, int] = {}
        homes = [self.tree.containing(tuple(a for a, _ in axes)) for axes in self.tables]
        for home, axes in zip(homes, self.tables, strict=True):
            least = 0 if home is None else _bundle_cells(math.prod(self.tree.shape(home)))
            largest[home] = max(largest.get(home, least), math.prod(self.sizes[a] for a, _ in axes))
        return sum(largest[home] for home in homes)

    def around(self, distributions: Sequence[FloatArray]) -> Field:
        """Return the field with other laws of single attributes; what follows from the tables alone is shared."""
        found = Field(tuple(distributions), self.nested, self.tables)
        shared = {"sizes": self.sizes, "tree": self.tree, "start": self.start, "_layout": self._layout}
        vars(found).update(shared)  # where cached properties are kept
        return found

    def light_in_values(self) -> Field:
        """Return the field on another tree: the one that is lightest where cliques are spread over all values.

        The lightest one of groups may join attributes of which each has hundreds of values in few groups.
        """
        found = Field(self.distributions, self.nested, self.tables)
        vars(found).update(
            sizes=self.sizes, start=self.start, tree=self._tree([law.size for law in self.distributions])
        )
        return found

    def potentials(self, parameters: FloatArray) -> tuple[FloatArray, float]:
        """Return the cliques before any message, and the logarithm of what they were divided by."""
        layout, potentials = self._layout, np.empty(self.tree.cells)
        logarithm = load_potentials(
            self._base,
            self._highest,
            self.tree.start,
            parameters,
            self.start,
            layout.table_maps,
            layout.table_map_start,
            layout.bundle_of,
            np.empty(int(layout.bundle_start[-1])),
            layout.bundle_start,
            layout.bundle_maps,
            layout.bundle_map_start,
            layout.clique_of,
            potentials,
        )
        return potentials, float(logarithm)

    def calibrated(self, parameters: FloatArray) -> tuple[FloatArray, float]:
        """Return the joint law of every clique, and log Z."""
        potentials, logarithm = self.potentials(parameters)
        logarithm += self._collect(potentials)
        self._distribute(potentials)
        return potentials, logarithm

    def conditioned(self, parameters: FloatArray, given: Mapping[int, int]) -> FloatArray | None:
        """Return the joint law of every clique, ``given`` the groups of some attributes; None if they never meet."""
        tree, (potentials, _) = self.tree, self.potentials(parameters)
        places = [attribute for attribute in given if tree.home[attribute] >= 0]
        codes = [given[attribute] for attribute in places]
        enter_evidence(
            potentials,
            tree.start,
            tree.home,
            tree.outer,
            tree.inner,
            tree.sizes,
            np.array(places, dtype=np.int64),
            np.array(codes, dtype=np.int64),
        )
        if self._collect(potentials) == -math.inf:
            return None
        self._distribute(potentials)
        return potentials

    def margins(self, cliques: FloatArray) -> FloatArray:
        """Return the probabilities of all tables' cells, from calibrated cliques."""
        layout, found = self._layout, np.empty(int(self.start[-1]))
        gather_margins(
            cliques,
            self.tree.start,
            layout.clique_of,
            np.empty(int(layout.bundle_start[-1])),
            layout.bundle_start,
            layout.bundle_maps,
            layout.bundle_map_start,
            layout.bundle_of,
            self.start,
            layout.table_maps,
            layout.table_map_start,
            found,
        )
        return found

    def pairs(self, parameters: FloatArray) -> FloatArray:
        """Return the joint laws of all pairs of attributes on the reduced domains, all in one square matrix."""
        if not self.tables:
            return np.ones((len(self.sizes), len(self.sizes)))
        return pair_laws(self.tree, self.calibrated(parameters)[0])

    def _collect(self, potentials: FloatArray) -> float:
        tree = self.tree
        messages = np.empty(int(tree.row_start[-1]))
        return float(
            collect(
                potentials,
                tree.parent,
                tree.start,
                tree.rows,
                tree.row_start,
                tree.maps,
                tree.map_start,
                messages,
                False,
            )
        )

    def _distribute(self, potentials: FloatArray) -> None:
        tree = self.tree
        distribute(
            potentials, tree.parent, tree.start, tree.rows, tree.maps, tree.map_start, np.empty(int(tree.rows.max()))
        )


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which bundle holds each table, which clique each bundle, and the maps of their cells."""

    table_maps: NDArray[np.int32]
    table_map_start: NDArray[np.int64]
    bundle_of: NDArray[np.int64]
    bundle_start: NDArray[np.int64]
    bundle_maps: NDArray[np.int32]
    bundle_map_start: NDArray[np.int64]
    clique_of: NDArray[np.int64]

    @classmethod
    def of(cls, field: Field) -> _Layout:
        tree, sizes = field.tree, field.sizes
        homes: dict[int, list[int]] = {}
        for place, axes in enumerate(field.tables):
            home = tree.containing(tuple(a for a, _ in axes))
            if home is None:
                raise ValueError("the tree was compiled for other tables")
            homes.setdefault(home, []).append(place)
        bundles: list[tuple[int, tuple[int, ...]]] = []
        bundle_of = np.zeros(len(field.tables), dtype=np.int64)
        for home, places in homes.items():
            for members, inside in _bundled(field.tables, places, sizes, _bundle_cells(math.prod(tree.shape(home)))):
                bundle_of[inside] = len(bundles)
                bundles.append((home, tuple(v for v in tree.cliques[home] if v in members)))
        shapes = [tuple(sizes[v] for v in members) for _, members in bundles]
        bundle_maps = [
            _cell_map(tree.cliques[home], tree.shape(home), [(v, np.arange(sizes[v]), sizes[v]) for v in members])
            for home, members in bundles
        ]
        table_maps = [
            _cell_map(
                bundles[bundle][1],
                shapes[bundle],
                [(v, field.nested[v].between(sizes[v], count), count) for v, count in axes],
            )
            for axes, bundle in zip(field.tables, bundle_of.tolist(), strict=True)
        ]
        return cls(
            table_maps=_end_to_end(table_maps),
            table_map_start=_starts([found.size for found in table_maps]),
            bundle_of=bundle_of,
            bundle_start=_starts([math.prod(shape) for shape in shapes]),
            bundle_maps=_end_to_end(bundle_maps),
            bundle_map_start=_starts([found.size for found in bundle_maps]),
            clique_of=np.array([home for home, _ in bundles], dtype=np.int64),
        )


def _bundle_cells(clique: int) -> int:
    """Return how many cells a bundle may have in a clique of so many, unless one of its tables has more."""
    return max(64, clique // _BUNDLE)


def _bundled(
    tables: Sequence[Axes], places: Sequence[int], sizes: Sequence[int], most: int
) -> list[tuple[set[int], list[int]]]:
    """Put tables of one clique together: largest first, each into the bundle that it makes grow least."""

    def cells(members: set[int]) -> int:
        return math.prod(sizes[v] for v in members)

    members = {place: {a for a, _ in tables[place]} for place in places}
    found: list[tuple[set[int], list[int]]] = []
    for place in sorted(places, key=lambda place: (-cells(members[place]), place)):
        own = members[place]
        fits = [bundle for bundle in found if own <= bundle[0] or cells(bundle[0] | own) <= most]
        if fits:
            chosen = min(fits, key=lambda bundle: cells(bundle[0] | own) / cells(bundle[0]))
            chosen[0].update(own)
            chosen[1].append(place)
        else:
            found.append((set(own), [place]))
    return found


def _cell_map(
    outer: Sequence[int], shape: Sequence[int], axes: Sequence[tuple[int, NDArray[np.int64], int]]
) -> NDArray[np.int32]:
    """Return for every cell of the outer table the number of the inner cell; axes are (attribute, groups, count)."""
    index = np.zeros((1,) * len(outer), dtype=np.int64)
    for attribute, groups, count in axes:
        index = index * count + _along(groups, list(outer).index(attribute), len(outer))
    return np.ascontiguousarray(np.broadcast_to(index, tuple(shape))).ravel().astype(np.int32)


def _along(values: _Values, axis: int, axes: int) -> _Values:
    return values.reshape([-1 if place == axis else 1 for place in range(axes)])


def _end_to_end(maps: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *maps])


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
