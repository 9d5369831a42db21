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

from panbayes.tables.texts import as_text

__all__ = ["first_records", "no_id"]


def first_records(
    ids: pl.Series, max_records: int, missing_values: tuple[str, ...] = ()
) -> tuple[NDArray[np.intp], int]:
    """Return the positions of each person's first ``max_records`` records, in file order, and the number of persons.

    A person is an id's exact text without blanks around it. A record without an id (null, NaN, blank, or a text in
    ``missing_values``) is left out: it may be anybody's, so no promise to a person could count it.

    >>> kept, persons = first_records(pl.Series(["a", "b", " a", None, "?", "a"]), 2, ("?",))
    >>> kept.tolist(), persons
    ([0, 1, 2], 2)
    """
    text = _id_texts(ids)
    nobody = _nobody(text, missing_values)
    rank = pl.DataFrame({"id": text}).select(pl.int_range(pl.len()).over("id").alias("rank"))["rank"].to_numpy()
    return np.flatnonzero((rank < max_records) & ~nobody), int(np.count_nonzero((rank == 0) & ~nobody))


def no_id(ids: pl.Series, missing_values: tuple[str, ...]) -> NDArray[np.bool_]:
    """Tell which records name nobody."""
    return _nobody(_id_texts(ids), missing_values)


def _id_texts(ids: pl.Series) -> pl.Series:
    return as_text(ids).str.strip_chars()


def _nobody(texts: pl.Series, missing_values: tuple[str, ...]) -> NDArray[np.bool_]:
    return (texts.is_null() | texts.is_in(["", *missing_values]).fill_null(value=True)).to_numpy()
