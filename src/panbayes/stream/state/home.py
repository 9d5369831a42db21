"""Where a state file is at home: the one file, on the one file system, that may be fed and released from.

A copy of a state is a second state with releases of its own, and a second look. So a file writes down which file it is:
its inode, the time of its birth and the id of its file system. No copy has all three: on the same file system it gets
another inode, or a used one again at another time of birth, and nobody can set that time. A rename keeps them.

What cannot be told: a copy of the whole file system, block by block, such as a snapshot or a clone of a machine. Where
the file system keeps no times of birth (:attr:`Home.born` is ``None`` then), a copy that happens to get the inode
of the deleted original cannot be told either. An id that is made up of the number of the device changes when devices
are numbered anew; such an id is not used, and :attr:`Home.system` is 0.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import Final

import msgspec

__all__ = ["Home", "home_of"]

_EMPTY_PATH: Final = 0x1000
_BIRTH: Final = 0x800
_STATX_BYTES: Final = 256
_BORN_AT: Final = 80


class Home(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file: its ``inode``, when it was ``born`` in nanoseconds (if that is kept), and its file ``system`` (or 0)."""

    inode: int
    born: int | None
    system: int

    def describe(self) -> str:
        """Say what a copy is known by."""
        known = ["its inode"]
        known += [] if self.born is None else ["its time of birth"]
        known += ["its file system"] if self.system else []
        last = known.pop()
        text = f"{', '.join(known)} and {last}" if known else last
        return text if self.born is not None else f"{text}; the file system keeps no times of birth"


def home_of(descriptor: int) -> Home:
    """Return which file a descriptor stands for."""
    found, system = os.fstat(descriptor), os.fstatvfs(descriptor).f_fsid
    return Home(found.st_ino, _born(descriptor, found), 0 if system == found.st_dev else system & (1 << 64) - 1)


def _born(descriptor: int, found: os.stat_result) -> int | None:
    """Return when a file was born, in nanoseconds, if the file system keeps that."""
    if sys.platform != "linux":
        seconds: float | None = getattr(found, "st_birthtime", None)
        return None if seconds is None else round(seconds * 1e9)
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(descriptor, b"", _EMPTY_PATH, _BIRTH, buffer) != 0:
        return None
    (given,) = struct.unpack_from("=I", buffer.raw)
    if not given & _BIRTH:
        return None
    seconds_born, nanoseconds = struct.unpack_from("=qI", buffer.raw, _BORN_AT)
    return int(seconds_born) * 10**9 + int(nanoseconds)
