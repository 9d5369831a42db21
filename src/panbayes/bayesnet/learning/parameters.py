"""Parameters by maximum likelihood with additive smoothing, from exact or noisy counts.

``p(x | π) = (c(x, π) + s) / Σ_x' (c(x', π) + s)``, where c are the counts with negative entries set to zero and s is
the smoothing. A parent configuration π without any count has no estimate of its own; it gets the uniform
distribution. The child's marginal would predict better there, but for noisy counts it would make the table depend on
a sum of thousands of clipped noises, which is biased towards uniform anyway, and the thesis's algorithm (noise, clip,
normalise) leaves these rows to a convention; uniform is the one that claims nothing. ``empty="marginal"`` asks for the
marginal.

Thesis: Algorithm "BN Parameter Learning" (what follows its noise); "maximum likelihood" in section_learning_BNs.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from panbayes.bayesnet.counts import CountArray, Counts, FloatArray
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from panbayes.privacy.statement import PrivacyStatement
from panbayes.schema.schema import Schema

__all__ = ["EmptyRows", "conditional", "fit", "fit_tables"]

EmptyRows: TypeAlias = Literal["uniform", "marginal"]


def conditional(counts: CountArray, *, smoothing: float = 0.0, empty: EmptyRows = "uniform") -> FloatArray:
    """Turn a table of counts (child on the last axis) into conditional distributions.

    >>> conditional(np.array([[3, 1], [-2, 4], [0, -1]]))
    array([[0.75, 0.25],
           [0.  , 1.  ],
           [0.5 , 0.5 ]])
    """
    if not smoothing >= 0 or smoothing == float("inf"):
        raise InputError("smoothing", found=f"found {smoothing}", remedy="give a number of 0 or more")
    kept = np.maximum(counts.astype(np.float64), 0.0)
    if not np.all(np.isfinite(kept)):
        raise InputError("counts", found="found an infinite entry", remedy="give finite counts")
    size = kept.shape[-1]
    fallback = np.full(size, 1 / size)
    marginal = kept.reshape(-1, size).sum(axis=0)
    if empty == "marginal" and marginal.sum() > 0:
        fallback = (marginal + smoothing) / (marginal + smoothing).sum()
    without = kept.sum(axis=-1, keepdims=True) <= 0
    smoothed = kept + smoothing
    totals = np.where(without, 1.0, smoothed.sum(axis=-1, keepdims=True))
    table: FloatArray = np.where(without, fallback, smoothed / totals)
    return table


def fit_tables(
    structure: Structure, counts: Counts, *, smoothing: float = 0.0, empty: EmptyRows = "uniform"
) -> tuple[FloatArray, ...]:
    """Estimate the table of every attribute, in schema order; axes as in :mod:`panbayes.bayesnet.network`."""
    sets = [(*structure.parents(child), child) for child in range(len(structure))]
    return tuple(conditional(table, smoothing=smoothing, empty=empty) for table in counts.tables(sets))


def fit(
    schema: Schema,
    structure: Structure,
    counts: Counts,
    *,
    smoothing: float = 0.0,
    empty: EmptyRows = "uniform",
    privacy: PrivacyStatement | None = None,
) -> Network:
    """Estimate a network of this structure."""
    return Network(schema, structure, fit_tables(structure, counts, smoothing=smoothing, empty=empty), privacy)
