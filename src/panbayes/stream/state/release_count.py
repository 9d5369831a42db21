"""The little that is written down about releases: how many are left, the last one, and what else was let out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import msgspec

__all__ = ["MAX_COUNTS", "ReleaseCount"]

MAX_COUNTS: Final = 64
"""The most counts of one release: they fit into half a page whatever they are."""


@dataclass(frozen=True, slots=True)
class ReleaseCount:
    """How many releases are ``left``, and the ``last`` one: the noisy counts, which everybody may know.

    ``turn`` is how many periods have ended, and ``flipped`` how many flipped copies were handed over.
    """

    left: int
    last: tuple[int, ...] | None = None
    turn: int = 0
    flipped: int = 0

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if min(self.left, self.turn, self.flipped) < 0:
            raise ValueError("no fewer than 0 releases can be left, nor periods and copies be over")
        if self.last is not None and not 1 <= len(self.last) <= MAX_COUNTS:
            raise ValueError("a release has 1 to 64 counts")

    def to_bytes(self) -> bytes:
        """Write the count; a release of one count is written as a number, as it always was."""
        last = self.last[0] if self.last is not None and len(self.last) == 1 else self.last
        more = {name: n for name, n in (("turn", self.turn), ("flipped", self.flipped)) if n}
        return json.dumps({"left": self.left, "last": last, **more}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ReleaseCount:
        """Read what :meth:`to_bytes` wrote."""
        read = msgspec.json.decode(data, type=_Form)
        last = (read.last,) if isinstance(read.last, int) else read.last
        return cls(read.left, last, read.turn, read.flipped)


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    left: int
    last: int | tuple[int, ...] | None
    turn: int = 0
    flipped: int = 0
