"""Clients that flood, stall or come from a web page, and requests that are under way when a service ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from panbayes.service import door
from panbayes.service.address import Address
from panbayes.service.door import Door
from panbayes.service.shelf import Shelf
from panbayes.service.showing import showing
from tests.effort import soak, some
from tests.running import environment
from tests.service.running_service import density, open_state, running
from tests.service.test_keeper import service as service_file
from tests.service.test_services import HTTP, ids

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


@soak
def test_more_connections_than_open_files_do_not_end_the_service(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP, open_files=200) as service:
        idle = [connect(service.port(what)) for _ in range(300) for what in ("taking lines at", "showing releases at")]
        try:
            time.sleep(1.5)  # beats, a release and its file
            density(tmp_path / "a.state")
            time.sleep(1.5)
            assert service.process.poll() is None, service.told
        finally:
            for connection in idle:
                connection.close()
        assert "is published" in service.told
        assert "Traceback" not in service.told
        time.sleep(0.5)
        assert service.post(ids(0, 100)) == 204
    assert density(tmp_path / "a.state") == pytest.approx(0.1, abs=0.015)


def test_a_web_page_cannot_feed_where_there_is_no_token(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service:
        # What a browser sends without asking first: a form, or fetch() with text.
        for header in ({"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
            assert service.post(ids(0, 900), Content_Type="text/plain", **header) == 403
        assert service.post(ids(0, 100), Content_Type="text/plain") == 204
    assert density(tmp_path / "a.state") == pytest.approx(0.1, abs=0.015)


@pytest.mark.parametrize("number", some([signal.SIGTERM, signal.SIGHUP], 1))
def test_a_body_that_is_coming_when_the_service_stops_is_turned_away(tmp_path: Path, number: int) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service, connect(service.port("taking lines at")) as connection:
        connection.sendall(HEAD + ids(0, 100))
        time.sleep(0.5)
        assert service.stop(number) == 0
        assert connection.recv(1000).startswith(b"HTTP/1.1 503 ")
        assert "internal error" not in service.told
        assert service.told.endswith("stopped; everything that was taken in is on the disk\n")
    assert density(tmp_path / "a.state") == pytest.approx(0.1, abs=0.015)


@soak
def test_a_release_that_cannot_be_written_ends_the_service_and_what_was_answered_counts(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, f"beat = 3.0\n{HTTP}") as service, connect(service.port("taking lines at")) as connection:
        service.post(b"")  # is answered with a beat: all that follows comes before the next
        (tmp_path / "releases").rmdir()
        (tmp_path / "releases").write_bytes(b"")
        connection.sendall(HEAD.replace(b"1000", b"1490") + ids(0, 400))  # first: a busy machine may be past the beat
        density(tmp_path / "a.state")
        assert connection.recv(1000).startswith(b"HTTP/1.1 204 ")
        assert service.process.wait(60) == 2
        assert "internal error" not in service.told
        assert "cannot be written" in service.told
    (tmp_path / "releases").unlink()
    with running(tmp_path, HTTP) as service:
        service.post(b"")
        assert "release 1 of period 0 is published" in service.told
    assert density(tmp_path / "a.state") == pytest.approx(0.4, abs=0.015)


def test_a_closed_standard_input_is_refused(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    text = 'version = 1\n[[states]]\nname = "members"\nfile = "a.state"\n[[sources]]\nkind = "stdin"\n'
    (tmp_path / "service.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "panbayes", "stream", "serve", "service.toml"]
    found = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (found.returncode, "standard input is closed" in found.stderr) == (2, True)


def stalled(folder: Path, sent: bytes) -> bytes:
    """Send something to a page, and return what comes until it hangs up."""

    async def run() -> bytes:
        listening = Address("127.0.0.1", 0).listen(argument="listen")
        served = Door(showing(service_file(folder), Shelf(folder / "releases")), listening, lambda _line: None)
        await served.open()
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(sent)
        drip = asyncio.get_running_loop().create_task(_drip(writer))
        try:
            return await asyncio.wait_for(reader.read(), 30)
        except ConnectionResetError:
            return b"reset"
        finally:
            drip.cancel()
            writer.close()
            await served.end()

    return asyncio.run(run())


async def _drip(writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        await asyncio.sleep(0.1)
        writer.write(b"a")


@pytest.mark.parametrize(
    "sent",
    [
        b"GE",
        b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\nGE",
        b"GET /ready HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
    ],
)
def test_who_never_ends_the_head_of_a_request_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 1.0)
    stalled(tmp_path, sent)
