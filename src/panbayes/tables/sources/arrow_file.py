"""Arrow files and Feather files, in the file format and in the stream format, one record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.batch import Batch
from panbayes.tables.sources.file import File
from panbayes.tables.sources.source import Opened, Source, check_distinct

__all__ = ["ARROW_FILE"]

_WHAT: Final = "Arrow file"
_FILE: Final = b"ARROW1"
_STREAM: Final = b"\xff\xff\xff\xff"
_OLD: Final = b"FEA1"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _ArrowFile:
    path: Path
    argument: str
    columns: tuple[str, ...]

    @property
    def decimal_comma(self) -> bool:
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records, as they were written."""
        from panbayes.tables.sources.arrow_columns import arrow_batches, damaged

        wanted = sorted({self.columns.index(name) for name in names})
        with damaged(self.argument, _WHAT), _reader(self.path, wanted) as (_, batches):
            yield from arrow_batches(batches, names)


@contextmanager
def _reader(path: Path, wanted: list[int] | None) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a file; it is not mapped, because one that is cut short meanwhile would end the process."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=wanted)
    with path.open("rb") as stream:
        if stream.read(len(_FILE)) == _FILE:
            with pa.ipc.open_file(stream, options=options) as file:
                yield file.schema, map(file.get_batch, range(file.num_record_batches))
        else:
            stream.seek(0)
            with pa.ipc.open_stream(stream, options=options) as running:
                yield running.schema, iter(running)


@contextmanager
def _open(given: File, /, *, argument: str) -> Iterator[Opened]:
    from panbayes.tables.sources.arrow_columns import damaged

    with given.path.open("rb") as stream:
        if stream.read(len(_OLD)) == _OLD:
            raise InputError(
                argument,
                found="is a Feather file of version 1, which is not read",
                remedy="write it again, with pandas.read_feather(FILE).to_feather(FILE)",
            )
    with damaged(argument, _WHAT), _reader(given.path, None) as (schema, _):
        columns = tuple(schema.names)
    check_distinct(columns, argument=argument)
    yield _ArrowFile(given.path, argument, columns)


def _write(frame: pl.DataFrame, path: Path, _suffix: str) -> None:
    with path.open("wb") as file:  # polars takes no path that is not UTF-8
        frame.write_ipc(file, compat_level=pl.CompatLevel.oldest())


ARROW_FILE: Final = Source(
    "Arrow", _open, suffixes=(".arrow", ".feather", ".ipc"), magic=(_FILE, _STREAM, _OLD), write=_write
)
