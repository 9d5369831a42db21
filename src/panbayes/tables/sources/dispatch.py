"""Any table, read and written: which source takes it is found by the file's name, its first bytes, or what it is."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import polars as pl

from panbayes.discovery import registry
from panbayes.errors import InputError, nearest
from panbayes.files import writing
from panbayes.tables.sources.csv_text import CSV
from panbayes.tables.sources.polars_frame import POLARS
from panbayes.tables.sources.source import Source

__all__ = [
    "FrameKind",
    "convert_frame",
    "frame_kind",
    "frame_sources",
    "read_columns",
    "read_frame",
    "sources",
    "write_frame",
]

FrameKind: TypeAlias = str
"""The library a data frame belongs to: the name of a source that makes such frames."""


@cache
def sources() -> tuple[Source, ...]:
    """Return every kind of source, by name."""
    found = registry("panbayes.tables.sources", Source, lambda source: source.name)
    return tuple(sorted(found.values(), key=lambda source: source.name.lower()))


def read_columns(source: object, names: Sequence[str], *, argument: str, may_be_empty: bool = False) -> pl.DataFrame:
    """Return the named columns of a file or data frame; complain about columns that are not there.

    That there are no records is an error too, unless the table ``may_be_empty``: where the number of records is
    private, nobody may be told.
    """
    frame = _read(source, names, argument=argument)
    present = set(frame.columns)
    absent = [name for name in names if name not in present]
    if absent:
        shown = ", ".join(f'"{name}"' for name in absent[:5]) + (" …" if len(absent) > 5 else "")
        plural = "s" if len(absent) > 1 else ""
        raise InputError(
            argument,
            found=f"has no column{plural} {shown}, which the schema names",
            remedy="add the column or correct the schema",
        )
    if frame.height == 0 and not may_be_empty:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    return frame.select(names)


def read_frame(source: object, *, argument: str) -> pl.DataFrame:
    """Read a whole file or data frame. Text files give text columns."""
    return _read(source, None, argument=argument)


def _read(source: object, names: Sequence[str] | None, *, argument: str) -> pl.DataFrame:
    if isinstance(source, str | Path):
        path = Path(source)
        if "\0" in str(path):
            raise InputError(argument, found="holds a NUL, which no path can", remedy="check the path")
        try:
            return _source_of_file(path, argument=argument).read(path, names, argument=argument)
        except IsADirectoryError:
            raise InputError(argument, found="is a directory", remedy=f"give a {_files()} file") from None
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            raise InputError(argument, found=f"cannot be read ({reason})", remedy="check the path") from None
    return _source_of_object(source, argument=argument).read(source, names, argument=argument)


def _source_of_file(path: Path, *, argument: str) -> Source:
    """Return the source that a file's first bytes or its name ask for; a name that asks for none is taken for CSV."""
    known = [source for source in sources() if source.suffixes]
    with path.open("rb") as file:
        head = file.read(max(1, *(len(source.magic) for source in known)))
    if not head:
        raise InputError(argument, found="is empty", remedy=f"give a {_files()} file with a header and records")
    named = next((source for source in known if path.suffix.lower() in source.suffixes), CSV)
    found = next((source for source in known if source.magic and head.startswith(source.magic)), named)
    if not head.startswith(found.magic):
        raise InputError(argument, found=f"is not a {found.name} file", remedy=f"give a {_files()} file")
    return found


def _source_of_object(given: object, *, argument: str) -> Source:
    found = next((source for source in sources() if source.takes(given)), None)
    if found is None:
        raise InputError(
            argument,
            found=f"found a {type(given).__name__}",
            remedy=f"give a data frame ({', '.join(frame_sources())}), or the path of a {_files()} file",
        )
    return found


def _files() -> str:
    return " or ".join(f"{source.name} ({', '.join(source.suffixes)})" for source in sources() if source.suffixes)


def frame_sources() -> dict[FrameKind, Source]:
    """Return the sources that make data frames, by name."""
    return {source.name: source for source in sources() if source.convert is not None}


def frame_kind(source: object) -> FrameKind:
    """Tell which library a data frame belongs to; whatever does not say counts as polars."""
    if isinstance(source, str | Path):
        return POLARS.name
    return next((kind for kind, found in frame_sources().items() if found.takes(source)), POLARS.name)


def convert_frame(frame: pl.DataFrame, kind: FrameKind) -> object:
    """Turn a polars data frame into one of another library, which must be installed."""
    source = frame_sources().get(kind)
    if source is None or source.convert is None:
        raise InputError("kind", found=f'found "{kind}"', remedy=nearest(kind, frame_sources()))
    try:
        return source.convert(frame)
    except ModuleNotFoundError as error:
        raise InputError(
            "kind", found=f"{kind} frames need {error.name}", remedy=f"run: pip install {error.name}"
        ) from None


def write_frame(frame: pl.DataFrame, path: Path, *, kind: Path, argument: str = "--output") -> None:
    """Write a data frame to ``path`` in the format that the name ``kind`` ends in."""
    suffix = kind.suffix.lower()
    write = next((source.write for source in sources() if suffix in source.suffixes), None)
    if write is None:
        raise InputError(argument, found=f"found {kind}", remedy=f"give a {_files()} file")
    with writing(kind, argument=argument):
        try:
            write(frame, path, suffix)
        except pl.exceptions.PolarsError as error:  # what polars makes of some errors of the system
            raise OSError(errno.EIO, "the data frame could not be stored") from error
