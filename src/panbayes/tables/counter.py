"""What counts records: all that a holder's answers see of them, beside public facts.

A :class:`Counter` gives contingency tables and parities, exact and in 64 bits. Records that lie in blocks, in memory or
in a file, are counted by their blocks (:class:`BlockCounter`); those that lie in several places by adding up what is
counted in each (:class:`SumCounter`). Whatever else can count (a database, another machine) is one more implementation,
and must pass the same suite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes
from panbayes.tables.counting.block_counts import Counted, GroupsOfValues, count_blocks, count_parities
from panbayes.tables.counting.count_tables import DEFAULT_CELL_LIMIT
from panbayes.tables.spool import BLOCK_RECORDS

__all__ = ["BlockCounter", "Counter", "Facts", "SumCounter"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of records beside their counts.

    ``persons`` is the number of people where the schema names a privacy unit, else None: then it is ``records``.
    """

    schema: Schema
    records: int
    persons: int | None = None

    @property
    def size(self) -> int:
        """The public size under ``replace``: persons where there is a privacy unit, else records."""
        return self.records if self.persons is None else self.persons


class Counter(Protocol):
    """Counts of records under a schema."""

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""

    def count(
        self,
        tables: Sequence[tuple[int, ...]],
        groupings: Sequence[GroupsOfValues] | None = None,
        *,
        cell_limit: int = DEFAULT_CELL_LIMIT,
    ) -> Counted:
        """Return tables end to end, the axes of each in its own order.

        Axes are numbers of ``groupings``, or of attributes where there are none.
        """

    def parities(self, sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]) -> NDArray[np.int64]:
        """Return the parity of every set of groupings into two (:mod:`panbayes.tables.counting.parities`)."""


class BlockCounter(ABC):
    """Counts records that come in blocks."""

    __slots__ = ()

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """The schema, and how many records and people there are."""

    @abstractmethod
    def blocks(self, rows: Sequence[int] | None = None, most: int = BLOCK_RECORDS) -> Iterator[Codes]:
        """Yield the codes of the chosen attributes, C-contiguous, at most ``most`` records at a time.

        What is yielded must not be written to, and is good until the next is asked for.
        """

    def count(
        self,
        tables: Sequence[tuple[int, ...]],
        groupings: Sequence[GroupsOfValues] | None = None,
        *,
        cell_limit: int = DEFAULT_CELL_LIMIT,
    ) -> Counted:
        """Return tables end to end."""
        return count_blocks(self, self.facts.schema.sizes, tables, groupings, cell_limit=cell_limit)

    def parities(self, sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]) -> NDArray[np.int64]:
        """Return the parity of every set of groupings into two."""
        return count_parities(self, self.facts.schema.sizes, sets, groupings)


@dataclass(frozen=True, slots=True)
class SumCounter:
    """Counts of disjoint ``parts`` under one schema, added up."""

    parts: tuple[Counter, ...]

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        if not self.parts or any(part.facts.schema != self.parts[0].facts.schema for part in self.parts):
            raise InputError("parts", found="found none, or of several schemas", remedy="give parts of one schema")
        if self.facts.records > MAX_RECORDS:
            raise InputError("parts", found=f"found {self.facts.records:,} records", remedy=f"at most {MAX_RECORDS:,}")

    @property
    def facts(self) -> Facts:
        """The schema, and how many records and people there are in all parts: nobody is in two of them."""
        persons = [part.facts.persons for part in self.parts]
        known = [number for number in persons if number is not None]
        records = sum(part.facts.records for part in self.parts)
        return Facts(self.parts[0].facts.schema, records, sum(known) if len(known) == len(persons) else None)

    def count(
        self,
        tables: Sequence[tuple[int, ...]],
        groupings: Sequence[GroupsOfValues] | None = None,
        *,
        cell_limit: int = DEFAULT_CELL_LIMIT,
    ) -> Counted:
        """Return tables end to end."""
        total = self.parts[0].count(tables, groupings, cell_limit=cell_limit)
        for part in self.parts[1:]:
            np.add(total.flat, part.count(tables, groupings, cell_limit=cell_limit).flat, out=total.flat)
        return total

    def parities(self, sets: Sequence[tuple[int, ...]], groupings: Sequence[GroupsOfValues]) -> NDArray[np.int64]:
        """Return the parity of every set of groupings into two."""
        found = np.zeros(len(sets), dtype=np.int64)
        for part in self.parts:
            found += part.parities(sets, groupings)
        return found
