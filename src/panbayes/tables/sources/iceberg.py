"""Iceberg tables: ``iceberg://catalog/namespace.table``, or with ``?snapshot=ID`` as they were.

``order_by=visit`` says which of a person's records come first.

The catalog is one of pyiceberg's own configuration (``~/.pyiceberg.yaml``, ``PYICEBERG_CATALOG__NAME__URI`` and the
like), where its credentials are too. The scan is that of the ``pyiceberg`` package: deletes, columns that came later
or had other names, and partition columns are its business. It goes through the data files of the snapshot one after
the other, in the order of their names; pyiceberg by itself would hold several of them in memory whole.

The columns are those that the table has when it is opened; at a snapshot that the address names, those of that
snapshot. Where a column was added or renamed since the newest snapshot, the pinned address says so by ``schema_id``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.lake import failing, needs, number, ordering
from panbayes.tables.sources.source import Opened, Source, check_distinct

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema as Fields
    from pyiceberg.table import DataScan, FileScanTask, Table

__all__ = ["ICEBERG"]

NO_SNAPSHOT: Final = -1
"""What a table is pinned to that has no snapshot yet, and no record."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Iceberg:
    table: Table
    snapshot: int
    fields: Fields
    pinned: Address
    argument: str
    columns: tuple[str, ...]
    order_by: tuple[str, ...]

    @property
    def decimal_comma(self) -> bool:
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records of this snapshot, data file by data file."""
        from panbayes.tables.sources.arrow_columns import arrow_batches

        wanted = list(dict.fromkeys(names))
        if self.snapshot == NO_SNAPSHOT:
            return
        # A scan of no column would have no length.
        fields = self.fields.select(*(wanted or self.columns[:1]))
        with (
            failing(
                self.argument,
                f"snapshot {self.snapshot} cannot be read: a file of it is gone, damaged or of a kind that is not read",
                "see whether it was expired, and give a snapshot that is still there",
            ),
            _untold(),
        ):
            scan = self.table.scan(snapshot_id=self.snapshot)
            found = _in_order(scan, fields, _dictionaries(self.table, fields))
            yield from arrow_batches(found, wanted)


def _in_order(scan: DataScan, fields: Fields, dictionaries: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    from pyiceberg.io.pyarrow import ArrowScan, _read_all_delete_files

    class OneByOne(ArrowScan):
        """Goes through one data file as its batches come."""

        def batches(self, task: FileScanTask) -> Iterator[pa.RecordBatch]:
            # The file's own deletes, as to_record_batches() finds them.
            deletes = _read_all_delete_files(self._io, [task])
            return self._record_batches_from_scan_tasks_and_deletes([task], deletes)

    one = OneByOne(scan.table_metadata, scan.io, fields, scan.row_filter, dictionary_columns=dictionaries)
    for task in sorted(scan.plan_files(), key=lambda task: str(task.file.file_path)):
        yield from one.batches(task)


def _dictionaries(table: Table, fields: Fields) -> tuple[str, ...]:
    """Return the columns of texts that are read as dictionaries, by name: those whose name was never another's."""
    from pyiceberg.types import StringType

    ids: dict[str, set[int]] = {}
    for schema in table.metadata.schemas:
        for field in schema.fields:
            ids.setdefault(field.name, set()).add(field.field_id)
    texts = (field for field in fields.fields if isinstance(field.field_type, StringType))
    return tuple(field.name for field in texts if ids.get(field.name) == {field.field_id})


@contextmanager
def _untold() -> Iterator[None]:
    """Keep pyiceberg from telling of every dictionary that Iceberg has no such type."""
    logger = logging.getLogger("pyiceberg.io.pyarrow")

    def other(record: logging.LogRecord) -> bool:
        return "dictionary type" not in record.getMessage()

    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


@contextmanager
def _open(given: Address, /, *, argument: str) -> Iterator[Opened]:
    given.check_options(("order_by", "schema_id", "snapshot"), argument=argument)
    identifier = given.path.removeprefix("/")
    if (
        not given.host
        or given.user
        or given.port is not None
        or not all(identifier.split("."))
        or "." not in identifier
    ):
        raise InputError(
            argument, found="names no catalog and table", remedy="write it as iceberg://catalog/namespace.table"
        )
    wanted = given.option("snapshot")
    snapshot = None if wanted is None else number(wanted, "snapshot", argument=argument)
    named = given.option("schema_id")
    schema_id = None if named is None else number(named, "schema_id", argument=argument)
    try:
        table = _load(given.host, identifier, argument=argument)
    except ModuleNotFoundError as error:
        needs(error, argument, "lake")
    yield _at(table, given, snapshot, schema_id, argument=argument)


def _load(catalog: str, identifier: str, *, argument: str) -> Table:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    from pyiceberg.utils.config import Config

    with failing(
        argument,
        f'the catalog "{catalog}" cannot be reached',
        "see pyiceberg's configuration: ~/.pyiceberg.yaml, or variables such as PYICEBERG_CATALOG__NAME__URI",
    ):
        settings = {name: str(value) for name, value in (Config().get_catalog_config(catalog) or {}).items()}
        with load_catalog(catalog, **settings) as opened:
            try:
                return opened.load_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                raise InputError(
                    argument, found=f'the catalog has no table "{identifier}"', remedy="check namespace and name"
                ) from None


def _at(table: Table, given: Address, wanted: int | None, schema_id: int | None, *, argument: str) -> _Iceberg:
    """Return the table at the snapshot that is asked for, and no other."""
    current = table.current_snapshot()
    newest = NO_SNAPSHOT if current is None else current.snapshot_id
    number_of = newest if wanted is None else wanted
    snapshot = None if number_of == NO_SNAPSHOT else table.snapshot_by_id(number_of)
    if snapshot is None and number_of != NO_SNAPSHOT:
        raise InputError(
            argument,
            found=f"has no snapshot {number_of}, or not any more",
            remedy="give a snapshot that is still there",
        )
    own = None if snapshot is None else snapshot.schema_id
    chosen = schema_id if schema_id is not None else own if wanted is not None and own is not None else None
    fields = table.schema() if chosen is None else table.schemas().get(chosen)
    if fields is None:
        raise InputError(argument, found=f"has no schema {chosen}", remedy="leave out schema_id")
    pinned = given.having(snapshot=str(number_of))
    if fields.schema_id != own and own is not None:
        pinned = pinned.having(schema_id=str(fields.schema_id))
    columns = tuple(field.name for field in fields.fields)
    check_distinct(columns, argument=argument)
    ordered = ordering(given, columns, argument=argument)
    return _Iceberg(table, number_of, fields, pinned, argument, columns, ordered)


ICEBERG: Final = Source("Iceberg", _open, schemes=("iceberg",))
