"""Nothing of what a service took in is in its memory, but for bodies of HTTP, which pass through other buffers."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.service.feed import Feed
from panbayes.stream.ids import arena as arena_module
from panbayes.stream.ids.arena import private_memory
from panbayes.stream.ids.feeding import stream_format
from panbayes.stream.ids.formats import lines as lines_module
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator
from tests.service.running_service import open_state, running, wait_for
from tests.stream.memory_scan import Planted, found_in, may_read

TEXT = """
[[states]]
name = "members"
file = "a.state"

[[sources]]
kind = "stdin"

[[sources]]
kind = "tail"
path = "log"

[[sources]]
kind = "socket"
path = "s"

[[sources]]
kind = "http"
listen = "127.0.0.1:0"
"""

WAYS = ("stdin", "tail", "socket", "http")
NAMED = ("http",)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux")
def test_nothing_of_what_came_in_is_found_in_an_idle_service(tmp_path: Path) -> None:
    """Every way in but HTTP; what came over HTTP has no length and no slot there either."""
    open_state(tmp_path / "a.state")
    (tmp_path / "log").touch()
    planted = {way: Planted() for way in WAYS}
    lines = {way: "".join(f"{one}\n" for one in planted[way].ids).encode() for way in WAYS}
    with running(tmp_path, TEXT, stdin=subprocess.PIPE) as service:
        process = service.process.pid
        if not may_read(process):
            pytest.skip("the memory of a process that forbids core dumps is read by root alone")
        assert service.process.stdin is not None
        # In pieces that end within a line.
        for begin in range(0, len(lines["stdin"]), 7001):
            service.process.stdin.write(lines["stdin"][begin : begin + 7001])
            service.process.stdin.flush()
        with (tmp_path / "log").open("ab") as log:
            log.write(lines["tail"])
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(tmp_path / "s"))
            connection.sendall(lines["socket"])
        assert service.post(lines["http"]) == 204
        needles = {f"{way}: {what}": one for way in WAYS for what, one in planted[way].needles().items()}
        # Between two looks of a tail there is half a second.
        wait_for(lambda: all(name.startswith(NAMED) for name in found_in(process, needles)), 20)
        assert found_in(process, needles) <= {"http: ascii"}
        assert service.stop() == 0
        service.process.stdin.close()


def test_lines_that_an_error_kept_out_of_a_state_are_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full, say; whoever keeps the error keeps no line by it."""
    memory: list[NDArray[np.uint8]] = []

    def seen(size: int) -> NDArray[np.uint8]:
        memory.append(private_memory(size))
        return memory[-1]

    def fail(_estimator: object, _batch: object) -> None:
        assert any(array.any() for array in memory)
        raise OSError("full")

    open_state(tmp_path / "a.state")
    with StreamEstimator[Answer].open(tmp_path / "a.state") as estimator:
        for module in (arena_module, lines_module):
            monkeypatch.setattr(module, "private_memory", seen)
        feed = Feed((estimator,), form=stream_format("", "text"), column=None)
        monkeypatch.setattr(StreamEstimator, "update", fail)
        with pytest.raises(OSError, match="full") as kept:
            feed.take(b"somebody\nelse\n")
    assert kept.value.__traceback__ is not None
    assert len(memory) == 2
    assert not any(array.any() for array in memory)
