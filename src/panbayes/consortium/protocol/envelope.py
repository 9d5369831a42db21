"""What crosses the boundary: a question from the analyst, a release or a refusal from a holder.

A question names its study by hash, its round, and one query. Its ``id`` is the hash of exactly that, never of data, so
the same question always has the same id and a holder can answer it again from its ledger. The text of a refusal depends
on public facts only. Bytes are made and read in :mod:`panbayes.consortium.protocol.codec`.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from panbayes.consortium.protocol.answers import Answer
from panbayes.consortium.protocol.queries import Query

__all__ = ["Digest", "Question", "Refusal", "RefusalCode", "Release", "Reply", "question"]

Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class _Message(Struct, frozen=True, forbid_unknown_fields=True):
    """What all messages have in common."""


class Question(_Message, frozen=True):
    """A query in its place: which study, which round; ``id`` is the hash of the rest."""

    id: Digest
    study: Digest
    round: Annotated[int, Meta(ge=0, lt=2**31)]
    query: Query


class Release(_Message, frozen=True, tag="release"):
    """An answer that has been paid for.

    ``size`` is the holder's public number of persons, None under "add-remove", where it is private; ``ledger`` is the
    head of its hash chain after this charge;
    ``private`` is false if the noise was simulated, and a production analyst then rejects it.
    """

    id: Digest
    size: Annotated[int, Meta(ge=0, lt=2**53)] | None
    ledger: Digest
    private: bool
    answer: Answer


RefusalCode: TypeAlias = Literal[
    "malformed",
    "unknown-study",
    "wrong-schema",
    "wrong-id",
    "not-in-study",
    "over-budget",
    "too-large",
    "paused",
    "unavailable",
]


class Refusal(_Message, frozen=True, tag="refusal"):
    """Why there is no answer; nothing was spent. ``id`` is empty where the question could not be read."""

    id: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")]
    code: RefusalCode
    text: Annotated[str, Meta(max_length=500)]


Reply: TypeAlias = Release | Refusal


def question(query: Query, *, study: str, round_number: int) -> Question:
    """Put a query in its place and give it its id."""
    content = msgspec.msgpack.encode(("panbayes question 1", study, round_number, query), order="deterministic")
    return Question(hashlib.sha256(content).hexdigest(), study, round_number, query)
