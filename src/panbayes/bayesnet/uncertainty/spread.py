"""What every replicate answers to a question, by position and code.

Evidence on a value is evidence on its group: inside a group values follow the law of the single attribute, which
cancels. A joint law of values is that of their groups, times the single laws inside them. A replicate's tables disagree
on the law of a single attribute by much more than its own measurement leaves open, so every target is brought to the
law that the replicate has for it alone: what a question with no other attribute is answered with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.inference.elimination import Scope
from panbayes.bayesnet.markov.field import Axes, Field, shape_of, weight_of
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.errors import InputError
from panbayes.tables.codes import Codes

__all__ = ["MOST_ATTRIBUTES", "MOST_CELLS", "Spread"]

MOST_CELLS: Final = 1 << 21
"""A question that needs a larger junction tree is answered without its error: it would take too long."""

MOST_MAPPED: Final = 1 << 25
"""Nor one in whose tree so many cells have to be found for the tables."""

MOST_ATTRIBUTES: Final = 2000
"""Nor is the tree of more attributes looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Replicates that can be asked."""

    replicates: Replicates

    def joint(self, targets: Scope, evidence: Mapping[int, int]) -> Iterator[FloatArray]:
        """Give p(targets | evidence) of every replicate, one axis per target in order; nothing if it is too large.

        No target is among the evidence.
        """
        replicates = self.replicates
        if len(targets) == 1 and not evidence:
            yield from replicates.single_laws[targets[0]]
            return
        inside = tuple(v for v in targets if replicates.field.sizes[v] > 1)
        field, parameters = self._spanned(inside)
        if field is None:
            return
        given = {v: int(replicates.groups[v][code]) for v, code in evidence.items()}
        for number, own in enumerate(parameters):
            cliques = field.conditioned(own, given) if inside else np.ones(0)
            if cliques is None:
                continue
            table = field.tree.joint(cliques, inside) if inside else np.ones(())
            yield self._spread_out(table, inside, targets, number)

    def singles(self, evidence: Mapping[int, int]) -> Iterator[list[FloatArray]]:
        """Give p(v | evidence) of every replicate, for all attributes v; those of the evidence are left as they are."""
        replicates, field = self.replicates, self.replicates.field
        if not evidence:
            for number in range(len(replicates)):
                yield [laws[number] for laws in replicates.single_laws]
            return
        if not _fits(field):
            return
        given = {v: int(replicates.groups[v][code]) for v, code in evidence.items()}
        for number, own in enumerate(replicates.field_parameters):
            cliques = field.conditioned(own, given) if field.tables else np.ones(0)
            if cliques is not None:
                yield [
                    self._spread_out(field.tree.joint(cliques, (v,)), (v,), (v,), number)
                    if size > 1
                    else replicates.single_laws[v][number]
                    for v, size in enumerate(field.sizes)
                ]

    def conditional(self, target: int, codes: Codes) -> Iterator[FloatArray]:
        """Give p(target | all others) of every replicate, for every record: only tables with the target matter."""
        replicates = self.replicates
        if not _fits(replicates.field):
            return
        alone = replicates.group_laws[target] / np.maximum(replicates.margins[target], 1e-300)
        laws = replicates.single_laws[target] * alone[:, replicates.groups[target]]
        gathers = []
        first = 0
        for axes in replicates.tables:
            size = math.prod(shape_of(axes))
            members = [a for a, _ in axes]
            if target in members:
                gathers.append((axes, members.index(target), first, self._rows(axes, target, codes)))
            first += size
        for number, parameters in enumerate(replicates.table_parameters):
            scores = np.tile(np.log(np.maximum(laws[number], 1e-300)), (codes.shape[1], 1))
            for axes, place, start, rows in gathers:
                table = parameters[start : start + math.prod(shape_of(axes))].reshape(shape_of(axes))
                flat = np.moveaxis(table, place, -1).reshape(-1, shape_of(axes)[place])
                values = replicates.nested[target].groups(shape_of(axes)[place])
                scores += flat[:, values][rows]
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            yield scores

    def _rows(self, axes: Axes, target: int, codes: Codes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return for every record the number of its cell in a table without the target's axis."""
        rows = np.zeros(codes.shape[1], dtype=np.int64)
        for attribute, count in axes:
            if attribute != target:
                rows = rows * count + self.replicates.nested[attribute].groups(count)[codes[attribute]]
        return rows

    def _spanned(self, together: Scope) -> tuple[Field | None, FloatArray]:
        """Return a field in whose tree the attributes share a clique, if it is small enough, and the parameters."""
        replicates = self.replicates
        field, parameters = replicates.field, replicates.field_parameters
        if not _fits(field):
            return None, parameters
        if not together or field.tree.containing(together) is not None:
            return field, parameters
        axes: Axes = tuple((v, field.sizes[v]) for v in sorted(together))
        joined = Field(field.distributions, field.nested, (*field.tables, axes))
        if not _fits(joined):
            return None, parameters
        nothing = np.zeros((len(parameters), math.prod(shape_of(axes))))
        return joined, np.concatenate([parameters, nothing], axis=1)

    def _spread_out(self, table: FloatArray, inside: Scope, targets: Scope, number: int) -> FloatArray:
        """Turn the joint law of the groups of some targets, ``inside`` the tree, into that of all targets' values."""
        replicates = self.replicates
        found = table
        for axis, v in enumerate(inside):
            found = np.take(found, replicates.groups[v], axis=axis)
        shape = [replicates.nested[v].size if v in inside else 1 for v in targets]
        found = found.reshape(shape)  # inside keeps the order of the targets
        for axis, v in enumerate(targets):
            groups = replicates.groups[v]
            law = replicates.single_laws[v][number]
            within = law / np.maximum(replicates.margins[v][number][groups], 1e-300)
            found = found * within.reshape([-1 if place == axis else 1 for place in range(len(targets))])
        return np.asarray(found / found.sum())


def _fits(field: Field) -> bool:
    """Tell whether the field's tree is small enough to go over it once for every replicate."""
    if "tree" in vars(field):
        return field.tree.cells <= MOST_CELLS and field.mapped <= MOST_MAPPED
    if len(field.sizes) > MOST_ATTRIBUTES or weight_of(field.tables, field.sizes) > MOST_CELLS:
        return False
    try:
        return not field.tables or (field.tree.cells <= MOST_CELLS and field.mapped <= MOST_MAPPED)
    except InputError:
        return False
