"""A file, and what nobody can see by looking at its first line: how it is written.

A header shows the separator, and a byte-order mark shows Unicode. What neither shows is declared, because records must
not decide it: one person's record would then change how all the others are read.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from panbayes.errors import InputError, nearest
from panbayes.tables.sources.address import Address, is_address

__all__ = ["ENCODINGS", "SEPARATORS", "File", "is_file", "name_of"]

SEPARATORS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
"""What may stand between values, by the name that people may write instead."""

ENCODINGS: Final = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii"),
    *(f"iso8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *(f"cp{page}" for page in (437, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866, 869, 874)),
    *(f"cp{page}" for page in range(1250, 1259)),
    *("koi8-r", "koi8-u", "mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish"),
    *("gb18030", "gbk", "gb2312", "big5", "cp950", "shift_jis", "cp932", "euc_jp", "euc_kr", "cp949"),
)
"""Encodings in which the end of a line is a character of its own, so that no record can reach into the next.

They are named as Python does; its other names of them, such as latin-1, do as well.
"""

MOST_COLUMNS: Final = 100_000


@dataclass(frozen=True, slots=True)
class File:
    """A file with a table, and how it is written; accepted wherever a path is.

    ``encoding``, ``separator`` (a comma, semicolon, tab or pipe, by itself or by that name; None: the header shows it)
    and ``columns`` are for text files, ``sheet`` for workbooks (None: the first). A file without a header
    (``header=False``) has the names ``columns``, or if that is a number so many, ``column_1``, ``column_2``, …; its
    ``separator`` must be given.

    >>> File("north.csv", encoding="latin-1").path
    PosixPath('north.csv')
    >>> File("north.txt", header=False, separator="tab", columns=3).names
    ('column_1', 'column_2', 'column_3')
    """

    path: Path
    encoding: str = "utf-8"
    separator: str | None = None
    header: bool = True
    columns: tuple[str, ...] | int = ()
    sheet: str | None = None

    def __init__(
        self,
        path: str | Path,
        *,
        encoding: str = "utf-8",
        separator: str | None = None,
        header: bool = True,
        columns: tuple[str, ...] | list[str] | int = (),
        sheet: str | None = None,
    ) -> None:
        """Check everything that can be checked without a look at the file."""
        object.__setattr__(self, "path", Path(path))
        object.__setattr__(self, "encoding", _encoding(encoding))
        object.__setattr__(self, "separator", _separator(separator))
        object.__setattr__(self, "header", header)
        object.__setattr__(self, "columns", columns if isinstance(columns, int) else tuple(columns))
        object.__setattr__(self, "sheet", sheet)
        self._check_names()

    def _check_names(self) -> None:
        if self.header:
            if self.columns:
                raise InputError(
                    "columns", found="is given for a file with a header", remedy="leave it out, or say header=False"
                )
            return
        if not self.columns:
            raise InputError(
                "columns",
                found="is not given for a file without a header, and records must not decide it",
                remedy="name the columns, such as a,b,c, or give their number",
            )
        if isinstance(self.columns, int):
            if not 1 <= self.columns <= MOST_COLUMNS:
                raise InputError(
                    "columns", found=f"found {self.columns}", remedy=f"give a number from 1 to {MOST_COLUMNS:,}"
                )
        elif len(set(self.names)) < len(self.names) or not all(self.names):
            raise InputError(
                "columns", found="has a name twice or an empty one", remedy="give every column a name of its own"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of a file without a header."""
        if isinstance(self.columns, int):
            return tuple(f"column_{number}" for number in range(1, self.columns + 1))
        return self.columns

    def __str__(self) -> str:
        """Return the path: it names the file in messages."""
        return str(self.path)


def _encoding(text: str) -> str:
    try:
        found = codecs.lookup(text).name
    except (LookupError, ValueError):
        found = ""
    if found not in ENCODINGS:
        raise InputError("encoding", found=f'found "{text}"', remedy=nearest(text, ("latin-1", *ENCODINGS)))
    return found


def _separator(text: str | None) -> str | None:
    if text is None:
        return None
    found = SEPARATORS.get(text.strip().lower(), "\t" if text == "\\t" else text)
    if found not in SEPARATORS.values():
        raise InputError("separator", found=f'found "{text}"', remedy=f"give one of: {', '.join(SEPARATORS)}")
    return found


def name_of(source: object, argument: str) -> str:
    """Return what a table is called in errors: a file or address has its own name, anything else the ``argument``'s.

    An address that was not looked at yet may hold a secret, and is not repeated.

    >>> name_of(File("north.csv"), "data"), name_of("south.csv", "data"), name_of(7, "data")
    ('north.csv', 'south.csv', 'data')
    >>> name_of("postgresql://me:secret@host/clinic", "data")
    'data'
    """
    return str(source) if isinstance(source, Address) or is_file(source) else argument


def is_file(source: object) -> bool:
    """Tell whether something given is a file, or the path of one.

    >>> is_file("north.csv"), is_file("duckdb://north.duckdb?table=people")
    (True, False)
    """
    return isinstance(source, Path | File) or (isinstance(source, str) and not is_address(source))
