"""What a state file writes down beside its entries: how many releases are left, the last one, and where it is at home.

The record is kept twice, on pages of their own; a new one is written over the older copy, so a crash leaves the one or
the other, whole. Each copy is a sequence number, the lengths of its parts, a CRC-32, and the parts as JSON.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from panbayes.errors import InputError, InternalError
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.home import Home
from panbayes.stream.state.release_count import ReleaseCount

__all__ = ["PAGE", "RECORDS", "RECORDS_BYTES", "Record", "Standing", "damaged", "newest_record", "write_record"]

PAGE: Final = 4096

RECORDS: Final = 4 * PAGE
"""Where the copies of the record begin."""

RECORDS_BYTES: Final = 2 * PAGE
"""The size of both copies together."""

_COPY: Final = struct.Struct("<QIII")
"""The head of a copy: its sequence number, the lengths of its two parts, their checksum."""

_MOST_TURNS: Final = 10**9
"""More turns than anybody makes: one a second for thirty years."""

_SURELY: Final = 1000
"""Noise beyond this many times its scale has a probability below e⁻¹⁰⁰⁰: whoever wrote it did not draw it."""


class Standing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a state is at ``home``; the ``source`` it was moved from, if it was; whether it is still ``arriving``."""

    home: Home
    source: Home | None = None
    arriving: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """The record number ``sequence``: the release ``count``, and the ``standing``."""

    sequence: int
    count: ReleaseCount
    standing: Standing


def damaged(path: Path, what: str) -> InputError:
    """Return the error for a file that is not as it was written."""
    return InputError(
        str(path),
        found=f"is damaged: {what}",
        remedy="delete it and start again with: panbayes stream open (a restored backup would be a second look)",
    )


def write_record(memory: mmap.mmap, record: Record) -> None:
    """Write a record into copy ``sequence`` % 2, so never over the one in force."""
    parts = (record.count.to_bytes(), msgspec.json.encode(record.standing))
    whole = b"".join(parts)
    checksum = zlib.crc32(whole, record.sequence & 0xFFFFFFFF)
    if len(whole) > PAGE - _COPY.size:
        raise InternalError("a record is longer than its page")
    head = _COPY.pack(record.sequence, *map(len, parts), checksum)
    start = RECORDS + record.sequence % 2 * PAGE
    memory[start : start + len(head) + len(whole)] = head + whole


def newest_record(memory: mmap.mmap, setup: StreamSetup, *, path: Path) -> Record:
    """Return the record in force; refuse one that no stream of this setup can have."""
    copies = [copy for copy in (_read(memory, 0), _read(memory, 1)) if copy is not None]
    if not copies:
        raise damaged(path, "it does not say how many releases are left")
    sequence, count_bytes, standing_bytes = max(copies)
    try:
        count = ReleaseCount.from_bytes(count_bytes)
        standing = msgspec.json.decode(standing_bytes, type=Standing)
    except (ValueError, msgspec.MsgspecError):
        raise damaged(path, "what it says of its releases cannot be read") from None
    if not _possible(count, setup) or (count.site is not None) is not (setup.calibration.flipped > 0):
        raise damaged(path, "what it says of its releases is not possible")
    return Record(sequence, count, standing)


def _read(memory: mmap.mmap, which: int) -> tuple[int, bytes, bytes] | None:
    """Read one copy; nothing if it was never written or not to its end."""
    start = RECORDS + which * PAGE
    sequence, *sizes, checksum = _COPY.unpack_from(memory, start)
    if sequence == 0 or not 0 < sum(sizes) <= PAGE - _COPY.size:
        return None
    start += _COPY.size
    parts = memory[start : start + sum(sizes)]
    if zlib.crc32(parts, sequence & 0xFFFFFFFF) != checksum:
        return None
    return sequence, parts[: sizes[0]], parts[sizes[0] :]


def _possible(count: ReleaseCount, setup: StreamSetup) -> bool:
    """Say whether a stream of this setup can have this count: no more left than planned, and a release that is near."""
    planned, law = setup.calibration.releases, setup.calibration.law
    if (count.period is None) is not (setup.schedule is None):
        return False
    if setup.schedule is not None and count.period is not None and not setup.schedule.has(count.period):
        return False
    if not 0 <= count.turn <= (_MOST_TURNS if setup.forget else 0) or count.flipped > setup.calibration.flipped:
        return False
    if count.last is None:
        return count.left == planned
    noise, most, sections = _SURELY * setup.calibration.noise_scale, setup.entries, len(count.last)
    if isinstance(law, StateLaw):
        most, sections = most * law.scores[-1], setup.universe.sections
    near = all(-noise <= released <= most + noise for released in count.last)
    most_left = planned if setup.renews and count.turn else planned - 1
    return count.left <= most_left and near and len(count.last) == sections
