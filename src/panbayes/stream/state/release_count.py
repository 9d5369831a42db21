"""The little that is written down about releases: how many are left, the last one, and what else was let out."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

import msgspec

from panbayes.stream.flipped_copy import is_site
from panbayes.stream.schedule import now
from panbayes.stream.setup import MAX_COUNTS, StreamSetup

__all__ = ["ReleaseCount", "first_count"]


@dataclass(frozen=True, slots=True)
class ReleaseCount:
    """How many releases are ``left``, and the ``last`` one: the noisy counts, which everybody may know.

    ``turn`` is how many periods have ended, and ``flipped`` how many flipped copies were handed over. ``period`` is
    that of the clock in which something was last done by a schedule, if there is one. ``site`` tells a state that
    flipped copies were planned of from all others: drawn at random when it began, and public.
    """

    left: int
    last: tuple[int, ...] | None = None
    turn: int = 0
    flipped: int = 0
    period: int | None = None
    site: str | None = None

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if min(self.left, self.turn, self.flipped) < 0:
            raise ValueError("no fewer than 0 releases can be left, nor periods and copies be over")
        if self.last is not None and not 1 <= len(self.last) <= MAX_COUNTS:
            raise ValueError("a release has 1 to 256 counts")
        if self.site is not None and not is_site(self.site):
            raise ValueError("a site has 32 hexadecimal digits")

    def to_bytes(self) -> bytes:
        """Write the count; a release of one count is written as a number."""
        last = self.last[0] if self.last is not None and len(self.last) == 1 else self.last
        more: dict[str, int | str] = {name: n for name, n in (("turn", self.turn), ("flipped", self.flipped)) if n}
        if self.period is not None:
            more["period"] = self.period
        if self.site is not None:
            more["site"] = self.site
        return json.dumps({"left": self.left, "last": last, **more}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ReleaseCount:
        """Read what :meth:`to_bytes` wrote."""
        read = msgspec.json.decode(data, type=_Form)
        last = (read.last,) if isinstance(read.last, int) else read.last
        return cls(read.left, last, read.turn, read.flipped, read.period, read.site)


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    left: int
    last: int | tuple[int, ...] | None
    turn: int = 0
    flipped: int = 0
    period: int | None = None
    site: str | None = None


def first_count(setup: StreamSetup) -> ReleaseCount:
    """Return the count of a new stream: by a schedule, the first release is due in the next period.

    Where flipped copies are planned, it is a site, and gets what tells it from others.
    """
    period = None if setup.schedule is None else setup.schedule.period(now())
    site = secrets.token_hex(16) if setup.calibration.flipped else None
    return ReleaseCount(setup.calibration.releases, period=period, site=site)
