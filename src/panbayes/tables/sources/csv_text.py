"""CSV and TSV files. They are read as text: no type is inferred, so no value can change how another is read.

What a line is spoils no other line (:mod:`panbayes.tables.sources.csv_lines`), and nothing below the header makes the
file be refused. The header itself must be sound: it is public.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from panbayes.errors import InputError
from panbayes.tables.sources.csv_lines import mended, split_header
from panbayes.tables.sources.source import Source

__all__ = ["CSV"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def _separator(suffix: str) -> str:
    return "\t" if suffix.lower() == ".tsv" else ","


def _read(given: Path, names: Sequence[str] | None, *, argument: str) -> pl.DataFrame:
    raw = given.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    separator = _separator(given.suffix)
    header, end = _header(raw, separator, argument=argument)
    wanted = None if names is None else set(names)
    places = [place for place, name in enumerate(header) if wanted is None or name in wanted]
    body = raw[end:]
    if not body or not places:
        return pl.DataFrame(schema={header[place]: pl.String for place in places})
    body = mended(body if body.endswith(b"\n") else body + b"\n", separator.encode(), len(header))
    frame = pl.read_csv(io.BytesIO(body), separator=separator, has_header=False, infer_schema=False, columns=places)
    return frame.rename(dict(zip(frame.columns, (header[place] for place in places), strict=True)))


def _header(raw: bytes, separator: str, *, argument: str) -> tuple[list[str], int]:
    """Return the names of the columns and where the records begin."""
    if not raw.strip():
        raise InputError(argument, found="is empty", remedy="give a file with a header and records")
    split = split_header(raw, separator.encode())
    if split is None:
        raise InputError(
            argument, found="has a header with quotes that do not match", remedy="mend the first line of the file"
        )
    fields, end = split
    if b"\0" in raw[:end]:
        raise InputError(argument, found="is a binary file", remedy="give a CSV file")
    try:
        header = [field.decode("utf-8") for field in fields]
    except UnicodeDecodeError:
        raise InputError(argument, found="is not UTF-8 text", remedy="give a CSV file in UTF-8") from None
    name, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise InputError(argument, found=f'has two columns "{name}"', remedy="give every column a name of its own")
    return header, end


def _write(frame: pl.DataFrame, path: Path, suffix: str) -> None:
    with path.open("wb") as file:  # polars takes no path that is not UTF-8
        frame.write_csv(file, separator=_separator(suffix))


CSV: Final = Source("CSV", _read, suffixes=(".csv", ".tsv"), write=_write)
