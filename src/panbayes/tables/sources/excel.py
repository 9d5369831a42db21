"""Excel workbooks (.xlsx): the first sheet, or the one that is named.

The first row that holds a value is the header. A row that holds no value is no record, so that formatted rows below the
table do not count. Missing are an empty cell, an empty text, an error such as #N/A, and all of a merged cell but its
first. What stands beside the columns that have a name is not read.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from xml.parsers.expat import ExpatError

from panbayes.errors import InputError, nearest
from panbayes.tables.sources.batch import BATCH_RECORDS, Batch, Column
from panbayes.tables.sources.file import File
from panbayes.tables.sources.source import Opened, Source, check_distinct
from panbayes.tables.sources.workbook import Workbook
from panbayes.tables.texts import text_column, value_text

__all__ = ["EXCEL"]

_DAMAGE: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, ExpatError, EOFError),
    *(ValueError, KeyError, IndexError, OSError, NotImplementedError, RuntimeError),
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Excel:
    file: File
    argument: str
    sheet: str
    places: dict[str, int]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(reversed(self.places))

    @property
    def decimal_comma(self) -> bool:
        return False

    def batches(self, names: Sequence[str], /) -> Iterator[Batch]:
        """Yield the rows below the header."""
        wanted = {name: self.places[name] for name in names}
        with _damaged(self.argument), closing(Workbook(self.file.path)) as book:
            rows = islice(book.rows(self.sheet), 1 if self.file.header else 0, None)
            while some := list(islice(rows, BATCH_RECORDS)):
                columns = {
                    name: Column(text_column("", (row.get(place) for row in some))) for name, place in wanted.items()
                }
                yield Batch(columns, len(some))


@contextmanager
def _damaged(argument: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE:
        raise InputError(
            argument, found="is a damaged or truncated Excel workbook", remedy="save it again and copy it whole"
        ) from None


@contextmanager
def _open(given: File, /, *, argument: str) -> Iterator[Opened]:
    with _damaged(argument), zipfile.ZipFile(given.path) as archive:
        names = archive.namelist()
    if "xl/workbook.xml" not in names:
        raise InputError(
            argument, found="is a ZIP archive, which is not read", remedy="unpack it and give the file in it"
        )
    with _damaged(argument), closing(Workbook(given.path)) as book:
        sheets = book.sheets
        place = next(iter(sheets.values()), "") if given.sheet is None else sheets.get(given.sheet)
        header: dict[int, Any] = {}
        if place and given.header:
            header = next(book.rows(place), {})
    if place is None:
        raise InputError("sheet", found=f'found "{given.sheet}"', remedy=nearest(str(given.sheet), sheets))
    if given.header and not header:
        raise InputError(argument, found="is empty", remedy="give a sheet with a header and records")
    texts = [value_text(header.get(column)) or "" for column in range(max(header, default=-1) + 1)]
    named = list(given.names) if not given.header else texts
    check_distinct([name for name in named if name], argument=argument)
    yield _Excel(given, argument, place, {name: column for column, name in reversed(list(enumerate(named)))})


EXCEL: Final = Source("Excel", _open, suffixes=(".xlsx", ".xlsm"), magic=(b"PK\x03\x04", b"PK\x05\x06"))
