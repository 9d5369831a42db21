"""A coded block as Spark carries it: the codes of some records, and what tells them from others.

A block is one row of a data frame: ``codes`` are those of a block of at most 131,072 records, attribute by attribute;
``people`` has 16 bytes a record that stand for a person, where there is a privacy unit, and ``places`` what the records
of a person are ordered by. ``low`` and ``high`` are the sums over its records of the hashes that marks are made of
(:mod:`panbayes.tables.marks`), attributes in the order of the schema: added up over all blocks, in whichever order
records come, they say whether records that were computed again, after a machine was lost, are those of before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, code_type
from panbayes.tables.marks import RecordSums

__all__ = ["BLOCK", "PERSON_BYTES", "Block", "Totals", "blocks_of", "unquoted"]

BLOCK: Final = (
    "records bigint, persons bigint, low bigint, high bigint, codes binary, people binary, places array<binary>"
)
"""The columns of a block, as Spark writes them."""

PERSON_BYTES: Final = 16


@contextmanager
def unquoted() -> Iterator[None]:
    """Let nothing of an error out of a worker but its kind: Spark would carry its text to the driver and into logs."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, GeneratorExit | KeyboardInterrupt | SystemExit):
            raise
        told = str(error) if isinstance(error, RuntimeError) and str(error).startswith("panbayes:") else ""
        raise RuntimeError(told or f"panbayes: {type(error).__name__}") from None


@dataclass(frozen=True, slots=True)
class Totals:
    """What is counted of blocks whatever is asked: records, persons, and the sums of their hashes, modulo 2⁶⁴."""

    records: int = 0
    persons: int = 0
    low: int = 0
    high: int = 0

    def __add__(self, other: Totals) -> Totals:
        """Return those of both."""
        return Totals(
            self.records + other.records,
            self.persons + other.persons,
            _signed(self.low + other.low),
            _signed(self.high + other.high),
        )


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Block:
    """The codes of some records; ``persons`` is how many people begin in it."""

    codes: Codes
    persons: int = 0
    people: bytes = b""
    places: Sequence[bytes] = ()

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.codes.shape[1])

    def totals(self) -> Totals:
        """Return the totals of this block."""
        sums = RecordSums([[attribute] for attribute in range(len(self.codes))])
        sums.add(self.codes)
        low, high = sums.sums.view(np.int64).tolist()
        return Totals(self.records, self.persons, low, high)

    def row(self) -> Any:
        """Return the block as a record batch of one row."""
        import pyarrow as pa

        codes, totals = self.codes.tobytes(), self.totals()
        whole = [totals.records, totals.persons, totals.low, totals.high]
        columns: list[Any] = [pa.array([number], pa.int64()) for number in whole]
        columns += [pa.array([codes], pa.binary()), pa.array([self.people], pa.binary())]
        columns += [pa.array([list(self.places)], pa.list_(pa.binary()))]
        return pa.RecordBatch.from_arrays(
            columns, names=["records", "persons", "low", "high", "codes", "people", "places"]
        )


def blocks_of(schema: Schema, batches: Iterator[Any]) -> Iterator[tuple[Block, Totals]]:
    """Yield the blocks of record batches that Spark hands to a worker, each with its totals."""
    kind = np.dtype(code_type(schema))
    for batch in batches:
        for row in range(batch.num_rows):
            records, persons, low, high, codes, people, places = (column[row] for column in batch.columns)
            flat: NDArray[Any] = np.frombuffer(codes.as_buffer(), dtype=kind)
            found: Codes = flat.reshape(len(schema), records.as_py())
            totals = Totals(records.as_py(), persons.as_py(), low.as_py(), high.as_py())
            yield Block(found, totals.persons, people.as_py(), places.as_py()), totals
