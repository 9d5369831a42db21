"""Noisy contingency tables: what several queries are answered with.

Every cell of T tables released together at ε gets discrete Laplace noise of scale 2·m·T/ε, m the records kept per
person (1 without a privacy unit): the tables move by 2·m·T in L1 if one person is replaced.

Thesis: Theorem thm_noisy_ss_priv; Theorem thm_privbayes_param.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from panbayes.consortium.holder.private_counts import PrivateCounts
from panbayes.consortium.protocol.cells import Cells, pack_cells
from panbayes.dp.mechanisms import noisy_counts
from panbayes.dp.noise import Noise
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.events import Event
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Schema

__all__ = ["noisy_tables", "tables_event"]


def tables_event(schema: Schema, loss: Loss, *, tables: int) -> Event:
    """Return the noise of so many ``tables`` at ``loss`` for all of them together."""
    moved = TableSensitivity.of(adjacency="replace", max_records=schema.max_records, tables=tables)
    return loss.tables_event(moved)


def noisy_tables(
    counts: PrivateCounts, sets: Sequence[tuple[int, ...]], loss: Loss, *, clip: bool, noise: Noise
) -> Cells:
    """Return the noisy tables of ``sets`` end to end, at ``loss`` for all of them together."""
    event = tables_event(counts.schema, loss, tables=len(sets))
    noisy = noisy_counts(counts.tables(sets), event=event, noise=noise)
    return pack_cells(np.maximum(noisy, 0) if clip else noisy)
