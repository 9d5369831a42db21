"""The little that is written down about releases: how many are left, and the last one."""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

__all__ = ["ReleaseCount"]


@dataclass(frozen=True, slots=True)
class ReleaseCount:
    """How many releases are ``left``, and the ``last`` one: the noisy statistic, which everybody may know."""

    left: int
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse a negative rest."""
        if self.left < 0:
            raise ValueError("no fewer than 0 releases can be left")

    def to_bytes(self) -> bytes:
        """Write the count."""
        return json.dumps({"left": self.left, "last": self.last}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ReleaseCount:
        """Read what :meth:`to_bytes` wrote."""
        read = msgspec.json.decode(data, type=_Form)
        return cls(read.left, read.last)


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    left: int
    last: int | None
