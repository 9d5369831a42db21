"""Arrow tables (pyarrow)."""

from __future__ import annotations

from typing import Final

import polars as pl
from narwhals import to_native
from narwhals.dependencies import is_pyarrow_table

from panbayes.tables.sources.eager_frame import read_eager_frame
from panbayes.tables.sources.source import Source

__all__ = ["ARROW"]


def _takes(given: object) -> bool:
    return is_pyarrow_table(to_native(given, pass_through=True))


ARROW: Final = Source("arrow", read_eager_frame, takes=_takes, convert=pl.DataFrame.to_arrow)
