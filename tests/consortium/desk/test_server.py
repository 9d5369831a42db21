"""The mailbox as a server: what it is known by without TLS, and what of a body it lets in."""

from __future__ import annotations

from pathlib import Path

import pytest

from panbayes.consortium.desk.bounds import answer_bound
from panbayes.consortium.desk.learning import AwaitedError, learn_by_letters
from panbayes.consortium.desk.server import _Loopback
from panbayes.consortium.post.letters import Letter, Signed
from panbayes.consortium.protocol.codec import decode_question
from tests.consortium.desk.desks import INDEPENDENT
from tests.consortium.desk.test_mailbox import TOLD, brought, challenge_of, status, wire
from tests.consortium.mailboxes import Site, site


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("LOCALHOST:8443", True),
        ("localhost.:8443", True),
        ("127.0.0.1:8443", True),
        ("127.1.2.3", True),
        ("[::1]:8443", True),
        ("mailbox.example", True),
        ("Mailbox.Example:443", True),
        ("evil.example:8443", False),
        ("localhost.evil.example:8443", False),
        ("127.0.0.1.evil.example", False),
        ("192.0.2.7", False),
        ("[2001:db8::1]", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_which_hosts_are_its_own(host: str, own: bool) -> None:
    assert _Loopback(["Mailbox.Example"]).is_for(host) is own


def asked(here: Site, host: str) -> bytes:
    key = here.holders["north"]
    return here.say(wire(here, key, "poll", b"", host=host, more="connection: close\r\n"))


def test_a_request_for_another_host_is_a_stranger_s() -> None:
    """Also an enrolled holder's, with a right signature over that host: its name may lead anywhere."""
    with site(tls=False, more=("--known-as", "mailbox.example")) as here:
        assert challenge_of(here, here.holders["north"])
        for host in (f"127.0.0.1:{here.port}", "mailbox.example"):
            assert status(asked(here, host)) == 401, "a holder is told the challenge"
        for host in (f"evil.example:{here.port}", "localhost.evil.example"):
            assert asked(here, host) == TOLD


def test_a_body_comes_in_by_its_head_and_is_no_larger_than_its_answer_can_be(tmp_path: Path) -> None:
    """Of one that is too large, or replies to nothing, little is read, nothing is kept, and the holder is served on."""
    with site(tls=False) as here:
        north = here.holders["north"]
        with pytest.raises(AwaitedError):
            learn_by_letters(
                INDEPENDENT,
                {"north": north.public},
                key=here.analyst,
                folder=here.folder,
                state=tmp_path,
                tell=pytest.fail,
            )
        (stem,) = here.folder.stems("to", "north", "question")
        question = here.folder.get("to", "north", stem, "question")
        assert question is not None
        query = decode_question(Letter.decode(question.data).body).query
        most = answer_bound(query, INDEPENDENT.schema.sizes)
        assert most < 10_000
        header, _ = here.reply("north", question)
        around = len(Letter(header, b"").encode())

        def sent(letter: Signed, *, part: int) -> bytes:
            """Send the head of a request and so much of its body, and wait for what is told or for the end."""
            challenge = challenge_of(here, north)
            data = wire(here, north, "answer", letter.data, challenge=challenge, letter=letter)
            return here.say(data[: len(data) - len(letter.data) + part])

        def uploads() -> list[str]:
            return [path.name for path in here.folder.path.rglob("from-north/*")]

        gigantic = Letter(header, bytes(40 * 2**20)).signed_by(north)
        assert sent(gigantic, part=2000) == b"", "it is cut off before the body has come"
        assert uploads() == []
        large = Letter(header, bytes(most - around + 1)).signed_by(north)
        assert sent(large, part=2000) == b""
        assert uploads() == []
        other, stale = here.reply("north", Signed(question.data + b" ", question.signature), bytes(100_000))
        assert status(brought(here, "north", other, stale)) == 409, "who replies to another letter hears so"
        assert uploads() == []
        largest = Letter(header, bytes(most - around)).signed_by(north)
        assert status(brought(here, "north", header, largest)) == 204
        assert sorted(uploads()) == [f"{stem}.answer", f"{stem}.answer.sig"]
