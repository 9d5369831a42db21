"""Parquet files, a bounded number of rows at a time. They pass through polars, whose memory we cannot overwrite.

A text that is not UTF-8 is an id of its own, as in a file of lines, and spoils no other row. Polars refuses all rows
for one, so from there on the columns of texts are read as bytes, from a file of at most :data:`MOST_BYTES` in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from panbayes.errors import InputError
from panbayes.stream.ids.formats.format import StreamFormat, unreadable
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.stopping import Stop
from panbayes.stream.ids.where import one_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_BYTES", "PARQUET"]

MOST_BYTES: Final = 1 << 30
"""The largest file with a text that is not UTF-8 which is read."""

_ROWS: Final = 1 << 20


def _of_file(source: str, column: str | None, fields: Sequence[str], stop: Stop) -> Iterator[object]:
    for part in _parts(source, column, fields, stop):
        beside = {field: part.to_series(1 + k) for k, field in enumerate(fields)}
        yield Records(part.to_series(0), beside) if fields else part.to_series()


def _parts(source: str, column: str | None, fields: Sequence[str], stop: Stop) -> Iterator[pl.DataFrame]:
    """Yield frames of the column of ids and of fields as texts."""
    import polars as pl

    if source == "-":
        raise InputError("FILE", found="Parquet from standard input", remedy="give the Parquet file by its name")
    with _reading(source, "is not a Parquet file", "give its format with --format"):
        # The name of one file on this machine: no pattern of names, and no address.
        Path(source).stat()
        scan = pl.scan_parquet(Path(source).absolute(), glob=False)
        kinds = scan.collect_schema()
    names = kinds.names()
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or column not in names:
        raise InputError(
            "--column",
            found="missing" if column is None else f"found {column!r}",
            remedy="name a column of the file: " + ", ".join(names[:20]),
        )
    others = [_named(field, kinds) for field in fields]
    texts = [_text(name, kinds).alias(f"{k}") for k, name in enumerate(others, 1)]
    chosen, as_written, offset = [scan.select(pl.col(column).alias("0"), *texts)], True, 0
    while not stop.asked:
        with _reading(
            source,
            "has a damaged part, from which nothing was read",
            "write the file again and feed all of it: what is fed twice counts once",
        ):
            try:
                part = _slice(chosen, offset)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                if not as_written or Path(source).stat().st_size > MOST_BYTES:
                    raise
                chosen, as_written = _as_bytes(Path(source).read_bytes(), column, others, kinds), False
                part = _slice(chosen, offset)
        if part.height == 0:
            return
        offset += part.height
        yield part


def _slice(columns: Sequence[pl.LazyFrame], offset: int) -> pl.DataFrame:
    import polars as pl

    return pl.concat([frame.slice(offset, _ROWS).collect() for frame in columns], how="horizontal")


def _as_bytes(raw: bytes, column: str, others: Sequence[str], kinds: pl.Schema) -> list[pl.LazyFrame]:
    """Return each column in a frame of its own, where texts are bytes."""
    import io

    import polars as pl

    from panbayes.tables.sources.parquet_footer import as_bytes

    def scan(name: str) -> pl.LazyFrame:
        texts = kinds[name] in (pl.String, pl.Categorical, pl.Enum)
        return pl.scan_parquet(io.BytesIO(as_bytes(raw, name) if texts else raw))

    columns = [scan(column).select(pl.col(column).alias("0"))]
    for k, name in enumerate(others, 1):
        frame = scan(name)
        columns.append(frame.select(_text(name, frame.collect_schema()).alias(f"{k}")))
    return columns


@contextmanager
def _reading(source: str, found: str, remedy: str) -> Iterator[None]:
    """Say of a file that cannot be read what was ``found``, and nothing else: polars may write what is in it."""
    import polars as pl

    from panbayes.tables.quiet import quiet

    try:
        with quiet():
            yield
    except OSError as error:
        raise unreadable(source, error) from None
    # A panic of the native reader is no Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, IndexError):
        raise InputError(source, found=found, remedy=remedy) from None


def _named(field: str, kinds: pl.Schema) -> str:
    """Return the name of the column of a field, in the form in which the file has it."""
    named = [name for name in kinds.names() if one_text(name) == field]
    if len(named) != 1:
        raise InputError(
            "FILE",
            found=f"it has no column {field!r}, or several, which filter or groups look at",
            remedy="give a file that has; its columns are " + ", ".join(kinds.names()[:20]),
        )
    return named[0]


def _text(name: str, kinds: pl.Schema) -> pl.Expr:
    """Return a column as texts; one of lists, structures or other things without a text is refused by its type."""
    import polars as pl

    kind, values = kinds[name], pl.col(name)
    if kind.is_float():
        # Whole numbers as their digits: a missing value makes some libraries turn integers into these.
        return values.fill_nan(None).cast(pl.String).str.strip_suffix(".0")
    if kind.is_nested() or kind in (pl.Object, pl.Null):
        raise InputError(
            "FILE",
            found=f"its column {name!r} is of type {kind}, which filter or groups look at",
            remedy="give texts, numbers, dates or booleans in it",
        )
    # Bytes are texts already, and need not be UTF-8.
    return values if kind == pl.Binary else values.cast(pl.String, strict=False)


PARQUET: Final = StreamFormat("parquet", (".parquet", ".pq"), of_file=_of_file)
