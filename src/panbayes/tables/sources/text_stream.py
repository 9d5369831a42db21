"""The text of a file as UTF-8, with a line feed at the end of each line, whatever it is written in.

A byte-order mark shows Unicode; everything else is declared. Where the header ends with a carriage return alone, as on
old Macintoshes, so does every record. Nothing below the header decides anything.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

from panbayes.errors import InputError
from panbayes.tables.sources.compression import ByteReader

__all__ = ["TextStream"]

_MARKS: Final = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SWAP: Final = bytes.maketrans(b"\r\n", b"\n\r")
_PIECE: Final = 1 << 20


class TextStream:
    """Reads text: first some of it to look at (:meth:`peek`), then piece by piece (:meth:`read`)."""

    def __init__(self, read: ByteReader, encoding: str, *, header: bool, argument: str) -> None:
        """Look for a byte-order mark; ``encoding`` is what was declared.

        Without a ``header``, the first bytes may be a record's: a mark then says nothing that was not declared.
        """
        self._argument = argument
        self._held = b""
        self._decode: Callable[[bytes, bool], bytes] | None = None
        self._ended = False
        self._source = read
        self._swap = False
        start = read(4)
        telling = [mark for mark, what in _MARKS.items() if header or encoding in (what, "utf-16")]
        mark = next((mark for mark in telling if start.startswith(mark)), b"")
        encoding = self._agreed(_MARKS.get(mark), encoding)
        if encoding != "utf-8":
            decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
            self._decode = lambda data, final: decoder.decode(data, final).encode("utf-8", "backslashreplace")
        self._held = self._plain(start[len(mark) :])

    def _agreed(self, shown: str | None, declared: str) -> str:
        if shown is None and declared == "utf-16":
            raise InputError(
                self._argument,
                found="has no byte-order mark, which utf-16 needs",
                remedy="declare the encoding as utf-16-le (as Windows writes it) or utf-16-be",
            )
        if shown is not None and declared not in (shown, "utf-8", "utf-16"):
            raise InputError(
                self._argument,
                found=f"begins with a byte-order mark of {shown}, but {declared} is declared",
                remedy="leave the encoding out",
            )
        return shown or declared

    def _plain(self, data: bytes) -> bytes:
        if self._decode is None:
            return data
        return self._decode(data, False)

    def peek(self, size: int) -> bytes:
        """Return the next ``size`` bytes, or fewer at the end, without moving on."""
        self._fill(size)
        return self._held[:size]

    def skip(self, size: int) -> None:
        """Move on over bytes that were peeked at."""
        self._held = self._held[size:]

    def end_lines_with_returns(self) -> None:
        """Take carriage returns for the ends of lines, and line feeds for letters, from here on."""
        self._held = self._held.translate(_SWAP)
        self._swap = not self._swap

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes, or none at the end."""
        self._fill(size)
        found, self._held = self._held[:size], self._held[size:]
        return found

    def _fill(self, size: int) -> None:
        pieces = [self._held]
        held = len(self._held)
        while held < size and not self._ended:
            data = self._source(min(size - held, _PIECE) if self._decode is not None else size - held)
            self._ended = not data
            if self._decode is not None:
                data = self._decode(data, self._ended)
            pieces.append(data.translate(_SWAP) if self._swap else data)
            held += len(data)
        self._held = b"".join(pieces)
