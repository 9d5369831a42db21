"""The mailbox's client: proxies, certificates, and servers that send anything."""

from __future__ import annotations

import base64
import os
import resource
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from panbayes.consortium.agent import mailbox
from panbayes.consortium.agent.carrier import CarrierError
from panbayes.consortium.agent.mailbox import MailboxCarrier
from panbayes.consortium.desk.certificate import make_certificate, save_certificate
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Letter
from panbayes.consortium.post.requests import Request, one_line
from panbayes.errors import InputError, InternalError
from tests.consortium.mailboxes import Site, environment, site

KEY = PrivateKey.generate()
FINGERPRINT = KEY.public.fingerprint
LETTER = Letter(Header("question", "1f" * 32, FINGERPRINT, FINGERPRINT, 1, 1), b"body").signed_by(KEY)
ANSWER = Header("answer", "1f" * 32, FINGERPRINT, FINGERPRINT, 1, 1, "ab" * 32)
NAMED = "north/1f1f1f1f1f1f-000001.question"
FRESH = "ab" * 32


@pytest.fixture(scope="module")
def here() -> Iterator[Site]:
    with site() as started:
        yield started


@dataclass
class Proxy:
    """A proxy that connects, and remembers what it was asked."""

    says: bytes = b"HTTP/1.1 200 Connection established\r\nVia: proxy\r\n\r\n"
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    passed: list[bytes] = field(default_factory=list)


@contextmanager
def proxy(says: bytes | None = None) -> Iterator[Proxy]:
    made = Proxy() if says is None else Proxy(says)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.request.recv(1)
            made.heads.append(head)
            self.request.sendall(made.says)
            if b" 200 " not in made.says:
                time.sleep(60 if len(made.says) > 50_000 else 0)
                return
            host, _, port = head.split(b" ")[1].decode().rpartition(":")
            with socket.create_connection((host, int(port))) as further:
                back = threading.Thread(target=self.copy, args=(further, self.request), daemon=True)
                back.start()
                self.copy(self.request, further)
                back.join(5)

        def copy(self, source: socket.socket, target: socket.socket) -> None:
            try:
                while piece := source.recv(65_536):
                    made.passed.append(piece)
                    target.sendall(piece)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


def test_a_proxy_connects_and_sees_the_name_of_the_host_alone(here: Site) -> None:
    question = here.ask("north", 1, b"a question that a proxy must not see")
    with proxy() as between, environment({"HTTPS_PROXY": f"http://nurse:p%40ss@127.0.0.1:{between.port}"}):
        carrier = here.carrier("north")
        assert [one.letter for one in carrier.collect((), seconds=10)] == [question]
        carrier.deliver("north", *here.reply("north", question))
        carrier.close()
    credentials = base64.b64encode(b"nurse:p@ss").decode()
    told = f"localhost:{here.port}"
    assert set(between.heads) == {
        f"CONNECT {told} HTTP/1.1\r\nHost: {told}\r\nProxy-Authorization: Basic {credentials}\r\n\r\n".encode()
    }
    assert len(between.heads) == 2
    assert b"a question" not in b"".join(between.passed)


def test_a_host_that_needs_no_proxy_is_reached_without(here: Site) -> None:
    with proxy() as between:
        for exempt in ("localhost", f"localhost:{here.port}", "*"):
            with environment({"HTTPS_PROXY": f"http://127.0.0.1:{between.port}", "NO_PROXY": exempt}):
                carrier = here.carrier("south")
                assert carrier.collect((), seconds=0) == []
                carrier.close()
        assert between.heads == []


@pytest.mark.parametrize(
    ("says", "found"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "it said 407, it wants a user and a password"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "it said 403"),
        (b"garbage\r\n\r\n", "it said nothing"),
        (b"HTTP/1.1 403" + b"x" * 100_000, "answered as none does"),
        (b"", "answered as none does"),
    ],
)
def test_a_proxy_that_does_not_connect_is_named(here: Site, says: bytes, found: str) -> None:
    with proxy(says) as between, environment({"HTTPS_PROXY": f"http://127.0.0.1:{between.port}"}):
        carrier = here.carrier("north")
        with pytest.raises(CarrierError, match=found):
            carrier.deliver("north", *here.reply("north", LETTER))
        carrier.close()


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1:1", "socks5://127.0.0.1:1", "http://", "http://[", "http://a:b"),
        *("http://..:3128", f"http://{'a' * 64}:3128", "http://\udcff:3128", "http://nurse\udcff:a@127.0.0.1:1"),
    ],
)
def test_a_proxy_that_is_none_is_an_error_of_the_environment(here: Site, url: str) -> None:
    with environment({"HTTPS_PROXY": url}):
        carrier = here.carrier("north")
        with pytest.raises(CarrierError, match="HTTPS_PROXY"):
            carrier.deliver("north", *here.reply("north", LETTER))
        carrier.close()


def test_only_a_certificate_that_is_trusted_and_for_the_host_is_taken(here: Site, tmp_path: Path) -> None:
    other, _ = save_certificate(
        tmp_path / "other", *make_certificate(["localhost"], days=5, now=datetime.now(UTC)), argument="-o"
    )
    for url, ca, found in (
        (here.url, None, "not trusted .self-signed certificate"),
        (here.url, other, "not trusted"),
        (f"https://localhost.localdomain:{here.port}", here.certificate, "cannot be found|not valid for"),
        (f"https://127.0.0.2:{here.port}", here.certificate, "cannot be reached|not valid for"),
        (f"https://[::1]:{here.port}", here.certificate, "cannot be reached|not valid for"),
        ("https://no-such-host.invalid", here.certificate, "cannot be found by its name"),
        ("https://127.0.0.1:1", here.certificate, "cannot be reached .connection refused"),
    ):
        carrier = MailboxCarrier(url, here.holders["north"], ca=ca)
        for _ in range(2):
            with pytest.raises(CarrierError, match=found):
                carrier.collect((), seconds=5)
        carrier.close()


@pytest.mark.parametrize(
    ("hosts", "age", "found"),
    [
        (["other.example"], 0, "Hostname mismatch"),
        (["localhost"], 100, "certificate has expired"),
        (["localhost"], -100, "not yet valid"),
    ],
)
def test_a_certificate_of_another_time_or_name_is_not_taken(hosts: list[str], age: int, found: str) -> None:
    with site() as here:
        here.stop()
        (here.path / "mailbox.pem").unlink()
        (here.path / "mailbox.key").unlink()
        made = make_certificate(hosts, days=30, now=datetime.now(UTC) - timedelta(days=age))
        save_certificate(here.path / "mailbox", *made, argument="-o")
        here.start()
        carrier = here.carrier("north")
        with pytest.raises(CarrierError, match=found):
            carrier.collect((), seconds=0)
        carrier.close()


def test_who_is_not_enrolled_is_told_what_to_do(here: Site) -> None:
    carrier = here.carrier("north", key=KEY)
    with pytest.raises(
        CarrierError, match="no mailbox for this holder's key; check the url; ask the analyst to enroll"
    ):
        carrier.collect((), seconds=0)
    carrier.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "analyst.example",
        "http://analyst.example",
        "ftp://localhost",
        "https://",
        "https://user@analyst.example",
        "https://analyst.example/a path",
        "https://analyst.example//",
        "https://analyst.example/?x",
        "https://analyst.example#x",
        "https://analyst.example:99999",
        "https://analyst.example:x",
        "https://[::1",
        "https://analyst.ex\u00e4mple",
        "https://a..b\r\nx",
    ],
)
def test_a_url_that_leads_to_no_mailbox_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"mailbox\.url: found .*give a URL such as https://analyst.example:8443"):
        MailboxCarrier(url, KEY)


def test_a_path_in_front_is_for_a_proxy_there_and_is_not_signed() -> None:
    with hostile(letter()) as (url, requests):
        carrier = MailboxCarrier(f"{url}/our/post/", KEY)
        assert [one.known_by for one in carrier.collect((), seconds=5)] == [NAMED]
        carrier.close()
    for request in requests:
        first, *rest = request.decode().split("\r\n")
        assert first == "POST /our/post/poll HTTP/1.1"
        headers = [(name, value) for name, _, value in (line.partition(": ") for line in rest if line)]
        assert Request.read("POST", "/poll", headers) is not None


def test_a_file_of_authorities_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("nothing")
    for path in (tmp_path / "ca", tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match=r"mailbox\.ca: .* is no file of certificates"):
            MailboxCarrier("https://localhost", KEY, ca=path)


def test_only_replies_are_handed_over() -> None:
    with pytest.raises(InternalError):
        MailboxCarrier("https://localhost", KEY).deliver("north", Letter.decode(LETTER.data).header, LETTER)


# Servers that send anything.


@contextmanager
def hostile(reply: bytes, *, drip: float = 0.0, challenge: bool = True) -> Iterator[tuple[str, list[bytes]]]:
    """Listen without TLS, and say the same to every request but the first of a connection."""
    requests: list[bytes] = []
    hello = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\npanbayes-challenge: " + FRESH.encode() + b"\r\n\r\n"

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, ValueError):
                self.speak()

        def speak(self) -> None:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = self.rfile.readline()
                    if not line:
                        return
                    head += line
                requests.append(head)
                self.rfile.read(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
                if b"panbayes-challenge" not in head and challenge:
                    self.wfile.write(hello)
                    continue
                if not drip:
                    self.wfile.write(reply)
                    return
                for number in range(10_000):
                    self.wfile.write(reply[number % len(reply) :][:1])
                    time.sleep(drip)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", requests
        finally:
            server.shutdown()


def letter(body: bytes = LETTER.data, *, named: str = NAMED, signature: str | None = None, length: str = "") -> bytes:
    line = one_line(LETTER.signature) if signature is None else signature
    head = f"panbayes-letter: {named}\r\npanbayes-signature: {line}\r\ncontent-length: {length or len(body)}\r\n\r\n"
    return f"HTTP/1.1 200 OK\r\n{head}".encode() + body


def test_the_server_of_these_tests_can_be_a_mailbox() -> None:
    with hostile(letter()) as (url, _):
        carrier = MailboxCarrier(url, KEY)
        (arrived,) = carrier.collect((), seconds=5)
        assert (arrived.known_by, arrived.letter) == (NAMED, LETTER)
        carrier.close()


HUGE = 64 * 2**20 + 1025

WRONG = {
    "nothing": b"",
    "garbage": os.urandom(1000),
    "no status": b"HTTP/1.1\r\n\r\n",
    "another protocol": b"HTTP/2 200 OK\r\ncontent-length: 0\r\n\r\n",
    "a banner": b"220 smtp.example ESMTP\r\n" * 100,
    "an endless line": b"HTTP/1.1 200 " + b"x" * 10_000_000,
    "an endless header": b"HTTP/1.1 200 OK\r\nx: " + b"x" * 10_000_000,
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 1_000_000,
    "endless continues": b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    "elsewhere": b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    "for ever": b"HTTP/1.1 308 Permanent Redirect\r\nlocation: /poll\r\ncontent-length: 0\r\n\r\n",
    "not found": b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
    "failed": b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\nno",
    "a page": b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
    "in chunks": letter().replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"),
    "no length": letter().replace(b"content-length", b"x-length"),
    "a wrong length": letter(length="-1"),
    "gigabytes": letter(b"x" * 100_000, length="99999999999"),
    "too long by one": letter(b"x" * 100_000, length=str(HUGE)),
    "cut off": letter()[:-1],
    "no name": letter(named=""),
    "a path for a name": letter(named="../1f1f1f1f1f1f-000001.question"),
    "an answer": letter(named="north/1f1f1f1f1f1f-000001.answer"),
    "what we have": letter(named="north/1f1f1f1f1f1f-000002.question"),
    "no signature": letter(signature=""),
    "a signature that is none": letter(signature="!!!"),
    "never satisfied": b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\npanbayes-challenge: nonsense\r\n\r\n",
    "a body where none belongs": b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 999999999\r\n\r\n" + b"x" * 100_000,
}


@pytest.mark.parametrize("reply", WRONG.values(), ids=WRONG)
def test_whatever_a_server_says_it_ends_in_an_error_to_wait_after(reply: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile(reply) as (url, requests):
        carrier = MailboxCarrier(url, KEY)
        with pytest.raises(CarrierError, match=r"^mailbox: 127\.0\.0\.1:\d+ [ -~]{10,200}$"):
            carrier.collect(("north/1f1f1f1f1f1f-000002.question",), seconds=20)
        with pytest.raises(CarrierError):
            carrier.deliver("north", ANSWER, LETTER)
        carrier.close()
    assert len(requests) < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


@pytest.mark.parametrize(
    "reply", [letter(), b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 1000, b"x"], ids=["letter", "headers", "garbage"]
)
def test_a_server_that_sends_a_byte_now_and_then_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, reply: bytes
) -> None:
    monkeypatch.setattr(mailbox, "_GRACE", 1.0)
    with hostile(reply, drip=0.05) as (url, _):
        carrier = MailboxCarrier(url, KEY)
        with pytest.raises(CarrierError, match="took too long"):
            carrier.deliver("north", ANSWER, LETTER)
        carrier.close()


def test_a_server_that_takes_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "_GRACE", 0.5)
    monkeypatch.setattr(mailbox, "_SLOWEST", 2**40)
    monkeypatch.setattr(mailbox, "_LARGE", 2**40)
    with socket.create_server(("127.0.0.1", 0)) as server:
        carrier = MailboxCarrier(f"http://127.0.0.1:{server.getsockname()[1]}", KEY)
        with pytest.raises(CarrierError, match="took too long"):
            carrier.collect((), seconds=0)
        with pytest.raises(CarrierError, match="took too long"):
            carrier.deliver("north", ANSWER, Letter(ANSWER, bytes(2**25)).signed_by(KEY))
        carrier.close()


def test_a_tls_handshake_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "_GRACE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        carrier = MailboxCarrier(f"https://127.0.0.1:{server.getsockname()[1]}", KEY)
        with pytest.raises(CarrierError, match="took too long"):
            carrier.deliver("north", ANSWER, LETTER)
        carrier.close()


def test_a_large_letter_is_sent_when_the_challenge_is_known_to_be_fresh(here: Site) -> None:
    carrier = here.carrier("west")
    assert carrier.collect((), seconds=0) == []
    question = here.ask("west", 1)
    (arrived,) = carrier.collect((), seconds=10)
    assert arrived.letter == question
    here.stop()
    here.start()
    header, answer = here.reply("west", question, os.urandom(2**22))
    carrier.deliver("west", header, answer)
    assert here.folder.get("from", "west", arrived.stem, "answer") == answer
    carrier.close()


def test_a_challenge_is_asked_for_once_and_again_before_a_large_letter() -> None:
    with hostile(b"HTTP/1.1 204 No Content\r\n\r\n") as (url, requests):
        carrier = MailboxCarrier(url, KEY)
        for size in (10, 10, 100_000):
            carrier.deliver("north", ANSWER, Letter(ANSWER, bytes(size)).signed_by(KEY))
        carrier.close()
    asked = [head.split(b" ")[1].decode() for head in requests if b"panbayes-challenge" not in head]
    assert asked == ["/poll", "/poll"]
    assert b"panbayes-challenge" not in requests[-2]


def test_a_connection_that_ended_meanwhile_is_made_again(here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = here.carrier("west")
    for sequence in (11, 12, 13):
        question = here.ask("west", sequence)
        carrier.deliver("west", *here.reply("west", question))
        if sequence == 11:
            here.stop()
            here.start()
        else:
            monkeypatch.setattr(mailbox, "_KEPT", 0.0)
    carrier.close()
