"""Whom a record belongs to: at most so many records of one person, chosen without looking at values.

Each person's first ``max_records`` records in the order of the file are kept. The choice depends on the ids and the
order alone, and whether a record is kept depends on its own person's records alone, so replacing one person changes
at most ``max_records`` kept records into at most ``max_records`` others: group privacy with that factor holds, and
with it the number of persons, not of records, is what the guarantee may treat as public (errata 6).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["first_records"]


def first_records(ids: pl.Series, max_records: int) -> tuple[NDArray[np.intp], int]:
    """Return the positions of each person's first ``max_records`` records, in file order, and the number of persons.

    A record without an id is its own person: nothing is known that would link it to another.

    >>> kept, persons = first_records(pl.Series(["a", "b", "a", None, None, "a"]), 2)
    >>> kept.tolist(), persons
    ([0, 1, 2, 3, 4], 4)
    """
    frame = pl.DataFrame({"id": ids}).with_row_index("row")
    # A float NaN is no id either.
    missing = pl.col("id").is_null() | (pl.col("id").is_nan() if ids.dtype.is_float() else pl.lit(value=False))
    frame = frame.with_columns(
        pl.when(missing).then(pl.col("row")).otherwise(None).alias("alone"),
        pl.when(missing).then(None).otherwise(pl.col("id")).alias("id"),
    )
    rank = frame.select(pl.int_range(pl.len()).over("id", "alone").alias("rank"))["rank"]
    kept = np.flatnonzero((rank < max_records).to_numpy())
    return kept, int((rank == 0).sum())
