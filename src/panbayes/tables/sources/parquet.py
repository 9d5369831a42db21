"""Parquet files. Only the columns that are asked for are read, some records at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.batch import BATCH_RECORDS, Batch
from panbayes.tables.sources.file import File
from panbayes.tables.sources.source import Opened, Source, check_distinct

__all__ = ["MAX_CELLS", "PARQUET", "Footer", "group_batches", "read_footer"]

MAX_CELLS: Final = 1 << 36
"""Records times columns that are read at most: a small file can declare any number of them."""

_BUFFER: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Parquet:
    path: Path
    argument: str
    columns: tuple[str, ...]
    texts: frozenset[str]
    records: int

    @property
    def decimal_comma(self) -> bool:
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records, row group by row group."""
        wanted = list(dict.fromkeys(names))
        if self.records * max(1, len(wanted)) > MAX_CELLS:
            raise InputError(
                self.argument,
                found=f"declares more than {MAX_CELLS:,} values",
                remedy="give fewer columns, or a smaller file",
            )
        if not wanted:
            for start in range(0, self.records, BATCH_RECORDS):
                yield Batch({}, min(BATCH_RECORDS, self.records - start))
            return
        yield from group_batches(self.path, wanted, self.texts, None, argument=self.argument)


def group_batches(
    path: Path, names: Sequence[str], texts: Collection[str], groups: list[int] | None, *, argument: str
) -> Iterator[Batch]:
    """Yield the records of some row groups, or of all; of the columns, those in ``texts`` as dictionaries."""
    from panbayes.tables.sources.arrow_columns import arrow_batches, damaged

    chosen = [name for name in names if name in texts]
    with damaged(argument, "Parquet file"), _parquet_file(path, chosen) as file:
        found = file.iter_batches(BATCH_RECORDS, row_groups=groups, columns=list(names), use_threads=False)
        yield from arrow_batches(found, names)


@contextmanager
def _parquet_file(path: Path, dictionaries: list[str]) -> Iterator[Any]:
    """Open a file. It is read piece by piece and not mapped: one that is cut short meanwhile would end the process."""
    import pyarrow.parquet as pq

    with (
        path.open("rb") as stream,
        pq.ParquetFile(stream, read_dictionary=dictionaries, pre_buffer=False, buffer_size=_BUFFER) as file,
    ):
        yield file


@dataclass(frozen=True, slots=True)
class Footer:
    """What the end of a file says: its columns, those of texts, and how many records each row group has."""

    columns: tuple[str, ...]
    texts: frozenset[str]
    groups: tuple[int, ...]


def read_footer(path: Path, *, argument: str) -> Footer:
    """Read the end of a file."""
    from panbayes.tables.sources.arrow_columns import damaged, is_text

    with damaged(argument, "Parquet file"), _parquet_file(path, []) as file:
        schema, found = file.schema_arrow, file.metadata
        groups = tuple(found.row_group(group).num_rows for group in range(found.num_row_groups))
        if min(groups, default=0) < 0 or found.num_rows != sum(groups):
            raise ValueError("fewer than no records")
        names = tuple(schema.names)
        texts = frozenset(field.name for field in schema if is_text(field.type))
    check_distinct(names, argument=argument)
    return Footer(names, texts, groups)


@contextmanager
def _open(given: File, /, *, argument: str) -> Iterator[Opened]:
    found = read_footer(given.path, argument=argument)
    yield _Parquet(given.path, argument, found.columns, found.texts, sum(found.groups))


def _write(frame: pl.DataFrame, path: Path, _suffix: str) -> None:
    with path.open("wb") as file:  # polars takes no path that is not UTF-8
        frame.write_parquet(file)


PARQUET: Final = Source("Parquet", _open, suffixes=(".parquet",), magic=b"PAR1", write=_write)
