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
        # pandas keeps mixed values as objects, which Arrow would refuse, depending on the data.
        mixed = [name for name in columns if frame.schema[name] == nw.Object]
        texts = [_object_texts(frame.get_column(name)) for name in mixed]
        plain = frame.select([name for name in columns if name not in mixed])
        return pl.DataFrame([*plain.to_polars(), *texts]).select(map(str, columns))
    except (nw.exceptions.DuplicateError, pl.exceptions.DuplicateError):
        raise InputError(
            argument, found="has two columns of the same name", remedy="give every column a name of its own"
        ) from None
    except ModuleNotFoundError:
        raise InputError(
            argument, found="is a pandas table, and pyarrow is not installed", remedy="run: pip install pyarrow"
        ) from None


def _object_texts(values: nw.Series[Any]) -> pl.Series:
    """Write a column of arbitrary objects as text, value by value."""
    plain = (value.item() if isinstance(value, np.generic) else value for value in values.to_list())
    texts = [
        None if gone else label_text(value) if isinstance(value, Scalar) else str(value)
        for value, gone in zip(plain, values.is_null().to_list(), strict=True)
    ]
    return pl.Series(str(values.name), texts, dtype=pl.String)
