"""What lies between the folders of two institutions: a drive that synchronises badly, a stick that is carried about.

The analyst has a folder, every holder has another, and a courier takes files from one to the other: ``to-NAME`` from
the analyst to the holder, ``from-NAME`` back. A faulty courier, by a seed:

* delays files, each by itself, so that a letter may come before its signature or long after it;
* takes one half of a file first, and the rest later;
* loses what it has brought: it disappears from where it lay, and comes back later;
* brings back an older file in the place of a newer one of the same name;
* brings files once more, under other names, and things that are no letters.

An honest one brings everything as it is. Whatever it ever took from a holder is kept in :attr:`Courier.seen`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["Courier", "Route"]

PAUSE = 0.03
"""Seconds between two rounds of a courier."""

JUNK = (b"", b"\0" * 100, b"panbayes letter 1\n", b"\xff\xfe", b"{" * 1000)
NAMES = ("{} (conflicted copy)", "~{}", "{}.tmp", ".{}.swp", "copy of {}", "{}.sig", "X{}", "{}~")


@dataclass(frozen=True)
class Route:
    """Files are taken from ``source`` and brought to ``target``."""

    source: Path
    target: Path


@dataclass
class Courier:
    """Takes files along routes, in a thread of its own; see the module."""

    routes: list[Route]
    seed: int
    chance: float = 0.3
    """How likely something goes wrong with a file, each time it is looked at."""
    honest: bool = False
    seen: dict[str, set[bytes]] = field(default_factory=dict)
    """Every content that a file of a source ever had, by the end of its path."""
    did: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._due: dict[Path, float] = {}
        self._old: dict[Path, list[bytes]] = {}
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._ended = threading.Event()
        self._error: Exception | None = None
        self._turn = threading.Lock()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Carry nothing while the block lasts, and forget what was brought."""
        with self._turn:
            self._old.clear()
            yield

    def __enter__(self) -> Courier:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _carry(self) -> None:
        try:
            while not self._ended.is_set():
                for route in self.routes:
                    with self._turn:
                        self._round(route)
                time.sleep(PAUSE)
        except Exception as error:
            self._error = error
            raise

    def _round(self, route: Route) -> None:
        with suppress(FileNotFoundError):
            for path in sorted(route.source.iterdir()):
                if path.name.startswith(".") or not path.is_file():
                    continue
                with suppress(FileNotFoundError):
                    self._look(path, route.target)
        if not self.honest and self._rng.random() < self.chance / 20:
            self._mischief(route)

    def _look(self, path: Path, target: Path) -> None:
        data = path.read_bytes()
        self.seen.setdefault(f"{path.parent.name}/{path.name}", set()).add(data)
        place = target / path.name
        if place.is_file() and place.read_bytes() == data:
            return
        target.mkdir(exist_ok=True)
        now = time.monotonic()
        if not self.honest:
            due = self._due.setdefault(place, now + self._delay())
            if now < due:
                return
            if data and self._rng.random() < self.chance / 2:
                self._count("half")
                self._due[place] = now + self._delay()
                place.write_bytes(data[: int(self._rng.integers(len(data)))])
                return
        self._old.setdefault(place, []).append(data)
        place.write_bytes(data)

    def _delay(self) -> float:
        if self._rng.random() >= self.chance:
            return 0.0
        self._count("late")
        return self._rng.random() * 0.6

    def _mischief(self, route: Route) -> None:
        brought = sorted(path for path in self._old if path.parent == route.target and path.is_file())
        if not brought:
            return
        path = brought[int(self._rng.integers(len(brought)))]
        match ("lose", "old", "name", "junk", "odd")[int(self._rng.integers(5))]:
            case "lose":
                self._count("lost")
                self._due[path] = time.monotonic() + self._rng.random()
                path.unlink()
            case "old":
                self._count("old")
                self._due[path] = time.monotonic() + self._rng.random() * 0.3
                other = brought[int(self._rng.integers(len(brought)))]
                path.write_bytes(self._old[other][int(self._rng.integers(len(self._old[other])))])
            case "name":
                self._count("other name")
                path.with_name(NAMES[int(self._rng.integers(len(NAMES)))].format(path.name)).write_bytes(
                    path.read_bytes()
                )
            case "junk":
                self._count("junk")
                stem, _, ending = path.name.partition("-")
                odd = f"{stem}-{int(self._rng.integers(10**6)):06d}.{ending.partition('.')[2]}"
                if odd != path.name and not (route.source / odd).exists():
                    path.with_name(odd).write_bytes(JUNK[int(self._rng.integers(len(JUNK)))])
            case _:
                self._count("odd thing")
                with suppress(FileExistsError):
                    path.with_name(f"{path.name}.d").mkdir()
                    path.with_name(f"ffffffffffff-{int(self._rng.integers(10**6)):06d}.question").symlink_to(path)

    def _count(self, what: str) -> None:
        self.did[what] = self.did.get(what, 0) + 1
