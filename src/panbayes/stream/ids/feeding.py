"""Reading a stream of ids from a file or a pipe, in bounded batches.

What cannot be read is skipped, and nothing says which or how much: both would be facts about the stream. (Lines pass
through a buffer and an arena that are overwritten. Parquet passes through polars, whose memory we cannot overwrite.)

This is not the reader of tables (:mod:`panbayes.tables.sources`), and shares nothing with it but the footer of a
Parquet file, because the two promise opposite things about the same files:

* A table is read whole: a damaged line, a column of another name or a file that broke off refuses the table. A
  stream has no end to wait for, and a line that one user wrote must not decide whether others are read.
* In a table a quoted field may span lines. In a stream it may not: whoever may write a quote could swallow the lines
  after it. So every line is parsed on its own, which no reader of whole CSV files does.
* A table is kept in memory. A stream passes through a buffer of fixed size that is overwritten, within a second.
* A table must have every column of a schema; a stream has one column of ids, which may have no name at all.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from panbayes.discovery import registry
from panbayes.files import check_path
from panbayes.stream.choices import choose
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import line_batches
from panbayes.stream.ids.formats.text import TEXT
from panbayes.stream.ids.stopping import Stop

__all__ = ["batches", "stream_format", "stream_formats"]


@cache
def stream_formats() -> dict[str, StreamFormat]:
    """Return every format by its name.

    >>> stream_formats()["csv"].suffixes
    ('.csv',)
    """
    return registry("panbayes.stream.ids.formats", StreamFormat, lambda form: form.name)


def stream_format(source: str, name: str | None = None) -> StreamFormat:
    """Return the format called ``name``; without a name tell it from a file's suffix, where anything unknown is text.

    >>> stream_format("visits.csv").name, stream_format("-").name, stream_format("visits.csv", "text").name
    ('csv', 'text', 'text')
    """
    if name is not None:
        return choose(name, stream_formats(), argument="--format")
    suffix = Path(source).suffix.lower()
    return next((form for form in stream_formats().values() if suffix in form.suffixes), TEXT)


def batches(
    source: str,
    *,
    form: str | None = None,
    column: str | None = None,
    fields: Sequence[str] = (),
    stop: Stop | None = None,
) -> Generator[object, None, None]:
    """Yield batches of ids from ``source`` (``-`` for standard input); use one before asking for the next.

    With ``fields`` they are :class:`~panbayes.stream.ids.records.Records`, with the values of these fields.

    ``form`` names the format, by default told from the suffix. ``column`` names the column of a CSV or Parquet file or
    the field of NDJSON lines. For CSV it may be a number counted from 1, and then the first line is an ordinary row.
    Once ``stop`` is asked, what was read is yielded and nothing more is read.
    """
    check_path(source, argument="source")
    found = stream_format(source, form)
    asked = Stop() if stop is None else stop
    try:
        if found.of_lines is not None:
            arena = Arena()
            # Closed here: whoever keeps an error keeps every frame in which it was raised, and what they hold.
            with closing(line_batches(source, asked, arena)) as lines:
                yield from found.of_lines(lines, column, fields, arena)
        elif found.of_file is not None:
            yield from found.of_file(source, column, fields, asked)
    finally:
        if stop is None:
            asked.close()
