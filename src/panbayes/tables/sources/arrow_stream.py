"""Whatever hands out Arrow data by its C interface: readers of record batches, DuckDB relations, other frames.

Records are taken batch by batch, so that a result larger than memory can be read where it comes from. A reader of
record batches can be read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

from narwhals import to_native
from narwhals.dependencies import is_into_dataframe

from panbayes.errors import InputError
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.source import Opened, Source, check_distinct
from panbayes.tables.sources.spark import is_spark_frame

__all__ = ["ARROW_STREAM"]

_READ: Final[WeakSet[Any]] = WeakSet()
"""Readers that have been read."""


def _takes(given: object) -> bool:
    # A type has these too, and hands out nothing.
    offers = hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")
    if not offers or isinstance(given, type) or is_spark_frame(given):
        return False
    return not is_into_dataframe(to_native(given, pass_through=True))


class _Stream:
    """A stream that has begun: the first pass over its records goes on with it, a further one begins anew."""

    decimal_comma = False

    def __init__(self, given: Any, *, argument: str) -> None:
        """Begin."""
        self._given = given
        self._argument = argument
        self._begun: Any = None if _is_reader(given) else _begin(given, argument=argument)
        begun = given if self._begun is None else self._begun
        self.columns = tuple((begun[0] if isinstance(begun, list) else begun).schema.names)

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records, as they come."""
        from panbayes.tables.sources.arrow_columns import arrow_batches, damaged

        begun, self._begun = self._begun or _begin(self._given, argument=self._argument), None
        try:
            with damaged(self._argument, "Arrow stream"):
                yield from arrow_batches(begun, names)
        finally:
            _end(begun)

    def close(self) -> None:
        """Let go of what has begun."""
        _end(self._begun)


def _is_reader(given: object) -> bool:
    import pyarrow as pa

    return isinstance(given, pa.RecordBatchReader)


def _end(begun: Any) -> None:
    if _is_reader(begun):
        begun.close()


def _begin(given: Any, *, argument: str) -> Any:
    """Begin to read; complain about what has been read before and about what is no table."""
    import pyarrow as pa

    if _is_reader(given):
        if given in _READ:
            raise InputError(
                argument, found="is a stream that has been read", remedy="give a new one, or its table (read_all())"
            )
        _READ.add(given)
        return given
    try:
        if hasattr(given, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(given)
        return [pa.record_batch(given)]
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(
            argument, found=f"found a {type(given).__name__} without columns", remedy="give a table, not one column"
        ) from None


@contextmanager
def _open(given: Any, /, *, argument: str) -> Iterator[Opened]:
    stream = _Stream(given, argument=argument)
    try:
        check_distinct(stream.columns, argument=argument)
        yield stream
    finally:
        stream.close()


ARROW_STREAM: Final = Source("Arrow stream", _open, takes=_takes)
