"""Opening what Spark counts: a table of its catalog, a data frame of a session, or Parquet files.

**Files as schedule.** With ``?path=…`` Spark only says which worker reads which row groups, and the workers read the
files themselves: they lie under the same path on every machine. It costs little more than one process.

**A data frame** where Spark has to read, because a catalog filters rows, masks columns, or knows what was deleted. It
costs the way of every value from Spark to the worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from panbayes._version import __version__
from panbayes.errors import InputError, nearest
from panbayes.schema.schema import Schema
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.source import Opened, check_distinct
from panbayes.tables.spark.blocks import BLOCK
from panbayes.tables.spark.coded import Coded
from panbayes.tables.spark.coding import Coding, code_files, code_frame, gathered, hand_over
from panbayes.tables.spark.counter import SparkCounter
from panbayes.tables.spark.cutting import RECORD, first_of_each, records_of
from panbayes.tables.spark.parquet_parts import PART_RECORDS, Pieces, find_pieces
from panbayes.tables.spark.session import spark_errors, spark_session, without_warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["open_table"]

_KEY_BYTES: Final = 32
_SHAPE: Final = "write it as spark://catalog.schema.table, or spark:///?path=/folder/*.parquet"


class _SparkTable:
    """A table that is open. What Spark keeps for it is let go when it is closed."""

    decimal_comma = False

    def __init__(
        self, given: DataFrame | Pieces, columns: tuple[str, ...], order_by: tuple[str, ...], *, argument: str
    ) -> None:
        """Keep nothing yet."""
        self.columns = columns
        self._given = given
        self._order_by = order_by
        self._argument = argument
        self._kept: list[Coded] = []
        self._stack = ExitStack()

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records, as they come."""
        wanted = list(dict.fromkeys(names))
        if isinstance(self._given, Pieces):
            for task in self._given.tasks:
                for piece in task:
                    with spark_errors(self._argument, "cannot be read", "check the path"):
                        yield from piece.batches(wanted, argument=self._argument)
            return
        with spark_errors(self._argument, "cannot be read by Spark", "see Spark's own log"), without_warnings():
            chosen = _chosen(self._given, wanted) if wanted else self._given.selectExpr("1 AS c0")
            rows = chosen.mapInArrow(partial(hand_over, __version__), "stream binary").toLocalIterator()
        while True:
            with spark_errors(self._argument, "cannot be read by Spark", "see Spark's own log"):
                row = next(rows, None)
                found = [] if row is None else list(gathered(wanted or ["c0"], _streamed(bytes(row[0]))))
            if row is None:
                return
            yield from found

    def counting(self, schema: Schema, columns: Mapping[str, str], /) -> SparkCounter:
        """Encode the records within Spark, cut them by person if need be, and count them there."""
        unit = schema.unit
        key = None if unit is None else os.urandom(_KEY_BYTES)
        coding = Coding(schema, dict(columns), self._order_by, key)
        blocks, whole = self._whole(coding)
        if unit is None:
            return whole
        with self._errors(), without_warnings():
            records = blocks.mapInArrow(partial(records_of, schema, __version__), RECORD)
            parts = -(-max(whole.facts.records, 1) // PART_RECORDS)
            ordered = records.repartition(parts, "person").sortWithinPartitions("person", "place", "codes")
            first = ordered.mapInArrow(partial(first_of_each, schema, unit.max_records, __version__), BLOCK)
        return SparkCounter(self._keep(first, schema), whole)

    def _whole(self, coding: Coding) -> tuple[DataFrame, SparkCounter]:
        """Return the coded blocks of all records, and what counts them."""
        if not isinstance(self._given, Pieces):
            with self._errors(), without_warnings():
                blocks = _chosen(self._given, coding.names).mapInArrow(partial(code_frame, coding), BLOCK)
            coded = self._keep(blocks, coding.schema)
            return coded.frame, SparkCounter(coded)
        session = self._stack.enter_context(spark_session(self._argument))
        tasks = self._given.tasks
        with self._errors(), without_warnings():
            numbers = session.range(0, len(tasks), 1, max(len(tasks), 1))
            blocks = numbers.mapInArrow(partial(code_files, coding, tasks), BLOCK)
        # What all records are known by does not depend on whose they are.
        bare = Coding(coding.schema, coding.columns)
        coded = Coded.of_files(numbers, bare, tasks, self._argument)
        records = sum(piece.records for task in tasks for piece in task)
        return blocks, SparkCounter(coded, records=records)

    def _keep(self, frame: DataFrame, schema: Schema) -> Coded:
        kept = Coded.kept(frame, schema, self._argument)
        self._kept.append(kept)
        return kept

    def _errors(self) -> AbstractContextManager[None]:
        return spark_errors(self._argument, "cannot be read by Spark", "see Spark's own log")

    def close(self) -> None:
        """Have Spark forget what it keeps."""
        with self._stack:
            for kept in self._kept:
                kept.forget()


def _streamed(data: bytes) -> Iterator[object]:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as stream:
        yield from stream


def _chosen(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the named columns, as c0, c1, …"""
    quoted = [name.replace("`", "``") for name in names]
    return frame.selectExpr(*(f"`{name}` AS c{place}" for place, name in enumerate(quoted)))


@contextmanager
def open_table(given: Any, /, *, argument: str) -> Iterator[Opened]:
    """Open an address or a data frame of Spark."""
    with ExitStack() as stack:
        if not isinstance(given, Address):
            table = _of_frame(given, (), argument=argument)
        elif given.option("path") is not None:
            table = _of_files(given, argument=argument)
        else:
            table = _of_catalog(given, stack, argument=argument)
        stack.callback(table.close)
        yield table


def _of_frame(frame: DataFrame, order_by: tuple[str, ...], *, argument: str) -> _SparkTable:
    with spark_errors(argument, "cannot be read by Spark", "see Spark's own log"), without_warnings():
        columns = tuple(frame.columns)
    check_distinct(columns, argument=argument)
    return _SparkTable(frame, columns, _ordered(order_by, columns, argument=argument), argument=argument)


def _of_files(given: Address, *, argument: str) -> _SparkTable:
    given.check_options(("order_by", "path"), argument=argument)
    if given.host or given.path.strip("/"):
        raise InputError(argument, found="names both a table and a path", remedy=_SHAPE)
    pieces = find_pieces(Path(given.option("path") or "").absolute(), argument=argument)
    order_by = _ordered(given.names("order_by"), pieces.columns, argument=argument)
    return _SparkTable(pieces, pieces.columns, order_by, argument=argument)


def _of_catalog(given: Address, stack: ExitStack, *, argument: str) -> _SparkTable:
    given.check_options(("order_by",), argument=argument)
    if not given.host or given.path.strip("/") or given.user or given.port is not None:
        raise InputError(argument, found="names no table of a catalog", remedy=_SHAPE)
    session = stack.enter_context(spark_session(argument))
    with spark_errors(argument, f'Spark finds no table "{given.host}"', _SHAPE), without_warnings():
        frame = session.table(given.host)
        columns = tuple(frame.columns)
    return _of_frame(frame, _ordered(given.names("order_by"), columns, argument=argument), argument=argument)


def _ordered(names: tuple[str, ...], columns: tuple[str, ...], *, argument: str) -> tuple[str, ...]:
    for name in names:
        if name not in columns:
            raise InputError(argument, found=f'order_by names "{name}"', remedy=nearest(name, columns))
    return names
