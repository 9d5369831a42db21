"""Folders and patterns of files that are parts of one table, in the order of their names.

Files whose names begin with a dot or an underscore are nobody's records. A folder ``year=2020`` is a column ``year``
for the files in it, as Spark and others write them, unless they have a column of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import numpy as np
import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.batch import Batch, Column
from panbayes.tables.sources.compression import unpacked_name
from panbayes.tables.sources.file import File
from panbayes.tables.sources.pattern import files_of
from panbayes.tables.sources.source import Opened
from panbayes.tables.texts import value_text

__all__ = ["Part", "open_parts", "parts_of"]

_NOBODY: Final = "__HIVE_DEFAULT_PARTITION__"

Opening = Callable[[File, str], AbstractContextManager[Opened]]


@dataclass(frozen=True, slots=True)
class Part:
    """A file, and the values that the folders it lies in give its records."""

    path: Path
    values: dict[str, str | None]


def parts_of(path: Path, suffixes: Sequence[str], *, argument: str) -> list[Part]:
    """Return the files of a folder or a pattern, all of one kind."""
    root, files = files_of(path)
    if not files:
        what = "matches no file" if path != root else "is a directory without data files"
        raise InputError(argument, found=what, remedy="check the path")
    if (path / "_delta_log").is_dir() and any(one.suffix.lower() == ".parquet" for one in files):
        raise InputError(
            argument,
            found="is a Delta table, whose files hold records that were deleted, too",
            remedy=f"give its address: delta://{path}",
        )
    strange = [one for one in files if unpacked_name(one).suffix.lower() not in suffixes]
    kinds = sorted({unpacked_name(one).suffix.lower() for one in files})
    if path == root and (strange or len(kinds) > 1):
        raise InputError(
            argument,
            found=f"is a directory with files of several kinds ({', '.join(kind or 'no suffix' for kind in kinds)})",
            remedy=f'give a pattern, such as "{path}/*{next((k for k in kinds if k in suffixes), ".csv")}"',
        )
    return [Part(one, _values(one.relative_to(root))) for one in files]


def _values(relative: Path) -> dict[str, str | None]:
    pairs = [part.partition("=") for part in relative.parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NOBODY else value_text(unquote(value)) for name, _, value in pairs}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Parts:
    file: File
    parts: tuple[Part, ...]
    argument: str
    opening: Opening
    columns: tuple[str, ...]
    decimal_comma: bool

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records of one part after the other."""
        for part in self.parts:
            with self.opening(_written_like(self.file, part.path), _name(self.argument, part)) as opened:
                if self._has_other_columns(opened, part):
                    raise InputError(
                        self.argument,
                        found="has files with other columns, or other separators, than the first of them",
                        remedy="give every file the same header",
                    )
                inside = [name for name in names if name in opened.columns]
                for batch in opened.batches(inside or opened.columns[:1]):
                    given = {name: _constant(part.values[name], batch.records) for name in names if name not in inside}
                    yield Batch({name: given.get(name) or batch.columns[name] for name in names}, batch.records)

    def _has_other_columns(self, opened: Opened, part: Part) -> bool:
        found = {*opened.columns, *part.values}
        return found != set(self.columns) or opened.decimal_comma != self.decimal_comma


def _name(argument: str, part: Part) -> str:
    """Return what a part is called in errors: not by its folders if they are values."""
    return argument if part.values else str(part.path)


def _written_like(file: File, path: Path) -> File:
    """Return a file that is written like another."""
    return File(
        path,
        encoding=file.encoding,
        separator=file.separator,
        header=file.header,
        columns=file.columns,
        sheet=file.sheet,
    )


def _constant(value: str | None, records: int) -> Column:
    return Column(pl.Series([value], dtype=pl.String), np.zeros(records, dtype=np.int32))


def open_parts(file: File, parts: Sequence[Part], opening: Opening, *, argument: str) -> Opened:
    """Open a table of several files: the first says which columns there are."""
    with opening(_written_like(file, parts[0].path), _name(argument, parts[0])) as first:
        more = [name for name in parts[0].values if name not in first.columns]
        return _Parts(file, tuple(parts), argument, opening, (*first.columns, *more), first.decimal_comma)
