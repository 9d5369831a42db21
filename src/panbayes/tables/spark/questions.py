"""What is asked of coded blocks: whose answers are integers that add up over blocks, modulo 2⁶⁴.

Counts and parities are sums over records, and so are those that a mark is made of (:mod:`panbayes.tables.marks`): the
answers of all partitions, in whichever order they come, add up to that of all records in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from panbayes.schema.schema import Schema
from panbayes.tables.counting.block_counts import GroupsOfValues
from panbayes.tables.marks import RecordSums
from panbayes.tables.spark.blocks import Block, Totals, blocks_of, unquoted
from panbayes.tables.spark.coding import Coding, file_blocks, ready
from panbayes.tables.spark.parquet_parts import Piece
from panbayes.tables.table import Table

__all__ = [
    "ANSWER",
    "Counts",
    "Grouped",
    "Parities",
    "Question",
    "Sums",
    "answer",
    "answer_files",
    "grouped",
    "unpacked",
]

ANSWER: Final = "records bigint, persons bigint, low bigint, high bigint, answer binary"
"""The columns of a partition's answer."""


class Question(Protocol):
    """Something that is asked of records."""

    def of(self, table: Table, /) -> NDArray[np.int64]:
        """Return the answer of some records; it has the same length whatever they are."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The values of an attribute in groups."""

    attribute: int
    groups: tuple[int, ...]


def grouped(groupings: Sequence[GroupsOfValues] | None) -> tuple[Grouped, ...] | None:
    """Return groupings as plain values, which can be sent to workers."""
    if groupings is None:
        return None
    return tuple(Grouped(one.attribute, tuple(int(group) for group in one.groups)) for one in groupings)


@dataclass(frozen=True, slots=True)
class Counts:
    """Contingency tables, end to end."""

    tables: tuple[tuple[int, ...], ...]
    groupings: tuple[Grouped, ...] | None
    cell_limit: int

    def of(self, table: Table, /) -> NDArray[np.int64]:
        """Count the tables."""
        return table.count(self.tables, self.groupings, cell_limit=self.cell_limit).flat


@dataclass(frozen=True, slots=True)
class Parities:
    """Parities of sets of groupings."""

    sets: tuple[tuple[int, ...], ...]
    groupings: tuple[Grouped, ...]

    def of(self, table: Table, /) -> NDArray[np.int64]:
        """Add up the parities."""
        return table.parities(self.sets, self.groupings)


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums that a mark is made of, of attributes in an order."""

    order: tuple[tuple[int, ...], ...]

    def of(self, table: Table, /) -> NDArray[np.int64]:
        """Add up the hashes."""
        sums = RecordSums([list(alike) for alike in self.order])
        sums.add(table.codes)
        return sums.sums.view(np.int64)


def answer(schema: Schema, question: Question, version: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Answer for the blocks of a partition that Spark keeps."""
    with unquoted():
        ready(version)
        yield from _answered(schema, question, blocks_of(schema, batches))


def answer_files(
    coding: Coding, tasks: Sequence[Sequence[Piece]], question: Question, batches: Iterator[Any]
) -> Iterator[Any]:
    """Read and encode the files of the tasks whose numbers Spark hands out, and answer for them."""
    with unquoted():
        blocks = file_blocks(coding, tasks, batches)
        yield from _answered(coding.schema, question, ((block, block.totals()) for block in blocks))


def _answered(schema: Schema, question: Question, blocks: Iterable[tuple[Block, Totals]]) -> Iterator[Any]:
    import pyarrow as pa

    totals = Totals()
    found: NDArray[np.int64] | None = None
    for block, own in blocks:
        part = question.of(Table(schema, block.codes))
        found = part if found is None else found + part
        totals += own
    if found is not None:
        numbers = (totals.records, totals.persons, totals.low, totals.high)
        columns: list[Any] = [pa.array([number], pa.int64()) for number in numbers]
        yield pa.RecordBatch.from_arrays(
            [*columns, pa.array([_packed(found)], pa.binary())],
            names=["records", "persons", "low", "high", "answer"],
        )


def _packed(numbers: NDArray[np.int64]) -> bytes:
    """Write numbers as they are or, where most are 0, the others and their places."""
    places = np.flatnonzero(numbers).astype(np.int64)
    if 2 * places.size < numbers.size:
        return b"p" + places.astype("<i8").tobytes() + numbers[places].astype("<i8").tobytes()
    return b"n" + numbers.astype("<i8").tobytes()


def unpacked(data: bytes, length: int) -> NDArray[np.int64]:
    """Read what :func:`_packed` wrote.

    >>> unpacked(_packed(np.array([0, 0, 0, -5, 0])), 5).tolist(), unpacked(_packed(np.array([1, 2])), 2).tolist()
    ([0, 0, 0, -5, 0], [1, 2])
    """
    numbers: NDArray[np.int64] = np.frombuffer(data, dtype="<i8", offset=1).astype(np.int64)
    if data[:1] == b"n":
        return numbers
    places, values = numbers.reshape(2, -1)
    found = np.zeros(length, dtype=np.int64)
    found[places] = values
    return found
