"""Nothing of what a service took in is in its memory, but for bodies of HTTP, which pass through other buffers."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

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
