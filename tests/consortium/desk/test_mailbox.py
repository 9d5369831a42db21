"""The mailbox as a real server with TLS: who is served, what is kept, and what everybody else is told."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from panbayes.consortium.agent.carrier import Arrived, CarrierError
from panbayes.consortium.agent.mailbox import MailboxCarrier
from panbayes.consortium.desk.doorkeeper import MOST, PATIENCE
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Letter, Signed, stem_of
from panbayes.consortium.post.requests import SIGNATURE, Action, Poll, Request, one_line
from tests.consortium.mailboxes import STUDY, Site, site
from tests.effort import soak, some

TOLD = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nConnection: close\r\n\r\n"
"""What a stranger is told."""


@pytest.fixture(scope="module")
def here() -> Iterator[Site]:
    with site() as started:
        yield started


def wire(
    here: Site,
    key: PrivateKey,
    action: Action,
    body: bytes,
    *,
    challenge: str | None = None,
    letter: Signed | None = None,
    host: str | None = None,
    more: str = "",
) -> bytes:
    """Return the bytes of a signed request."""
    headers = Request.of(host or f"localhost:{here.port}", action, challenge, body).headers(key)
    if letter is not None:
        headers[SIGNATURE] = one_line(letter.signature)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /{action} HTTP/1.1\r\n{lines}{more}\r\n".encode() + body


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def challenge_of(here: Site, key: PrivateKey) -> str:
    """Ask for the challenge as an enrolled holder does."""
    reply = here.say(wire(here, key, "poll", b"", more="connection: close\r\n"))
    assert status(reply) == 401
    return reply.partition(b"panbayes-challenge: ")[2][:64].decode()


def brought(here: Site, name: str, header: Header, letter: Signed) -> bytes:
    """Bring a letter by hand, and return the reply."""
    action: Action = "answer" if header.kind == "answer" else "approval"
    key = here.holders[name]
    challenge = challenge_of(here, key)
    more = "connection: close\r\n"
    return here.say(wire(here, key, action, letter.data, challenge=challenge, letter=letter, more=more))


def kept(here: Site) -> dict[str, tuple[bytes, int]]:
    """Return every file of the folder with its content and its time."""
    files = [path for path in here.folder.path.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def patiently(carrier: MailboxCarrier) -> list[Arrived]:
    """Collect as an agent does: errors are for later."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            found = list(carrier.collect((), seconds=5))
        except CarrierError:
            time.sleep(0.1)
            continue
        if found:
            return found
    raise AssertionError("nothing came")


def test_a_study_is_fetched_and_approved_questions_are_fetched_and_answered(here: Site) -> None:
    carrier = here.carrier("north")
    study = here.ask("north", 0, b"study", kind="study")
    (arrived,) = carrier.collect((), seconds=10)
    assert (arrived.name, arrived.kind, arrived.letter) == ("north", "study", study)
    header, approval = here.reply("north", study)
    carrier.deliver("north", header, approval)
    assert here.folder.get("from", "north", stem_of(header), "approval") == approval
    have = (arrived.known_by,)
    for sequence in (1, 2, 3):
        question = here.ask("north", sequence, os.urandom(50_000 * sequence))
        (arrived,) = carrier.collect(have, seconds=10)
        assert arrived.letter == question
        assert arrived.known_by == f"north/{STUDY[:12]}-00000{sequence}.question"
        header, answer = here.reply("north", question, os.urandom(70_000 * sequence))
        carrier.deliver("north", header, answer)
        assert here.folder.get("from", "north", stem_of(header), "answer") == answer
    assert carrier.collect(have, seconds=0) == []
    carrier.close()


def test_a_letter_that_comes_while_a_holder_waits_reaches_it_and_nobody_else(here: Site) -> None:
    north, south = here.carrier("north"), here.carrier("south")
    have = [one.known_by for one in north.collect((), seconds=0)]
    assert south.collect((), seconds=0) == []
    found: list[Arrived] = []
    thread = threading.Thread(target=lambda: found.extend(south.collect((), seconds=30)))
    thread.start()
    time.sleep(0.5)
    question = here.ask("south", 1)
    thread.join(30)
    assert [one.letter for one in found] == [question]
    assert north.collect(have, seconds=0) == []
    header, answer = here.reply("south", question)
    south.deliver("south", header, answer)
    for carrier in (north, south):
        carrier.close()


def strange_requests(here: Site) -> Iterator[bytes]:
    """Yield what strangers may send, each a connection's worth."""
    stranger, north = PrivateKey.generate(), here.holders["north"]
    fresh = challenge_of(here, north)
    header, answer = here.reply("north", here.ask("north", 90))
    poll = Poll(0).encode()
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "BREW"):
        for path in ("/", "/poll", "/answer", "/approval", "/poll/", "/robots.txt", "/../../etc/passwd", "*"):
            yield f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for path in ("poll", "answer", "approval"):
        yield f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody".encode()
        yield f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n".encode()
        yield f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n".encode()
        yield (
            f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nabc".encode()
        )
        yield f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n".encode()
        yield (
            f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
    yield b"GET / HTTP/1.0\r\n\r\n"
    yield b"GET / HTTP/9.9\r\n\r\n"
    yield b"GET / HTTP/1.1\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + os.urandom(100) + b"\r\n\r\n"
    yield b"\r\n\r\nnothing\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"
    yield b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50
    # Well signed, by nobody who is enrolled.
    for challenge in (None, fresh, "ab" * 32):
        yield wire(here, stranger, "poll", poll, challenge=challenge)
        yield wire(here, stranger, "poll", b"", challenge=challenge)
        yield wire(here, stranger, "answer", answer.data, challenge=challenge, letter=answer)
    # A holder's, but for something.
    good = wire(here, north, "poll", poll, challenge=fresh)
    yield good.replace(b"POST /poll", b"GET /poll")
    yield good.replace(b"POST /poll", b"POST /answer")
    yield good.replace(b"POST /poll", b"POST /poll?x=1")
    yield good.replace(b"POST /poll", b"POST https://localhost/poll")
    yield good.replace(fresh.encode(), b"ab" * 32)
    yield good.replace(b"SSHSIG ", b"SSHSIG A")
    yield good.replace(b"content-length: ", b"content-length: 1")
    yield good.replace(b"panbayes-sha512: ", b"panbayes-sha512: 00")
    yield wire(here, north, "poll", poll, challenge=fresh, host="other.example")
    yield wire(here, north, "poll", poll, challenge=fresh, host=f"sub.localhost:{here.port}")
    # Signed by a holder, but not what was signed.
    yield wire(here, north, "poll", poll, challenge=fresh)[:-1] + b"!"
    yield wire(here, north, "poll", b"panbayes poll 9", challenge=fresh)
    yield wire(here, north, "poll", b"", challenge=fresh)
    yield wire(here, north, "answer", answer.data, challenge=fresh)
    forged = Signed(answer.data, Letter(header, b"answer").signed_by(here.holders["south"]).signature)
    yield wire(here, north, "answer", answer.data, challenge=fresh, letter=forged)
    yield wire(here, north, "approval", answer.data, challenge=fresh, letter=answer)
    yield wire(here, here.holders["south"], "answer", answer.data, challenge=fresh, letter=answer)


def test_strangers_are_all_told_the_same_and_nothing_changes(here: Site) -> None:
    requests = list(strange_requests(here))
    before = kept(here)
    assert {here.say(request) for request in requests} == {TOLD}
    assert len(requests) > 120
    assert kept(here) == before
    header, answer = here.reply("north", here.ask("north", 90))
    assert status(brought(here, "north", header, answer)) == 204


@pytest.mark.parametrize("challenge", [None, "ab" * 32])
def test_an_enrolled_holder_without_a_fresh_challenge_is_told_one_and_nothing_else_happens(
    here: Site, challenge: str | None
) -> None:
    question = here.ask("west", 1)
    header, answer = here.reply("west", question)
    before = kept(here)
    key = here.holders["west"]
    reply = here.say(
        wire(here, key, "answer", answer.data, challenge=challenge, letter=answer, more="connection: close\r\n")
    )
    assert status(reply) == 401
    told = reply.partition(b"panbayes-challenge: ")[2][:64].decode()
    assert kept(here) == before
    reply = here.say(
        wire(here, key, "answer", answer.data, challenge=told, letter=answer, more="connection: close\r\n")
    )
    assert status(reply) == 204
    assert here.folder.get("from", "west", stem_of(header), "answer") == answer


def test_what_is_sent_again_changes_nothing_and_the_first_answer_stays(here: Site) -> None:
    question = here.ask("west", 2)
    _, answer = here.reply("west", question)
    request = wire(
        here,
        here.holders["west"],
        "answer",
        answer.data,
        challenge=challenge_of(here, here.holders["west"]),
        letter=answer,
        more="connection: close\r\n",
    )
    assert status(here.say(request)) == 204
    before = kept(here)
    for _ in range(3):
        assert status(here.say(request)) == 204
        assert status(brought(here, "west", *here.reply("west", question, b"sealed once more"))) == 204
    assert kept(here) == before


def test_a_reply_to_nothing_is_not_kept(here: Site) -> None:
    question = here.ask("west", 3)
    header, answer = here.reply("west", question)
    here.ask("west", 3, b"another question under the same name")
    before = kept(here)
    assert status(brought(here, "west", header, answer)) == 409
    carrier = here.carrier("west")
    carrier.deliver("west", header, answer)
    carrier.close()
    assert kept(here) == before


def test_a_body_that_is_not_the_one_that_was_signed_is_not_kept(here: Site) -> None:
    question = here.ask("west", 4)
    _, answer = here.reply("west", question)
    key = here.holders["west"]
    good = wire(here, key, "answer", answer.data, challenge=challenge_of(here, key), letter=answer)
    before = kept(here)
    assert status(here.say(good.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")[:-1] + b"!")) == 409
    with here.connect() as connection:
        connection.sendall(good[:-1])
    time.sleep(0.5)
    assert kept(here) == before


def test_a_second_poll_of_the_same_holder_ends_the_first(here: Site) -> None:
    key = here.enroll("east")
    challenge = challenge_of(here, key)
    poll = wire(here, key, "poll", Poll(50).encode(), challenge=challenge)
    with here.connect() as first, here.connect() as second:
        first.sendall(poll)
        first.settimeout(1)
        with pytest.raises(TimeoutError):
            first.recv(1)
        second.sendall(poll)
        first.settimeout(20)
        assert status(first.recv(1000)) == 204
        question = here.ask("east", 1)
        second.settimeout(20)
        reply = b""
        while not reply.endswith(question.data):
            piece = second.recv(10_000)
            assert piece
            reply += piece
        assert status(reply) == 200


def test_a_roster_that_changes_is_read_again(here: Site) -> None:
    late = here.enroll("late")
    assert challenge_of(here, late)
    new = here.enroll("late")
    assert here.say(wire(here, late, "poll", b"")) == TOLD
    assert challenge_of(here, new)
    roster = here.path / "roster"
    text = roster.read_text()
    roster.write_text("late ssh-ed25519 broken\n")
    assert challenge_of(here, new)
    roster.write_text(text)
    assert challenge_of(here, new)
    assert "cannot be read, the last one stays" in here.log.read_text()


def test_a_key_that_is_replaced_while_it_waits_gets_no_letter_any_more(here: Site) -> None:
    """And brings none: the one it began to bring before is not taken."""
    old = here.enroll("moved")
    challenge = challenge_of(here, old)
    question = here.ask("moved", 1)
    _, reply = here.reply("moved", question)
    head, body = wire(here, old, "answer", reply.data, challenge=challenge, letter=reply).split(b"\r\n\r\n", 1)
    (here.folder.path / "to-moved").rename(here.folder.path / "aside")
    with here.connect() as polling, here.connect() as bringing:
        polling.sendall(wire(here, old, "poll", Poll.of(20, []).encode(), challenge=challenge))
        bringing.sendall(head + b"\r\n\r\n" + body[:5])
        time.sleep(1.0)
        here.enroll("moved")
        (here.folder.path / "aside").rename(here.folder.path / "to-moved")
        bringing.sendall(body[5:])
        assert polling.recv(65_536).startswith(b"HTTP/1.1 204 ")
        assert bringing.recv(65_536).startswith(b"HTTP/1.1 409 ")
    assert here.folder.stems("from", "moved", "answer") == []


def test_letters_that_are_none_do_not_stop_the_others(here: Site) -> None:
    key = here.enroll("rough")
    folder = here.folder.path / "to-rough"
    folder.mkdir()
    (folder / f"{STUDY[:12]}-000001.question").write_bytes(b"garbage")
    (folder / f"{STUDY[:12]}-000001.question.sig").write_bytes(b"x\nx\r\nevil: 1\nx\n")
    question = here.ask("rough", 2)
    carrier = here.carrier("rough", key=key)
    assert [one.letter for one in carrier.collect((), seconds=10)] == [question]
    carrier.close()


def test_letters_of_the_largest_kinds_pass_without_taking_memory(here: Site) -> None:
    carrier = here.carrier("large", key=here.enroll("large"))
    question = here.ask("large", 5, os.urandom(60 * 2**20))
    before = here.memory("VmHWM")
    assert [one.letter for one in patiently(carrier)] == [question]
    header, answer = here.reply("large", question, os.urandom(100 * 2**20))
    carrier.deliver("large", header, answer)
    assert here.folder.get("from", "large", stem_of(header), "answer") == answer
    assert here.memory("VmHWM") - before < 20 * 2**20
    carrier.close()


def test_what_a_stranger_sends_after_its_head_is_not_read(here: Site) -> None:
    before, sent = here.memory("VmHWM"), 0
    with here.connect() as connection:
        connection.sendall(b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 419430400\r\n\r\n")
        piece = bytes(65_536)
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            while sent < 419_430_400:
                connection.sendall(piece)
                sent += len(piece)
    assert sent < 16 * 2**20
    assert here.memory("VmHWM") - before < 10 * 2**20


def test_strangers_are_told_also_when_they_send_on(here: Site) -> None:
    head = b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150000\r\n\r\n"
    assert {here.say(head + bytes(150_000)) for _ in range(30)} == {TOLD}


def test_there_are_so_many_strangers_and_no_more(here: Site) -> None:
    assert here.process is not None
    files = Path(f"/proc/{here.process.pid}/fd")
    before = len(list(files.iterdir()))
    waiting = [socket.create_connection(("127.0.0.1", here.port), timeout=30) for _ in range(400)]
    # Those who came first are let go for the others, long before their time is over.
    for connection in waiting[: 400 - MOST]:
        connection.settimeout(PATIENCE - 3)
        with suppress(ConnectionError):
            assert connection.recv(1) == b""
    assert len(list(files.iterdir())) - before <= MOST + 20
    for connection in waiting:
        connection.close()


@pytest.mark.parametrize("hard", [80, 400])
def test_where_few_files_may_be_open_strangers_leave_room_for_holders(hard: int) -> None:
    with site(files=(80, hard)) as few:
        assert few.process is not None
        few.ask("north", 1)
        files = Path(f"/proc/{few.process.pid}/fd")
        before = len(list(files.iterdir()))
        waiting = [socket.create_connection(("127.0.0.1", few.port), timeout=30) for _ in range(120)]
        for connection in waiting[: 120 - hard // 4]:
            connection.settimeout(PATIENCE - 3)  # Long before their time is over, as above.
            with suppress(ConnectionError):
                assert connection.recv(1) == b""
        # All who came have been let in by now, and as many stay as leave room for others.
        carrier = few.carrier("north")
        assert [one.stem[-6:] for one in carrier.collect([], seconds=PATIENCE)] == ["000001"]
        assert len(list(files.iterdir())) - before <= hard // 4 + 10
        carrier.close()
        for connection in waiting:
            connection.close()


@soak
def test_a_flood_of_strangers_takes_bounded_memory_and_holders_are_served(here: Site) -> None:
    carrier = here.carrier("steady", key=here.enroll("steady"))
    stranger = PrivateKey.generate()
    request = wire(here, stranger, "poll", Poll(50).encode(), challenge="ab" * 32)
    told: list[bytes] = []

    def flood() -> None:
        told.extend(here.say(request) for _ in range(250))

    before = here.memory("VmHWM")
    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    for sequence in range(50, 60):
        question = here.ask("steady", sequence)
        (arrived,) = patiently(carrier)
        assert arrived.letter == question
        carrier.deliver("steady", *here.reply("steady", question))
    for thread in threads:
        thread.join(120)
    assert told == [TOLD] * 2000
    assert here.memory("VmHWM") - before < 60 * 2**20
    carrier.close()


@soak
def test_those_who_connect_and_say_nothing_are_let_go_and_holders_get_in(here: Site) -> None:
    def half(kind: int) -> socket.socket:
        if kind % 3 == 0:
            return socket.create_connection(("127.0.0.1", here.port), timeout=30)
        connection = here.connect()
        if kind % 3 == 1:
            connection.sendall(b"POST /poll HTTP/1.1\r\nHost: local")
        return connection

    before = here.memory("VmHWM")
    waiting = [half(kind) for kind in range(400)]
    carrier = here.carrier("between", key=here.enroll("between"))
    question = here.ask("between", 70)
    assert [one.letter for one in patiently(carrier)] == [question]
    carrier.deliver("between", *here.reply("between", question))
    assert here.memory("VmHWM") - before < 150 * 2**20
    ended = 0
    until = time.monotonic() + 30
    for connection in waiting:
        connection.settimeout(max(0.01, until - time.monotonic()))
        try:
            ended += connection.recv(1) == b""
        except (ConnectionError, ssl.SSLError):
            ended += 1
        except TimeoutError:
            pass
        connection.close()
    assert ended == 400
    carrier.close()


def test_one_holder_has_few_connections(here: Site) -> None:
    key = here.enroll("many")
    request = wire(here, key, "poll", b"")
    connections = [here.connect() for _ in range(10)]
    for connection in connections:
        connection.sendall(request)
        assert status(connection.recv(1000)) == 401
    ended = 0
    for connection in connections:
        connection.settimeout(1)
        try:
            ended += connection.recv(1) == b""
        except (ConnectionError, ssl.SSLError):
            ended += 1
        except TimeoutError:
            pass
        connection.close()
    assert ended == 6


@pytest.mark.parametrize("number", some([signal.SIGTERM, signal.SIGKILL], 1))
def test_a_server_that_ends_in_the_middle_and_comes_back_has_lost_nothing(number: int) -> None:
    with site() as here:
        carrier = here.carrier("north")
        assert carrier.collect((), seconds=0) == []
        first = here.ask("north", 1)
        assert [one.letter for one in carrier.collect((), seconds=10)] == [first]
        header, answer = here.reply("north", first)
        time.sleep(0.2)
        assert here.stop(number) == (0 if number == signal.SIGTERM else -9)
        with pytest.raises(CarrierError, match="cannot be reached"):
            carrier.deliver("north", header, answer)
        second = here.ask("north", 2)
        here.start()
        carrier.deliver("north", header, answer)
        assert here.folder.get("from", "north", stem_of(header), "answer") == answer
        assert [one.letter for one in patiently(carrier)] == [second]
        carrier.close()
        assert here.stop() == 0
        assert "internal error" not in here.log.read_text()
        assert "Traceback" not in here.log.read_text()


def test_without_tls_it_serves_this_machine_alone() -> None:
    with site(tls=False) as here:
        carrier = here.carrier("north")
        question = here.ask("north", 1)
        assert [one.letter for one in carrier.collect((), seconds=10)] == [question]
        carrier.close()
        assert here.say(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == TOLD


def test_old_versions_of_tls_are_not_spoken(here: Site) -> None:
    for version in ("-tls1", "-tls1_1"):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{here.port}", version, "-cipher", "ALL:@SECLEVEL=0"],
            input=b"",
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert b"Cipher is (NONE)" in done.stdout or done.returncode
    with here.connect() as connection:
        assert isinstance(connection, ssl.SSLSocket)
        assert connection.version() in ("TLSv1.2", "TLSv1.3")


def test_nothing_is_said_about_bugs_or_addresses_in_the_log(here: Site) -> None:
    log = here.log.read_text()
    assert "internal error" not in log
    assert "Traceback" not in log
    first, *rest = log.splitlines()
    assert not [line for line in rest if "127.0.0.1" in line]
    assert Path(str(here.folder.path)).name in first
