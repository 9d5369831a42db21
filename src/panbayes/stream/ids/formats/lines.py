"""Lines of a file or a pipe, in batches bounded in size and time.

A batch is at most :data:`BATCH` bytes of input and is handed over at the latest :data:`PATIENCE` seconds after its
first byte. The buffer it was read into is overwritten when the batch has been applied.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.formats.format import unreadable

__all__ = ["BATCH", "PATIENCE", "line_batches", "lines_of"]

BATCH: Final = 1 << 22
"""Bytes of input in a batch, at most."""

PATIENCE: Final = 1.0
"""Seconds a batch may wait for more input."""

_LINES: Final = 1 << 19


def line_batches(source: str) -> Iterator[Texts]:
    """Yield whole lines as spans of a buffer that is overwritten afterwards; drop a line longer than the buffer."""
    # Loaded here: compiled loops take longer to load than a help text that names the formats should.
    from panbayes.stream.ids.kernels.spans import split_lines

    buffer = np.zeros(BATCH + 1, dtype=np.uint8)
    starts, lengths = np.empty(_LINES, dtype=np.int64), np.empty(_LINES, dtype=np.int64)
    have, skipping, ended = 0, False, False
    try:
        with _opened(source) as descriptor:
            while not ended:
                have, ended = _fill(descriptor, buffer, have)
                if ended and have:
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
                    buffer[: have - rest] = buffer[rest:have].copy()
                    buffer[have - rest : have] = 0
                    have -= rest
                if have >= BATCH:
                    buffer[:] = 0
                    have, skipping = 0, True
    finally:
        buffer[:] = 0


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


def _fill(descriptor: int, buffer: NDArray[np.uint8], have: int) -> tuple[int, bool]:
    """Read until the buffer is full, the input ends or patience does; return how much there is and whether it ended."""
    deadline: float | None = None
    while have < BATCH:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if deadline is not None and not select.select([descriptor], [], [], wait)[0]:
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
