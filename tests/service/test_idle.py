"""What a service does while nobody comes: next to nothing."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
import uvicorn

from panbayes import Density, DensityEstimator, StreamEstimator
from panbayes.service.address import Address
from panbayes.service.configuration import SERVICE_FILE
from panbayes.service.door import Door
from panbayes.service.keeper import Keeper
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Step
from tests.service.running_service import open_state, running, wait_for

TEXT = """
beat = 0.1
[[states]]
name = "members"
file = "a.state"

[[sources]]
kind = "http"
listen = "127.0.0.1:0"
"""

needs_maps = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")


def compiler_pages(process: int | str) -> int:
    """How many kilobytes of the compiler's code a process has in memory."""
    found = Path(f"/proc/{process}/smaps").read_text(encoding="utf-8", errors="replace")
    return sum(map(int, re.findall(r" r-xp [^\n]*libllvmlite\.[^\n]*\n(?:[^\n]*\n)*?Rss: *(\d+) kB", found)))


@needs_maps
def test_a_service_gives_back_the_memory_of_the_compiler_and_goes_on_counting(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, TEXT) as service:
        for start in (0, 200):
            body = "".join(f"{i}\n" for i in range(start, start + 200)).encode()
            assert service.post(body) == 204
            wait_for(lambda: compiler_pages(service.process.pid) == 0)
        assert service.stop() == 0
    with DensityEstimator.open(tmp_path / "a.state") as estimator:
        assert estimator.estimate().density == pytest.approx(0.4, abs=0.02)


@needs_maps
def test_the_compiler_works_after_its_memory_was_given_back() -> None:
    code = """
import numpy as np
from numba import njit
from panbayes.kernel_cache import rest_compiler
from tests.service.test_idle import compiler_pages

@njit
def double(x):
    return 2 * x

assert double(4) == 8
before = compiler_pages("self")
rest_compiler()
after = compiler_pages("self")
assert double(2.5) == 5.0 and double(np.arange(3)).tolist() == [0, 2, 4]
print(before > 1000, after, compiler_pages("self") > 1000)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True 0 True\n", "")


def test_a_state_at_which_nothing_changed_is_not_looked_into_at_every_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StreamEstimator.create(tmp_path / "a.state", 1_000, Density(), epsilon=60, releases=2, at="daily").close()
    StreamEstimator.create(tmp_path / "b.state", 1_000, Density(), epsilon=60, releases=2).close()
    second = '[[states]]\nname = "others"\nfile = "b.state"\n'
    service = SERVICE_FILE.parse(f"version = 1\n{TEXT}{second}", source=str(tmp_path / "service.toml"))
    looked: list[StateFile] = []
    transact = StateFile.transact

    def counted(store: StateFile, step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        looked.append(store)
        return transact(store, step)

    monkeypatch.setattr(StateFile, "transact", counted)
    keeper = Keeper(service, lambda _: None)
    keeper.release()
    assert looked
    looked.clear()
    for _ in range(5):
        keeper.beat()
        keeper.release()
    assert looked == []
    with DensityEstimator.open(tmp_path / "b.state", writing=False) as beside:
        beside.estimate()
    looked.clear()
    keeper.release()
    assert looked
    assert [one.number for one in keeper.shelf.of("others")] == [1]
    keeper.close()


def test_a_door_waits_without_looking_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []

    async def on_tick(_: uvicorn.Server, counter: int) -> bool:
        ticks.append(counter)
        return False

    monkeypatch.setattr(uvicorn.Server, "on_tick", on_tick)

    async def serve() -> None:
        async def nothing(_scope: object, _receive: object, _send: object) -> None:
            pass

        door = Door(nothing, Address("127.0.0.1", 0).listen(argument="listen"), lambda _: None)
        await door.open()
        await asyncio.sleep(0.3)
        await asyncio.wait_for(door.end(), 30)

    asyncio.run(serve())
    assert ticks == []
