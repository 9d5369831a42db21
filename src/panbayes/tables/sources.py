"""Where tables come from: CSV and Parquet files, pandas, polars and Arrow frames.

CSV is read as text, column by column: no type is inferred, so no value can change how another is read. A damaged
file is an error about the file, said without a value, a line number or a count from it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.typing import IntoDataFrame

from panbayes.errors import InputError
from panbayes.schema.attribute import Scalar, label_text

__all__ = ["FrameKind", "convert_frame", "frame_kind", "read_columns", "read_frame", "write_frame"]

FrameKind: TypeAlias = Literal["polars", "pandas", "arrow"]
"""The library a data frame belongs to."""

_PARQUET_MAGIC: Final = b"PAR1"
_KINDS: Final = "CSV (.csv, .tsv) or Parquet (.parquet)"


def read_columns(source: object, names: Sequence[str], *, argument: str) -> pl.DataFrame:
    """Return the named columns of a file or data frame; complain about columns that are not there."""
    frame = read_frame(source, argument=argument)
    absent = [name for name in names if name not in frame.columns]
    if absent:
        shown = ", ".join(f'"{name}"' for name in absent[:5]) + (" …" if len(absent) > 5 else "")
        plural = "s" if len(absent) > 1 else ""
        raise InputError(
            argument,
            found=f"has no column{plural} {shown}, which the schema names",
            remedy="add the column or correct the schema",
        )
    if frame.height == 0:
        raise InputError(argument, found="holds no records", remedy="give a table with at least one record")
    return frame.select(names)


def read_frame(source: object, *, argument: str) -> pl.DataFrame:
    """Read a whole file or data frame. Text files give text columns."""
    if isinstance(source, str | Path):
        return _read_file(Path(source), argument=argument)
    try:
        frame = nw.from_native(cast(IntoDataFrame, source), eager_only=True)
        # pandas keeps mixed values as objects, which Arrow would refuse, depending on the data.
        mixed = [name for name, dtype in frame.schema.items() if dtype == nw.Object]
        texts = [_object_texts(frame.get_column(name)) for name in mixed]
        return frame.drop(mixed).to_polars().with_columns(texts).select(map(str, frame.columns))
    except nw.exceptions.DuplicateError:
        raise InputError(
            argument, found="has two columns of the same name", remedy="give every column a name of its own"
        ) from None
    except ModuleNotFoundError:
        raise InputError(
            argument, found="is a pandas table, and pyarrow is not installed", remedy="run: pip install pyarrow"
        ) from None
    except TypeError:
        raise InputError(
            argument,
            found=f"found a {type(source).__name__}",
            remedy=f"give a pandas, polars or Arrow table, or the path of a {_KINDS} file",
        ) from None


def _object_texts(values: nw.Series[Any]) -> pl.Series:
    """Write a column of arbitrary objects as text, value by value."""
    plain = (value.item() if isinstance(value, np.generic) else value for value in values.to_list())
    texts = [
        None if gone else label_text(value) if isinstance(value, Scalar) else str(value)
        for value, gone in zip(plain, values.is_null().to_list(), strict=True)
    ]
    return pl.Series(str(values.name), texts, dtype=pl.String)


def frame_kind(source: object) -> FrameKind:
    """Tell which library a data frame belongs to; files count as polars."""
    if isinstance(source, str | Path | pl.DataFrame):
        return "polars"
    implementation = nw.from_native(cast(IntoDataFrame, source), eager_only=True).implementation
    if implementation.is_pandas():
        return "pandas"
    return "arrow" if implementation.is_pyarrow() else "polars"


def convert_frame(frame: pl.DataFrame, kind: FrameKind) -> object:
    """Turn a polars data frame into one of another library, which must be installed."""
    try:
        match kind:
            case "polars":
                return frame
            case "pandas":
                return frame.to_pandas()
            case "arrow":
                return frame.to_arrow()
    except ModuleNotFoundError as error:
        raise InputError(
            "kind", found=f"{kind} frames need {error.name}", remedy=f"run: pip install {error.name}"
        ) from None


def _read_file(path: Path, *, argument: str) -> pl.DataFrame:
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise InputError(argument, found="is a directory", remedy=f"give a {_KINDS} file") from None
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(argument, found=f"cannot be read ({reason})", remedy="check the path") from None
    if not raw.strip():
        raise InputError(argument, found="is empty", remedy=f"give a {_KINDS} file with a header and records")
    if raw.startswith(_PARQUET_MAGIC):
        return _read_parquet(raw, argument=argument)
    if path.suffix.lower() == ".parquet":
        raise InputError(argument, found="is not a Parquet file", remedy=f"give a {_KINDS} file")
    return _read_csv(raw, separator="\t" if path.suffix.lower() == ".tsv" else ",", argument=argument)


def _read_parquet(raw: bytes, *, argument: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(raw))
    except (pl.exceptions.PolarsError, OSError):
        raise InputError(
            argument, found="is a damaged or truncated Parquet file", remedy="write it again and copy it whole"
        ) from None


def _read_csv(raw: bytes, *, separator: str, argument: str) -> pl.DataFrame:
    raw = raw.rstrip(b"\r\n")
    if b"\0" in raw:
        raise InputError(argument, found="is a binary file", remedy=f"give a {_KINDS} file")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(argument, found="is not UTF-8 text", remedy=f"give a {_KINDS} file in UTF-8") from None
    try:
        header = next(csv.reader(io.TextIOWrapper(io.BytesIO(raw), "utf-8-sig", newline=""), delimiter=separator))
        # polars fills short lines with nulls; a short last line is how a copy that broke off looks.
        last = raw.rpartition(b"\n")[2].decode("utf-8")
        if '"' not in last and last.count(separator) + 1 != len(header):
            raise csv.Error
        frame = pl.read_csv(raw, separator=separator, infer_schema=False)
    except (csv.Error, pl.exceptions.PolarsError, OSError):
        raise InputError(
            argument,
            found="is a damaged or truncated CSV file",
            remedy="write it again, with one header line and as many fields in every line",
        ) from None
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(argument, found=f'has two columns "{twice}"', remedy="give every column a name of its own")
    # polars leaves doubled quotes in names as they are.
    return frame.rename(dict(zip(frame.columns, header, strict=True)))


def write_frame(frame: pl.DataFrame, path: Path, *, kind: Path) -> None:
    """Write a data frame to ``path`` in the format that the name ``kind`` ends in."""
    suffix = kind.suffix.lower()
    if suffix == ".parquet":
        frame.write_parquet(path)
    elif suffix in (".csv", ".tsv"):
        frame.write_csv(path, separator="\t" if suffix == ".tsv" else ",")
    else:
        raise InputError("--output", found=f"found {kind}", remedy=f"give a {_KINDS} file")
