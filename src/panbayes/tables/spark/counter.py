"""Counts of records that Spark keeps: the tables, parities and marks of the same records in memory, to the bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.tables.counter import Facts
from panbayes.tables.counting.block_counts import Counted, GroupsOfValues, groups_in
from panbayes.tables.counting.count_tables import DEFAULT_CELL_LIMIT
from panbayes.tables.counting.limits import shaped_sets, table_lengths
from panbayes.tables.marks import RecordSums, attribute_order
from panbayes.tables.remote import RemoteTable
from panbayes.tables.spark.blocks import Totals
from panbayes.tables.spark.coded import Coded
from panbayes.tables.spark.questions import Counts, Parities, Sums, grouped

__all__ = ["SparkCounter"]

MOST_BYTES: Final = 2**28
"""About so many bytes of answers are brought together at once."""


class SparkCounter(RemoteTable):
    """Counts the records ``kept``; ``whole`` counts all of them, where a privacy unit left some out."""

    def __init__(self, kept: Coded, whole: SparkCounter | None = None, *, records: int | None = None) -> None:
        """Where nobody knows the number of ``records``, count each attribute: it makes Spark compute the blocks."""
        self._kept = kept
        self._whole = whole
        self._schema = kept.schema
        self._records = sum(self._ones[0]) if records is None else records
        if self._records > MAX_RECORDS:
            raise InputError(kept.argument, found=f"has over {MAX_RECORDS:,} records", remedy="give fewer records")

    @cached_property
    def _ones(self) -> list[list[int]]:
        """How often each value of each attribute occurs."""
        sizes = self._schema.sizes
        flat = self._kept.ask(Counts(tuple((a,) for a in range(len(sizes))), None, sum(sizes)))
        return [part.tolist() for part in np.split(flat, np.cumsum(sizes)[:-1])]

    @property
    def _totals(self) -> Totals:
        return self._kept.totals or Totals()

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""
        persons = None if self._whole is None else self._totals.persons
        return Facts(self._schema, self._records, persons)

    def count(
        self,
        tables: Sequence[tuple[int, ...]],
        groupings: Sequence[GroupsOfValues] | None = None,
        *,
        cell_limit: int = DEFAULT_CELL_LIMIT,
    ) -> Counted:
        """Return tables end to end. What may not be counted is refused before Spark is asked."""
        sizes = self._schema.sizes
        axes = sizes if groupings is None else tuple(groups_in(one, sizes) for one in groupings)
        lengths = table_lengths(axes, tables, shaped_sets(axes, tables), cell_limit)
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        flat = np.zeros(offsets[-1], dtype=np.int64)
        for part in self._passes(offsets):
            chosen = tuple(tuple(int(axis) for axis in found) for found in tables[part])
            found = self._kept.ask(Counts(chosen, grouped(groupings), cell_limit))
            flat[offsets[part.start] : offsets[part.stop]] = found
        return Counted(flat, offsets)

    def _passes(self, offsets: NDArray[np.int64]) -> Iterator[slice]:
        """Cut the tables so that what all partitions answer at once stays small."""
        most = MOST_BYTES // (8 * self._kept.parts)
        start = 0
        for stop in range(1, offsets.size):
            if stop == offsets.size - 1 or offsets[stop + 1] - offsets[start] > most:
                yield slice(start, stop)
                start = stop

    def parities(self, sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]) -> NDArray[np.int64]:
        """Return the parity of every set of groupings into two."""
        if not sets:
            return np.zeros(0, dtype=np.int64)
        chosen = tuple(tuple(int(axis) for axis in found) for found in sets)
        return self._kept.ask(Parities(chosen, grouped(groupings) or ()))

    def marks(self) -> tuple[bytes, ...]:
        """Return the marks that these records have in memory: of those that are kept, and of all."""
        return self._marks

    def forget(self) -> None:
        """Let the blocks go; nothing more can be asked but what Spark computes again."""
        self._kept.forget()

    @cached_property
    def _marks(self) -> tuple[bytes, ...]:
        order = attribute_order(self._ones)
        sums = RecordSums(order)
        found = self._kept.ask(Sums(tuple(tuple(alike) for alike in order)))
        sums.add_sums(found.view(np.uint64), self._records)
        marks = {sums.mark()}
        if self._whole is not None:
            marks.update(self._whole.marks())
            self._whole.forget()
        return tuple(sorted(marks))
