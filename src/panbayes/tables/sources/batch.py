"""What a source hands out: some records at a time, column by column, as values or as a dictionary and places in it.

A batch holds at most :data:`BATCH_RECORDS` records, so that the memory it takes does not grow with the table. A column
that repeats few values comes as a *dictionary*: the values once, and for each record the place of its own. Whatever is
done with a value is then done once, and looked up for the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["BATCH_RECORDS", "Batch", "Column", "frame_batches"]

BATCH_RECORDS: Final = 131_072
"""So many records are handed out at once at most."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """The values of one column. With ``places``, record i has ``values[places[i]]``; else ``values[i]``.

    >>> column = Column(pl.Series(["no", "yes", None]), np.array([0, 1, 0, 2]))
    >>> len(column), column.series().to_list()
    (4, ['no', 'yes', 'no', None])
    """

    values: pl.Series
    places: NDArray[np.int64] | NDArray[np.int32] | None = None

    def __len__(self) -> int:
        """Return the number of records."""
        return self.values.len() if self.places is None else int(self.places.size)

    def series(self) -> pl.Series:
        """Return one value per record."""
        return self.values if self.places is None else self.values.gather(self.places)

    def filtered(self, chosen: NDArray[np.bool_]) -> Column:
        """Return the column of some of the records."""
        if self.places is None:
            return Column(self.values.filter(pl.Series(chosen)))
        return Column(self.values, self.places[chosen])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Batch:
    """Some records: their columns by name, each of ``records`` values."""

    columns: Mapping[str, Column]
    records: int

    def frame(self) -> pl.DataFrame:
        """Return the batch as a data frame, one value per record."""
        return pl.DataFrame({name: column.series() for name, column in self.columns.items()})


def frame_batches(frame: pl.DataFrame, names: Iterable[str]) -> Iterator[Batch]:
    """Cut a data frame into batches of the named columns."""
    chosen = frame.select(list(dict.fromkeys(names)))
    for start in range(0, frame.height, BATCH_RECORDS):
        part = chosen[start : start + BATCH_RECORDS]
        yield Batch({name: Column(part[name]) for name in chosen.columns}, min(BATCH_RECORDS, frame.height - start))
