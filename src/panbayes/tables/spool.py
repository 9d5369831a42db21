"""Where encoded records are kept: in memory while they are few, in an unnamed temporary file once they are many.

Records come in pieces and are kept in *blocks* of :data:`BLOCK_RECORDS`, each a C-contiguous array of one row per
attribute, as the counting kernels take them. From :data:`SPOOL_RECORDS` records on, blocks go to a file and are read
back into one buffer, so that the memory they take does not grow with their number. Nothing is mapped: what is mapped
counts as this process's memory, and a file that somebody cuts short would end it.

The file has no name, or loses it before the first record is written; its mode is 0600. So it is gone when it is closed,
and when the process is killed. It lies in the folder that ``PANBAYES_SPOOL`` names, else in ``TMPDIR``, else in
``/var/tmp``, which is a disk where ``/tmp`` may be memory. A full disk is told to the holder while the table is read,
before anything is asked.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.tables.codes import Room

__all__ = ["BLOCK_RECORDS", "ENVIRONMENT", "SPOOL_RECORDS", "Spool", "spool_folder", "unnamed_file"]

ENVIRONMENT: Final = "PANBAYES_SPOOL"

BLOCK_RECORDS: Final = 2**17
"""Records of a block; a multiple of 8, so that bits of records can be cut at its edges."""

SPOOL_RECORDS: Final = 2**20
"""Tables of more records than this are kept in a file."""

Numbers: TypeAlias = NDArray[Any]


def spool_folder() -> Path:
    """Return the folder in which large tables are kept while they are used."""
    for name in (ENVIRONMENT, "TMPDIR"):
        if os.environ.get(name):
            return Path(os.environ[name])
    lasting = Path("/var") / "tmp"
    return lasting if lasting.is_dir() and os.access(lasting, os.W_OK) else Path(tempfile.gettempdir())


class Spool:
    """Numbers of shape (``rows``, records): pieces are appended, blocks are read. Close it, or let it go.

    ``keep`` is how many records stay in memory.
    """

    def __init__(self, rows: int, dtype: type[np.generic], *, keep: int = SPOOL_RECORDS) -> None:
        """Begin empty."""
        self.rows = rows
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._keep = keep
        self._held: list[Numbers] = []
        self._tail: Numbers = np.empty((rows, 0), dtype=dtype)
        self._filled = 0
        self._written = 0
        self._file: int | None = None
        self._closed = False
        self._folder = Path()

    @property
    def records(self) -> int:
        """The number of records."""
        return (len(self._held) + self._written) * BLOCK_RECORDS + self._filled

    @property
    def in_file(self) -> bool:
        """Whether records are kept in a file."""
        return self._file is not None

    def append(self, piece: Numbers) -> None:
        """Add records: an array of shape (rows, records)."""
        start, length = 0, int(piece.shape[1])
        while start < length:
            take = min(length - start, BLOCK_RECORDS - self._filled)
            self._reserve(self._filled + take)
            self._tail[:, self._filled : self._filled + take] = piece[:, start : start + take]
            self._filled += take
            start += take
            if self._filled == BLOCK_RECORDS:
                self._put_away()

    def _reserve(self, records: int) -> None:
        """Give the last block room: first as much as it needs, twice that when it grows, at last a whole block."""
        room = self._tail.shape[1]
        if records > room:
            grown = np.empty((self.rows, min(max(records, 2 * room), BLOCK_RECORDS)), dtype=self.dtype)
            grown[:, : self._filled] = self._tail[:, : self._filled]
            self._tail = grown

    def _put_away(self) -> None:
        """Keep a block that is full."""
        if self._file is None and self.records <= self._keep:
            self._held.append(self._tail)
            self._tail = np.empty((self.rows, 0), dtype=self.dtype)
        else:
            if self._file is None:
                self._open()
                for block in self._held:
                    self._write(block)
                self._held.clear()
            self._write(self._tail)
        self._filled = 0

    def _open(self) -> None:
        self._folder = spool_folder()
        with self._usable():
            self._file = unnamed_file(self._folder)
            self._end = weakref.finalize(self, os.close, self._file)

    def _write(self, block: Numbers) -> None:
        data = _bytes_of(np.ascontiguousarray(block))
        place = self._written * len(data)
        with self._usable():
            while data:
                done = os.pwrite(self.descriptor, data, place)
                data, place = data[done:], place + done
        self._written += 1

    @property
    def descriptor(self) -> int:
        """The file, by its number."""
        if self._file is None:
            raise ValueError("the spool has no file")
        return self._file

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                str(self._folder),
                found=f"cannot take a table of this size ({(error.strerror or 'not writable').lower()})",
                remedy=f"make room there, or set {ENVIRONMENT} to a folder on a larger disk",
            ) from None

    def blocks(self, rows: Sequence[int] | None = None, most: int = BLOCK_RECORDS) -> Iterator[Numbers]:
        """Yield the chosen rows of all records in order, C-contiguous, at most ``most`` records at a time.

        What is yielded must not be written to, and is good until the next is asked for.
        """
        chosen = list(range(self.rows)) if rows is None else list(rows)
        whole = chosen == list(range(self.rows))
        room = Room(self.dtype)
        if self._closed:
            raise ValueError("the spool is closed")
        for number in range(len(self._held) + self._written + (self._filled > 0)):
            if self._closed:
                raise ValueError("the spool is closed")
            held = self._block_in_memory(number)
            length = BLOCK_RECORDS if held is None else held.shape[1]
            for start in range(0, length, most):
                take = min(most, length - start)
                if held is not None and whole and take == length and held.flags.c_contiguous:
                    yield held
                    continue
                block = room.shaped(len(chosen), take)
                if held is not None:
                    for into, row in zip(block, chosen, strict=True):
                        into[:] = held[row, start : start + take]
                else:
                    self._read(number, chosen, start, block)
                yield block

    def _block_in_memory(self, number: int) -> Numbers | None:
        if number < len(self._held):
            return self._held[number]
        return self._tail[:, : self._filled] if number >= len(self._held) + self._written else None

    def _read(self, number: int, chosen: Sequence[int], start: int, block: Numbers) -> None:
        """Read some rows of a block in the file."""
        size, take = self.dtype.itemsize, block.shape[1]
        row_bytes = BLOCK_RECORDS * size
        first = number * self.rows * row_bytes
        if take == BLOCK_RECORDS and list(chosen) == list(range(self.rows)):
            _fill(self.descriptor, _bytes_of(block), first)
            return
        for into, row in zip(block, chosen, strict=True):
            _fill(self.descriptor, _bytes_of(into), first + row * row_bytes + start * size)

    def close(self) -> None:
        """Let go of the file, which is then gone, and of everything in memory."""
        if self._file is not None:
            self._end()
        self._file, self._written, self._filled, self._closed = None, 0, 0, True
        self._held.clear()


def unnamed_file(folder: Path) -> int:
    """Open a new file in a folder that nobody can find by a name, for its owner only."""
    descriptor = None
    if hasattr(os, "O_TMPFILE"):
        try:
            descriptor = os.open(folder, os.O_TMPFILE | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
                raise
    if descriptor is None:  # a file system that has no such files
        descriptor, name = tempfile.mkstemp(prefix="panbayes-", dir=folder)
        Path(name).unlink()
    return descriptor


def _bytes_of(numbers: Numbers) -> memoryview:
    return numbers.reshape(-1).view(np.uint8).data


def _fill(descriptor: int, into: memoryview, place: int) -> None:
    """Read exactly as much as fits."""
    while into:
        done = os.preadv(descriptor, [into], place)
        if done == 0:
            raise OSError("a temporary file was cut short")
        into, place = into[done:], place + done
