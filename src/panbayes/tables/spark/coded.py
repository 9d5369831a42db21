"""Coded blocks that Spark keeps: one state of the records for all questions of a study.

The blocks are kept by Spark's workers, in memory and where that does not suffice on their local disks, as long as the
table is open. That is a copy of records as codes, as the file is that a large table is spooled to on one machine; where
people are told, 16 keyed bytes stand for each. (``spark.io.encryption.enabled`` has Spark encrypt what it writes.)

Spark computes a block again when the machine that kept it is lost, and a table behind a catalog may have changed by
then. So every answer comes with the sum of the digests of the blocks it was counted on, and only one that was counted
on the very blocks of the first is taken; else the table is not available.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from panbayes._version import __version__
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.spark.blocks import Totals
from panbayes.tables.spark.questions import ANSWER, Question, answer, unpacked
from panbayes.tables.spark.session import spark_errors, without_warnings
from panbayes.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Coded"]


@dataclass(slots=True, eq=False, repr=False)
class Coded:
    """A data frame of blocks under a schema. ``totals`` and ``parts`` are known after the first question."""

    frame: DataFrame
    schema: Schema
    argument: str
    totals: Totals | None = None
    parts: int = 1
    _kept: bool = field(default=False)

    def keep(self) -> Coded:
        """Have Spark keep the blocks once they are computed."""
        from pyspark import StorageLevel

        with self._asked():
            self.frame = self.frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept = True
        return self

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
        work = partial(answer, self.schema, question, __version__)
        with self._asked(), without_warnings():
            rows = self.frame.mapInArrow(work, ANSWER).collect()
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
