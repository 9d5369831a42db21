"""polars data frames, and those of any library that is neither pandas nor Arrow: they come back as polars frames."""

from __future__ import annotations

from typing import Final

import polars as pl
from narwhals import to_native
from narwhals.dependencies import is_into_dataframe, is_pandas_dataframe, is_pyarrow_table

from panbayes.tables.sources.eager_frame import read_eager_frame
from panbayes.tables.sources.source import Source, whole

__all__ = ["POLARS"]


def _takes(given: object) -> bool:
    native = to_native(given, pass_through=True)
    return is_into_dataframe(native) and not is_pandas_dataframe(native) and not is_pyarrow_table(native)


POLARS: Final = Source("polars", whole(read_eager_frame), takes=_takes, convert=pl.DataFrame.clone)
