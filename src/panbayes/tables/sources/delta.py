"""Delta tables: ``delta:///path/table``, or with ``?version=7`` as they were.

``order_by=visit`` says which of a person's records come first.

The scan is that of the ``deltalake`` package: deletion vectors, column mapping, columns that came later and partition
columns are its business. It runs in one piece, file after file in the order in which the version lists them, so that
records come in the same order every time; with several pieces the fastest would come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import BATCH_RECORDS, Batch
from panbayes.tables.sources.lake import failing, needs, number, ordering
from panbayes.tables.sources.source import Opened, Source, check_distinct

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["DELTA"]

_ONE_PIECE: Final = {
    "datafusion.execution.target_partitions": "1",
    "datafusion.execution.batch_size": str(BATCH_RECORDS),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Delta:
    table: DeltaTable
    pinned: Address
    argument: str
    columns: tuple[str, ...]
    order_by: tuple[str, ...]

    @property
    def decimal_comma(self) -> bool:
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records of this version."""
        import pyarrow as pa
        from deltalake import QueryBuilder

        from panbayes.tables.sources.arrow_columns import arrow_batches

        wanted = list(dict.fromkeys(names))
        chosen = ", ".join(_quoted(name) for name in wanted) or "1"
        with failing(
            self.argument,
            f"version {self.table.version()} cannot be read: a file of it is gone or damaged",
            "see whether it was vacuumed, and give a version that is still there",
        ):
            query = QueryBuilder(_ONE_PIECE).register("records", self.table)
            found = query.execute(" ".join(("SELECT", chosen, "FROM records")))
            with pa.RecordBatchReader.from_stream(found) as reader:
                yield from arrow_batches(reader, wanted)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


@contextmanager
def _open(given: Address, /, *, argument: str) -> Iterator[Opened]:
    given.check_options(("order_by", "version"), argument=argument)
    try:
        table = _table(given, argument=argument)
    except ModuleNotFoundError as error:
        needs(error, argument, "lake")
    with failing(argument, "has a schema that cannot be understood", "see that it is a Delta table"):
        columns = tuple(field.name for field in table.schema().fields)
        pinned = given.having(version=str(table.version()))
    check_distinct(columns, argument=argument)
    yield _Delta(table, pinned, argument, columns, ordering(given, columns, argument=argument))


def _table(given: Address, *, argument: str) -> DeltaTable:
    """Open the table at the version that is asked for, and no other."""
    from deltalake import DeltaTable

    wanted = given.option("version")
    version = None if wanted is None else number(wanted, "version", argument=argument)
    path = Path(given.file).absolute()
    if not path.is_dir():
        raise InputError(argument, found="is no directory that can be read", remedy="check the path")
    with failing(argument, "is no Delta table that can be read", "check the path"):
        table = DeltaTable(path.as_uri())
    if version is not None:
        with failing(argument, f"has no version {version}, or not any more", "give a version that is still there"):
            table.load_as_version(version)
            if table.version() != version:
                raise ValueError("another version")
    return table


DELTA: Final = Source("Delta", _open, schemes=("delta",))
