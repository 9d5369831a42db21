"""Data frames in memory, whichever library they belong to: how they become polars frames, column by column.

A column of a plain type goes over as it is. Whatever else there is (pandas keeps mixed values as objects, and what a
column's type is may hang on one value) goes over as texts, value by value; :mod:`panbayes.tables.texts` gives a value
the same text either way.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, cast

import narwhals as nw
import polars as pl
from narwhals.typing import IntoDataFrame

from panbayes.errors import InputError
from panbayes.tables.texts import text_column

__all__ = ["read_eager_frame"]

_PLAIN: Final = (nw.Boolean, nw.String, nw.Date, nw.Datetime, nw.Duration, nw.Time, nw.Categorical, nw.Enum)


def read_eager_frame(given: Any, *, argument: str) -> pl.DataFrame:
    """Turn a data frame into a polars one."""
    try:
        frame = nw.from_native(cast(IntoDataFrame, given), eager_only=True)
        return pl.DataFrame([_column(frame.get_column(column)).alias(str(column)) for column in frame.columns])
    except (nw.exceptions.DuplicateError, pl.exceptions.DuplicateError):
        raise InputError(
            argument, found="has two columns of the same name", remedy="give every column a name of its own"
        ) from None


def _column(values: nw.Series[Any]) -> pl.Series:
    """Return a column of a plain type as it is, any other as texts."""
    native = values.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):
        # The categories of pandas may be anything; they are few, and the codes say which is where.
        known = text_column("", [*native.cat.categories, None])
        return known.gather(native.cat.codes.to_numpy().astype("int64") % known.len())
    if isinstance(values.dtype, _PLAIN) or values.dtype.is_numeric():
        # Whatever cannot go over in its own type, because of one value, has the same texts value by value.
        with suppress(Exception):
            return values.to_polars()
    return text_column("", values.to_list())
