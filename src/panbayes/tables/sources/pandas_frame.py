"""pandas data frames."""

from __future__ import annotations

from typing import Final

import polars as pl
from narwhals import to_native
from narwhals.dependencies import is_pandas_dataframe

from panbayes.tables.sources.eager_frame import read_eager_frame
from panbayes.tables.sources.source import Source, whole

__all__ = ["PANDAS"]


def _takes(given: object) -> bool:
    return is_pandas_dataframe(to_native(given, pass_through=True))


PANDAS: Final = Source("pandas", whole(read_eager_frame), takes=_takes, convert=pl.DataFrame.to_pandas)
