"""An open state file: mapped into memory, checked, with its locks and its times.

A file whose lock another process holds, a copy, a file that others may read and whatever is no state are refused here.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state import layout
from panbayes.stream.state.home import home_of
from panbayes.stream.state.record import RECORDS, RECORDS_BYTES, Record, newest_record, write_record

__all__ = ["MappedState", "forget_times", "let_go", "lock_writer", "open_state", "record_locked"]


@dataclass(frozen=True, slots=True)
class MappedState:
    """An open file: its ``descriptor``, the whole of it as ``memory``, and its ``setup``."""

    path: Path
    descriptor: int
    memory: mmap.mmap
    setup: StreamSetup

    @classmethod
    def of(cls, descriptor: int, path: Path, *, reading: bool = False) -> MappedState:
        """Map and check an open file; with ``reading`` it cannot be changed."""
        header = layout.read_header(os.pread(descriptor, layout.HEADER_BYTES, 0), path=path)
        _refuse_if_others_may_read(descriptor, path)
        access = mmap.ACCESS_READ if reading else mmap.ACCESS_DEFAULT
        memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=access)
        found = cls(path, descriptor, memory, layout.read_setup(memory, header, path=path))
        found.record()
        return found

    def record(self) -> Record:
        """Return the record in force; refuse a file that its state was moved away from."""
        if layout.is_gone(self.descriptor):
            raise layout.gone(self.path)
        return newest_record(self.memory, self.setup, path=self.path)

    def write(self, record: Record) -> None:
        """Write a record; it is on the disk after :meth:`settle_record`."""
        write_record(self.memory, record)

    def settle_record(self) -> None:
        """Bring the record to the disk and set the file's times back."""
        self.memory.flush(RECORDS, RECORDS_BYTES)
        forget_times(self.descriptor)

    def settle(self) -> None:
        """Bring everything to the disk and set the file's times back."""
        self.memory.flush()
        forget_times(self.descriptor)

    def require_its_name(self) -> None:
        """Refuse a file that was moved, removed or replaced since it was opened."""
        try:
            there = os.path.samestat(self.path.stat(), os.fstat(self.descriptor))
        except OSError:
            there = False
        if not there:
            raise InputError(
                str(self.path),
                found="is not the file any more that was opened: it was moved, removed or replaced meanwhile",
                remedy="put it back if it still is somewhere; else start again with a new one",
            )

    def require_home(self, record: Record) -> None:
        """Refuse a file that its state is still moving to, or was only copied to."""
        if record.standing.home != home_of(self.descriptor):
            raise InputError(
                str(self.path),
                found="is a copy: a state is fed and released from in the one file it was made in",
                remedy="use that file, or move it with: panbayes stream move; if it is lost, start again",
            )
        if record.standing.arriving:
            raise InputError(
                str(self.path),
                found="a state was being moved here when the move was cut short",
                remedy="run the same stream move again",
            )


@contextmanager
def record_locked(path: Path, original: int) -> Iterator[None]:
    """Lock the record of a file that is open as ``original``, by a descriptor that no other process has."""
    process, descriptor = os.getpid(), open_state(path)
    try:
        if not os.path.sameopenfile(descriptor, original):
            raise InputError(str(path), found="is another file than was opened", remedy="open it again")
        _lock_record(descriptor, fcntl.F_WRLCK)
        try:
            yield
        finally:
            # A process that was forked off meanwhile shares the lock: this one lets it go, that one does not.
            if os.getpid() == process:
                _lock_record(descriptor, fcntl.F_UNLCK)
    finally:
        os.close(descriptor)


def open_state(path: Path, *, reading: bool = False) -> int:
    """Open a regular file; with ``reading`` it cannot be changed, not even its times."""
    check_path(path)
    try:
        descriptor = _open_reading(path) if reading else os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise InputError(
            str(path), found=f"cannot be opened ({reason})", remedy="make a state with: panbayes stream open"
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(str(path), found="is not a regular file", remedy="give the path of a stream state")
    return descriptor


def _open_reading(path: Path) -> int:
    # Without waiting: a pipe that nobody writes to is refused afterwards.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        # Only its owner may read a file without leaving a time.
        return os.open(path, flags)


def let_go(descriptor: int) -> None:
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


def lock_writer(descriptor: int, path: Path) -> None:
    """Take the lock of the one process that feeds a file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            str(path),
            found="is being fed by another process",
            remedy="wait for it or stop it; estimates can be made meanwhile",
        ) from None


def _lock_record(descriptor: int, kind: int) -> None:
    """Lock or unlock the pages of the record for this open file.

    A lock of the open file where the system has them: the older kind belongs to the process, and vanishes when it
    closes any other descriptor of the same file.
    """
    request = struct.pack("hhqqi", kind, os.SEEK_SET, RECORDS, RECORDS_BYTES, 0)
    fcntl.fcntl(descriptor, getattr(fcntl, "F_OFD_SETLKW", fcntl.F_SETLKW), request)


def forget_times(descriptor: int) -> None:
    """Set the file's access and modification times to the start of the day."""
    day = int(time.time()) // 86400 * 86400
    os.utime(descriptor, (day, day))
