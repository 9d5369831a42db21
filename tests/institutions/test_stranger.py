"""Somebody who has found the mailbox's address, and has no key in its roster: one 404 for all, and nothing changes.

The server is a real process with TLS on loopback. What strangers send is compared byte for byte in what comes back.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.requests import Action, Poll, Request
from tests.institutions.parties import Consortium, Running, Terms, key_of

STRANGER = PrivateKey.generate()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Consortium, Running]]:
    box = Consortium.make(tmp_path_factory.mktemp("stranger") / "box", terms=Terms())
    box.certificate()
    box.propose()
    server = box.analyst.start(*box.serving(), log="server")
    server.until_said("serving")
    yield box, server
    box.end()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def told(box: Consortium, data: bytes) -> bytes:
    """Send bytes inside TLS, and return everything that comes back until the server hangs up."""
    context = ssl.create_default_context(cafile=str(box.analyst.folder / "mailbox.pem"))
    found = bytearray()
    with (
        socket.create_connection(("127.0.0.1", box.port), timeout=30) as raw,
        context.wrap_socket(raw, server_hostname="localhost") as secure,
    ):
        try:
            secure.sendall(data)
            while piece := secure.recv(65_536):
                found += piece
        except (ConnectionError, ssl.SSLError):
            pass
    return bytes(found)


def request(
    key: PrivateKey, *, host: str, action: Action = "poll", challenge: str | None = None, body: bytes = b""
) -> bytes:
    made = Request.of(host, action, challenge, body)
    lines = [f"POST /{action} HTTP/1.1", *(f"{name}: {value}" for name, value in made.headers(key).items()), "", ""]
    return "\r\n".join(lines).encode() + body


def attempts(box: Consortium) -> dict[str, bytes]:
    host = f"localhost:{box.port}"
    honest = request(key_of("north"), host=host)
    return {
        "root": f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode(),
        "head": f"HEAD /poll HTTP/1.1\r\nhost: {host}\r\n\r\n".encode(),
        "options": f"OPTIONS * HTTP/1.1\r\nhost: {host}\r\n\r\n".encode(),
        "letters": f"GET /to-north/1f0c2a77b3d1-000001.question HTTP/1.1\r\nhost: {host}\r\n\r\n".encode(),
        "above": f"GET /../../roster HTTP/1.1\r\nhost: {host}\r\n\r\n".encode(),
        "unsigned": f"POST /poll HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n".encode(),
        "a stranger's key": request(STRANGER, host=host),
        "the analyst's key": request(key_of("analyst"), host=host),
        "a stranger's answer": request(STRANGER, host=host, action="answer", body=b"x" * 100),
        "a stranger's poll": request(STRANGER, host=host, challenge="5d" * 32, body=Poll.of(1, []).encode()),
        "another host": request(key_of("north"), host="elsewhere.example:8443"),
        "another path": honest.replace(b"/poll", b"/pollx"),
        "another method": honest.replace(b"POST", b"PUT"),
        "another length": honest.replace(b"content-length: 0", b"content-length: 5") + b"12345",
        "chunks": honest.replace(b"content-length: 0", b"transfer-encoding: chunked") + b"0\r\n\r\n",
        "twice the header": honest.replace(b"host:", b"x-a: 1\r\nx-a: 2\r\nhost:"),
        "no HTTP": b"\x16\x03\x01" + os.urandom(200),
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(40),
        "a long head": f"GET / HTTP/1.1\r\nhost: {host}\r\nx: {'a' * 60_000}\r\n\r\n".encode(),
        "an upgrade": f"GET / HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n".encode(),
    }


def memory(server: Running) -> int:
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM"))


def test_all_strangers_are_told_the_same_and_change_nothing(served: tuple[Consortium, Running]) -> None:
    box, server = served
    before = tree(box.analyst.folder)
    answers = {name: told(box, data) for name, data in attempts(box).items()}
    assert set(answers.values()) == {answers["root"]}, answers
    assert answers["root"].startswith(b"HTTP/1.1 404 ")
    assert len(answers["root"]) < 100, answers["root"]
    assert tree(box.analyst.folder) == before
    assert server.alive


def test_a_holder_is_told_a_challenge_and_no_more_for_its_key_alone(served: tuple[Consortium, Running]) -> None:
    box, _ = served
    found = told(
        box,
        request(key_of("north"), host=f"localhost:{box.port}").replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"),
    )
    assert found.startswith(b"HTTP/1.1 401 ")
    assert b"panbayes-challenge: " in found


def wave(box: Consortium, count: int) -> None:
    """Connect many times and say nothing, and others besides who do; then let go of all."""
    waiting = [socket.create_connection(("127.0.0.1", box.port), timeout=10) for _ in range(count)]
    for place in range(60):
        found = told(box, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" if place % 2 else bytes(100))
        assert found[:12] in (b"HTTP/1.1 404", b"")
    for one in waiting:
        one.close()


def test_the_memory_that_strangers_take_is_bounded(served: tuple[Consortium, Running]) -> None:
    """There are at most so many connections, each with the buffers of TLS; a second wave takes nothing more."""
    box, server = served
    before = memory(server)
    wave(box, 600)
    first = memory(server)
    wave(box, 900)
    assert server.alive
    assert first - before < 120 * 2**20
    assert memory(server) - first < 120 * 2**20
