"""CSV and TSV files. They are read as text: no type is inferred, so no value can change how another is read.

What a line is spoils no other line (:mod:`panbayes.tables.sources.csv_lines`), and nothing below the header makes the
file be refused. The header itself must be sound: it is public (:mod:`panbayes.tables.sources.csv_header`). A file may
be compressed and in any of the usual encodings, and is read some records at a time.
"""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.batch import Batch, frame_batches
from panbayes.tables.sources.compression import open_bytes, unpacked_name
from panbayes.tables.sources.csv_header import read_header
from panbayes.tables.sources.csv_lines import mended_blocks
from panbayes.tables.sources.file import File
from panbayes.tables.sources.source import Opened, Source
from panbayes.tables.sources.text_stream import TextStream

__all__ = ["CSV"]

_TABBED: Final = (".tsv", ".tab")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Csv:
    """A file whose header has been read. It is opened again for every pass over its records."""

    file: File
    argument: str
    header: tuple[str, ...]
    separator: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.header))

    @property
    def decimal_comma(self) -> bool:
        return self.separator != ","

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the records, some megabytes of text at a time."""
        places = {name: place for place, name in reversed(list(enumerate(self.header)))}
        inside = sorted({places[name] for name in names})
        with _text(self.file, argument=self.argument) as text:
            if self.file.header:
                read_header(text, self.separator, argument=self.argument)
            for block in mended_blocks(text.read, self.separator.encode(), len(self.header)):
                # The reader leaves out a byte-order mark at the beginning, which may be a record's: it gets one more.
                frame = pl.read_csv(
                    io.BytesIO(BOM_UTF8 + block),
                    separator=self.separator,
                    has_header=False,
                    infer_schema=False,
                    columns=inside,
                )
                named = frame.rename(dict(zip(frame.columns, (self.header[place] for place in inside), strict=True)))
                yield from frame_batches(named, names)


@contextmanager
def _text(file: File, *, argument: str) -> Iterator[TextStream]:
    with open_bytes(file.path, argument=argument, by_name=not file.header) as (read, _):
        yield TextStream(read, file.encoding, header=file.header, argument=argument)


@contextmanager
def _open(given: File, /, *, argument: str) -> Iterator[Opened]:
    tabbed = unpacked_name(given.path).suffix.lower() in _TABBED
    separator = given.separator or ("\t" if tabbed else None)
    if given.header:
        with _text(given, argument=argument) as text:
            names, separator = read_header(text, separator, argument=argument)
        yield _Csv(given, argument, tuple(names), separator)
        return
    if separator is None:
        raise InputError(
            argument,
            found="has no header that would show the separator",
            remedy="declare it: comma, semicolon, tab or pipe (--separator)",
        )
    yield _Csv(given, argument, given.names, separator)


def _write(frame: pl.DataFrame, path: Path, suffix: str) -> None:
    separator = "\t" if suffix in _TABBED else ","
    with path.open("wb") as file:  # polars takes no path that is not UTF-8
        file.write(f"{separator.join(map(_quoted, frame.columns))}\n".encode())
        frame.write_csv(file, separator=separator, include_header=False)


def _quoted(name: str) -> str:
    """Write a name so that nothing in it can be taken for a separator of the header."""
    plain = name.strip() == name != "" and not any(letter in name for letter in ',;\t|"\r\n=')
    return name if plain else '"' + name.replace('"', '""') + '"'


CSV: Final = Source("CSV", _open, suffixes=(".csv", ".tsv"), write=_write, packed=True)
