"""Bytes of questions and replies: MessagePack, strict, and never an exception of any other class.

The encoding is stable: equal messages have equal bytes, whatever the Python version, and golden files in the tests
hold them. Whatever arrives from the other side is decoded against the exact types, within a size limit; anything else
raises :class:`MalformedError`, whose text says what is wrong in public terms and never repeats the bytes.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from panbayes.protocol.messages import Question, Reply, question
from panbayes.public.errors import PanbayesError

__all__ = ["MAX_BYTES", "MalformedError", "decode_question", "decode_reply", "encode"]

MAX_BYTES: Final = 512 * 2**20
"""The largest message: the tables of all triples of a hundred attributes fit."""

T = TypeVar("T")

_QUESTION: Final = msgspec.msgpack.Decoder(Question)
_REPLY: Final[msgspec.msgpack.Decoder[Reply]] = msgspec.msgpack.Decoder(Reply)


class MalformedError(PanbayesError):
    """Bytes that are not a message."""

    exit_code = 2


def encode(message: Question | Reply) -> bytes:
    """Write a message."""
    return msgspec.msgpack.encode(message, order="deterministic")


def decode_question(data: bytes) -> Question:
    """Read a question and check that its id is the hash of its content."""
    found = _decode(_QUESTION, data)
    if found.id != question(found.query, study=found.study, round_number=found.round).id:
        raise MalformedError("the question's id is not the hash of its content")
    return found


def decode_reply(data: bytes) -> Reply:
    """Read a reply."""
    return _decode(_REPLY, data)


def _decode(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T:
    if len(data) > MAX_BYTES:
        raise MalformedError(f"the message has more than {MAX_BYTES} bytes")
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise MalformedError(f"the message is not of the protocol: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError, MemoryError, ValueError):
        # Strings that are not UTF-8 and nesting without end raise outside msgspec's own classes.
        raise MalformedError("the message is not MessagePack") from None
