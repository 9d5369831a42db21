"""A Markov field as a Bayesian network: exactly, for its cliques hang together in a tree.

Going down the tree, every attribute gets those of its clique that came before as parents. Two things are added. A
table of the network speaks of values, not groups: inside a group they follow the law of the single attribute. (So the
tree is the one that is lightest in values, :meth:`~panbayes.bayesnet.markov.field.Field.light_in_values`.) And every
row gets some records of that law, so that no record is impossible because several sharp tables forbid it together.

So many records in each of many rows would drown the law: a row that c records belong to gives c·s/(c + s) of them away
to s records of smoothing. A table with thousands of rows gets less in each, so that at most the part :data:`MOVED` of
all records follows the single attribute instead of the law.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import brentq

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.markov.field import Field
from panbayes.bayesnet.structure import Structure

__all__ = ["MOVED", "network_of"]

MOVED: Final = 1e-3
"""The part of all records that smoothing may move in one table of the network."""


def network_of(
    field: Field, parameters: FloatArray, *, records: float, smoothing: float
) -> tuple[Structure, list[FloatArray]]:
    """Return the structure and the tables, in schema order, of a network with the field's law.

    A row whose parents have probability p is mixed with the law of its single attribute as ``records``·p to
    ``smoothing``, or to less where that would move too many records; without smoothing the law is the field's own.
    """
    field = field.light_in_values()
    tree = field.tree
    pairs: list[tuple[int, tuple[int, ...]]] = []
    tables: list[FloatArray] = list(field.distributions)
    placed: list[int] = []
    if field.tables:
        cliques, _ = field.calibrated(parameters)
        for number, members in enumerate(tree.cliques):
            joint = cliques[tree.start[number] : tree.start[number + 1]].reshape(tree.shape(number))
            before = [v for v in members if v in placed]
            for child in (v for v in members if v not in placed):
                kept = [*before, child]
                summed = joint.sum(axis=tuple(axis for axis, v in enumerate(members) if v not in kept))
                left = [v for v in members if v in kept]
                rows = records * summed.transpose([left.index(v) for v in kept])
                tables[child] = _spread(field, rows, before, child, smoothing)
                pairs.append((child, tuple(before)))
                before.append(child)
                placed.append(child)
    pairs += [(v, ()) for v in range(len(field.distributions)) if v not in placed]
    return Structure.of(pairs), tables


def _spread(field: Field, rows: FloatArray, parents: list[int], child: int, smoothing: float) -> FloatArray:
    """Turn counts of groups, parents' axes first, into distributions of values."""
    law, counts = field.reduced[child], rows.sum(axis=-1, keepdims=True)
    within = _within(counts.ravel(), smoothing)
    whole = counts + within
    table = np.divide(rows + within * law, whole, out=np.broadcast_to(law, rows.shape).copy(), where=whole > 0)
    for axis, parent in enumerate(parents):
        table = np.take(table, field.nested[parent].groups(field.sizes[parent]), axis=axis)
    groups = field.nested[child].groups(field.sizes[child])
    inside = field.distributions[child] / np.maximum(law[groups], 1e-300)
    found: FloatArray = np.take(table, groups, axis=-1) * inside
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def _within(counts: FloatArray, smoothing: float) -> float:
    """Return the ``smoothing`` of rows with these ``counts``, or as much of it as moves no more than it may."""

    def beyond(each: float) -> float:
        return float((counts * each / (counts + each)).sum() - MOVED * counts.sum())

    if smoothing <= 0 or beyond(smoothing) <= 0:
        return smoothing
    return float(brentq(beyond, 1e-12 * smoothing, smoothing, xtol=1e-12, rtol=1e-9))
