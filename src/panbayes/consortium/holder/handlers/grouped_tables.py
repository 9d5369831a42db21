"""Noisy tables of grouped values, whole or centred: table t at its fraction of the loss, weight_t/Σ weight.

Discrete Laplace of scale Δ₁/ε_t on every cell under pure privacy, discrete Gaussian of variance Δ₂²/(2ρ_t) under zCDP;
Δ₁ = 2m and Δ₂² = 2m² under ``replace``, m and m² under ``add-remove``, m the records kept per person; those of a
centred table follow from its shape (:mod:`panbayes.privacy.adjacency`). The losses of the tables add up to the query's.

Under pure privacy tables may share a radius of noise, so many of them as ``radii`` say: then Δ₁ is that of one of them,
ε the sum of their ε_t, and the scale Δ₁/ε (:mod:`panbayes.dp.one_radius`). They are balanced where no neighbour has
another number of records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.holder.grouped_tables import (
    check_axes,
    check_groupings,
    loss_of_query,
    moved_by_one,
)
from panbayes.consortium.holder.handler import Handler
from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.holder.query_checks import bad
from panbayes.consortium.protocol.answers import GroupedTablesAnswer
from panbayes.consortium.protocol.cells import pack_cells
from panbayes.consortium.protocol.queries import GroupedTablesQuery
from panbayes.dp.mechanisms import check_noise, noisy_counts, noisy_tables_of_radius
from panbayes.dp.noise import Noise
from panbayes.dp.one_radius import MAX_CELLS
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.events import Event, OneRadius
from panbayes.schema.schema import Schema
from panbayes.tables.counting.block_counts import groups_in

__all__ = ["GROUPED_TABLES"]

_PAIR: Final = 2
"""Tables of at least so many axes are centred."""


def _noise_of(query: GroupedTablesQuery, schema: Schema) -> Callable[[int, tuple[int, ...]], Event]:
    """Return what tells the noise of a table of a weight; and of a shape, if it is centred."""
    loss, whole = loss_of_query(query), sum(query.weights)

    def event(weight: int, shape: tuple[int, ...]) -> Event:
        moved = moved_by_one(query, schema)
        if shape:
            moved = TableSensitivity.of_centred(shape, adjacency=query.adjacency, max_records=schema.max_records)
        return loss.part(Fraction(weight, whole)).tables_event(moved)

    return event


def _centred_shapes(query: GroupedTablesQuery, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the shape of every table that is centred, and () of the others; ``sizes`` are those of the groupings."""
    return [tuple(sizes[g] for g in axes) if query.centred and len(axes) >= _PAIR else () for axes in query.tables]


def _centred(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a table times its cells, without what its margins say; a table of n records stays below 4·K·n."""
    axes = range(table.ndim)
    found = table.size * table + (table.ndim - 1) * table.sum()
    for axis in axes:
        others = tuple(other for other in axes if other != axis)
        found = found - table.shape[axis] * table.sum(axis=others, keepdims=True)
    return np.asarray(found)


def _groups(query: GroupedTablesQuery, schema: Schema) -> Iterator[tuple[range, OneRadius]]:
    """Yield the places of the tables that share a radius, group by group, and their noise."""
    loss, whole = loss_of_query(query).amount, sum(query.weights)
    moved = moved_by_one(query, schema).l1
    start = 0
    for many in query.radii:
        part = Fraction(sum(query.weights[start : start + many]), whole)
        yield range(start, start + many), OneRadius(moved / (loss * part), moved)
        start += many


def _balanced(query: GroupedTablesQuery, schema: Schema) -> bool:
    """Tell whether neighbours have as many records in every table."""
    return query.adjacency == "replace" and schema.unit is None


def _check_radii(query: GroupedTablesQuery, schema: Schema, sizes: Sequence[int]) -> None:
    if query.privacy != Pure.tag or query.centred:
        raise bad("radii", "some, for tables that are centred or not of pure privacy", "give none")
    shared = sum(query.radii)
    if shared > len(query.tables):
        raise bad("radii", f"{shared:,} tables of {len(query.tables):,}", "give no more than there are")
    for axes in query.tables[:shared]:
        cells = math.prod(sizes[g] for g in axes)
        if cells > MAX_CELLS:
            raise bad("radii", f"a table of {cells:,} cells", f"give tables of at most {MAX_CELLS:,}")
    for _, event in _groups(query, schema):
        check_noise(event)


def _check(query: GroupedTablesQuery, schema: Schema, _size: int) -> None:
    sizes = check_groupings(query.groupings, schema)
    check_axes(query.tables, query.groupings, sizes)
    if len(query.weights) != len(query.tables):
        raise bad("weights", f"{len(query.weights)} for {len(query.tables)} tables", "give one for each table")
    if query.radii:
        _check_radii(query, schema, sizes)
    alone = slice(sum(query.radii), None)
    weights: dict[tuple[int, ...], list[int]] = {}
    for weight, shape in zip(query.weights[alone], _centred_shapes(query, sizes)[alone], strict=True):
        weights.setdefault(shape, []).append(weight)
    event = _noise_of(query, schema)
    for shape, found in weights.items():
        for weight in (min(found), max(found)):  # the noise of the others lies between
            check_noise(event(weight, shape))


def _answer(query: GroupedTablesQuery, counts: PrivateCounts, *, noise: Noise) -> GroupedTablesAnswer:
    counted = counts.counter.count(query.tables, query.groupings)
    sizes = counts.schema.sizes
    shapes = _centred_shapes(query, [groups_in(grouping, sizes) for grouping in query.groupings])
    flat = counted.flat.copy()
    noisy = np.empty_like(flat)
    for group, event in _groups(query, counts.schema):
        cells = slice(counted.offsets[group.start], counted.offsets[group.stop])
        noisy[cells] = noisy_tables_of_radius(
            flat[cells],
            sizes=np.diff(counted.offsets[group.start : group.stop + 1]).tolist(),
            event=event,
            balanced=_balanced(query, counts.schema),
            noise=noise,
        )
    tables: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    shared = sum(query.radii)
    for t, (weight, shape) in enumerate(zip(query.weights[shared:], shapes[shared:], strict=True), start=shared):
        tables.setdefault((weight, shape), []).append(t)
        if shape:
            cells = slice(counted.offsets[t], counted.offsets[t + 1])
            flat[cells] = _centred(flat[cells].reshape(shape)).ravel()
    noise_of = _noise_of(query, counts.schema)
    for weight, shape in sorted(tables):
        # Tables of one weight and shape are drawn together: each has its own fraction of the loss.
        places = np.concatenate([np.arange(counted.offsets[t], counted.offsets[t + 1]) for t in tables[weight, shape]])
        noisy[places] = noisy_counts(flat[places], event=noise_of(weight, shape), noise=noise)
    return GroupedTablesAnswer(pack_cells(noisy))


GROUPED_TABLES: Final = Handler(GroupedTablesQuery, loss_of_query, _check, _answer)
