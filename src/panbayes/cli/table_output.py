"""Tables that a verb writes: in the format that their name asks for, and harmless in a spreadsheet if that is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import polars as pl
import typer

from panbayes.tables.sources.dispatch import write_frame

__all__ = ["SpreadsheetSafe", "harmless", "write_table"]

SpreadsheetSafe: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="Put an apostrophe before texts that a spreadsheet would run as a formula (=, +, -, @ first).",
    ),
]

_FORMULA: Final = "^[\\s\\p{C}]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]"
_NUMBER: Final = r"^[+\-]?[0-9]+([.,][0-9]+)?$"


def write_table(frame: pl.DataFrame, path: Path, *, kind: Path, spreadsheet_safe: bool = False) -> None:
    """Write a data frame to ``path`` in the format that the name ``kind`` ends in."""
    write_frame(harmless(frame) if spreadsheet_safe else frame, path, kind=kind)


def harmless(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before every name and text that begins like a formula; numbers stay as they are.

    >>> frame = pl.DataFrame({"=name": ["=1+1", "-5", "- x", "plain"]})
    >>> harmless(frame).to_dict(as_series=False)
    {"'=name": ["'=1+1", '-5', "'- x", 'plain']}
    """
    columns: dict[str, pl.Series] = {}
    for column in frame.get_columns():
        name = column.name
        while _is_formula(pl.Series([name]))[0] or (name != column.name and name in frame.columns):
            name = f"'{name}"
        columns[name] = _harmless_texts(column)
    return pl.DataFrame(columns)


def _harmless_texts(column: pl.Series) -> pl.Series:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    texts = column.cast(pl.String)
    return ("'" + texts).zip_with(_is_formula(texts), texts)


def _is_formula(texts: pl.Series) -> pl.Series:
    return (texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)).fill_null(value=False)
