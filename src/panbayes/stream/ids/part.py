"""A part: a share of the entries of one state, kept in a file of its own, by a process or a machine of its own.

The entries of a state fall into sections (:attr:`~panbayes.stream.ids.universes.kind.Universe.sections`), of which a
release has a count each. Where there is one section, its entries *go round*: part J of P has those whose number is
J − 1 modulo P, and entry n of the whole is entry ⌊n/P⌋ of its part. Where there are several, every part has a
*stretch*: part J of P has the words (of 64 entries) from ⌊(J − 1)W/P⌋ to ⌊JW/P⌋ of all W, which lie in one section or
in few. Every part is fed
with all ids and takes those whose entry it has. Which entry is whose is decided by the universe of the whole, whoever
computes it: **the entries of all parts together have the law of one state.**

**Privacy.** *One look at every part, each at a time of its own, and all releases of all parts lose at most E together.*
Proof: fix the hash, or the sample. A user has one entry of the whole, in one part, or none. Two adjacent streams differ
in occurrences of this user alone. So every other part has the same law under both: its entries, its coins, the noise of
its releases and whatever is seen of it; and given when and at what the adversary looks, parts are independent, for they
share no entry, no coin and no noise. What remains is one part: one look and its releases, with noise of its own in
every section of which it has an entry, which lose at most E (:mod:`panbayes.stream.guarantee.loss`). Of the other
sections it releases the number 0, whoever came. That holds for each observation, so it
holds too where the adversary chooses the time of a look by what was seen of other parts. ∎ (Exact counts of parts, sent
to somebody who adds them up and one noise, would be a second look at each.)

**Error.** An estimate adds up what the parts released, so a section has the noise of every part that has an entry of
it: the variance of the noise is as many times as large, that of the entries is what it was. One section has P noises.
Of S sections in stretches a section has 1 + the number of bounds within it, (S + P − 1)/S on average, where entries
that go round would give each P: 16 parts of 18 tiers have 1.8 noises a tier instead of 16. However entries are divided,
a release of all parts has at least max(P, S) noises; stretches have S + P − 1. The calibration knows the
number and divides E accordingly.

Parts of one whole have a ``key`` in common; where ids are hashed it is the key of the hash. It is public.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.kernels.parts import keep_part, keep_stretch, reciprocal

__all__ = ["KEY_BYTES", "MOST_PARTS", "Part", "check_parts", "noises", "parse_key", "parse_part", "read_part"]

MOST_PARTS: Final = 1024

KEY_BYTES: Final = 16

_BLOCK: Final = 1 << 15
_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class Part:
    """Part ``number`` (from 1) of ``of``; ``key`` is what the parts of one whole have in common.

    Its entries go round, or are one of the ``stretches`` that the whole is cut into.

    >>> Part(3, 16, bytes(16)).entries(100)
    7
    >>> Part(3, 16, bytes(16), stretches=True).bounds(18 * 640)
    (1408, 2112)
    """

    number: int
    of: int
    key: bytes
    stretches: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no part of anything."""
        if not 2 <= self.of <= MOST_PARTS or not 1 <= self.number <= self.of or len(self.key) != KEY_BYTES:
            raise ValueError("a part is one of 2 to 1024, and has a key of 16 bytes")

    def entries(self, whole: int) -> int:
        """How many of the ``whole`` entries are in this part."""
        if self.stretches:
            start, end = self.bounds(whole)
            return end - start
        return (whole - self.number) // self.of + 1

    def bounds(self, whole: int) -> tuple[int, int]:
        """Between which of the ``whole`` entries a stretch lies, the first included."""
        start, end = (_WORD * (place * (whole // _WORD) // self.of) for place in (self.number - 1, self.number))
        return start, end

    def edges(self, sections: int, whole: int) -> list[tuple[int, int]]:
        """Between which of its own entries a stretch has those of each section; nowhere where it has none of it."""
        size, (start, end) = whole // sections, self.bounds(whole)
        cut = ((max(start, t * size), min(end, (t + 1) * size)) for t in range(sections))
        return [(first - start, last - start) if first < last else (0, 0) for first, last in cut]

    def slots(self, blocks: Iterator[NDArray[np.int64]], whole: int, arena: Arena) -> Iterator[NDArray[np.int64]]:
        """Yield, of blocks of slots of the ``whole`` state, those in this part, as slots of it, in their order.

        The blocks are not changed, because some are the caller's own.
        """
        kept, inverse = 0, reciprocal(self.of)
        start, end = self.bounds(whole)
        with arena.scope():
            out = arena.array(2 * _BLOCK, np.int64)
            for block in blocks:
                for begin in range(0, block.size, _BLOCK):
                    piece = block[begin : begin + _BLOCK]
                    if self.stretches:
                        kept += keep_stretch(piece, start, end, out[kept:])
                    else:
                        kept += keep_part(piece, whole, self.number - 1, self.of, inverse, out[kept:])
                    if kept > _BLOCK:
                        yield out[:kept]
                        kept = 0
            if kept:
                yield out[:kept]

    def slot(self, slot: int, whole: int) -> int:
        """Return the slot in this part of a slot of the ``whole`` state, −1 if it is in another or in none."""
        if self.stretches:
            start, end = self.bounds(whole)
            return slot - start if start <= slot < end else -1
        return slot // self.of if 0 <= slot < whole and slot % self.of == self.number - 1 else -1

    def __str__(self) -> str:
        """Name the part for people."""
        return f"part {self.number} of {self.of}"


def noises(sections: int, cells: int, parts: int) -> tuple[int, ...]:
    """How many of so many stretches have an entry of each section, of ``cells`` entries: as many noises has its count.

    Word w is in stretch ⌈(w + 1)P/W⌉ − 1, counted from 0: the last that begins at w or before.

    >>> noises(sections=3, cells=640, parts=2)
    (1, 2, 1)
    """
    size = cells // _WORD
    last = [((word + 1) * parts - 1) // (sections * size) for word in range(size - 1, sections * size, size)]
    first = [((word + 1) * parts - 1) // (sections * size) for word in range(0, sections * size, size)]
    return tuple(end - begin + 1 for begin, end in zip(first, last, strict=True))


def check_parts(parts: int, *, argument: str) -> int:
    """Return a number of parts; refuse one that is none."""
    if not 2 <= parts <= MOST_PARTS:
        raise InputError(argument, found=f"found {parts}", remedy=f"give 2 to {MOST_PARTS} parts")
    return parts


def parse_key(written: str, *, argument: str = "key") -> bytes:
    """Read a key as users write it, 32 hexadecimal digits."""
    if not re.fullmatch("[0-9a-fA-F]{32}", written):
        raise InputError(argument, found="is not 32 hexadecimal digits", remedy="copy it from: panbayes stream info")
    return bytes.fromhex(written)


def parse_part(written: str, key: str | None, *, argument: str = "part") -> Part:
    """Read a part as users write it, such as 3/16, and the key of its whole.

    >>> parse_part("3/16", "00" * 16)
    Part(number=3, of=16, key=...)
    """
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", written.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(argument, found=f"found {written[:40]!r}", remedy="write it like 3/16, numbered from 1")
    of = check_parts(int(found[2]), argument=argument)
    if key is None:
        raise InputError(
            argument,
            found="a part without a key has no other parts",
            remedy="give all parts of one state the same key, 32 hexadecimal digits drawn once, such as by: "
            "openssl rand -hex 16",
        )
    return Part(int(found[1]), of, parse_key(key))


def read_part(written: str | None, key: str | None) -> Part | None:
    """Read a part of known users, if it is one; a key belongs to parts alone."""
    if written is None and key is not None:
        raise InputError("key", found="found without a part", remedy="leave it out, or say which part this is")
    return None if written is None else parse_part(written, key)
