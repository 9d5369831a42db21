"""Arrow tables and record batches (pyarrow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from narwhals import to_native
from narwhals.dependencies import is_pyarrow_table

from panbayes.tables.sources.batch import BATCH_RECORDS, Batch
from panbayes.tables.sources.source import Opened, Source, check_distinct

__all__ = ["ARROW"]


def _takes(given: object) -> bool:
    return is_pyarrow_table(to_native(given, pass_through=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Table:
    table: Any
    argument: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    @property
    def decimal_comma(self) -> bool:
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records, as they lie in memory."""
        from panbayes.tables.sources.arrow_columns import arrow_batches, damaged

        chosen = self.table.select(list(dict.fromkeys(names)))
        with damaged(self.argument, "Arrow table"):
            yield from arrow_batches(chosen.to_batches(BATCH_RECORDS), names)


@contextmanager
def _open(given: object, /, *, argument: str) -> Iterator[Opened]:
    table = _Table(to_native(given, pass_through=True), argument)
    check_distinct(table.columns, argument=argument)
    yield table


ARROW: Final = Source("arrow", _open, takes=_takes, convert=pl.DataFrame.to_arrow)
