"""What passes between the agent and the process that computes: length, then a message; nothing that can hold code.

The agent sends a :class:`Job`. The other side says :class:`Taken` when everything that the job needs but the records is
ready, then its :class:`Promise`, then what became of the question, :class:`Done`; the last alone if nothing did.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from panbayes.consortium.post.letters import LIMITS
from panbayes.errors import InternalError

__all__ = [
    "MAX_FRAME",
    "Became",
    "Done",
    "Job",
    "Promise",
    "Reads",
    "Said",
    "Taken",
    "Writes",
    "receive_job",
    "receive_said",
    "send",
]

MAX_FRAME: Final = LIMITS["answer"] + 2**20
"""Bytes of a message at most."""

_LENGTH: Final = 8

Became: TypeAlias = Literal["answered", "repeated", "refused", "withheld", "misaddressed"]
"""What became of a question: it got an answer, the one it had before, or a refusal on public grounds; or nothing, for
reasons that are the holder's own, or because it is not the question that its letter says."""


class Reads(Protocol):
    """What bytes are read from: all that are asked for, or fewer at the end."""

    def read(self, size: int, /) -> bytes:
        """Read so many."""
        ...


class Writes(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> object:
        """Write all of them."""
        ...

    def flush(self) -> None:
        """Let them leave."""
        ...


class _Message(Struct, frozen=True, forbid_unknown_fields=True):
    """What all messages have in common."""


class Job(_Message, frozen=True):
    """A question to answer: its ``body``, from a letter of ``asker`` about round ``round`` of ``study``.

    ``letter`` is the digest of the letter that proposed the study, which the officers approved.
    """

    study: str
    letter: str
    round: int
    asker: str
    body: bytes


class Taken(_Message, frozen=True, tag="taken"):
    """The question is taken up at this moment; no record has been looked at for it."""


class Promise(_Message, frozen=True, tag="promise"):
    """The answer may take so many ``seconds`` since then."""

    seconds: float


class Done(_Message, frozen=True, tag="done"):
    """What became of the question, by its id, with the ``code`` of a refusal and the ``reply`` that may leave.

    ``trouble`` is what went wrong, in a line for the holder's eyes. ``stuck`` is 0 but where the process was ended: how
    many times what it promised it had had.
    """

    became: Became
    question: str = ""
    code: str = ""
    reply: bytes = b""
    trouble: str = ""
    stuck: int = 0


Said: TypeAlias = Taken | Promise | Done

_JOB: Final = msgspec.msgpack.Decoder(Job)
_SAID: Final[msgspec.msgpack.Decoder[Said]] = msgspec.msgpack.Decoder(Said)


def send(pipe: Writes, message: Job | Said) -> None:
    """Write a message."""
    data = msgspec.msgpack.encode(message)
    if len(data) > MAX_FRAME:
        raise InternalError("a message to or from the process that computes is too long")
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def receive_job(pipe: Reads) -> Job | None:
    """Read a job; None if the agent has ended, in the middle of one or between two."""
    data = _receive(pipe)
    return None if data is None else _JOB.decode(data)


def receive_said(pipe: Reads) -> Said | None:
    """Read what the process that computes says; None if it has ended."""
    data = _receive(pipe)
    return None if data is None else _SAID.decode(data)


def _receive(pipe: Reads) -> bytes | None:
    head = pipe.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME:
        raise InternalError("a message to or from the process that computes is too long")
    data = pipe.read(length)
    return data if len(data) == length else None
