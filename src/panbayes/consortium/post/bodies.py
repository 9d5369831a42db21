"""What two kinds of letters hold: a study that is proposed, and a holder's word that its officers approved it.

Both are JSON, so that people can read them.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from panbayes.consortium.post.letters import LetterError

__all__ = [
    "Approval",
    "OfficerSignature",
    "StudyBody",
    "approval_statement",
    "decode_approval",
    "decode_study",
    "encode",
]

MAX_HOLDERS = 10_000

Name = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]
KeyLine = Annotated[str, Meta(max_length=500, pattern=r"^(ssh-ed25519|sk-ssh-ed25519@openssh\.com) [A-Za-z0-9+/=]+\Z")]


class _Body(Struct, frozen=True, forbid_unknown_fields=True):
    """What bodies have in common."""


class StudyBody(_Body, frozen=True):
    """A study and its schema, each as the text of its file; who takes part; the key to seal answers to, or "".

    ``holders`` gives the key of every holder by the name that the analyst knows it by.
    """

    study: str
    schema: str
    holders: Annotated[dict[Name, KeyLine], Meta(min_length=1, max_length=MAX_HOLDERS)]
    analyst: KeyLine
    sealing: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")] = ""


class OfficerSignature(_Body, frozen=True):
    """An officer's key and signature under the statement of an approval."""

    key: KeyLine
    signature: Annotated[str, Meta(max_length=4096)]


class Approval(_Body, frozen=True):
    """The ``statement`` that officers signed (:func:`approval_statement`), with their signatures."""

    statement: Annotated[str, Meta(max_length=20_000)]
    officers: Annotated[tuple[OfficerSignature, ...], Meta(min_length=1, max_length=10)]


def approval_statement(
    *, study: str, name: str, grant: str, until: str | None, analyst: str, holder: str, letter: bytes
) -> str:
    """Return the text that officers sign: the same for all of them, and for the same study the same for ever.

    ``analyst`` and ``holder`` are fingerprints, ``grant`` is what the study may spend in words, ``letter`` the bytes of
    the letter that proposed it.
    """
    lines = (
        "panbayes approval 1",
        f"study: {study}",
        f"name: {name}",
        f"may spend: {grant}",
        f"until: {until or 'no end'}",
        f"analyst: {analyst}",
        f"holder: {holder}",
        f"letter: {hashlib.sha256(letter).hexdigest()}",
    )
    return "\n".join((*(" ".join(line.split()) for line in lines), ""))


Body = TypeVar("Body", StudyBody, Approval)


def encode(body: StudyBody | Approval) -> bytes:
    """Write a body."""
    return msgspec.json.format(msgspec.json.encode(body, order="deterministic"), indent=1) + b"\n"


def decode_study(data: bytes) -> StudyBody:
    """Read the body of a study's letter."""
    return _decode(data, StudyBody)


def decode_approval(data: bytes) -> Approval:
    """Read the body of an approval."""
    return _decode(data, Approval)


def _decode(data: bytes, kind: type[Body]) -> Body:
    try:
        found = msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        raise LetterError("the body of the letter is not what its kind says") from None
    if encode(found) != data:
        raise LetterError("the body of the letter is not in its one writing")
    return found
