"""Everything that reads bytes of another institution, and many slightly wrong bytes for it.

A reader takes bytes and returns the bytes that it would write for what it found, None where it found nothing. It raises
nothing but what it declares. Whatever it does find it would write the same way, so that nothing has two writings.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.study_letters import NotArrivedError, read_study_letter
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.post.bodies import (
    Approval,
    OfficerSignature,
    StudyBody,
    approval_statement,
    decode_approval,
    decode_study,
    encode,
)
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.letters import KINDS, Header, Kind, Letter, LetterError, Signed
from panbayes.consortium.post.requests import ACTIONS, CHALLENGE, Poll, Request
from panbayes.consortium.post.sealing import open_sealed, seal, sealing_key
from panbayes.consortium.post.signatures import sign, signer, verify
from panbayes.consortium.protocol import codec
from panbayes.consortium.protocol.codec import MalformedError, decode_question, decode_reply
from panbayes.errors import InputError
from panbayes.schema.schema import Schema
from tests.consortium.protocol import examples
from tests.consortium.protocol.mutation import WORDS, mutations
from tests.institutions.parties import SCHEMA, Terms, holder_file, key_of, save

__all__ = ["Reader", "fuzz", "readers"]

TEXT = (
    b"\n", b"\r\n", b"\0", b" ", b"\t", b"\n\n", b"\xff", b"\xc3\x28", "\u2028".encode(), "\u0661".encode(),
    b'"', b"\\", b"=", b"[[" * 200,
    b"kind: answer\n", b"sealed: yes\n", b"00", b"999999999999", b"-1", b"1e400", b"none", b"../", b"%2e%2e",
    b'{"a":' * 200, b"[[attributes]]\n", b"-----END SSH SIGNATURE-----", b"-----BEGIN SSH SIGNATURE-----\n",
    b"ssh-ed25519 ", b'valid-before="20270101"', b"AAAA", b"\x1b[2J", b"name = ", b"true", b"inf", b"nan",
)  # fmt: skip
"""What makes a difference in texts."""

SECONDS = 5.0
"""More than any one message may take of the processor, by three orders of magnitude."""

STUDY = "1f" * 32
ANALYST, NORTH = (key_of(name) for name in ("analyst", "north"))


@dataclass(frozen=True)
class Reader:
    """A reader, whole messages to begin with, and what their mutations are made with."""

    name: str
    seeds: Sequence[bytes]
    read: Callable[[bytes], bytes | None]
    words: Sequence[bytes] = TEXT
    canonical: bool = True
    """Whether what is read must be written as it came; if not, reading what was written gives the same again."""


def _header(kind: Kind) -> Header:
    replied = "ab" * 32 if kind in ("approval", "answer") else None
    number, sequence = (3, 7) if kind in ("question", "answer") else (0, 0)
    return Header(kind, STUDY, ANALYST.public.fingerprint, NORTH.public.fingerprint, number, sequence, replied)


def _letter(data: bytes) -> bytes | None:
    with suppress(LetterError):
        return Letter.decode(data).encode()
    return None


def _signed_letter(data: bytes) -> bytes | None:
    """Open bytes that an analyst signed as a question, whatever they are."""
    signed = Signed(data, sign(ANALYST, "panbayes-question", data))
    assert all(signed.open(ANALYST.public, kind) is None for kind in KINDS if kind != "question")
    found = signed.open(ANALYST.public, "question")
    assert found is None or found.header.kind == "question"
    return None if found is None else found.encode()


def _signature(data: bytes) -> bytes | None:
    """Verify a signature: what is inside the armour is the one that there is, however the armour is wrapped."""
    text, whole = data.decode(errors="replace"), sign(NORTH, "panbayes-answer", b"letter")
    if not verify(NORTH.public, "panbayes-answer", b"letter", text):
        return None
    assert signer(text) == NORTH.public
    assert base64.b64decode("".join(text.split()[3:-3])) == base64.b64decode("".join(whole.split()[3:-3]))
    return whole.encode()


def _study_body(data: bytes) -> bytes | None:
    with suppress(LetterError):
        return encode(decode_study(data))
    return None


def _approval(data: bytes) -> bytes | None:
    with suppress(LetterError):
        return encode(decode_approval(data))
    return None


def _question(data: bytes) -> bytes | None:
    with suppress(MalformedError):
        return codec.encode(decode_question(data))
    return None


def _reply(data: bytes) -> bytes | None:
    with suppress(MalformedError):
        return codec.encode(decode_reply(data))
    return None


def _key(data: bytes) -> bytes | None:
    with suppress(InputError):
        return PublicKey.parse(data.decode(errors="replace"), argument="KEY").line.encode()
    return None


def _roster(data: bytes) -> bytes | None:
    with suppress(InputError):
        return Roster.parse(data.decode(errors="replace")).text.encode()
    return None


def _poll(data: bytes) -> bytes | None:
    found = Poll.decode(data)
    return None if found is None else found.encode()


def _sealed(data: bytes) -> bytes | None:
    with suppress(LetterError):
        assert open_sealed(data, ANALYST, header=b"header") == b"body" * 9
        return data
    return None


def _request(data: bytes) -> bytes | None:
    """Read a request: its first line, then its headers, as a server hands them over."""
    first, *lines = data.decode("latin-1").split("\n")
    method, _, target = first.partition(" ")
    headers = [(name.lower(), value) for name, _, value in (line.partition(": ") for line in lines)]
    found = Request.read(method, target, headers)
    if found is None:
        return None
    request, key, named = found
    assert key == NORTH.public, "nobody else has signed anything"
    own = request.headers(NORTH)
    signed = {name: value for name, value in own.items() if name != "authorization"}
    assert signed.items() <= named.items(), "something of it is not what was signed"
    return _written(f"/{request.action}", own)


def _written(target: str, headers: dict[str, str]) -> bytes:
    return "\n".join((f"POST {target}", *(f"{name}: {value}" for name, value in headers.items()))).encode("latin-1")


def _requests() -> list[bytes]:
    found = []
    for action in ACTIONS:
        for challenge in (None, "5d" * 32):
            request = Request.of("localhost:8443", action, challenge, b"body")
            found.append(_written(f"/{action}", request.headers(NORTH)))
    assert CHALLENGE.encode() in found[1]
    return found


def _of_studies() -> tuple[StudyBody, ...]:
    keys = {"north": NORTH.public.line, "south": key_of("south").public.line}
    texts = (
        Terms().study(),
        Terms("adaptive", lines='delta = 1e-9\n[about]\npurpose = "Why?"\nuntil = "2027-03-01"\n').study(),
    )
    return tuple(
        StudyBody(study, schema, keys, ANALYST.public.line, sealing)
        for study, schema, sealing in zip(texts, (SCHEMA, SCHEMA), ("", sealing_key(ANALYST)), strict=True)
    )


def _approvals() -> list[bytes]:
    statement = approval_statement(
        study=STUDY,
        name="box",
        grant="ε = 1",
        until=None,
        analyst=ANALYST.public.fingerprint,
        holder=NORTH.public.fingerprint,
        letter=b"letter",
    )
    officer = key_of("officer of north")
    signed = OfficerSignature(officer.public.line, sign(officer, "panbayes-approval", statement.encode()))
    return [encode(Approval(statement, (signed,))), encode(Approval(statement, (signed, signed)))]


def studies_of(folder: Path) -> Reader:
    """Read studies that an analyst of the holder's file has signed: the texts of a study and of its schema."""
    save(folder, "north")
    (folder / "holder.toml").write_text(holder_file("north", Terms(), "http://localhost:1"))
    holder = HolderFile.load(folder / "holder.toml")
    sample = _of_studies()[1]

    def read(data: bytes) -> bytes | None:
        study, _, schema = data.decode(errors="replace").partition("\x1e")
        body = encode(StudyBody(study, schema, sample.holders, sample.analyst, sample.sealing))
        with suppress(InputError, NotArrivedError):
            number = Study.parse(study, schema=Schema.parse(schema, source="schema"), source="study").hash
            letter = Letter(Header("study", number, ANALYST.public.fingerprint, NORTH.public.fingerprint), body)
            found = read_study_letter(letter.signed_by(ANALYST), holder)
            assert (found.study.hash, encode(found.body)) == (number, body)
            return f"{study}\x1e{schema}".encode()
        return None

    texts = [f"{one.study}\x1e{one.schema}".encode() for one in _of_studies()]
    return Reader("studies", texts, read, canonical=False)


def readers(folder: Path) -> list[Reader]:
    """Return every reader; the holder's file of one lies in ``folder``."""
    bodies = [encode(one) for one in _of_studies()]
    letters = [Letter(_header(kind), b"\0body\n" * 5).encode() for kind in KINDS]
    north, south = NORTH.public.line, key_of("south").public.line
    rosters = (
        f'north namespaces="panbayes-answer,panbayes-approval",valid-before="20270101" {north}\n'
        f"# comment\nsouth {south}\n",
        f'north valid-after="20270101120000Z" {north}\n\nother@example.org ssh-rsa AAAA\n',
    )
    return [
        Reader("letters", letters, _letter),
        Reader("signed letters", [letters[KINDS.index("question")]], _signed_letter),
        Reader("signatures", [sign(NORTH, "panbayes-answer", b"letter").encode()], _signature, canonical=False),
        Reader("study bodies", bodies, _study_body),
        Reader("approvals", _approvals(), _approval),
        Reader("questions", [codec.encode(one) for one in examples.QUESTIONS.values()], _question, WORDS),
        Reader("replies", [codec.encode(one) for one in examples.REPLIES.values()], _reply, WORDS),
        Reader("keys", [north.encode(), f"{south} a comment".encode()], _key, canonical=False),
        Reader("rosters", [text.encode() for text in rosters], _roster, canonical=False),
        Reader("polls", [Poll.of(30, ["north/1f0c2a77b3d1-000007.question"]).encode()], _poll, canonical=False),
        Reader("requests", _requests(), _request, canonical=False),
        Reader("sealed bodies", [seal(b"body" * 9, to=sealing_key(ANALYST), header=b"header")], _sealed, WORDS),
        studies_of(folder),
    ]


def fuzz(reader: Reader, count: int, *, seed: int) -> int:
    """Let a reader read so many mutations; return how many of them it took for something."""
    found, whole = 0, set(reader.seeds)
    for data in mutations(reader.seeds, count, seed=seed, words=reader.words):
        start = time.process_time()
        written = reader.read(data)
        spent = time.process_time() - start
        assert spent < SECONDS, f"{reader.name}: {spent:.1f} s for {data[:200]!r}"
        if written is None:
            assert data not in whole, f"{reader.name}: refused a whole message"
            continue
        found += data not in whole
        assert not reader.canonical or written == data, f"{reader.name}: {data!r} is written {written!r}"
        assert reader.read(written) == written, f"{reader.name}: {data!r} is written {written!r}, which is another"
    return found
