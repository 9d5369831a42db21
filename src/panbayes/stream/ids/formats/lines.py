"""Lines of a file or a pipe, in batches bounded in size and time.

A batch is at most :data:`BATCH` bytes of input and is handed over at the latest :data:`PATIENCE` seconds after its
first byte. The buffer it was read into, and where its lines begin and how long they are, are overwritten when the batch
has been applied. A byte-order mark at the start of the input is skipped.
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
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import unreadable
from panbayes.stream.ids.stopping import Stop

__all__ = ["BATCH", "PATIENCE", "line_batches", "lines_of"]

BATCH: Final = 1 << 22
"""Bytes of input in a batch, at most."""

PATIENCE: Final = 1.0
"""Seconds a batch may wait for more input."""

_LINES: Final = 1 << 19
_MARK: Final = b"\xef\xbb\xbf"


def line_batches(source: str, stop: Stop) -> Generator[Texts, None, None]:
    """Yield whole lines as spans of a buffer that is overwritten afterwards; drop a line longer than the buffer.

    What the caller makes of the spans is overwritten too. Asked to stop, hand over the whole lines that were read, and
    drop the beginning of one.
    """
    # Loaded here: compiled loops take longer to load than a help text that names the formats should.
    from panbayes.stream.ids.kernels.spans import split_lines

    buffer = np.zeros(BATCH + 1, dtype=np.uint8)
    starts, lengths = np.zeros(_LINES, dtype=np.int64), np.zeros(_LINES, dtype=np.int64)
    have, at_start, skipping, ended = 0, True, False, False
    try:
        with _opened(source) as descriptor:
            while not (ended or stop.asked):
                have, ended = _fill(descriptor, buffer, have, stop)
                if at_start and buffer[: len(_MARK)].tobytes() == _MARK:
                    have = _drop(buffer, have, len(_MARK))
                at_start = at_start and have < len(_MARK)
                if ended and have and buffer[have - 1] != 10:
                    buffer[have] = 10
                    have += 1
                while True:
                    count, rest = split_lines(buffer, have, starts, lengths)
                    if count == 0:
                        break
                    # The rest of a line that was too long is not a line.
                    first = 1 if skipping else 0
                    skipping = False
                    yield Texts(buffer, starts[first:count], lengths[first:count])
                    have = _drop(buffer, have, rest)
                    starts[:count] = 0
                    lengths[:count] = 0
                if have >= BATCH:
                    buffer[:] = 0
                    have, skipping = 0, True
    finally:
        for array in (buffer, starts, lengths):
            array[:] = 0


def _drop(buffer: NDArray[np.uint8], have: int, size: int) -> int:
    """Take ``size`` bytes off the start of what is in the buffer; return how much is left."""
    left = have - size
    buffer[:left] = buffer[size:have].copy()
    buffer[left:have] = 0
    return left


def lines_of(batch: Texts) -> Iterator[bytes]:
    """Yield the lines of a batch as objects."""
    whole = batch.data
    for start, length in zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True):
        yield whole[start : start + length].tobytes()


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


def _fill(descriptor: int, buffer: NDArray[np.uint8], have: int, stop: Stop) -> tuple[int, bool]:
    """Read until the buffer is full, the input ends, patience does or somebody asks to stop.

    Return how much there is and whether the input ended.
    """
    deadline: float | None = None
    while have < BATCH:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if descriptor not in select.select([descriptor, stop.fileno()], [], [], wait)[0] or stop.asked:
            break
        try:
            read = os.readv(descriptor, [buffer.data[have:BATCH]])
        except OSError as error:
            raise unreadable("the input", error) from None
        if read == 0:
            return have, True
        have += read
        if deadline is None:
            deadline = time.monotonic() + PATIENCE
    return have, False
