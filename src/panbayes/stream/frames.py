"""Feeding a state from polars and pandas: ``frame.panbayes.feed(estimator, column="user")``.

To import this module gives columns and frames of polars, and of pandas where it is installed, a ``panbayes`` of their
own. Nothing is returned, whatever was in them. The fields that a state looks at are columns of the frame, by their
names. When ``feed`` returns, everything counts; if it fails, feed again: who comes twice counts once, but where
visits are counted each time is a visit.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterable
from typing import Protocol

import polars as pl
from polars.selectors import by_name

from panbayes.errors import InputError
from panbayes.stream.ids.records import Records
from panbayes.stream.private_stream import PrivateStream

__all__ = ["FedColumn", "FedFrame", "FedQuery"]


class _Frame(Protocol):
    """What frames of polars and pandas have in common."""

    @property
    def columns(self) -> Iterable[object]: ...

    def __getitem__(self, name: str, /) -> object: ...


class FedColumn:
    """The ``panbayes`` of a column.

    >>> import polars as pl
    >>> from panbayes import DistinctCounter
    >>> with DistinctCounter(epsilon=4, expect=10_000) as counter:
    ...     FedColumn(pl.Series(range(10_000))).feed(counter)
    ...     9_000 < counter.estimate().users < 11_000
    True
    """

    def __init__(self, column: object) -> None:
        """Take the column."""
        self._column = column

    def feed(self, estimator: PrivateStream) -> None:
        """Feed the ids of the column to ``estimator``."""
        estimator.update(self._column)


class FedFrame:
    """The ``panbayes`` of a frame."""

    def __init__(self, frame: _Frame) -> None:
        """Take the frame."""
        self._frame = frame

    def feed(self, estimator: PrivateStream, *, column: str) -> None:
        """Feed the ids in ``column`` to ``estimator``, with the fields that it looks at."""
        _require(estimator, column, self._frame.columns)
        _feed(self._frame, estimator, column)


class FedQuery:
    """The ``panbayes`` of a lazy frame."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        """Take the query."""
        self._query = frame

    def feed(self, estimator: PrivateStream, *, column: str) -> None:
        """Run the query, and feed the ids in ``column`` to ``estimator``, with the fields that it looks at.

        Only these columns are computed, some rows at a time. An error of the query is told without its reason, which
        may say what is in the rows.
        """
        refused: list[InputError] = []
        turns = threading.Lock()

        def take(some: pl.DataFrame) -> pl.DataFrame:
            with turns:
                if not refused:
                    try:
                        _feed(some, estimator, column)
                    except InputError as error:
                        refused.append(error)
            return some.clear()

        try:
            _require(estimator, column, self._query.collect_schema().names())
            chosen = self._query.select(by_name(*dict.fromkeys([column, *estimator.setup.fields])))
            chosen.map_batches(take, streamable=True).collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError):
            raise InputError(
                "frame", found="polars cannot compute its columns", remedy="collect() it by itself to see why"
            ) from None
        if refused:
            raise refused[0]


def _feed(frame: _Frame, estimator: PrivateStream, column: str) -> None:
    fields = {name: frame[name] for name in estimator.setup.fields}
    estimator.update(Records(frame[column], fields) if fields else frame[column])


def _require(estimator: PrivateStream, column: str, columns: Iterable[object]) -> None:
    """Refuse a frame that lacks a column; its names are no secret, its rows are."""
    names = [str(name) for name in columns]
    if column not in names:
        found, listed = f"found {column!r}", ", ".join(names[:20])
        raise InputError("column", found=found, remedy=f"name a column of the frame: {listed}")
    for field in estimator.setup.fields:
        if field not in names:
            raise InputError("frame", found=f"it has no column {field}", remedy="this state looks at it: add it")


pl.api.register_series_namespace("panbayes")(FedColumn)
pl.api.register_dataframe_namespace("panbayes")(FedFrame)
pl.api.register_lazyframe_namespace("panbayes")(FedQuery)

if importlib.util.find_spec("pandas") is not None:
    import pandas as pd

    pd.api.extensions.register_series_accessor("panbayes")(FedColumn)
    pd.api.extensions.register_dataframe_accessor("panbayes")(FedFrame)
