"""Noisy tables of grouped values: table t at its fraction of the loss, weight_t/Σ weight.

Discrete Laplace of scale Δ₁/ε_t on every cell under pure privacy, discrete Gaussian of variance Δ₂²/(2ρ_t) under zCDP;
Δ₁ = 2m and Δ₂² = 2m² under ``replace``, m and m² under ``add-remove``, m the records kept per person
(:mod:`panbayes.privacy.adjacency`). The losses of the tables add up to the query's.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

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
from panbayes.dp.mechanisms import check_noise, noisy_counts
from panbayes.dp.noise import Noise
from panbayes.privacy.events import Event
from panbayes.schema.schema import Schema

__all__ = ["GROUPED_TABLES"]


def _event(query: GroupedTablesQuery, schema: Schema, weight: int) -> Event:
    """Return the noise of a table of this ``weight``."""
    share = Fraction(weight, sum(query.weights))
    return loss_of_query(query).part(share).tables_event(moved_by_one(query, schema))


def _check(query: GroupedTablesQuery, schema: Schema, _size: int) -> None:
    sizes = check_groupings(query.groupings, schema)
    check_axes(query.tables, query.groupings, sizes)
    if len(query.weights) != len(query.tables):
        raise bad("weights", f"{len(query.weights)} for {len(query.tables)} tables", "give one for each table")
    for weight in (min(query.weights), max(query.weights)):  # the noise of the others lies between
        check_noise(_event(query, schema, weight))


def _answer(query: GroupedTablesQuery, counts: PrivateCounts, *, noise: Noise) -> GroupedTablesAnswer:
    counted = counts.counter.count(query.tables, query.groupings)
    noisy = np.empty_like(counted.flat)
    tables: dict[int, list[int]] = {}
    for t, weight in enumerate(query.weights):
        tables.setdefault(weight, []).append(t)
    for weight in sorted(tables):
        # Tables of one weight are drawn together: each has its own fraction of the loss.
        cells = np.concatenate([np.arange(counted.offsets[t], counted.offsets[t + 1]) for t in tables[weight]])
        event = _event(query, counts.schema, weight)
        noisy[cells] = noisy_counts(counted.flat[cells], event=event, noise=noise)
    return GroupedTablesAnswer(pack_cells(noisy))


GROUPED_TABLES: Final = Handler(GroupedTablesQuery, loss_of_query, _check, _answer)
