"""Kill a service at every step of the beat at which a period ends, start it again, and look what counts; a program.

The service is that of the package, with a clock and a source of this program. A step is a call of the system: the
service is killed before each one that it makes from the beat at which a period ends to its last one, one after another.
What it acknowledged stands in a pipe. Started again, it gets what it had not acknowledged once more.

Users 0 to 299 come and are acknowledged before the period ends, 300 to 399 in its last beat, 500 to 699 after it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from panbayes import Density, StreamEstimator, Window
from panbayes.service import configuration, keeper, serving
from panbayes.service.configuration import SERVICE_FILE, ServiceFile
from panbayes.service.feed import Feed
from panbayes.service.keeper import Keeper
from panbayes.service.shelf import Shelf
from panbayes.service.source import Reading, Surroundings
from panbayes.stream import private_stream
from panbayes.stream.ids.feeding import stream_format
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state import release_count
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.statistics.methods.statistic import Answer

DAY: Final = 86_400
STEPS: Final = {"flush", "utime", "open", "fsync", "link", "unlink", "chmod", "fcntl", "flock", "close", "write"}
BATCHES: Final = {b"A": range(300), b"B": range(300, 400), b"C": range(500, 700)}
CLOCK: Final = [1_800_000_000.0]


def lines(name: bytes) -> bytes:
    return "".join(f"{i}\n" for i in BATCHES[name]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script(Reading):
    """A source that feeds ``batches``, one a beat, and says to ``pipe`` what was acknowledged."""

    batches: list[bytes]
    pipe: int
    armed: Callable[[], None]

    def describe(self) -> str:
        return "a script"

    async def start(self, feed: Feed, around: Surroundings) -> _Playing:
        return _Playing(self, feed, around)


@dataclass
class _Playing:
    script: Script
    feed: Feed
    around: Surroundings
    fed: list[bytes] = field(default_factory=list)

    def settle(self) -> Callable[[], None]:
        left = [name for name in self.script.batches if name not in self.fed]
        mine = left[:1]
        for name in mine:
            self.feed.take(lines(name))
            self.fed.append(name)
        if mine == [b"B"]:
            self.script.armed()

        def acknowledge() -> None:
            for name in mine:
                os.write(self.script.pipe, name)
            if not left:
                self.around.end(None)

        return acknowledge

    async def stop(self) -> None:
        pass

    async def close(self) -> None:
        pass


class Killer:
    """Kills this process before step number ``at``, once it is armed; never if it has no number."""

    def __init__(self, at: int | None) -> None:
        self.at, self.seen, self.armed = at, 0, False

    def arm(self) -> None:
        """Begin to count steps: the period ends now."""
        if self.at is not None:
            CLOCK[0] += DAY
            self.armed = True

    def __call__(self, _frame: FrameType, event: str, what: object) -> None:
        if self.armed and event == "c_call" and getattr(what, "__name__", "") in STEPS:
            if self.seen == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.seen += 1


def service_of(folder: Path) -> ServiceFile:
    text = 'version = 1\nbeat = 0.005\n[[states]]\nname = "members"\nfile = "a.state"\n[[sources]]\nkind = "stdin"\n'
    return SERVICE_FILE.parse(text, source=str(folder / "service.toml"))


def serve(folder: Path, batches: list[bytes], pipe: int, at: int | None) -> None:
    killer = Killer(at)
    threading.setprofile(killer)
    sys.setprofile(killer)
    script = Script(batches=batches, pipe=pipe, armed=killer.arm)
    service = replace(service_of(folder), sources=(script,))
    held = Keeper(service, lambda _: None)
    feeds = [Feed(held.estimators(()), form=stream_format("", "text"), column=None)]
    asyncio.run(serving._Service(service, held, feeds, lambda _: None).run())  # noqa: SLF001
    held.close()


def forked(work: Callable[[int], None]) -> tuple[int, bytes]:
    """Let another process do some work; return how it ended and what it wrote."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        try:
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    said = b""
    while part := os.read(reader, 1 << 16):
        said += part
    os.close(reader)
    return os.waitpid(process, 0)[1], said


def trial(folder: Path, setup: StreamSetup, at: int) -> bool:
    """Kill at one step and look; say whether there was such a step."""
    folder.mkdir()
    CLOCK[0] = 1_800_000_000.0
    StreamEstimator[Answer].start(folder / "a.state", setup).close()
    ended, acknowledged = forked(lambda pipe: serve(folder, [b"A", b"B", b"C"], pipe, at))
    CLOCK[0] += DAY
    if not ended:
        assert acknowledged == b"ABC", acknowledged
    assert acknowledged[:1] == b"A"
    # Nothing is released before what it counts was acknowledged, so nobody counts in two periods because of a kill.
    there = inspect_state(folder / "a.state")
    assert b"B" in acknowledged or (there.left, there.turns) == (1, 0), (at, acknowledged)
    again = [name for name in (b"B", b"C") if name not in acknowledged]
    ended_again, heard = forked(lambda pipe: serve(folder, again, pipe, None))
    assert (ended_again, heard) == (0, b"".join(again)), (ended_again, heard)
    CLOCK[0] += DAY
    last, _ = forked(lambda pipe: serve(folder, [], pipe, None))
    assert last == 0
    found = [
        (one.period, one.number, float(str(one.facts["density"]))) for one in Shelf(folder / "releases").of("members")
    ]
    assert [one[:2] for one in found] == [(0, 1), (1, 1)], (at, found)
    assert len(list((folder / "releases").glob("*.json"))) == 2
    # Noise moves a density by two or three thousandths; B is in the second period only where it came there again.
    again_b = 0.1 if b"B" in again else 0.0
    assert abs(found[0][2] - 0.4) < 0.03, (at, acknowledged, found)
    assert abs(found[1][2] - 0.2 - again_b) < 0.03, (at, acknowledged, found)
    return ended != 0


def main(folder: Path, stride: int) -> None:
    patched = pytest.MonkeyPatch()
    patched.setattr(configuration, "_LEAST_BEAT", Fraction(1, 1000))
    for module in (private_stream, release_count, keeper):
        patched.setattr(module, "now", lambda: CLOCK[0])
    at = 0
    # In this process, so that children find everything loaded.
    place = folder / "warm.state"
    with StreamEstimator.create(place, 1_000, Density(), epsilon=60, window=Window(anew=True), at="daily") as started:
        setup = started.setup
    with StreamEstimator[Answer].open(place) as warm:
        Feed([warm], form=stream_format("", "text"), column=None).take(lines(b"A"))
        warm.estimate()
        CLOCK[0] += DAY
        warm.turn()
    while trial(folder / str(at), setup, at):
        at += stride
    sys.stdout.write(f"killed up to step {at}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
