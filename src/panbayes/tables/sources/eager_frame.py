"""Data frames in memory, whichever library they belong to: how they become polars frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.typing import IntoDataFrame

from panbayes.errors import InputError
from panbayes.schema.attribute import Scalar, label_text

__all__ = ["read_eager_frame"]


def read_eager_frame(given: Any, names: Sequence[str] | None, *, argument: str) -> pl.DataFrame:
    """Turn a data frame into a polars one, with the named columns only."""
    try:
        frame = nw.from_native(cast(IntoDataFrame, given), eager_only=True)
        columns = [column for column in frame.columns if names is None or str(column) in names]
        try:
            return _as_polars(frame, columns, nw.Object)
        except UnicodeEncodeError:
            return _as_polars(frame, columns, nw.Object, nw.String)
    except (nw.exceptions.DuplicateError, pl.exceptions.DuplicateError):
        raise InputError(
            argument, found="has two columns of the same name", remedy="give every column a name of its own"
        ) from None
    except ModuleNotFoundError:
        raise InputError(
            argument, found="is a pandas table, and pyarrow is not installed", remedy="run: pip install pyarrow"
        ) from None


def _as_polars(frame: nw.DataFrame[Any], columns: Sequence[str], *kinds: type[nw.dtypes.DType]) -> pl.DataFrame:
    """Convert the columns, those of some ``kinds`` by writing every value as text.

    pandas keeps mixed values as objects, also as the categories of a column, and texts that UTF-8 cannot write. Arrow
    would refuse them, depending on the data, and name a value.
    """
    texts: dict[str, pl.Series] = {}
    for name in columns:
        categories = _object_categories(frame, name)
        if categories is not None:
            texts[name] = categories
        elif frame.schema[name] in kinds:
            texts[name] = pl.Series(str(name), _texts(frame.get_column(name)), dtype=pl.String)
    plain = frame.select([name for name in columns if name not in texts])
    return pl.DataFrame([*plain.to_polars(), *texts.values()]).select(map(str, columns))


def _object_categories(frame: nw.DataFrame[Any], name: str) -> pl.Series | None:
    """Write a column of pandas's categories as text if these are objects; None for any other column."""
    if frame.schema[name] != nw.Categorical:
        return None
    held: Any = getattr(frame.get_column(name).to_native(), "cat", None)
    if getattr(getattr(held, "categories", None), "dtype", None) != np.dtype(object):
        return None
    known: nw.Series[Any] = nw.from_native(held.categories.to_series(), series_only=True)
    codes = pl.Series(held.codes.to_numpy()).cast(pl.Int64)
    return pl.Series(str(name), _texts(known), dtype=pl.String).gather(codes.set(codes < 0, None))


def _texts(values: nw.Series[Any]) -> list[str | None]:
    """Write arbitrary objects as texts, value by value; half a character becomes its number."""
    plain = (value.item() if isinstance(value, np.generic) else value for value in values.to_list())
    texts = (
        None if gone else label_text(value) if isinstance(value, Scalar) else str(value)
        for value, gone in zip(plain, values.is_null().to_list(), strict=True)
    )
    return [None if text is None else text.encode(errors="backslashreplace").decode() for text in texts]
