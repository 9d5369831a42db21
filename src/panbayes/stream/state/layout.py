"""The bytes of a state file: where its parts lie, how they are written and how they are checked.

::

    0       magic (16 bytes), version, length and CRC-32 of the header, the header: the setup as JSON
    16384   record of releases and home, first copy (see :mod:`panbayes.stream.state.record`)
    20480   record, second copy
    24576   the entries, up to a whole page
    …       the table of the universe, if it has one

The header never changes; a state that was moved away gets another magic, and can no longer be used.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.saved_setup import entries_bytes, load_setup
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.record import PAGE, RECORDS, RECORDS_BYTES, damaged

__all__ = [
    "ENTRIES",
    "HEADER_BYTES",
    "MAGIC_BYTES",
    "VERSION",
    "entries_of",
    "file_bytes",
    "gone",
    "is_gone",
    "mark_gone",
    "read_header",
    "read_setup",
    "write_setup",
]

VERSION: Final = 1
"""The version of the format."""

_MAGIC: Final = b"panbayes stream\n"
_GONE: Final = b"panbayes moved!\n"
MAGIC_BYTES: Final = len(_MAGIC)
_HEAD: Final = struct.Struct("<16sIII")

HEADER_BYTES: Final = RECORDS
"""Room for the header."""

ENTRIES: Final = RECORDS + RECORDS_BYTES
"""Where the entries begin."""


def file_bytes(entries: int, table: int) -> int:
    """Return the size of a file whose entries and table have these sizes."""
    return ENTRIES + -(-entries // PAGE) * PAGE + table


def write_setup(memory: mmap.mmap, saved: Saved) -> None:
    """Write the header and the table into a new file."""
    header = saved.header
    if _HEAD.size + len(header) > HEADER_BYTES:
        raise InputError("--where", found="filter and groups are too long", remedy="give fewer or shorter ones")
    memory[: _HEAD.size] = _HEAD.pack(_MAGIC, VERSION, len(header), zlib.crc32(header))
    memory[_HEAD.size : _HEAD.size + len(header)] = header
    memory[len(memory) - len(saved.table) :] = saved.table


def read_header(head: bytes, *, path: Path) -> bytes:
    """Return the header from the first bytes of a file, up to the records; refuse what is not such a file."""
    if head[:16] == _GONE:
        raise gone(path)
    if head[:16] != _MAGIC or len(head) < _HEAD.size:
        raise InputError(str(path), found="is not a stream state", remedy="make one with: panbayes stream open")
    _, version, length, checksum = _HEAD.unpack_from(head)
    if version != VERSION:
        raise InputError(
            str(path),
            found=f"is a stream state of version {version}",
            remedy=f"this panbayes reads version {VERSION}: use the panbayes that wrote it",
        )
    header = head[_HEAD.size : _HEAD.size + length]
    if len(header) != length or zlib.crc32(header) != checksum:
        raise damaged(path, "its header does not match its checksum")
    return header


def is_gone(descriptor: int) -> bool:
    """Say whether the state of an open file was moved away."""
    return os.pread(descriptor, MAGIC_BYTES, 0) == _GONE


def mark_gone(descriptor: int) -> None:
    """Mark an open file as one whose state was moved away: in one write, within one sector, and on the disk."""
    os.pwrite(descriptor, _GONE, 0)
    os.fsync(descriptor)


def gone(path: Path) -> InputError:
    """Return the error for a file whose state was moved away."""
    return InputError(
        str(path),
        found="its state was moved away, and this file can no longer be used",
        remedy="use the file that it was moved to; if the move was cut short, run the same stream move again",
    )


def read_setup(memory: mmap.mmap, header: bytes, *, path: Path) -> StreamSetup:
    """Return the setup; refuse a header that promises what does not hold and a file of another size than it says."""
    try:
        least = file_bytes(entries_bytes(header), 0)
        setup = load_setup(Saved(header, memory[least:])) if len(memory) >= least else None
    except (ValueError, msgspec.MsgspecError, InputError):
        raise damaged(path, "its header promises what does not hold") from None
    if setup is None:
        raise damaged(path, f"it has {len(memory)} bytes instead of {least} or more")
    return setup


def entries_of(memory: mmap.mmap, setup: StreamSetup) -> Entries:
    """Return the entries, which change the file in place."""
    array: NDArray[np.uint8] = np.frombuffer(memory, dtype=np.uint8, count=setup.state_bytes, offset=ENTRIES)
    return Entries(setup.calibration.law, setup.entries, array)
