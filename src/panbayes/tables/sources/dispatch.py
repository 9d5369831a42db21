"""Any table, read and written: its source is found by an address, a file's name, its first bytes, or what it is."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl

from panbayes.discovery import registry
from panbayes.errors import InputError, nearest
from panbayes.files import writing
from panbayes.tables.sources.address import Address, address_of
from panbayes.tables.sources.compression import open_bytes, unpacked_name
from panbayes.tables.sources.csv_text import CSV
from panbayes.tables.sources.cures import refuse_unread
from panbayes.tables.sources.excel import EXCEL
from panbayes.tables.sources.file import File, is_file
from panbayes.tables.sources.folder import open_parts, parts_of
from panbayes.tables.sources.open_table import OpenTable, readable
from panbayes.tables.sources.pattern import is_pattern
from panbayes.tables.sources.polars_frame import POLARS
from panbayes.tables.sources.source import Opened, Source
from panbayes.tables.texts import as_text

__all__ = [
    "FrameKind",
    "check_columns",
    "convert_frame",
    "counted_there",
    "frame_kind",
    "frame_sources",
    "open_source",
    "read_columns",
    "read_frame",
    "sources",
    "write_frame",
]

_HEAD: Final = 64
"""So many first bytes tell what a file is."""

FrameKind: TypeAlias = str
"""The library a data frame belongs to: the name of a source that makes such frames."""


@cache
def sources() -> tuple[Source, ...]:
    """Return every kind of source, by name."""
    found = registry("panbayes.tables.sources", Source, lambda source: source.name)
    return tuple(sorted(found.values(), key=lambda source: source.name.lower()))


@contextmanager
def open_source(source: object, *, argument: str) -> Iterator[OpenTable]:
    """Open a file or data frame until the block ends; ``argument`` names it in errors."""
    address = address_of(source, argument=argument)
    if address is not None:
        with _source_of_address(address, argument=argument).open(address, argument=str(address)) as opened:
            yield OpenTable(opened, argument=str(address))
        return
    if not isinstance(source, str | Path | File):
        with _source_of_object(source, argument=argument).open(source, argument=argument) as opened:
            yield OpenTable(opened, argument=argument)
        return
    file = source if isinstance(source, File) else File(source)
    path = file.path
    if "\0" in str(path):
        raise InputError(argument, found="holds a NUL, which no path can", remedy="check the path")
    with ExitStack() as stack:
        with readable(argument):
            if path.is_dir() or is_pattern(path):
                suffixes = [suffix for source in sources() for suffix in source.suffixes]
                parts = parts_of(path, suffixes, argument=argument)
                opened = open_parts(file, parts, _open_file, argument=argument)
            else:
                opened = stack.enter_context(_open_file(file, argument))
        yield OpenTable(opened, argument=argument)


def counted_there(source: object, *, argument: str) -> bool:
    """Tell whether a table is counted where it lies, and its records are not read."""
    address = address_of(source, argument=argument)
    if address is not None:
        return _source_of_address(address, argument=argument).remote(address)
    return not is_file(source) and _source_of_object(source, argument=argument).remote(source)


@contextmanager
def _open_file(file: File, argument: str) -> Iterator[Opened]:
    source = _source_of_file(file, argument=argument)
    if file.sheet is not None and source is not EXCEL:
        raise InputError(
            "sheet", found=f'found "{file.sheet}", and a {source.name} file has none', remedy="leave it out"
        )
    with source.open(file, argument=argument) as opened:
        yield opened


def check_columns(opened: OpenTable, names: Sequence[str], *, argument: str) -> None:
    """Complain about columns that the schema names and the table does not have."""
    absent = [name for name in names if not opened.has(name)]
    if absent:
        shown = ", ".join(f'"{name}"' for name in absent[:5]) + (" …" if len(absent) > 5 else "")
        plural = "s" if len(absent) > 1 else ""
        raise InputError(
            argument,
            found=f"has no column{plural} {shown}, which the schema names",
            remedy="add the column or correct the schema, and see that the first line of a file is its header",
        )


def read_columns(source: object, names: Sequence[str], *, argument: str, may_be_empty: bool = False) -> pl.DataFrame:
    """Return the named columns of a file or data frame; complain about columns that are not there.

    That there are no records is an error too, unless the table ``may_be_empty``: where the number of records is
    private, nobody may be told.
    """
    with open_source(source, argument=argument) as opened:
        check_columns(opened, names, argument=argument)
        frame = _together(opened, names)
    if frame.height == 0 and not may_be_empty:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    return frame.select(names)


def read_frame(source: object, *, argument: str, named: Iterable[str] = ()) -> pl.DataFrame:
    """Read a whole file or data frame. Text files give text columns.

    A column that is one of those ``named``, with or without blanks around its name, is called as it is named there.
    """
    with open_source(source, argument=argument) as opened:
        called = {opened.place(name): name for name in named if opened.has(name)}
        return _together(opened, [called.get(opened.place(column), column) for column in opened.columns])


def _together(opened: OpenTable, names: Sequence[str]) -> pl.DataFrame:
    """Return all batches as one data frame; a column whose type is not the same in all of them becomes text."""
    frames = [batch.frame() for batch in opened.batches(names)]
    if not frames:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    mixed = [name for name in frames[0].columns if len({frame[name].dtype for frame in frames}) > 1]
    texts = [frame.with_columns(as_text(frame[name]) for name in mixed) if mixed else frame for frame in frames]
    return pl.concat(texts)


def _source_of_file(file: File, *, argument: str) -> Source:
    """Return the source that a file's first bytes or its name ask for; a name that asks for none is taken for CSV.

    Where there is no header the first bytes may be a record's, so the name alone decides.
    """
    known = [source for source in sources() if source.suffixes]
    path = unpacked_name(file.path)
    named = next((source for source in known if path.suffix.lower() in source.suffixes), None)
    if not file.header and (named is None or named is CSV):
        return CSV
    with open_bytes(file.path, argument=argument) as (read, compressed):
        head = read(_HEAD)
    if not head:
        raise InputError(argument, found="is empty", remedy=f"give an {_files()} file with a header and records")
    found = next((source for source in known if source.magic and head.startswith(source.magic)), named)
    if found is None or found is CSV:
        refuse_unread(path, head, argument=argument)
        found = CSV
    if compressed and not found.packed:
        raise InputError(argument, found=f"is a compressed {found.name} file", remedy="unpack it first")
    if not head.startswith(found.magic):
        raise InputError(
            argument, found=f"is not {_article(found.name)} {found.name} file", remedy=f"give an {_files()} file"
        )
    return found


def _source_of_address(address: Address, *, argument: str) -> Source:
    found = next((source for source in sources() if address.scheme in source.schemes), None)
    if found is None:
        known = sorted(scheme for source in sources() for scheme in source.schemes)
        raise InputError(
            argument,
            found=f"found an address that begins with {address.scheme}://",
            remedy=f"give the path of a file, or an address that begins with one of: {', '.join(known)}",
        )
    return found


def _source_of_object(given: object, *, argument: str) -> Source:
    found = next((source for source in sources() if source.takes(given)), None)
    if found is None:
        if isinstance(given, pl.LazyFrame):
            raise InputError(argument, found="found a LazyFrame", remedy="collect it first: frame.collect()")
        raise InputError(
            argument,
            found=f"found a {type(given).__name__}",
            remedy=f"give a data frame ({', '.join(frame_sources())}), or the path of an {_files()} file",
        )
    return found


def _article(word: str) -> str:
    return "an" if word[0] in "AEIOU" else "a"


def _files(*, written: bool = False) -> str:
    kinds = [source for source in sources() if source.suffixes and (not written or source.write is not None)]
    return " or ".join(f"{source.name} ({', '.join(source.suffixes)})" for source in kinds)


def frame_sources() -> dict[FrameKind, Source]:
    """Return the sources that make data frames, by name."""
    return {source.name: source for source in sources() if source.convert is not None}


def frame_kind(source: object) -> FrameKind:
    """Tell which library a data frame belongs to; whatever does not say counts as polars."""
    if is_file(source) or isinstance(source, str | Address):
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
        raise InputError(argument, found=f"found {kind}", remedy=f"give an {_files(written=True)} file")
    with writing(kind, argument=argument):
        try:
            write(frame, path, suffix)
        except pl.exceptions.PolarsError as error:  # what polars makes of some errors of the system
            raise OSError(errno.EIO, "the data frame could not be stored") from error
