"""Nothing of past events is in the memory of a process that feeds: no id, no part of one, no length, mark or slot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import numpy as np
import pytest

from panbayes.stream.ids.formats.lines import BATCH
from panbayes.stream.ids.part import Part
from panbayes.stream.ids.universes.grouped import GroupedUniverse, Groups
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.setup import StreamSetup, configure, configure_groups, configure_hashed, with_rules
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator
from tests.running import environment
from tests.stream.memory_scan import Planted, found_in
from tests.stream.slots import slots_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux")

KEY = bytes(range(16))
USERS = HashedUniverse(1, 1 << 17, 1 << 17, KEY)
LANDS = GroupedUniverse(HashedUniverse(1, 640, 640, KEY, panels=2), Groups("land", ("DE", "FR")))


def counter(*where: str, part: Part | None = None) -> StreamSetup:
    return with_rules(configure_hashed(USERS, epsilon=1, part=part), where=where)


@dataclass(frozen=True)
class Case:
    """Planted ids as ``content`` of some ``form``, and the ``setup`` of the state that they are fed to."""

    planted: Planted
    setup: StreamSetup
    form: str
    content: bytes
    column: str | None = None
    numbers: bool = False
    written: tuple[str, ...] = ()
    words: tuple[int, ...] = ()

    @property
    def needles(self) -> dict[str, bytes]:
        if self.written:
            return self._needles_of_written()
        if self.setup.fields:
            return self.planted.needles()
        ids: Sequence[object] = self.planted.numbers if self.numbers else self.planted.ids
        slots = slots_of(self.setup.universe, ids)
        if self.setup.part is not None:
            slots = [own for slot in slots if (own := self.setup.part.slot(slot, self.setup.universe.entries)) >= 0]
            return {"slots as int64": np.array(slots[-5:]).tobytes()}
        return self.planted.needles_of_numbers(slots) if self.numbers else self.planted.needles(slots)

    def _needles_of_written(self) -> dict[str, bytes]:
        """What to look for where ids are ``written`` in another way: texts, ``words`` if they have some, slots."""
        slots = [slot for slot in slots_of(self.setup.universe, self.written) if slot >= 0]
        found = {"slots as int64": np.array(slots[-5:]).tobytes()}
        for place in (0, len(self.written) // 2, len(self.written) - 3):
            found[f"ascii at {place}"] = self.written[place].encode()
            if self.words:
                found[f"numbers as int64 at {place}"] = np.array(self.words[place : place + 3], np.uint64).tobytes()
        return found


def lines(rows: Sequence[object]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def cases() -> dict[str, Case]:
    """Every way from bytes to slots."""
    found: dict[str, Case] = {}
    planted = Planted()
    text = lines(planted.ids)
    # The end of a batch lies within an id.
    filler = b"somebody\n" * ((BATCH - len(text) // 2) // 9)
    found["text, cut by the end of a batch"] = Case(planted, counter(), "text", filler + text)
    planted = Planted()
    rows = [f'x,"{one}",{"buy" if mark else "look"}' for one, mark in zip(planted.ids, planted.chosen, strict=True)]
    found["CSV, filter"] = Case(planted, counter("kind=buy"), "csv", lines(["other,id,kind", *rows]), "id")
    planted = Planted(prefix="\u00e9")
    rows = [
        json.dumps({"n": 70.5 if mark else 3, "id": one}) for one, mark in zip(planted.ids, planted.chosen, strict=True)
    ]
    found["NDJSON with escapes, filter"] = Case(planted, counter("n>=5.5"), "ndjson", lines(rows), "id")
    planted = Planted()
    rows = [
        json.dumps({"land": "DE" if mark else "FR", "id": one})
        for one, mark in zip(planted.ids, planted.chosen, strict=True)
    ]
    found["NDJSON, groups"] = Case(planted, configure_groups(LANDS, epsilon=1), "ndjson", lines(rows), "id")
    planted = Planted()
    log = '203.0.113.7 - - [16/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" {status} 5 "-" "{one}"'
    rows = [
        log.format(one=one, status=200 if mark else 404) for one, mark in zip(planted.ids, planted.chosen, strict=True)
    ]
    found["access log, filter"] = Case(planted, counter("status=200"), "combined", lines(rows), "address+agent")
    planted = Planted()
    known = configure(1 << 27, epsilon=1, sample=1 << 26)
    found["digits, a sample in a large file"] = Case(planted, known, "text", lines(planted.numbers), numbers=True)
    found |= other_universes()
    planted = Planted()
    array = np.array(planted.numbers).tobytes()
    found["an array"] = Case(planted, counter(), "array", array, numbers=True)
    planted = Planted()
    found["an Arrow column"] = Case(planted, counter(), "column", lines(planted.ids))
    planted = Planted()
    found["a part"] = Case(planted, counter(part=Part(2, 4, KEY)), "text", lines(planted.ids))
    # The last one: what passes through small objects is soon written over by others.
    planted = Planted(prefix="e\u0301")
    listed = configure([*planted.ids, *(f"user-{i}" for i in range(100_000))], epsilon=1)
    found["decomposed text, list"] = Case(planted, listed, "text", lines(planted.ids))
    return found


def other_universes() -> dict[str, Case]:
    """Addresses and edges, whose texts are read as numbers before they have slots."""
    planted, drawn = Planted(), np.random.default_rng()
    found: dict[str, Case] = {}
    dotted = tuple(str(IPv4Address(number)) for number in planted.numbers)
    network = configure("ipv4:4.0.0.0/6", epsilon=1, sample=1 << 24)
    found["IPv4, a network"] = Case(
        planted, network, "text", lines(dotted), written=dotted, words=tuple(planted.numbers)
    )
    lower = tuple(drawn.integers(1 << 60, 1 << 62, planted.size).tolist())
    long = tuple(str(IPv6Address((0x20010DB8 << 96) + word)) for word in lower)
    hashed = HashedUniverse(1, 1 << 17, 1 << 17, KEY, 128)
    found["IPv6, hashed"] = Case(
        planted, configure_hashed(hashed, epsilon=1), "text", lines(long), written=long, words=lower
    )
    ends = drawn.integers(10_000, 1 << 14, (planted.size, 2)).tolist()
    edges = tuple(f"{first},{second}" for first, second in ends if first != second)
    graph = configure(f"graph:{1 << 14}", epsilon=1, sample=1 << 24)
    found["edges of a graph"] = Case(planted, graph, "text", lines(edges), written=edges)
    return found


class Feeder:
    """A process that feeds what it is told to, in ``folder``."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder, self.process = folder, process

    def feed(self, name: str, case: Case, path: Path | None = None) -> None:
        """Let it feed a case; when it has, the file is gone. From another ``path`` it may still be reading."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        state, place = self.folder / f"{name}.state", self.folder / name if path is None else path
        StreamEstimator[Answer].start(state, case.setup).close()
        if path is None:
            place.write_bytes(case.content)
        told = {"state": str(state), "form": case.form, "path": str(place), "name": case.column}
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        if path is None:
            assert self.process.stdout.readline() == "done\n"
            place.unlink()


@contextmanager
def feeder(folder: Path, *arguments: str) -> Iterator[Feeder]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stream.fed_process", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(folder),
        text=True,
    )
    try:
        yield Feeder(folder, process)
    finally:
        process.kill()
        process.communicate()


def scanned(folder: Path, *arguments: str) -> dict[str, set[str]]:
    """Feed every case to one process, the last one through a pipe that stays open, and say what is found of each."""
    planted = cases()
    with feeder(folder, *arguments) as process:
        for name, case in planted.items():
            process.feed(name, case)
        pipe, case = folder / "pipe", Case(Planted(), counter(), "text", b"")
        os.mkfifo(pipe)
        process.feed("an open pipe", case, pipe)
        with pipe.open("wb", buffering=0) as writer:
            for part in np.array_split(case.planted.ids, 3):
                writer.write(lines(part.tolist()))
            assert process.process.stdout is not None
            # One batch at the latest after a second; then the reader waits for more.
            assert process.process.stdout.readline() == "batch\n"
            wanted = {
                f"{name}: {what}": needle
                for name, one in [*planted.items(), ("an open pipe", case)]
                for what, needle in one.needles.items()
            }
            found = found_in(process.process.pid, wanted)
    return {name: {what for what in found if what.startswith(f"{name}: ")} for name in [*planted, "an open pipe"]}


def test_nothing_of_what_was_fed_is_found_in_an_idle_process(tmp_path: Path) -> None:
    assert scanned(tmp_path) == {name: set() for name in [*cases(), "an open pipe"]}


def test_a_scan_finds_what_is_not_wiped(tmp_path: Path) -> None:
    """Every way is seen, and every kind of thing that is looked for."""
    found = scanned(tmp_path, "leak")
    assert all(found.values()), found
    kinds = {what.partition(": ")[2].partition(" at ")[0] for names in found.values() for what in names}
    assert {"ascii", "lengths as int64", "slots as int64", "marks", "numbers as int64", "digits"} <= kinds
