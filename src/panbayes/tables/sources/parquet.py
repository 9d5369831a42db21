"""Parquet files. Only the columns that are asked for are read, some records at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.batch import BATCH_RECORDS, Batch
from panbayes.tables.sources.file import File
from panbayes.tables.sources.source import Opened, Source, check_distinct

__all__ = ["MAX_CELLS", "PARQUET"]

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
        from panbayes.tables.sources.arrow_columns import arrow_batches, damaged

        texts = [name for name in wanted if name in self.texts]
        with damaged(self.argument, "Parquet file"), _parquet_file(self.path, texts) as file:
            yield from arrow_batches(file.iter_batches(BATCH_RECORDS, columns=wanted, use_threads=False), wanted)


@contextmanager
def _parquet_file(path: Path, dictionaries: list[str]) -> Iterator[Any]:
    """Open a file. It is read piece by piece and not mapped: one that is cut short meanwhile would end the process."""
    import pyarrow.parquet as pq

    with (
        path.open("rb") as stream,
        pq.ParquetFile(stream, read_dictionary=dictionaries, pre_buffer=False, buffer_size=_BUFFER) as file,
    ):
        yield file


@contextmanager
def _open(given: File, /, *, argument: str) -> Iterator[Opened]:
    from panbayes.tables.sources.arrow_columns import damaged, is_text

    with damaged(argument, "Parquet file"), _parquet_file(given.path, []) as file:
        schema = file.schema_arrow
        names = tuple(schema.names)
        texts = frozenset(field.name for field in schema if is_text(field.type))
        records = file.metadata.num_rows
        if records < 0:
            raise ValueError("fewer than no records")
    check_distinct(names, argument=argument)
    yield _Parquet(given.path, argument, names, texts, records)


def _write(frame: pl.DataFrame, path: Path, _suffix: str) -> None:
    with path.open("wb") as file:  # polars takes no path that is not UTF-8
        frame.write_parquet(file)


PARQUET: Final = Source("Parquet", _open, suffixes=(".parquet",), magic=b"PAR1", write=_write)
