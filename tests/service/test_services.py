"""Services as processes: what they take in, what they answer, what a kill loses, what they show."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from panbayes.stream.release import StreamRelease
from tests.conftest import Panbayes
from tests.effort import soak
from tests.service.running_service import RunningService, density, open_state, running, wait_for

HTTP = """
[[states]]
name = "members"
file = "a.state"

[[sources]]
kind = "http"
listen = "127.0.0.1:0"

[page]
listen = "127.0.0.1:0"
"""


def ids(first: int, last: int) -> bytes:
    return "".join(f"{i}\n" for i in range(first, last)).encode()


def test_what_was_answered_counts_after_a_kill_and_every_body_is_answered_alike(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service:
        assert service.post(ids(0, 300)) == 204
        # Nobody it knows, no id at all, no text, a line without an end, nothing.
        for body in (b"nobody\n", b"\n\n\n", b"\xff\xfe\x00\n", b"300", b""):
            assert service.post(body) == 204
        assert service.post(b"301\n" * 40_000) == 204
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        assert "nobody" not in service.told
    assert density(tmp_path / "a.state") == pytest.approx(0.302, abs=0.015)


def test_bodies_wait_for_the_beat_and_are_answered_together(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, f"beat = 2.0\n{HTTP}") as service:
        service.post(b"0\n")
        ends: list[float] = []

        def send(number: int) -> None:
            assert service.post(ids(number, number + 1)) == 204
            ends.append(time.monotonic())

        started = time.monotonic()
        threads = [threading.Thread(target=send, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
            time.sleep(0.01)
        for thread in threads:
            thread.join()
        # The first was sent right after a beat: it waited nearly as long as the last came after it.
        assert ends[0] - started > 0.4
        assert density(tmp_path / "a.state") == pytest.approx(0.04, abs=0.015)


def test_what_is_shown_is_what_was_released_whatever_comes_in(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service:
        assert "Nothing was released yet." in service.get("/")[1]
        service.post(ids(0, 200))
        density(tmp_path / "a.state")
        wait_for(lambda: "is published" in service.told)
        before = [service.get(path)[1] for path in ("/releases/members", "/metrics", "/")]
        for first in (0, 400, 700):
            assert service.post(ids(first, first + 300)) == 204
        after = [service.get(path)[1] for path in ("/releases/members", "/metrics", "/")]
        assert before[0] == after[0]
        assert [line for line in before[1].splitlines() if "age" not in line] == [
            line for line in after[1].splitlines() if "age" not in line
        ]
        (release,) = json.loads(before[0])
        assert release["density"] == pytest.approx(0.2, abs=0.02)
        assert f'panbayes_release{{state="members",figure="density"}} {release["density"]!r}' in before[1]
        assert before[1].endswith("# EOF\n")
        assert re.search(r"\d seconds? ago", before[2])
        form = StreamRelease.from_bytes(service.get("/releases/members/0/1")[1].encode())
        assert form.estimate().facts()["density"] == release["density"]
        assert [service.get(f"/releases/{what}")[0] for what in ("members/0/2", "others/0/1", "members/x/1")] == [
            404
        ] * 3
        assert service.get(f"/releases/members/{'9' * 5_000}/1")[0] == 404
        assert "internal error" not in service.told
        assert [service.get(path)[0] for path in ("/releases/others", "/state", "/ready")] == [404, 404, 200]
        assert service.stop() == 0
        assert service.told.endswith("stopped; everything that was taken in is on the disk\n")
    assert len(list((tmp_path / "releases").iterdir())) == 1
    # What was published is shown again by the next service, and nothing is released for it.
    with running(tmp_path, HTTP) as service:
        assert service.get("/releases/members")[1] == before[0]


def test_a_client_without_the_token_feeds_nothing_and_limits_hold(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    (tmp_path / "token").write_text("a-token-of-many-letters\n", encoding="utf-8")
    (tmp_path / "token").chmod(0o600)
    with running(tmp_path, HTTP.replace('"127.0.0.1:0"\n', '"127.0.0.1:0"\ntoken = "token"\n', 1)) as service:
        shown = {"Authorization": "Bearer a-token-of-many-letters"}
        assert [service.post(ids(0, 900), Authorization=text) for text in ("", "Bearer x", "Basic a-token")] == [
            401
        ] * 3
        assert service.post(ids(0, 100), **shown) == 204
        assert service.post(b"", path="/other", **shown) == 404
        assert service.post(b"", method="PUT", **shown) == 405
        assert service.post(b"\x1f\x8b", Content_Encoding="gzip", **shown) == 415
        assert service.post(b"", Content_Length="99999999999", **shown) == 413
        _too_much(service, shown["Authorization"])
        _half_a_body(service, shown["Authorization"])
        assert density(tmp_path / "a.state") == pytest.approx(0.102, abs=0.015)
        assert "internal error" not in service.told


def _too_much(service: RunningService, token: str) -> None:
    """A body that says nothing of its size, and does not end: it is cut off, and its first lines count."""
    head = f"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"101\n" * (1 << 18)
    with socket.create_connection(("127.0.0.1", service.port("taking lines at")), timeout=60) as connection:
        connection.sendall(head.encode())
        try:
            for _ in range(80):
                connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            answer = connection.recv(100)
        except OSError:
            return
        assert answer == b"" or b" 413 " in answer


def _half_a_body(service: RunningService, token: str) -> None:
    """A client that goes away: its whole lines count, and the line it was in the middle of does not."""
    head = f"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port("taking lines at")), timeout=60) as connection:
        connection.sendall(head.encode() + b"102\n5")
        time.sleep(0.3)


@soak
def test_lines_from_a_socket_a_pipe_and_a_log_that_is_rotated(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    log = tmp_path / "access.log"
    log.write_bytes(ids(900, 1000))
    reader, writer = os.pipe()
    text = """
[[states]]
name = "members"
file = "a.state"

[[sources]]
kind = "socket"
path = "in.socket"

[[sources]]
kind = "stdin"

[[sources]]
kind = "tail"
path = "access.log"
"""
    with running(tmp_path, text, stdin=reader) as service:
        os.close(reader)
        assert (tmp_path / "in.socket").stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(tmp_path / "in.socket"))
            connection.sendall(ids(0, 50))
        os.write(writer, ids(50, 100))
        time.sleep(1.5)  # it stands at the end of the log
        with log.open("ab") as file:
            file.write(ids(100, 150))
        log.rename(tmp_path / "access.log.1")
        with (tmp_path / "access.log.1").open("ab") as file:
            file.write(ids(150, 160))
        log.write_bytes(ids(160, 200))
        time.sleep(3)
        log.write_bytes(b"")
        time.sleep(1.5)
        with log.open("ab") as file:
            file.write(ids(200, 210))
        time.sleep(2.5)
        assert density(tmp_path / "a.state") == pytest.approx(0.21, abs=0.015)
        # The end of standard input is the end of the service; its last line counts without an end of its own.
        os.write(writer, ids(300, 400) + b"400")
        os.close(writer)
        assert service.process.wait(60) == 0
        assert not (tmp_path / "in.socket").exists()
    assert density(tmp_path / "a.state") == pytest.approx(0.311, abs=0.015)


def test_many_clients_that_say_nothing_do_not_keep_others_out_for_long(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port("taking lines at"))) for _ in range(300)]
        try:
            assert service.post(ids(0, 100)) == 204
        finally:
            for connection in idle:
                connection.close()
        status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
        resident = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
        assert resident < 400_000
    assert density(tmp_path / "a.state") == pytest.approx(0.1, abs=0.015)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "states"),
        (HTTP.replace("a.state", "b.state"), "cannot be opened"),
        (HTTP.replace("127.0.0.1:0", "0.0.0.0:0", 1), "others can reach 0.0.0.0:0"),
        (HTTP.replace("127.0.0.1:0", "localhost:0", 1), 'found "localhost:0"'),
        (HTTP.replace('"http"', '"htp"'), "htp"),
        (
            HTTP.replace('listen = "127.0.0.1:0"\n', 'listen = "127.0.0.1:0"\nformat = "parquet"\n', 1),
            "format of lines",
        ),
        (HTTP.replace('listen = "127.0.0.1:0"\n', 'listen = "127.0.0.1:0"\nformat = "ndjson"\n', 1), "missing"),
        (HTTP.replace('listen = "127.0.0.1:0"\n', 'listen = "127.0.0.1:0"\nstates = ["x"]\n', 1), 'one feeds "x"'),
        (HTTP.split("[page]")[0].replace('http"\nlisten = "127.0.0.1:0', 'tail"\npath = ".'), "no regular file"),
        (f"beat = 0.01\n{HTTP}", "give 0.1 to 20 seconds"),
        (f'releases = "a.state"\n{HTTP}', "cannot be made"),
    ],
)
@pytest.mark.usefixtures("refused")
def test_a_file_that_cannot_be_served_is_refused(panbayes: Panbayes, tmp_path: Path, text: str, told: str) -> None:
    open_state(tmp_path / "a.state")
    (tmp_path / "service.toml").write_text(f"version = 1\n{text}", encoding="utf-8")
    found = panbayes("stream", "serve", "service.toml")
    assert (found.returncode, found.stdout) == (2, "")
    assert told in " ".join(found.stderr.split())
    assert found.stderr.startswith("error: ")
    # Nothing was touched.
    assert density(tmp_path / "a.state") == pytest.approx(0, abs=0.01)


def test_a_state_of_another_process_is_refused_and_let_alone(tmp_path: Path) -> None:
    open_state(tmp_path / "a.state")
    with running(tmp_path, HTTP) as service:
        second = subprocess.run(
            service.process.args, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        assert (second.returncode, "is being fed by another process" in second.stderr) == (2, True)
        assert service.post(ids(0, 10)) == 204


@pytest.mark.parametrize(
    ("token", "mode", "told"),
    [
        ("a-token-of-many-letters\n", 0o644, "can be read by others"),
        ("a-token-of-many-letters\n", 0o620, "can be read by others"),
        ("too-short\n", 0o600, "has no token of 16 characters"),
        ("two words of many letters\n", 0o600, "has no token of 16 characters"),
    ],
)
@pytest.mark.usefixtures("refused")
def test_a_token_that_is_no_secret_is_refused(
    panbayes: Panbayes, tmp_path: Path, token: str, mode: int, told: str
) -> None:
    open_state(tmp_path / "a.state")
    (tmp_path / "token").write_text(token, encoding="utf-8")
    (tmp_path / "token").chmod(mode)
    text = HTTP.split("[page]")[0].replace('"127.0.0.1:0"\n', '"127.0.0.1:0"\ntoken = "token"\n')
    (tmp_path / "service.toml").write_text(f"version = 1\n{text}", encoding="utf-8")
    found = panbayes("stream", "serve", "service.toml")
    assert (found.returncode, told in " ".join(found.stderr.split())) == (2, True)
    assert token.strip() not in found.stderr
