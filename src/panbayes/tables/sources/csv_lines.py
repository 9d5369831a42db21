"""Which lines of a CSV file are a record: decided line by line, so that no record can swallow or split another.

A CSV writer puts a value that holds a separator, a quote or a line break between quotes and doubles the quotes inside
it. Here quotes count only where a writer would have put them; whatever stands in a line, it spoils its own record:

* A line with an even number of quotes is a record.
* A line with an odd number of them opens a value that goes on below. It is a record together with the lines up to the
  next odd one if all of them make up exactly as many fields as the header has, in sound quotes.
* If they do not, the line is a record of its own. So it is if each of these lines by itself, its quotes taken as
  letters, has as many fields as the header: then two stray quotes are more likely than a value whose every line looks
  like a record.
* In a record whose quotes are unsound, quotes are letters. If that does not give as many fields as the header has, or
  if a record has too many fields, all its values are missing. Fields that are not there are missing too.

* A line of more than :data:`MAX_RECORD` bytes is a record whose values are missing, and lines that would make up a
  record of more are not put together: so nothing has to be kept in memory for long.

An empty line is a record whose values are missing. What a line looks like is a function of its own bytes; which lines
go together depends on lines with an odd number of quotes alone, and where every record is one line, soundly written,
there are none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.tables.sources.compression import ByteReader

__all__ = ["MAX_RECORD", "Counts", "Flags", "Lines", "mended", "mended_blocks", "scan_lines", "split_header"]

MAX_RECORD: Final = 1 << 24
"""So many bytes a record has at most, with the line breaks in it and at its end."""

_BLOCK: Final = 1 << 22
"""So many bytes, and the rest of a line, are looked at at once: memory does not grow with the file."""

_PIECE: Final = 1 << 22
"""So many bytes are read at once, not more than a record may have."""

_QUOTE: Final = ord('"')
_LINE: Final = ord("\n")
_RETURN: Final = ord("\r")

Counts: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lines:
    """What every line looks like by itself. Line ``i`` goes from ``starts[i]`` to ``starts[i + 1]``.

    ``odd`` tells whether it has an odd number of quotes, ``sound`` whether each stands where one may, and ``text``
    whether the line is UTF-8. ``separators`` counts those outside quotes, ``letters`` all of them.
    """

    starts: Counts
    odd: Flags
    sound: Flags
    separators: Counts
    letters: Counts
    text: Flags


def scan_lines(raw: bytes, separator: bytes, *, inside: bool = False) -> Lines:
    """Look at every line of a text that ends with a line break; each as if it began outside, or inside, quotes."""
    parts: list[Lines] = []
    at = 0
    while at < len(raw):
        end = len(raw) if at + _BLOCK >= len(raw) else raw.index(b"\n", at + _BLOCK) + 1
        parts.append(_scan(raw[at:end], ord(separator), at, inside=inside))
        at = end
    names = (field.name for field in dataclasses.fields(Lines))
    starts, *others = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Lines(np.append(starts, len(raw)), *others)


def _scan(block: bytes, separator: int, offset: int, *, inside: bool) -> Lines:
    text = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    marks = text == separator
    letters = np.diff(np.searchsorted(np.flatnonzero(marks), starts), append=np.count_nonzero(marks))
    utf8 = _is_text(block, starts.size)
    if b'"' not in block:
        none, every = np.zeros(starts.size, dtype=np.bool_), np.ones(starts.size, dtype=np.bool_)
        return Lines(starts + offset, none, every, np.zeros_like(letters) if inside else letters, letters, utf8)
    quotes = text == _QUOTE
    # How many quotes up to here, even or odd: of the block, and then of the line, beginning with 1 inside quotes.
    parity = (np.cumsum(quotes, dtype=np.uint8) & 1).view(np.bool_)
    before = np.concatenate([[False], parity[ends[:-1]]])
    odd = parity[ends] != before
    if inside or before.any():
        parity ^= np.repeat(before ^ inside, ends + 1 - starts)
    # A quote that opens stands at the beginning of a field, one that closes at its end, and doubled ones side by side.
    edge = marks | quotes | (text == _LINE)
    unsound = np.zeros(text.size, dtype=np.bool_)
    unsound[1:] = quotes[1:] & parity[1:] & ~edge[:-1]
    edge[:-1] |= (text[:-1] == _RETURN) & (text[1:] == _LINE)
    unsound[:-1] |= quotes[:-1] & ~parity[:-1] & ~edge[1:]
    return Lines(
        starts + offset,
        odd,
        ~np.logical_or.reduceat(unsound, starts),
        np.add.reduceat((marks & ~parity).view(np.uint8), starts, dtype=np.int64),
        letters,
        utf8,
    )


def _is_text(block: bytes, lines: int) -> Flags:
    """Tell which lines are UTF-8."""
    flags = np.ones(lines, dtype=np.bool_)
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        for place, line in enumerate(block.split(b"\n")[:-1]):
            flags[place] = line.decode("utf-8", "backslashreplace").encode() == line
    return flags


def split_header(raw: bytes, separator: bytes) -> tuple[list[bytes], int] | None:
    """Return the fields of the header and where it ends; None if its quotes are unsound."""
    end = raw.find(b"\n") + 1 or len(raw)
    if raw.count(b'"', 0, end) % 2 == 1:
        close = raw.find(b'"', end)
        end = raw.find(b"\n", close) + 1 or len(raw)
        if close < 0 or raw.count(b'"', 0, end) % 2 == 1:
            return None
    header = raw[:end].rstrip(b"\r\n")
    lines, below = (scan_lines(header + b"\n", separator, inside=inside) for inside in (False, True))
    sound = bool(lines.sound[0] and below.sound[1:].all())
    return (_fields(header, separator), end) if sound else None


def _fields(record: bytes, separator: bytes) -> list[bytes]:
    """Split a record whose quotes are sound."""
    fields: list[bytes] = []
    open_field: list[bytes] = []
    for piece in record.split(separator):
        open_field.append(piece)
        whole = separator.join(open_field)
        if whole.count(b'"') % 2 == 0:
            fields.append(whole[1:-1].replace(b'""', b'"') if whole.startswith(b'"') else whole)
            open_field = []
    return fields


def mended_blocks(read: ByteReader, separator: bytes, fields: int) -> Iterator[bytes]:
    """Write the records of a whole text anew, some at a time, so that any CSV reader finds those that are there."""
    kept = b""
    for lines in _whole_lines(read, _spoilt(separator, fields)):
        block = kept + lines
        text, used = mended(block, separator, fields, final=False)
        kept = block[used:]
        if text:
            yield text
    if kept:
        yield mended(kept, separator, fields)[0]


def _whole_lines(read: ByteReader, spoilt: bytes) -> Iterator[bytes]:
    """Yield lines, some at a time, each with its line break; ``spoilt`` in the place of one that is too long."""
    tail, skipping = b"", False
    while piece := read(_PIECE):
        first, end = piece.find(b"\n") + 1, piece.rfind(b"\n") + 1
        skipping = skipping or len(tail) + (first or len(piece)) > MAX_RECORD
        if end == 0:
            tail = b"" if skipping else tail + piece
            continue
        yield spoilt + piece[first:end] if skipping else tail + piece[:end]
        tail, skipping = piece[end:], False
    if skipping or len(tail) >= MAX_RECORD:
        yield spoilt
    elif tail:
        yield tail + b"\n"


def _spoilt(separator: bytes, fields: int) -> bytes:
    """Return a line that is no record, inside and outside quotes, and goes together with no other."""
    return b'x"y"z' + separator * fields + b"\n"


def mended(raw: bytes, separator: bytes, fields: int, *, final: bool = True) -> tuple[bytes, int]:
    """Write records anew, so that any CSV reader finds those that are there; the text must end with a line break.

    Unless this is the ``final`` part, the lines from the last one that may go on below are left to the next call;
    the second value is where they begin.

    >>> mended(b'1,2\\n3\\n4,5,6\\n7,"a\\nb"\\n', b",", 2)
    (b'1,2\\n3,\\n,\\n7,"a\\nb"\\n', 20)
    """
    lines = scan_lines(raw, separator)
    regular = ~lines.odd & lines.sound & (lines.separators == fields - 1)
    joined, waiting = _joined(raw, lines, separator, fields)
    for first, last in joined:
        regular[first : last + 1] = True
    used = len(raw)
    if waiting is not None and not final and used - int(lines.starts[waiting]) <= MAX_RECORD:
        used = int(lines.starts[waiting])
        regular[waiting:] = True
    pieces: list[bytes] = []
    done = 0
    for place in np.flatnonzero(~(regular & lines.text)).tolist():
        start, end = int(lines.starts[place]), int(lines.starts[place + 1])
        if start >= used:
            break
        line = raw[start:end]
        if not regular[place]:
            sound = bool(lines.sound[place] and not lines.odd[place])
            line = _record(line.rstrip(b"\r\n"), separator, fields, sound=sound, found=int(lines.separators[place]) + 1)
        pieces += [raw[done:start], line.decode("utf-8", "backslashreplace").encode()]
        done = end
    return b"".join([*pieces, raw[done:used]]), used


def _joined(raw: bytes, lines: Lines, separator: bytes, fields: int) -> tuple[list[tuple[int, int]], int | None]:
    """Return the first and the last line of every record that has several; and the odd line that waits for another."""
    odd = np.flatnonzero(lines.odd)
    if odd.size < 2:
        return [], int(odd[0]) if odd.size else None
    first, last = odd[:-1], odd[1:]
    below = scan_lines(raw, separator, inside=True)
    separators = lines.separators[first] + _between(below.separators, first, last)
    sound = lines.sound[first] & (_between(~below.sound, first, last) == 0)
    lookalike = _between(lines.letters != fields - 1, first - 1, last) == 0
    short = lines.starts[last + 1] - lines.starts[first] <= MAX_RECORD
    together = sound & (separators == fields - 1) & ~lookalike & short
    found: list[tuple[int, int]] = []
    place = 0
    while place < together.size:
        if together[place]:
            found.append((int(first[place]), int(last[place])))
            place += 1
        place += 1
    return found, int(odd[place]) if place < odd.size else None


def _between(values: Counts | Flags, first: NDArray[np.intp], last: NDArray[np.intp]) -> Counts:
    """Add up the values of the lines after ``first`` up to ``last``."""
    total = np.concatenate([[0], np.cumsum(values)])
    counts: Counts = total[last + 1] - total[first + 1]
    return counts


def _record(line: bytes, separator: bytes, fields: int, *, sound: bool, found: int) -> bytes:
    """Write one record that is not as it should be; ``found`` is the number of its fields if its quotes are sound."""
    if sound and found <= fields:
        return line + separator * (fields - found) + b"\n"
    pieces = line.split(separator)
    if sound or len(pieces) != fields:
        return separator * (fields - 1) + b"\n"
    quoted = (b'"' + piece.replace(b'"', b'""') + b'"' if b'"' in piece else piece for piece in pieces)
    return separator.join(quoted) + b"\n"
