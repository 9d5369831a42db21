"""Files of public mappings: CSV with a column ``group`` and one of ``value``, ``prefix``, ``from`` and ``to``, or TOML.

A CSV file may have all of these columns, and every row fills those of its own kind. A TOML file has one ``[[rows]]``
table with the same keys for each row.
"""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path
from typing import Final

from panbayes.errors import InputError
from panbayes.schema.blanks import stripped
from panbayes.schema.code_map import CodeMap

__all__ = ["read_map"]

MAX_BYTES: Final = 16_000_000
_COLUMNS: Final = ("value", "prefix", "from", "to", "group")


def read_map(path: Path) -> CodeMap:
    """Read a mapping file."""
    try:
        if not path.is_file():
            raise InputError(str(path), found="is no file", remedy="put the mapping beside the schema file")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(str(path), found=f"{path.name} cannot be read ({reason})", remedy="check the path") from None
    if len(raw) > MAX_BYTES:
        raise InputError(str(path), found=f"{path.name} has more than {MAX_BYTES:,} bytes", remedy="give a smaller one")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(str(path), found=f"{path.name} is not UTF-8 text", remedy="write it in UTF-8") from None
    try:
        return CodeMap.of(_toml_rows(text) if path.suffix.lower() == ".toml" else _csv_rows(text))
    except InputError as error:
        raise InputError(str(path), found=f"{error.found} in {path.name}", remedy=error.remedy) from None


def _toml_rows(text: str) -> list[object]:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("mapping", found=f"found no valid TOML ({error})", remedy="mend that line") from None
    rows = data.get("rows")
    if set(data) != {"rows"} or not isinstance(rows, list):
        raise InputError("mapping", found="found no [[rows]] alone", remedy="write one [[rows]] table for each row")
    return rows


def _csv_rows(text: str) -> list[object]:
    first = text.partition("\n")[0]
    separator = max(",;\t|", key=first.count)
    try:
        header, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)) or [[]]
    except csv.Error:
        raise InputError("mapping", found="found quotes that do not match", remedy="mend them") from None
    names = [stripped(name).lower() for name in header]
    if "group" not in names or not set(names) <= set(_COLUMNS) or len(set(names)) < len(names):
        raise InputError(
            "mapping",
            found=f"found the columns {', '.join(names) or 'none'}",
            remedy="give a header with group and value, prefix, or from and to",
        )
    filled = [row for row in rows if any(map(stripped, row))]
    if any(len(row) != len(names) for row in filled):
        raise InputError("mapping", found="found a row with more or fewer fields", remedy="mend it")
    return [{name: stripped(cell) for name, cell in zip(names, row, strict=True) if stripped(cell)} for row in filled]
