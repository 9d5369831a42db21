"""Requests of a holder to a mailbox: what is signed, what is taken, and that nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import LIMITS
from panbayes.consortium.post.requests import (
    CHALLENGE,
    DIGEST,
    LONGEST_POLL,
    SIZES,
    Action,
    Poll,
    Request,
    armoured,
    one_line,
)
from panbayes.consortium.post.signatures import sign, verify

KEY = PrivateKey.generate()
FRESH = "5d" * 32
ENTRY = "north/1f0c2a77b3d1-000007.question"

Headers = list[tuple[str, str]]


def sent(action: Action = "answer", challenge: str | None = FRESH, body: bytes = b"body") -> Headers:
    return list(Request.of("localhost:8443", action, challenge, body).headers(KEY).items())


@pytest.mark.parametrize("action", ["poll", "answer", "approval"])
@pytest.mark.parametrize("challenge", [FRESH, None])
def test_what_was_signed_is_read_with_the_key_that_signed_it(action: Action, challenge: str | None) -> None:
    found = Request.read("POST", f"/{action}", [*sent(action, challenge), ("accept", "*/*")])
    assert found is not None
    request, key, headers = found
    assert request == Request.of("localhost:8443", action, challenge, b"body")
    assert key == KEY.public
    assert headers["accept"] == "*/*"


def test_the_signed_text_says_everything_that_decides() -> None:
    request = Request("localhost", "answer", None, 7, "ab" * 64)
    assert request.statement().decode().splitlines() == [
        "panbayes request 1",
        "host: localhost",
        "path: /answer",
        "challenge: none",
        "length: 7",
        f"sha512: {'ab' * 64}",
    ]


def changed(name: str, value: str | None) -> Callable[[Headers], Headers]:
    def change(headers: Headers) -> Headers:
        kept = [(one, told) for one, told in headers if one != name]
        return kept if value is None else [*kept, (name, value)]

    return change


def by_another_key(headers: Headers) -> Headers:
    """Put another's key into a signature that it did not make."""
    other = Request.of("localhost:8443", "answer", FRESH, b"body").headers(PrivateKey.generate())
    own = dict(headers)["authorization"]
    return changed("authorization", other["authorization"][:80] + own[80:])(headers)


def for_a_letter(headers: Headers) -> Headers:
    statement = Request.of("localhost:8443", "answer", FRESH, b"body").statement()
    return changed("authorization", f"SSHSIG {one_line(sign(KEY, 'panbayes-answer', statement))}")(headers)


@pytest.mark.parametrize(
    "change",
    [
        changed("host", "localhost"),
        changed("host", None),
        changed("host", "a b"),
        changed(CHALLENGE, "5e" * 32),
        changed(CHALLENGE, "none"),
        changed(CHALLENGE, None),
        changed("content-length", "5"),
        changed("content-length", "04"),
        changed("content-length", "-4"),
        changed("content-length", None),
        changed("content-length", "9" * 5000),
        changed(DIGEST, "ab" * 64),
        changed(DIGEST, None),
        changed("authorization", None),
        changed("authorization", "SSHSIG "),
        changed("authorization", "SSHSIG U1NIU0lH"),
        changed("authorization", "Basic U1NIU0lH"),
        changed("authorization", "SSHSIG " + "A" * 10_000),
        changed("transfer-encoding", "chunked"),
        by_another_key,
        for_a_letter,
        lambda headers: [*headers, ("content-length", "4")],
        lambda headers: [*headers, ("host", "localhost:8443")],
    ],
)
def test_whatever_is_changed_it_is_no_request_any_more(change: Callable[[Headers], Headers]) -> None:
    assert Request.read("POST", "/answer", sent()) is not None
    assert Request.read("POST", "/answer", change(sent())) is None


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/answer"),
        ("PUT", "/answer"),
        ("post", "/answer"),
        ("POST", "/approval"),
        ("POST", "/poll"),
        ("POST", "/answer/"),
        ("POST", "/answer?"),
        ("POST", "/Answer"),
        ("POST", "/"),
        ("POST", ""),
    ],
)
def test_other_paths_and_methods_are_no_requests(method: str, target: str) -> None:
    assert Request.read(method, target, sent()) is None


@pytest.mark.parametrize("action", ["poll", "answer", "approval"])
def test_a_body_may_be_as_long_as_its_kind_allows_and_no_longer(action: Action) -> None:
    expected = {"poll": 2**20, "answer": LIMITS["answer"], "approval": LIMITS["approval"]}
    assert SIZES[action] == expected[action]
    for length, taken in ((SIZES[action], True), (SIZES[action] + 1, False)):
        request = Request("localhost", action, FRESH, length, "ab" * 64)
        found = Request.read("POST", f"/{action}", list(request.headers(KEY).items()))
        assert (found is not None) == taken


@given(st.lists(st.tuples(st.text(), st.text())), st.text(), st.text())
def test_nothing_that_comes_is_an_error(headers: Headers, method: str, target: str) -> None:
    assert Request.read(method, target, headers) is None


@given(st.sampled_from(range(len(sent()))), st.integers(0, 400), st.characters(codec="latin-1"))
def test_no_character_of_a_signed_header_can_change(which: int, place: int, character: str) -> None:
    headers = sent()
    name, value = headers[which]
    place %= len(value)
    headers[which] = (name, value[:place] + character + value[place + 1 :])
    found = Request.read("POST", "/answer", headers)
    assert (found is not None) == (headers == sent()) or (found is not None and _same_signature(headers))


def _same_signature(headers: Headers) -> bool:
    """Tell whether only bits of base64 that mean nothing have changed."""
    signature = armoured(dict(headers)["authorization"].removeprefix("SSHSIG "))
    statement = Request.of("localhost:8443", "answer", FRESH, b"body").statement()
    return signature is not None and verify(KEY.public, "panbayes-request", statement, signature)


def test_a_signature_in_one_line_gets_its_armour_back_to_the_byte() -> None:
    signature = sign(KEY, "panbayes-answer", b"answer")
    line = one_line(signature)
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", line)
    assert armoured(line) == signature


@pytest.mark.parametrize("line", ["", "a b", "a\r\nhost: evil", "é", "A" * 5000, "=", "A===", "A\n"])
def test_what_is_no_signature_gets_no_armour(line: str) -> None:
    assert armoured(line) is None


def test_polls_are_read_as_they_were_written() -> None:
    poll = Poll.of(25.9, [ENTRY, "south/1f0c2a77b3d1-000000.study"])
    assert Poll.decode(poll.encode()) == poll == Poll(25, frozenset([ENTRY, "south/1f0c2a77b3d1-000000.study"]))
    assert Poll.decode(Poll(0).encode()) == Poll(0)
    assert Poll.of(1e9, ()).seconds == LONGEST_POLL
    assert Poll.of(-3, ()).seconds == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"panbayes poll 1, 25 seconds",
        b"panbayes poll 1, 51 seconds\n",
        b"panbayes poll 1, 100 seconds\n",
        b"panbayes poll 1, -1 seconds\n",
        b"panbayes poll 2, 25 seconds\n",
        b"panbayes poll 1, 25 seconds\nnorth/1f0c2a77b3d1-000007.answer\n",
        b"panbayes poll 1, 25 seconds\n../1f0c2a77b3d1-000007.question\n",
        b"panbayes poll 1, 25 seconds\n\n",
        b"\xff\xfe",
        b"panbayes poll 1, 25 seconds\n" + b"\n" * 2**20,
    ],
)
def test_other_bytes_are_no_poll(body: bytes) -> None:
    assert Poll.decode(body) is None


def test_a_poll_names_no_more_letters_than_fit() -> None:
    have = [f"north/1f0c2a77b3d1-{number:06d}.question" for number in range(40_000)]
    poll = Poll.of(1, have)
    assert 20_000 < len(poll.have) < 40_000
    assert len(poll.encode()) <= SIZES["poll"]
    assert Poll.decode(poll.encode()) == poll
