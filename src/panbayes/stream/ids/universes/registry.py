"""Every kind of universe there is: from what a user wrote, and from a state file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from panbayes.discovery import registry
from panbayes.errors import InputError
from panbayes.stream.ids.universes.kind import Saved, Universe, UniverseKind, UniverseSpec
from panbayes.stream.ids.universes.listed import LISTED

__all__ = ["load_universe", "read_universe", "universe_kinds"]


@cache
def universe_kinds() -> dict[str, UniverseKind]:
    """Return every kind of universe by its name.

    >>> universe_kinds()["ipv4"].spelling
    'ipv4 or ipv4:NETWORK'
    """
    return registry("panbayes.stream.ids.universes", UniverseKind, lambda kind: kind.name)


def read_universe(spec: UniverseSpec, *, sample: int | None) -> Universe:
    """Read a universe as users write it: a number U, ``"ipv4:NETWORK"``, a file with an id a line, or the ids.

    A text that no kind of universe claims is the name of a file. ``sample`` is m, how many users get an entry;
    ``None`` means all.

    >>> read_universe("ipv4:10.0.0.0/8", sample=1000).describe()
    'the IPv4 addresses of 10.0.0.0/8'
    """
    for kind in universe_kinds().values():
        if kind.claims(spec):
            return kind.read(spec, sample)
    remedy = "give " + ", ".join(kind.spelling for kind in universe_kinds().values())
    if not isinstance(spec, str):
        raise InputError("universe", found=f"found a {type(spec).__name__}", remedy=f"{remedy}, or the ids as texts")
    if not Path(spec).exists():
        raise InputError("universe", found=f"found {spec!r}, which is not a file", remedy=remedy)
    return LISTED.read(spec, sample)


class _Tag(msgspec.Struct, frozen=True):
    """What the header of every kind says."""

    kind: str


def load_universe(saved: Saved) -> Universe:
    """Read what a universe saved; a ``ValueError`` for anything else."""
    name = msgspec.json.decode(saved.header, type=_Tag).kind
    if name not in universe_kinds():
        raise ValueError("a universe of an unknown kind")
    return universe_kinds()[name].load(saved)
