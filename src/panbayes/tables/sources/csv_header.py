"""The header of a CSV file: it shows what stands between values, how lines end, and what the columns are called.

The separator is the one of comma, semicolon, tab and pipe that stands most often in the header outside quotes; of
equally frequent ones that is the one that is not the comma, which names may hold. A first line ``sep=;``, as
spreadsheets write it, says it too. Names that are empty are not names: such columns cannot be asked for, but for the
first of them, which is called "".
"""

from __future__ import annotations

import re
from typing import Final

from panbayes.errors import InputError
from panbayes.tables.sources.csv_lines import MAX_RECORD, split_header
from panbayes.tables.sources.file import SEPARATORS
from panbayes.tables.sources.source import check_distinct
from panbayes.tables.sources.text_stream import TextStream

__all__ = ["read_header"]

_BLANK_LINES: Final = re.compile(rb"(?:[ \t]*\r*\n)+")
_SAID: Final = re.compile(rb"\"?sep=([,;\t|])\"?[ \t]*\r*\n?", re.IGNORECASE)
_OLD_END: Final = re.compile(rb"[^\r\n\"]*(?:\"[^\"]*\"[^\r\n\"]*)*\r(?!\r*(?:\n|$))")
_CANDIDATES: Final = tuple(SEPARATORS[name].encode() for name in ("tab", "semicolon", "pipe", "comma"))


def read_header(text: TextStream, separator: str | None, *, argument: str) -> tuple[list[str], str]:
    """Move past the header; return the name of every column, and the separator, which may have been declared."""
    start = text.peek(MAX_RECORD)
    if not start.strip():
        raise InputError(argument, found="is empty", remedy="give a file with a header and records")
    _use_old_ends(text, start)
    start = _past(text, _BLANK_LINES)
    said = _SAID.match(start)
    if said is not None:
        separator = separator or said[1].decode()
        start = _past(text, _SAID)
        _use_old_ends(text, start)
        start = text.peek(MAX_RECORD)
    found = (separator or _most_frequent(start)).encode()
    split = split_header(start, found)
    if split is None:
        raise InputError(
            argument,
            found="has a header with quotes that do not match",
            remedy="mend the first line of the file, with comma, semicolon, tab or pipe between names",
        )
    fields, end = split
    if b"\0" in start[:end]:
        raise InputError(
            argument,
            found="is a binary file",
            remedy="give a CSV file; if it is one in UTF-16, declare the encoding utf-16-le or utf-16-be",
        )
    if end == len(start) == MAX_RECORD:
        raise InputError(argument, found="has a header without end", remedy="give a CSV file")
    text.skip(end)
    return _names(fields, argument=argument), found.decode()


def _past(text: TextStream, what: re.Pattern[bytes]) -> bytes:
    found = what.match(text.peek(MAX_RECORD))
    if found is not None:
        text.skip(found.end())
    return text.peek(MAX_RECORD)


def _use_old_ends(text: TextStream, start: bytes) -> None:
    """See whether the header ends with a carriage return alone."""
    old = _OLD_END.match(start)
    if old is not None and old[0].strip():
        text.end_lines_with_returns()


def _most_frequent(start: bytes) -> str:
    """Return the separator that stands most often in the first line, outside quotes."""
    line, _, below = start.partition(b"\n")
    if line.count(b'"') % 2 == 1:
        line += b"\n" + below.partition(b'"')[0] + b'"' + below.partition(b'"')[2].partition(b"\n")[0]
    outside = b"".join(line.split(b'"')[::2])
    best = max(_CANDIDATES, key=outside.count)
    return best.decode() if best in outside else ","


def _names(fields: list[bytes], *, argument: str) -> list[str]:
    try:
        header = [field.decode("utf-8") for field in fields]
    except UnicodeDecodeError:
        raise InputError(
            argument,
            found="is not UTF-8 text",
            remedy="declare its encoding, such as latin-1 (--encoding latin-1), or write it in UTF-8",
        ) from None
    check_distinct([name for name in header if name.strip()], argument=argument)
    return header
