"""The releases that were published: one file for each, never replaced, and nothing else.

A file holds the release in its public form (:mod:`panbayes.stream.release`), which other programs read and of which
parts are combined; when it was published stands in its name. A statistic whose releases have no such form is published
as its figures.

A release is in the state before it is here (:mod:`panbayes.stream.private_stream`), so one that a crash kept from being
written is written at the next start. What stands in such a file everybody may know, its time too: releases go by the
clock or by the operator's wish, never by the stream.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from panbayes.errors import InputError
from panbayes.files import new_file
from panbayes.stream.release import StreamRelease

__all__ = ["Published", "Shelf", "figures"]

_KIND: Final = "panbayes published release"
_MOST: Final = 1 << 20
_NAME: Final = re.compile(r"(?P<state>.+)-\d{5,}-\d{4,}-(?P<moment>\d{8}T\d{6}Z)\.json")
_MOMENT: Final = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Published:
    """A release as it was published: of which ``state`` and ``period``, the ``number`` in it, ``at`` which second.

    ``what`` is the release, or its figures where it has no public form.
    """

    state: str
    period: int
    number: int
    at: int
    what: StreamRelease | Mapping[str, object]

    @property
    def facts(self) -> Mapping[str, object]:
        """What it says: its figures; of one part only that it is one."""
        return _facts(self.what) if isinstance(self.what, StreamRelease) else self.what

    @property
    def moment(self) -> str:
        """When it was published, as people read it."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M UTC")

    def age(self, now: float) -> int:
        """How many seconds ago it was published; 0 by a clock that went back."""
        return max(0, math.floor(now - self.at))


class Shelf:
    """A folder of published releases."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it is not there."""
        self._folder = folder
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            raise InputError(
                "releases", found=f"{folder} cannot be made ({reason})", remedy="give a folder in one that exists"
            ) from None
        self._known = {(one.state, one.period, one.number): one for one in _read(folder)}

    def has(self, state: str, period: int, number: int) -> bool:
        """Say whether a release was published."""
        return (state, period, number) in self._known

    def publish(self, state: str, period: int, number: int, what: StreamRelease | Mapping[str, object]) -> None:
        """Publish a release, unless it was."""
        if self.has(state, period, number):
            return
        made = Published(state, period, number, int(time.time()), what)
        name, data = _written(made)
        place = self._folder / name
        try:
            with new_file(place) as unfinished:
                unfinished.write_bytes(data)
                unfinished.chmod(0o644)
        except OSError as error:
            reason = (error.strerror or "unknown reason").lower()
            raise InputError(
                "releases",
                found=f"{place} cannot be written ({reason})",
                remedy="make room, or let the service write there; the state keeps the release until then",
            ) from None
        # Another dictionary: other threads may be reading this one.
        self._known = {**self._known, (state, period, number): made}

    def form(self, state: str, period: int, number: int) -> bytes | None:
        """Return a release in its public form, if it was published and has one."""
        found = self._known.get((state, period, number))
        return found.what.to_bytes() if found is not None and isinstance(found.what, StreamRelease) else None

    def of(self, state: str) -> list[Published]:
        """Return the releases of a state, the oldest first."""
        found = [one for one in self._known.values() if one.state == state]
        return sorted(found, key=lambda one: (one.period, one.number))

    def last(self, state: str) -> Published | None:
        """Return the newest release of a state."""
        return next(reversed(self.of(state)), None)


def _written(made: Published) -> tuple[str, bytes]:
    """Return the name of the file of a release, and what stands in it."""
    name = f"{made.state}-{made.period:05}-{made.number:04}"
    if isinstance(made.what, StreamRelease):
        return f"{name}-{datetime.fromtimestamp(made.at, UTC).strftime(_MOMENT)}.json", made.what.to_bytes()
    form = {"kind": _KIND, "version": 1, "state": made.state, "period": made.period, "number": made.number}
    whole = {**form, "at": made.at, "facts": dict(made.what)}
    return f"{name}.json", (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode()


def _read(folder: Path) -> Iterator[Published]:
    for place in sorted(folder.glob("*.json")):
        try:
            with place.open("rb") as file:
                data = file.read(_MOST)
            named = _NAME.fullmatch(place.name)
            yield _of_figures(data) if named is None else _of_release(data, named)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, InputError):
            raise InputError(
                "releases",
                found=f"{place} is no published release",
                remedy="move it away: the folder is for releases of this service alone",
            ) from None


def _of_release(data: bytes, named: re.Match[str]) -> Published:
    release = StreamRelease.from_bytes(data)
    at = datetime.strptime(named["moment"], _MOMENT).replace(tzinfo=UTC)
    return Published(named["state"], release.turn, release.number, int(at.timestamp()), release)


def _of_figures(data: bytes) -> Published:
    found = json.loads(data)
    if found["kind"] != _KIND or found["version"] != 1 or not isinstance(found["facts"], dict):
        raise ValueError
    return Published(str(found["state"]), int(found["period"]), int(found["number"]), int(found["at"]), found["facts"])


@lru_cache(maxsize=4096)
def _facts(release: StreamRelease) -> Mapping[str, object]:
    """Say what a release means; kept, because its interval takes a moment to compute."""
    if release.part is None:
        return release.estimate().facts()
    part = f"{release.part} of {release.parts}"
    return {"part": part, "epsilon": str(release.epsilon), "scope": release.scope, "private": release.private}


def figures(facts: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Yield every number of a release with its name, such as ``users`` or ``exactly.2.share``.

    >>> dict(figures({"users": 5, "private": True, "exactly": [{"low": 0.5}]}))
    {'users': 5.0, 'exactly.0.low': 0.5}
    """
    for name, value in facts.items():
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            if math.isfinite(value):
                yield name, float(value)
        elif isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", number) for inner, number in figures(value))
        elif isinstance(value, list | tuple):
            parts = {str(place): part for place, part in enumerate(value)}
            yield from ((f"{name}.{inner}", number) for inner, number in figures(parts))
