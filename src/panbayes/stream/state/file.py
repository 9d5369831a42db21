"""A state in a file, mapped into memory and updated in place (its bytes: :mod:`panbayes.stream.state.layout`).

A release is flushed to the disk before it is shown, beside the one before it and never over it. Entries need no such
care: a redraw writes one word, and a word that was redrawn twice, or a batch that was applied in part, is distributed
as if it had been applied once, or in part. So the file is valid at every moment, and a batch whose acknowledgement was
lost may be delivered again.

The file holds no ids, no event counts, no generator and no times; its own access and modification times are set back
to the start of the day after every batch and every release. (The inode's change time cannot be set: see the page on
streams in the documentation for that and for what else counts as a look.)

The feeding process holds an exclusive lock on the file; a second one is refused. Releases are serialised by a lock
on the release count, so an estimate can be made while the stream is fed.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from panbayes.errors import InputError
from panbayes.files import new_file
from panbayes.stream.setup import StreamSetup, save_setup
from panbayes.stream.state import layout
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Step, closed

__all__ = ["StateFile"]

# Locks of one process do not exclude each other, so its threads take this one as well.
_RELEASING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Mapped:
    """An open file: its ``descriptor``, the whole of it as ``memory``, and the ``entries`` inside."""

    descriptor: int
    memory: mmap.mmap
    entries: Entries

    def settle(self) -> None:
        """Bring the entries to the disk and set the file's times back."""
        self.memory.flush()
        _forget_times(self.descriptor)


class StateFile:
    """A state in a file; ``setup`` says what it is for."""

    def __init__(self, path: Path, *, writing: bool) -> None:
        """Open and check a file; ``writing`` takes the lock of the one process that feeds it."""
        self._path, self._writing, self._redrawing = path, writing, threading.Lock()
        descriptor = _open(path)
        try:
            if writing:
                _lock_writer(descriptor, path)
            header = layout.read_header(os.pread(descriptor, layout.COUNTS, 0), path=path)
            _refuse_if_others_may_read(descriptor, path)
            memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
            self.setup = layout.read_setup(memory, header, path=path)
            layout.newest_count(memory, path=path)
        except BaseException:
            _let_go(descriptor)
            raise
        self._mapped: _Mapped | None = _Mapped(descriptor, memory, layout.entries_of(memory, self.setup))
        if writing:
            self._mapped.settle()

    @classmethod
    def create(cls, path: Path, setup: StreamSetup, *, fill: Callable[[Entries], None]) -> None:
        """Write a new file, whose entries ``fill`` draws; an existing file is never replaced.

        The file appears under its name when it is complete; before that it has another name in the same folder.
        """
        saved = save_setup(setup)
        size = layout.file_bytes(setup.state_bytes, len(saved.table))
        try:
            with new_file(path) as unfinished:
                descriptor = os.open(unfinished, os.O_RDWR | os.O_CLOEXEC)
                try:
                    os.posix_fallocate(descriptor, 0, size)
                    with mmap.mmap(descriptor, size) as memory:
                        layout.write_setup(memory, saved)
                        layout.write_count(memory, 1, ReleaseCount(setup.calibration.releases))
                        fill(layout.entries_of(memory, setup))
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

    @contextmanager
    def feeding(self) -> Iterator[Entries]:
        """Lend the entries to one thread that redraws them; when the block ends, the batch is on the disk."""
        if not self._writing:
            raise InputError("writing", found="this state was opened for estimates only", remedy="open it for writing")
        with self._redrawing:
            mapped = self._open()
            yield mapped.entries
            mapped.settle()

    def transact(self, step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Replace the release count by ``step`` of it, durably, and return both; if it is the same write nothing."""
        with self._releasing() as mapped:
            sequence, before = layout.newest_count(mapped.memory, path=self._path)
            after = step(before, mapped.entries)
            if after != before:
                layout.write_count(mapped.memory, sequence + 1, after)
            # Also where nothing changed: what a killed process wrote may not have reached the disk, and is shown now.
            mapped.memory.flush(layout.COUNTS, layout.COUNTS_BYTES)
            _forget_times(mapped.descriptor)
            return before, after

    def close(self) -> None:
        """Let the file go; the locks with it."""
        with self._redrawing, _RELEASING:
            if self._mapped is not None:
                _let_go(self._mapped.descriptor)
            self._mapped = None

    def _open(self) -> _Mapped:
        if self._mapped is None:
            raise closed()
        return self._mapped

    @contextmanager
    def _releasing(self) -> Iterator[_Mapped]:
        with _RELEASING:
            mapped = self._open()
            _lock_count(mapped.descriptor, fcntl.F_WRLCK)
            try:
                yield mapped
            finally:
                _lock_count(mapped.descriptor, fcntl.F_UNLCK)


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


def _let_go(descriptor: int) -> None:
    """Unlock and close; the mapping holds a copy of the descriptor, so closing alone would keep the lock."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _refuse_if_others_may_read(descriptor: int, path: Path) -> None:
    if os.fstat(descriptor).st_mode & 0o077:
        raise InputError(
            str(path),
            found="can be read by others: who read it has had the one look",
            remedy=f"if nobody has, run: chmod 600 {path}",
        )


def _lock_writer(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            str(path),
            found="is being fed by another process",
            remedy="wait for it or stop it; estimates can be made meanwhile",
        ) from None


def _lock_count(descriptor: int, kind: int) -> None:
    """Lock or unlock the pages of the release count for this open file.

    A lock of the open file where the system has them: the older kind belongs to the process, and vanishes when it
    closes any other descriptor of the same file.
    """
    request = struct.pack("hhqqi", kind, os.SEEK_SET, layout.COUNTS, layout.COUNTS_BYTES, 0)
    fcntl.fcntl(descriptor, getattr(fcntl, "F_OFD_SETLKW", fcntl.F_SETLKW), request)


def _forget_times(descriptor: int) -> None:
    """Set the file's access and modification times to the start of the day."""
    day = int(time.time()) // 86400 * 86400
    os.utime(descriptor, (day, day))
