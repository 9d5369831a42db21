"""What several verbs ask for, in the same words everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from panbayes.errors import InputError

__all__ = ["AsJson", "DataFile", "LedgerFolder", "ModelFile", "TableOutput", "make_folder"]

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file (JSON) made by learn.")]

DataFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DATA", help="A table with a row of names on top, such as north.csv or north.parquet.")
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


def make_folder(folder: Path, *, argument: str) -> None:
    """Make a folder and those above it where they are not there yet; ``argument`` names it in errors."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(argument, found=f"{folder} cannot be made ({reason})", remedy="give another folder") from None
