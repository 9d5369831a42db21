"""Lines of a file or a pipe, in batches bounded in size and time.

A batch is at most :data:`BATCH` bytes of input and is handed over at the latest :data:`PATIENCE` seconds after its
first byte. The buffer it was read into, and the arena in which it lies where its lines begin and all that formats make
of them, are overwritten when the batch has been applied. A byte-order mark at the start of the input is skipped.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

import numpy as np

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena, private_memory
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import unreadable
from panbayes.stream.ids.stopping import Stop

__all__ = ["BATCH", "PATIENCE", "LineBuffer", "line_batches"]

BATCH: Final = 1 << 22
"""Bytes of input in a batch, at most."""

PATIENCE: Final = 1.0
"""Seconds a batch may wait for more input."""

_LINES: Final = 1 << 19
_MARK: Final = b"\xef\xbb\xbf"
_NEWLINE: Final = 10


class LineBuffer:
    """Bytes of one input on their way to becoming lines, overwritten as soon as they have been.

    Put bytes into :meth:`room`, say how many with :meth:`grew`, and take whole lines: as spans with :meth:`lines`, or
    as they are with :meth:`whole`. A line longer than the buffer, of ``size`` bytes, is dropped, and so is a byte-order
    mark before the first one.
    """

    def __init__(self, size: int = BATCH) -> None:
        """Start empty."""
        self._data = private_memory(size + 1)
        self._have, self._at_start, self._skipping = 0, True, False

    def room(self) -> memoryview:
        """Return where the next bytes go."""
        return self._data.data[self._have : self._data.size - 1]

    def put(self, data: memoryview) -> int:
        """Put as many bytes as there is room for, and return how many that is."""
        room = self.room()
        size = min(len(room), len(data))
        room[:size] = data[:size]
        self.grew(size)
        return size

    def grew(self, size: int) -> None:
        """Say that ``size`` bytes were put there."""
        self._have += size

    @contextmanager
    def whole(self, *, ended: bool = False) -> Iterator[memoryview]:
        """Lend the bytes of whole lines, and drop them; where the input has ended what is left is a line."""
        from panbayes.stream.ids.kernels.spans import line_ends

        if ended:
            first, last = (self._have if self._skipping else 0), self._have
        else:
            first, last = line_ends(self._data, self._have, self._skipping)
        try:
            yield self._data.data[first:last]
        finally:
            if last or ended:
                self._skipping = False
                self._drop(last)
            elif self._skipping:
                self._drop(self._have)
            self._skip_if_full()

    def lines(self, arena: Arena, *, ended: bool = False) -> Iterator[Texts]:
        """Yield whole lines as spans; what is left is a line where the input ended.

        The spans lie in ``arena``, which is wiped after each batch of lines with all that was made of them.
        """
        # Loaded here: compiled loops take longer to load than a help text that names the formats should.
        from panbayes.stream.ids.kernels.spans import count_lines, split_lines

        if self._at_start and self._have >= len(_MARK):
            if self._data[: len(_MARK)].tobytes() == _MARK:
                self._drop(len(_MARK))
            self._at_start = False
        if ended and self._have and self._data[self._have - 1] != _NEWLINE:
            self._data[self._have] = _NEWLINE
            self._have += 1
        while size := min(count_lines(self._data, self._have), _LINES):
            with arena:
                starts, lengths = arena.array(size, np.int64), arena.array(size, np.int64)
                count, rest = split_lines(self._data, self._have, starts, lengths)
                # The rest of a line that was too long is not a line.
                first = 1 if self._skipping else 0
                self._skipping = False
                yield Texts(self._data, starts[first:count], lengths[first:count])
            self._drop(rest)
        self._skip_if_full()

    def wipe(self) -> None:
        """Overwrite everything, and begin a new input."""
        self._drop(self._have)
        self._at_start, self._skipping = True, False

    def _skip_if_full(self) -> None:
        """Drop the beginning of a line for which there is no room."""
        if self._have >= self._data.size - 1:
            self._drop(self._have)
            self._skipping = True

    def _drop(self, size: int) -> None:
        """Take ``size`` bytes off the start of what is in the buffer."""
        left, view = self._have - size, self._data.data
        # Python moves the bytes of a view within its memory; NumPy would copy what overlaps.
        view[:left] = view[size : self._have]
        self._data[left : self._have].fill(0)
        self._have = left


def line_batches(source: str, stop: Stop, arena: Arena) -> Generator[Texts, None, None]:
    """Yield whole lines as spans; the lines, and all that lies in ``arena``, are overwritten afterwards.

    A line longer than the buffer is dropped. Asked to stop, hand over the whole lines that were read, and drop the
    beginning of one.
    """
    buffer, ended = LineBuffer(BATCH), False
    try:
        with _opened(source) as descriptor:
            while not (ended or stop.asked):
                ended = _fill(descriptor, buffer, stop)
                yield from buffer.lines(arena, ended=ended)
    finally:
        buffer.wipe()
        arena.wipe()


@contextmanager
def _opened(source: str) -> Iterator[int]:
    if source == "-":
        standard: TextIO | None = sys.stdin
        if standard is None:
            raise InputError("FILE", found="standard input is closed", remedy="give a file, or pipe the stream in")
        yield standard.fileno()
        return
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(source, error) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _fill(descriptor: int, buffer: LineBuffer, stop: Stop) -> bool:
    """Read until the buffer is full, the input ends, patience does or somebody asks to stop; say whether it ended."""
    deadline: float | None = None
    while room := buffer.room():
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if descriptor not in select.select([descriptor, stop.fileno()], [], [], wait)[0] or stop.asked:
            break
        try:
            read = os.readv(descriptor, [room])
        except OSError as error:
            raise unreadable("the input", error) from None
        if read == 0:
            return True
        buffer.grew(read)
        if deadline is None:
            deadline = time.monotonic() + PATIENCE
    return False
