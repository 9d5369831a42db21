"""A letter has one writing, and is what its key, kind and header say, or nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from panbayes.consortium.post.bodies import (
    Approval,
    OfficerSignature,
    StudyBody,
    approval_statement,
    decode_approval,
    decode_study,
    encode,
)
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import (
    AROUND_BYTES,
    KINDS,
    LIMITS,
    Header,
    Kind,
    Letter,
    LetterError,
    Signed,
    stem_of,
)
from panbayes.consortium.post.sealing import open_sealed, seal, sealing_key
from panbayes.consortium.post.signatures import sign

ANALYST = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
NORTH = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
STUDY = "1f" * 32
QUESTION = Header("question", STUDY, ANALYST.public.fingerprint, NORTH.public.fingerprint, 3, 7)
ANSWER = replace(QUESTION, kind="answer", replies_to="ab" * 32)

GOLDEN = b"""panbayes letter 1
kind: answer
study: 1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f
analyst: %b
holder: %b
round: 3
sequence: 7
replies-to: abababababababababababababababababababababababababababababababab
sealed: no

\x00body\n""" % (ANALYST.public.fingerprint.encode(), NORTH.public.fingerprint.encode())


def test_a_letter_is_written_as_it_always_was() -> None:
    letter = Letter(ANSWER, b"\x00body\n")
    assert letter.encode() == GOLDEN
    assert Letter.decode(GOLDEN) == letter


@given(st.sampled_from(KINDS), st.integers(0, 999_999_999), st.integers(0, 999_999_999), st.booleans(), st.binary())
def test_every_letter_is_read_as_it_was_written(
    kind: Kind, number: int, sequence: int, sealed: bool, body: bytes
) -> None:
    replied = "0c" * 32 if kind in ("approval", "answer") else None
    letter = Letter(Header(kind, STUDY, QUESTION.analyst, QUESTION.holder, number, sequence, replied, sealed), body)
    assert Letter.decode(letter.encode()) == letter


def test_no_change_of_a_header_is_another_writing_of_the_same_letter() -> None:
    """Whatever is read is written again as the same bytes: there are no two writings of one letter."""
    rng = np.random.default_rng(7)
    read = 0
    for _ in range(20_000):
        data = bytearray(GOLDEN)
        for _ in range(int(rng.choice((1, 1, 2)))):
            place = int(rng.integers(len(data)))
            match int(rng.integers(3)):
                case 0:
                    data[place] = int(rng.integers(256))
                case 1:
                    del data[place]
                case _:
                    data.insert(place, int(rng.choice(list(b"0 \n:+SHA256"))))
        try:
            letter = Letter.decode(bytes(data))
        except LetterError:
            continue
        read += 1
        assert letter.encode() == bytes(data)
    assert read > 100


@pytest.mark.parametrize(
    "wrong",
    [
        {"study": "1F" * 32},
        {"study": "1f" * 31},
        {"analyst": "MD5:" + "A" * 43},
        {"holder": "SHA256:" + "A" * 42},
        {"round": -1},
        {"round": 10**9},
        {"sequence": 10**9},
        {"replies_to": "AB" * 32},
        {"replies_to": None},
        {"kind": "question"},
        {"kind": "letter"},
        {"holder": "SHA256:" + "A" * 43 + "\nround: 9"},
    ],
)
def test_a_header_that_none_can_be_is_not_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(LetterError):
        replace(ANSWER, **wrong)


def test_a_letter_opens_by_its_signer_as_its_own_kind_only() -> None:
    letter = Letter(QUESTION, b"body")
    signed = letter.signed_by(ANALYST)
    assert signed.open(ANALYST.public, "question") == letter
    assert signed.open(NORTH.public, "question") is None
    assert [signed.open(ANALYST.public, kind) for kind in KINDS if kind != "question"] == [None] * 3
    assert Signed(signed.data + b"x", signed.signature).open(ANALYST.public, "question") is None
    assert signed.digest == hashlib.sha256(letter.encode()).hexdigest()


def test_a_letter_of_one_kind_signed_as_another_is_none() -> None:
    """The namespace and the header must both say the kind."""
    data = Letter(QUESTION, b"body").encode()
    signature = Letter(ANSWER, b"body").signed_by(ANALYST).signature
    assert Signed(data, signature).open(ANALYST.public, "question") is None
    assert Signed(data, sign(ANALYST, "panbayes-answer", data)).open(ANALYST.public, "answer") is None
    assert Signed(b"no letter", sign(ANALYST, "panbayes-answer", b"no letter")).open(ANALYST.public, "answer") is None


def test_a_letter_larger_than_its_kind_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = Letter(QUESTION, b"body").signed_by(ANALYST)
    monkeypatch.setitem(LIMITS, "question", len(signed.data))
    assert signed.open(ANALYST.public, "question") is not None
    monkeypatch.setitem(LIMITS, "question", len(signed.data) - 1)
    assert signed.open(ANALYST.public, "question") is None


def test_letters_of_one_study_and_holder_have_names_of_their_own() -> None:
    assert stem_of(QUESTION) == stem_of(ANSWER) == "1f1f1f1f1f1f-000007"
    assert stem_of(replace(QUESTION, sequence=1_234_567)) == "1f1f1f1f1f1f-1234567"


STUDY_BODY = StudyBody("version = 1\n", "name = 'é'\n", {"north": NORTH.public.line}, ANALYST.public.line, "0" * 64)
APPROVAL = Approval("statement\n", (OfficerSignature(NORTH.public.line, "sig"),))


def test_bodies_are_read_as_they_were_written() -> None:
    assert decode_study(encode(STUDY_BODY)) == STUDY_BODY
    assert decode_approval(encode(APPROVAL)) == APPROVAL


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        encode(APPROVAL),
        encode(STUDY_BODY)[:-1],
        encode(STUDY_BODY).replace(b'"study"', b'"study":"x","study"'),
        encode(STUDY_BODY).replace(b'"north"', b'"../north"'),
        encode(STUDY_BODY).replace(b'"north"', b'"."'),
        encode(STUDY_BODY).replace(b"ssh-ed25519", b"ssh-rsa"),
        encode(STUDY_BODY).replace(b'"study"', b'"more":1,"study"'),
    ],
)
def test_bodies_that_say_anything_else_are_refused(data: bytes) -> None:
    with pytest.raises(LetterError):
        decode_study(data)


def test_a_statement_is_one_text_that_no_name_can_break() -> None:
    said: dict[str, Any] = {
        "study": STUDY,
        "grant": "ε = 1",
        "until": None,
        "analyst": ANALYST.public.fingerprint,
        "holder": NORTH.public.fingerprint,
        "letter": b"letter",
    }
    text = approval_statement(name="clinics\nmay spend: ε = 100", **said)
    assert text.split("\n") == [
        "panbayes approval 1",
        f"study: {STUDY}",
        "name: clinics may spend: ε = 100",
        "may spend: ε = 1",
        "until: no end",
        f"analyst: {ANALYST.public.fingerprint}",
        f"holder: {NORTH.public.fingerprint}",
        f"letter: {hashlib.sha256(b'letter').hexdigest()}",
        "",
    ]


def test_what_is_sealed_opens_for_the_analyst_under_its_own_header_only() -> None:
    header = ANSWER.encode()
    sealed = seal(b"counts", to=sealing_key(ANALYST), header=header)
    assert b"counts" not in sealed
    assert open_sealed(sealed, ANALYST, header=header) == b"counts"
    other = replace(ANSWER, sequence=8).encode()
    for key, under, body in (
        (NORTH, header, sealed),
        (ANALYST, other, sealed),
        (ANALYST, header, sealed[:-1]),
        (ANALYST, header, bytes([sealed[0] ^ 1]) + sealed[1:]),
        (ANALYST, header, b""),
    ):
        with pytest.raises(LetterError):
            open_sealed(body, key, header=under)


@pytest.mark.parametrize("key", ["", "00", "zz" * 32, "00" * 32])
def test_a_sealing_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(LetterError):
        seal(b"counts", to=key, header=b"")


def test_a_sealing_key_is_the_same_for_ever() -> None:
    assert sealing_key(ANALYST) == "3d295e3b07c8fba3e18cf54227a20c8de26006155c3d9ed5bc40eb672903d93c"


def test_what_lies_around_an_answer_is_no_more_than_officers_are_told() -> None:
    """The longest header, a seal and the signature, in both files together."""
    header = replace(ANSWER, round=999_999_999, sequence=999_999_999, sealed=True)
    body = b"x" * 1000
    sealed = seal(body, to=sealing_key(ANALYST), header=header.encode())
    letter = Letter(header, sealed).signed_by(NORTH)
    around = len(letter.data) + len(letter.signature.encode()) - len(body)
    assert AROUND_BYTES * 0.8 < around <= AROUND_BYTES
