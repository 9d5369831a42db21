"""Bytes of questions and replies: MessagePack, strict, and never an exception of any other class.

The encoding is stable: equal messages have equal bytes, whatever the Python version, and golden files in the tests
hold them. Whatever arrives from the other side is decoded against the exact types, within a size limit, and must be
the one encoding of what it says: bytes that would be written otherwise (keys in another order or twice, numbers in
more bytes than they need) are refused, so that a message can be compared, hashed and signed by its bytes. Anything
else raises :class:`MalformedError`, whose text says what is wrong in public terms and never repeats the bytes.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from panbayes.consortium.protocol.envelope import Question, Reply, question
from panbayes.errors import PanbayesError

__all__ = [
    "MAX_BYTES",
    "MAX_QUESTION_BYTES",
    "MalformedError",
    "WrongIdError",
    "decode_question",
    "decode_reply",
    "encode",
    "round_of",
]

MAX_BYTES: Final = 512 * 2**20
"""The largest message: the tables of all triples of a hundred attributes fit."""

MAX_QUESTION_BYTES: Final = 64 * 2**20
"""The largest question: a million sets of attributes fit."""

T = TypeVar("T", Question, Reply)

_QUESTION: Final = msgspec.msgpack.Decoder(Question)
_REPLY: Final[msgspec.msgpack.Decoder[Reply]] = msgspec.msgpack.Decoder(Reply)


class _Numbered(msgspec.Struct):
    """What is read of a question that was read before: the rest is skipped."""

    round: int


_NUMBERED: Final = msgspec.msgpack.Decoder(_Numbered)


class MalformedError(PanbayesError):
    """Bytes that are not a message."""

    exit_code = 2


class WrongIdError(MalformedError):
    """A question whose ``id`` belongs to another content."""

    def __init__(self, found: str) -> None:
        """Remember the id, so that a refusal can name it."""
        self.id = found
        super().__init__("the question's id is not the hash of its content")


def encode(message: Question | Reply) -> bytes:
    """Write a message."""
    return msgspec.msgpack.encode(message, order="deterministic")


def decode_question(data: bytes) -> Question:
    """Read a question and check that its id is the hash of its content."""
    found = _decode(_QUESTION, data, limit=MAX_QUESTION_BYTES)
    if found.id != question(found.query, study=found.study, round_number=found.round).id:
        raise WrongIdError(found.id)
    return found


def round_of(data: bytes) -> int:
    """Return the round of a question that was read and answered before, without reading all of it again."""
    return _NUMBERED.decode(data).round


def decode_reply(data: bytes) -> Reply:
    """Read a reply."""
    return _decode(_REPLY, data, limit=MAX_BYTES)


def _decode(decoder: msgspec.msgpack.Decoder[T], data: bytes, *, limit: int) -> T:
    if len(data) > limit:
        raise MalformedError(f"the message has more than {limit} bytes")
    try:
        found = decoder.decode(data)
    except msgspec.ValidationError as error:
        raise MalformedError(f"the message is not of the protocol: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError, MemoryError, ValueError):
        # Strings that are not UTF-8 and nesting without end raise outside msgspec's own classes.
        raise MalformedError("the message is not MessagePack") from None
    if encode(found) != data:
        raise MalformedError("the message is not in its one encoding")
    return found
