"""What several verbs ask for, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from panbayes.errors import InputError
from panbayes.tables.sources.address import Address, is_address
from panbayes.tables.sources.file import File

__all__ = [
    "AsJson",
    "Columns",
    "DataFile",
    "Encoding",
    "HolderColumns",
    "HolderEncodings",
    "HolderSeparators",
    "HolderSheets",
    "LedgerFolder",
    "ModelFile",
    "NoHeader",
    "Separator",
    "Sheet",
    "TableOutput",
    "data_file",
    "holder_files",
    "input_paths",
    "make_folder",
]

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file (JSON) made by learn.")]

DataFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table, such as north.csv, north.csv.gz or north.parquet, a folder of them, or an address such as "
        "duckdb://clinic.duckdb?table=people.",
    ),
]

_ENCODING: Final = "How a text file is encoded, such as latin-1 or cp1252"
_SEPARATOR: Final = "What stands between values: comma, semicolon, tab or pipe"
_COLUMNS: Final = "With --no-header: the names of the columns, such as a,b,c, or how many there are"

Encoding: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help=f"{_ENCODING}.", show_default="utf-8, or what a byte-order mark shows"
    ),
]
Separator: TypeAlias = Annotated[
    str | None,
    typer.Option("--separator", metavar="NAME", help=f"{_SEPARATOR}.", show_default="what the header shows"),
]
NoHeader: TypeAlias = Annotated[
    bool,
    typer.Option("--no-header", help="The file has no row of names on top; --separator and --columns say the rest."),
]
Columns: TypeAlias = Annotated[str | None, typer.Option("--columns", metavar="NAMES", help=f"{_COLUMNS}.")]

Sheet: TypeAlias = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="The sheet of an Excel workbook.", show_default="the first"),
]

_ONE: Final = "HOLDER=… for one holder alone. Repeatable."

HolderEncodings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding", metavar="NAME", help=f"{_ENCODING}; {_ONE}", show_default="utf-8, or what a byte-order mark shows"
    ),
]
HolderSeparators: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--separator", metavar="NAME", help=f"{_SEPARATOR}; {_ONE}", show_default="what the header shows"),
]
HolderSheets: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--sheet", metavar="NAME", help=f"The sheet of an Excel workbook; {_ONE}", show_default="the first"),
]
HolderColumns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="NAMES", help=f"{_COLUMNS}; {_ONE}"),
]

TableOutput: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The table to write, such as out.csv or out.parquet.")
]

LedgerFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FOLDER",
        help="Where the holders' ledgers are kept.",
        show_default="the user's state directory",
    ),
]


def data_file(
    given: str,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    no_header: bool = False,
    columns: str | None = None,
    sheet: str | None = None,
    argument: str = "DATA",
) -> File | Address:
    """Return a table: an address, or a file and how it is written, as the options say it.

    ``argument`` is where it was given, which an error names.
    """
    if is_address(given):
        options = {
            "encoding": encoding,
            "separator": separator,
            "no-header": no_header,
            "columns": columns,
            "sheet": sheet,
        }
        for option, value in options.items():
            if value:
                raise InputError(f"--{option}", found="is given for an address", remedy="leave it out: it is for files")
        return Address.parse(given, argument=argument)
    names: tuple[str, ...] | int = ()
    if columns is not None:
        if not no_header:
            raise InputError("--columns", found="is given without --no-header", remedy="leave it out, or give both")
        text = columns.strip()
        names = int(text) if text.isdecimal() and len(text) < 10 else tuple(name.strip() for name in text.split(","))
    try:
        return File(
            given, encoding=encoding or "utf-8", separator=separator, header=not no_header, columns=names, sheet=sheet
        )
    except InputError as error:
        raise InputError(f"--{error.argument}", found=error.found, remedy=error.remedy) from None


def input_paths(tables: Iterable[File | Address]) -> list[Path]:
    """Return the paths on this machine that tables are read from, which no output may replace."""
    return [path for table in tables for path in ((table.path,) if isinstance(table, File) else table.files)]


def holder_files(
    given: Mapping[str, str],
    *,
    encoding: Sequence[str] = (),
    separator: Sequence[str] = (),
    no_header: bool = False,
    columns: Sequence[str] = (),
    sheet: Sequence[str] = (),
) -> dict[str, File | Address]:
    """Return each holder's table, and how it is written: what is said for all, or for one holder as HOLDER=…

    Columns that are given for one holder mean that its file has no header.
    """
    said = {
        option: _by_holder(values, given, f"--{option}")
        for option, values in (("encoding", encoding), ("separator", separator), ("columns", columns), ("sheet", sheet))
    }
    return {
        holder: data_file(
            table,
            no_header=no_header or any(value.startswith(f"{holder}=") for value in columns),
            argument=f"--holder {holder}",
            **{option: by[holder] for option, by in said.items()},
        )
        for holder, table in given.items()
    }


def _by_holder(values: Sequence[str], holders: Iterable[str], argument: str) -> dict[str, str | None]:
    """Return what is said for each holder."""
    everybody: list[str] = []
    own: dict[str, str] = {}
    known = list(holders)
    for value in values:
        name, sign, rest = value.partition("=")
        if not sign or name not in known:
            everybody.append(value)
        elif own.setdefault(name, rest) != rest:
            raise InputError(argument, found=f'is given twice for holder "{name}"', remedy="give it once")
    if len(everybody) > 1:
        raise InputError(argument, found="is given twice for all holders", remedy="give HOLDER=… for one of them")
    return {name: own.get(name, everybody[0] if everybody else None) for name in known}


def make_folder(folder: Path, *, argument: str) -> None:
    """Make a folder and those above it where they are not there yet; ``argument`` names it in errors."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(argument, found=f"{folder} cannot be made ({reason})", remedy="give another folder") from None
