"""Receipts: what a network was learned from, as those signed it who answered for it.

A network that was learned between institutions carries, for every holder, the key that it answered with and for every
answer that was used: its place (round and sequence), the id of the question, the head of the holder's ledger after it,
the SHA-512 of the letter, and the signature. Whoever has the holder's key can check the signatures; who has a letter
can see that it is the one; who is shown the holder's ledger can see that it leads to these heads.

Nothing here reads or checks any of it (:mod:`panbayes.consortium.desk.receipts` does): a network carries its receipts
along, as it carries its privacy statement.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

__all__ = ["Receipts", "SignedAnswer", "Signer"]

_Hash: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Key: TypeAlias = Annotated[str, Meta(max_length=500, pattern=r"^[a-z0-9@.-]+ [A-Za-z0-9+/=]+\Z")]
_Number: TypeAlias = Annotated[int, Meta(ge=0, lt=2**31)]


class _Part(Struct, frozen=True, forbid_unknown_fields=True):
    """What all parts have in common."""


class SignedAnswer(_Part, frozen=True):
    """An answer: where it belongs, what it left in the ledger, and the letter that brought it."""

    sequence: _Number
    round: _Number
    question: _Hash
    head: _Hash
    letter: Annotated[str, Meta(pattern=r"^[0-9a-f]{128}\Z")]
    signature: Annotated[str, Meta(max_length=4096)]


class Signer(_Part, frozen=True):
    """A holder: its ``name``, its public ``key`` in the line that OpenSSH writes, and its ``answers`` in order."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    key: _Key
    answers: tuple[SignedAnswer, ...]


class Receipts(_Part, frozen=True):
    """All receipts of a network: the hash of the ``study``, the ``analyst``'s public key, and the ``holders``."""

    study: _Hash
    analyst: _Key
    holders: tuple[Signer, ...]
