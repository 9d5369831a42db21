"""Parquet files, a bounded number of rows at a time. They pass through polars, whose memory we cannot overwrite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from panbayes.errors import InputError
from panbayes.stream.ids.formats.format import StreamFormat, unreadable
from panbayes.stream.ids.stopping import Stop

__all__ = ["PARQUET"]

_ROWS: Final = 1 << 20


def _batches(source: str, column: str | None, stop: Stop) -> Iterator[object]:
    import polars as pl

    if source == "-":
        raise InputError("FILE", found="Parquet from standard input", remedy="give the Parquet file by its name")
    try:
        scan = pl.scan_parquet(source)
        names = scan.collect_schema().names()
    except OSError as error:
        raise unreadable(source, error) from None
    except pl.exceptions.PolarsError:
        raise InputError(source, found="is not a Parquet file", remedy="give its format with --format") from None
    if column is None and len(names) == 1:
        column = names[0]
    if column not in names:
        raise InputError(
            "--column",
            found="missing" if column is None else f"found {column!r}",
            remedy="name a column of the file: " + ", ".join(names[:20]),
        )
    chosen, offset = scan.select(pl.col(column)), 0
    while not stop.asked:
        try:
            part = chosen.slice(offset, _ROWS).collect().to_series()
        except OSError as error:
            raise unreadable(source, error) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise InputError(
                source,
                found="has a damaged part, from which nothing was read",
                remedy="write the file again and feed all of it: what is fed twice counts once",
            ) from None
        if part.len() == 0:
            return
        offset += part.len()
        yield part


PARQUET: Final = StreamFormat("parquet", (".parquet", ".pq"), _batches)
