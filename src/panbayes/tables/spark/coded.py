"""One state of the records for all questions of a study, whose answers add up over what Spark's workers have.

*Files* are pinned: every question is one pass over them, in which the workers read, encode and count, and nothing of
the records stays anywhere. That costs less than to have Spark keep the codes, which it copies several times.

What comes out of a *data frame*, or is cut by person, is kept as coded blocks by Spark's workers, in memory and where
that does not suffice on their local disks, as long as the table is open: a table behind a catalog may change between
two questions. That is a copy of records as codes, as the file is that a large table is spooled to on one machine; where
people are told, 16 keyed bytes stand for each. (``spark.io.encryption.enabled`` has Spark encrypt what it writes.)

Spark computes a block again when the machine that kept it is lost, and a table may have changed by then. So every
answer comes with a sum of hashes of the records it was counted on, and only one that was counted on the very records of
the first is taken; else the table is not available.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panbayes._version import __version__
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.spark.blocks import Totals
from panbayes.tables.spark.coding import Coding
from panbayes.tables.spark.parquet_parts import Piece
from panbayes.tables.spark.questions import ANSWER, Question, answer, answer_files, unpacked
from panbayes.tables.spark.session import spark_errors, without_warnings
from panbayes.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Coded"]


@dataclass(slots=True, eq=False, repr=False)
class Coded:
    """Records under a schema: ``work`` makes of a question what is done with ``frame``, partition by partition.

    ``totals`` and ``parts`` are known after the first question.
    """

    frame: DataFrame
    work: Callable[[Question], Callable[[Iterator[Any]], Iterator[Any]]]
    schema: Schema
    argument: str
    totals: Totals | None = None
    parts: int = 1
    _kept: bool = field(default=False)

    @classmethod
    def of_files(cls, numbers: DataFrame, coding: Coding, tasks: Sequence[Sequence[Piece]], argument: str) -> Coded:
        """Return what reads files anew for every question; ``numbers`` are those of the tasks."""
        return cls(numbers, lambda question: partial(answer_files, coding, tasks, question), coding.schema, argument)

    @classmethod
    def kept(cls, blocks: DataFrame, schema: Schema, argument: str) -> Coded:
        """Return what has Spark keep blocks, once they are computed."""
        from pyspark import StorageLevel

        made = cls(blocks, lambda question: partial(answer, schema, question, __version__), schema, argument)
        with made._asked():
            made.frame = blocks.persist(StorageLevel.MEMORY_AND_DISK)
        made._kept = True
        return made

    def forget(self) -> None:
        """Let the blocks go."""
        if self._kept:
            self._kept = False
            with self._asked():
                self.frame.unpersist(True)

    def _asked(self) -> AbstractContextManager[None]:
        return spark_errors(
            self.argument,
            "Spark did not finish: a worker failed or was lost, or the table cannot be read",
            "see Spark's own log, and run it again",
        )

    def ask(self, question: Question) -> NDArray[np.int64]:
        """Return the answer of all blocks together."""
        with self._asked(), without_warnings():
            rows = self.frame.mapInArrow(self.work(question), ANSWER).collect()
        totals = sum((Totals(*row[:4]) for row in rows), start=Totals())
        if self.totals is None:
            self.totals, self.parts = totals, max(len(rows), 1)
        elif totals != self.totals:
            raise InputError(
                self.argument,
                found="has changed since the first question, or Spark lost a part of it",
                remedy="run it again",
            )
        nothing = np.zeros((len(self.schema), 0), dtype=code_type(self.schema))
        found = question.of(Table(self.schema, nothing)).copy()
        for row in rows:
            found += unpacked(bytes(row[4]), found.size)
        return found
