"""The state file: one file, mapped into memory and updated in place.

::

    0       magic (16 bytes), version, length and CRC-32 of the header, the header: the configuration as JSON
    16384   ledger, first copy:  sequence number, length, CRC-32, JSON
    20480   ledger, second copy
    24576   the entries, up to a whole page
    …       the table of a listed universe

The header never changes. A ledger is written over the older of its two copies and flushed to the disk before its
release is shown, so a crash leaves the one or the other, whole. Entries need no such care: a redraw writes one word,
and a word that was redrawn twice, or a batch that was applied in part, is distributed as if it had been applied
once, or in part. So the file is valid at every moment, and a batch whose acknowledgement was lost may be delivered
again.

The file holds no ids, no event counts, no generator and no times; its own access and modification times are set back
to the start of the day after every batch and every release. (The inode's change time cannot be set: see the page on
streams in the documentation for that and for what else counts as a look.)

The feeding process holds an exclusive lock on the file; a second one is refused. Releases are serialised by a lock
on the ledger, so an estimate can be made while the stream is fed.

See errata 4, 5.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.files import new_file
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.setup import (
    Configuration,
    Ledger,
    configuration_from_json,
    configuration_to_json,
    table_bytes,
)

__all__ = ["VERSION", "StateFile"]

VERSION: Final = 1
_MAGIC: Final = b"panbayes stream\n"
_HEAD: Final = struct.Struct("<16sIII")
_COPY: Final = struct.Struct("<QII")
_PAGE: Final = 4096
_LEDGER: Final = 4 * _PAGE
_ENTRIES: Final = 6 * _PAGE

# Locks of one process do not exclude each other, so its threads take this one as well.
_RELEASING: Final = threading.Lock()


class StateFile:
    """An open state file; ``configuration`` and ``entries`` belong to it."""

    def __init__(self, path: Path, *, writing: bool) -> None:
        """Open and check a file; ``writing`` takes the lock of the one process that feeds it."""
        self._path = path
        self._descriptor = _open(path)
        try:
            if writing:
                self._lock_writer()
            header, size = self._check()
            self._memory = mmap.mmap(self._descriptor, size)
            self._load(header)
        except BaseException:
            self.close()
            raise
        self.writing = writing
        if writing:
            self.settle()

    @classmethod
    def create(cls, path: Path, configuration: Configuration, *, fill: Callable[[Entries], None]) -> None:
        """Write a new file, whose entries ``fill`` draws; an existing file is never replaced.

        The file appears under its name when it is complete; before that it has another name in the same folder.
        """
        header, table = configuration_to_json(configuration)
        size = _ENTRIES + _pages(configuration.state_bytes) + len(table)
        try:
            with new_file(path) as unfinished:
                descriptor = os.open(unfinished, os.O_RDWR | os.O_CLOEXEC)
                try:
                    os.posix_fallocate(descriptor, 0, size)
                    with mmap.mmap(descriptor, size) as memory:
                        memory[: _HEAD.size] = _HEAD.pack(_MAGIC, VERSION, len(header), zlib.crc32(header))
                        memory[_HEAD.size : _HEAD.size + len(header)] = header
                        _write_copy(memory, 1, 1, Ledger(configuration.calibration.releases))
                        memory[size - len(table) :] = table
                        fill(_entries(memory, configuration))
                        memory.flush()
                    _forget_times(descriptor)
                finally:
                    os.close(descriptor)
        except FileExistsError:
            raise InputError(
                str(path), found="exists already", remedy="give another name, or delete it if you mean to start again"
            ) from None
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            raise InputError(str(path), found=f"cannot be created ({reason})", remedy="give a writable place") from None

    def settle(self) -> None:
        """Bring the entries to the disk and set the file's times back: after this, a batch is acknowledged."""
        self._memory.flush()
        _forget_times(self._descriptor)

    def transact(self, step: Callable[[Ledger], Ledger]) -> tuple[Ledger, Ledger]:
        """Replace the ledger by ``step`` of it, durably, and return both; if it is the same nothing is written."""
        with self._releasing():
            sequence, before = self._ledger()
            after = step(before)
            if after != before:
                # Sequence s lives in copy s % 2, so the copy in force is never written over.
                _write_copy(self._memory, (sequence + 1) % 2, sequence + 1, after)
            # Also where nothing changed: what a killed process wrote may not have reached the disk, and is shown now.
            self._memory.flush(_LEDGER, 2 * _PAGE)
            _forget_times(self._descriptor)
            return before, after

    def ledger(self) -> Ledger:
        """Read the ledger, after it has surely reached the disk."""
        return self.transact(lambda ledger: ledger)[1]

    def close(self) -> None:
        """Let the file go; the locks with it."""
        if self._descriptor >= 0:
            with _RELEASING:
                # The mapping holds a copy of the descriptor, so closing alone would keep the lock.
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
                os.close(self._descriptor)
            self._descriptor = -1

    @contextmanager
    def _releasing(self) -> Iterator[None]:
        with _RELEASING:
            _lock_ledger(self._descriptor, fcntl.F_WRLCK)
            try:
                yield
            finally:
                _lock_ledger(self._descriptor, fcntl.F_UNLCK)

    def _lock_writer(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                str(self._path),
                found="is being fed by another process",
                remedy="wait for it or stop it; estimates can be made meanwhile",
            ) from None

    def _check(self) -> tuple[bytes, int]:
        """Return the header and the size of a whole file of this version."""
        head = os.pread(self._descriptor, _LEDGER, 0)
        if head[:16] != _MAGIC or len(head) < _HEAD.size:
            raise InputError(
                str(self._path), found="is not a stream state", remedy="make one with: panbayes stream open"
            )
        if os.fstat(self._descriptor).st_mode & 0o077:
            raise InputError(
                str(self._path),
                found="can be read by others: who read it has had the one look",
                remedy=f"if nobody has, run: chmod 600 {self._path}",
            )
        _, version, length, checksum = _HEAD.unpack_from(head)
        if version != VERSION:
            raise InputError(
                str(self._path),
                found=f"is a stream state of version {version}",
                remedy=f"this panbayes reads version {VERSION}: use the panbayes that wrote it",
            )
        header = head[_HEAD.size : _HEAD.size + length]
        if len(header) != length or zlib.crc32(header) != checksum:
            raise self._damaged("its header does not match its checksum")
        return header, os.fstat(self._descriptor).st_size

    def _load(self, header: bytes) -> None:
        try:
            table = table_bytes(header)
            rest = self._memory[len(self._memory) - table :] if table else b""
            self.configuration = configuration_from_json(header, rest)
        except (ValueError, msgspec.MsgspecError, InputError):
            raise self._damaged("its header promises what does not hold") from None
        wanted = _ENTRIES + _pages(self.configuration.state_bytes) + table
        if len(self._memory) != wanted:
            raise self._damaged(f"it has {len(self._memory)} bytes instead of {wanted}")
        self.entries = _entries(self._memory, self.configuration)
        self._ledger()

    def _ledger(self) -> tuple[int, Ledger]:
        found = [copy for copy in (_read_copy(self._memory, 0), _read_copy(self._memory, 1)) if copy is not None]
        if not found:
            raise self._damaged("it does not say how many releases are left")
        return max(found, key=lambda copy: copy[0])

    def _damaged(self, what: str) -> InputError:
        return InputError(
            str(self._path),
            found=f"is damaged: {what}",
            remedy="delete it and start again with: panbayes stream open (a restored backup would be a second look)",
        )


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise InputError(
            str(path), found=f"cannot be opened ({reason})", remedy="make a state with: panbayes stream open"
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(str(path), found="is not a regular file", remedy="give the path of a stream state")
    return descriptor


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _entries(memory: mmap.mmap, configuration: Configuration) -> Entries:
    array: NDArray[np.uint8] = np.frombuffer(memory, dtype=np.uint8, count=configuration.state_bytes, offset=_ENTRIES)
    return Entries(configuration.calibration.law, configuration.sampling.sample, array)


def _write_copy(memory: mmap.mmap, which: int, sequence: int, ledger: Ledger) -> None:
    payload = ledger.to_bytes()
    checksum = zlib.crc32(payload, sequence & 0xFFFFFFFF)
    whole = _COPY.pack(sequence, len(payload), checksum) + payload
    start = _LEDGER + which * _PAGE
    memory[start : start + len(whole)] = whole


def _read_copy(memory: mmap.mmap, which: int) -> tuple[int, Ledger] | None:
    """Read one copy of the ledger; nothing if it was never written or not to its end."""
    if len(memory) < _ENTRIES:
        return None
    start = _LEDGER + which * _PAGE
    sequence, length, checksum = _COPY.unpack_from(memory, start)
    payload = memory[start + _COPY.size : start + _COPY.size + length] if length < _PAGE // 2 else b""
    if sequence == 0 or not payload or zlib.crc32(payload, sequence & 0xFFFFFFFF) != checksum:
        return None
    return sequence, Ledger.from_bytes(payload)


def _forget_times(descriptor: int) -> None:
    """Set the file's access and modification times to the start of the day."""
    day = int(time.time()) // 86400 * 86400
    os.utime(descriptor, (day, day))


def _lock_ledger(descriptor: int, kind: int) -> None:
    """Lock or unlock the ledger's pages for this open file.

    A lock of the open file where the system has them: the older kind belongs to the process, and vanishes when it
    closes any other descriptor of the same file.
    """
    request = struct.pack("hhqqi", kind, os.SEEK_SET, _LEDGER, 2 * _PAGE, 0)
    fcntl.fcntl(descriptor, getattr(fcntl, "F_OFD_SETLKW", fcntl.F_SETLKW), request)
