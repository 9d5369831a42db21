"""What an intruder would find in the memory of a process: planted ids, in whatever form they may have taken.

Every planted id has the same rare ``tag`` in both of its halves, so that halves are found as well as the whole. Beside
the tag, in three encodings, a scan looks for runs of what is made of ids in their order: lengths, marks, slots.
"""

from __future__ import annotations

import os
import re
import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Planted", "found_in", "may_read"]

_PIECE = 1 << 24
_PAGE = 4096
_RUN = 5
"""So many lengths or slots in their order are found by chance in no process."""


@dataclass(frozen=True, slots=True)
class Planted:
    """Ids to feed: ``size`` of them, with lengths and choices that no other process has."""

    size: int = 400
    prefix: str = ""
    tag: str = field(default_factory=lambda: "".join(secrets.choice("bcdfghjkmnpqrstvwxyz") for _ in range(8)))
    extra: Sequence[int] = field(default_factory=lambda: [secrets.randbelow(60) for _ in range(400)])
    chosen: Sequence[bool] = field(default_factory=lambda: [secrets.randbelow(2) == 1 for _ in range(400)])

    @property
    def ids(self) -> list[str]:
        """The ids: two halves with the tag in each."""
        return [f"{self.prefix}{self.tag}{i}-{'x' * self.extra[i]}-{i}{self.tag}" for i in range(self.size)]

    @property
    def numbers(self) -> list[int]:
        """Rare integers below 2²⁷, in place of texts."""
        start = (1 << 26) + int.from_bytes(self.tag.encode()[-3:])
        return [start + 7919 * number for number in range(self.size)]

    def needles_of_numbers(self, slots: Sequence[int]) -> dict[str, bytes]:
        """What to look for where the ids are :attr:`numbers`: as integers and as digits."""
        found: dict[str, bytes] = {}
        for place in (0, self.size // 2, self.size - 3):
            found[f"numbers as int64 at {place}"] = struct.pack("3q", *self.numbers[place : place + 3])
            found[f"digits at {place}"] = str(self.numbers[place]).encode()
        inside = next(place for place in range(self.size - _RUN, 0, -1) if slots[place] >= 0)
        return found | {"slots as int64": struct.pack(f"{_RUN}q", *slots[inside : inside + _RUN])}

    def needles(self, slots: Sequence[int] = ()) -> dict[str, bytes]:
        """What to look for: in the middle of the ids, and at their end, which is what stays longest."""
        found = {name: self.tag.encode(name) for name in ("ascii", "utf-16-le", "utf-32-le")}
        lengths = [len(one.encode()) for one in self.ids]
        for place in (self.size // 2, self.size - _RUN):
            run = slice(place, place + _RUN)
            found[f"lengths as int64 at {place}"] = struct.pack(f"{_RUN}q", *lengths[run])
            found[f"lengths as int32 at {place}"] = struct.pack(f"{_RUN}i", *lengths[run])
            if slots:
                found[f"slots as int64 at {place}"] = struct.pack(f"{_RUN}q", *slots[run])
                found[f"slots as int32 at {place}"] = struct.pack(f"{_RUN}i", *slots[run])
        first = next(place for place in range(self.size - 20, 0, -1) if self.chosen[place])
        kept = [length * mark for length, mark in zip(lengths, self.chosen, strict=True)][first : first + 20]
        found["kept lengths as int64"] = struct.pack("20q", *kept)
        marks = self.chosen[self.size - 64 : self.size]
        found["marks"], found["opposite marks"] = bytes(marks), bytes(not mark for mark in marks)
        return found


def may_read(process: int) -> bool:
    """Say whether the memory of a process can be read: of one that forbids core dumps only by root."""
    return os.access(f"/proc/{process}/mem", os.R_OK)


def found_in(process: int, needles: Mapping[str, bytes]) -> set[str]:
    """Return the names of what is found anywhere in the memory that a process could have written to."""
    marks = {name: needle for name, needle in needles.items() if set(needle) <= {0, 1}}
    runs = {
        name: needle for name, needle in needles.items() if name not in marks and needle.count(0) > len(needle) // 4
    }
    found: set[str] = set()
    for piece in _pieces(process):
        whole = piece.tobytes()
        found |= {name for name, needle in needles.items() if name not in marks | runs and needle in whole}
        found |= _runs_in(runs, piece) | _marks_in(marks, piece)
    return found


def _runs_in(needles: Mapping[str, bytes], piece: NDArray[np.uint64]) -> set[str]:
    """Look for runs of integers, in which are many zeros, around words or half words that are as small as they."""
    found: set[str] = set()
    for kind, size in ((np.uint64, 8), (np.uint32, 4)):
        some = {name: needle for name, needle in needles.items() if f"int{8 * size}" in name}
        words: NDArray[np.uint64 | np.uint32] = piece.view(kind)
        small = np.flatnonzero((words > 0) & (words < 1 << 8 * size - 8))
        values = words[small]
        for name, needle in some.items():
            wanted = np.frombuffer(needle, dtype=kind)
            places = small[values == wanted[0]].tolist()
            if any(words[place : place + wanted.size].tobytes() == needle for place in places):
                found.add(name)
    return found


def _marks_in(needles: Mapping[str, bytes], piece: NDArray[np.uint64]) -> set[str]:
    """Look for marks, a byte each, around words that have nothing else."""
    words = np.flatnonzero((piece > 1) & (piece & ~np.uint64(0x0101010101010101) == 0))
    lines = np.flatnonzero(np.bincount(words // 8)).tolist() if words.size else []
    data = piece.view(np.uint8)
    near = b"--".join(data[max(0, 64 * line - 64) : 64 * line + 192].tobytes() for line in lines)
    return {name for name, needle in needles.items() if needle in near}


def _pieces(process: int) -> Iterator[NDArray[np.uint64]]:
    """Yield stretches of pages that are not all zeros."""
    maps = Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="replace")
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for begin, end in re.findall(r"(?m)^([0-9a-f]+)-([0-9a-f]+) rw", maps):
            for place in range(int(begin, 16), int(end, 16), _PIECE):
                # A page more than the next piece begins with: something may lie over the edge.
                size = min(_PIECE + _PAGE, int(end, 16) - place)
                try:
                    pages = np.frombuffer(os.pread(memory.fileno(), size, place), dtype=np.uint64)
                except OSError:
                    break
                full = pages.reshape(-1, _PAGE // 8).any(axis=1)
                edges = np.flatnonzero(np.diff(np.concatenate([[False], full, [False]]).astype(np.int8)))
                for first, last in edges.reshape(-1, 2).tolist():
                    yield pages[first * _PAGE // 8 : last * _PAGE // 8]
