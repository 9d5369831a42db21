"""The bytes of a state file: where its parts lie, how they are written and how they are checked.

::

    0       magic (16 bytes), version, length and CRC-32 of the header, the header: the setup as JSON
    16384   release count, first copy:  sequence number, length, CRC-32, JSON
    20480   release count, second copy
    24576   the entries, up to a whole page
    …       the table of the universe, if it has one

The header never changes. A release count is written over the older of its two copies, so a crash leaves the one or the
other, whole.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.setup import StreamSetup, entries_bytes, load_setup
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.release_count import ReleaseCount

__all__ = [
    "COUNTS",
    "COUNTS_BYTES",
    "VERSION",
    "damaged",
    "entries_of",
    "file_bytes",
    "newest_count",
    "read_header",
    "read_setup",
    "write_count",
    "write_setup",
]

VERSION: Final = 1
_MAGIC: Final = b"panbayes stream\n"
_HEAD: Final = struct.Struct("<16sIII")
_COPY: Final = struct.Struct("<QII")
_PAGE: Final = 4096
_ENTRIES: Final = 6 * _PAGE

COUNTS: Final = 4 * _PAGE
"""Where the copies of the release count begin."""

COUNTS_BYTES: Final = 2 * _PAGE
"""The size of both copies together."""


def damaged(path: Path, what: str) -> InputError:
    """Return the error for a file that is not as it was written."""
    return InputError(
        str(path),
        found=f"is damaged: {what}",
        remedy="delete it and start again with: panbayes stream open (a restored backup would be a second look)",
    )


def file_bytes(entries: int, table: int) -> int:
    """Return the size of a file whose entries and table have these sizes."""
    return _ENTRIES + -(-entries // _PAGE) * _PAGE + table


def write_setup(memory: mmap.mmap, saved: Saved) -> None:
    """Write the header and the table into a new file."""
    header = saved.header
    memory[: _HEAD.size] = _HEAD.pack(_MAGIC, VERSION, len(header), zlib.crc32(header))
    memory[_HEAD.size : _HEAD.size + len(header)] = header
    memory[len(memory) - len(saved.table) :] = saved.table


def read_header(head: bytes, *, path: Path) -> bytes:
    """Return the header from the first bytes of a file, up to the release counts; refuse what is not such a file."""
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
    array: NDArray[np.uint8] = np.frombuffer(memory, dtype=np.uint8, count=setup.state_bytes, offset=_ENTRIES)
    return Entries(setup.calibration.law, setup.sampling.sample, array)


def write_count(memory: mmap.mmap, sequence: int, count: ReleaseCount) -> None:
    """Write the release count number ``sequence``: into copy ``sequence`` % 2, so never over the one in force."""
    payload = count.to_bytes()
    whole = _COPY.pack(sequence, len(payload), zlib.crc32(payload, sequence & 0xFFFFFFFF)) + payload
    start = COUNTS + sequence % 2 * _PAGE
    memory[start : start + len(whole)] = whole


def newest_count(memory: mmap.mmap, *, path: Path) -> tuple[int, ReleaseCount]:
    """Return the release count in force and its number."""
    copies = [copy for copy in (_read_count(memory, 0), _read_count(memory, 1)) if copy is not None]
    if not copies:
        raise damaged(path, "it does not say how many releases are left")
    return max(copies, key=lambda copy: copy[0])


def _read_count(memory: mmap.mmap, which: int) -> tuple[int, ReleaseCount] | None:
    """Read one copy; nothing if it was never written or not to its end."""
    start = COUNTS + which * _PAGE
    sequence, length, checksum = _COPY.unpack_from(memory, start)
    payload = memory[start + _COPY.size : start + _COPY.size + length] if length < _PAGE // 2 else b""
    if sequence == 0 or not payload or zlib.crc32(payload, sequence & 0xFFFFFFFF) != checksum:
        return None
    return sequence, ReleaseCount.from_bytes(payload)
