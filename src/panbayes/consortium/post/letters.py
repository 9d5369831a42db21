"""Letters: everything that crosses between institutions, each a file that one key has signed.

A letter is a header of text, an empty line, and a body of bytes::

    panbayes letter 1
    kind: answer
    study: 1f0c…                      the study's hash, 64 hexadecimal digits
    analyst: SHA256:LAj6…             whose study it is
    holder: SHA256:q0bX…              whom it is addressed to, or who answers
    round: 3
    sequence: 7                       counted by the analyst per study and holder
    replies-to: 77ab…                 the SHA-256 of the letter that this one replies to, or none
    sealed: no

All keys are there, in this order and in this one writing, so that equal letters have equal bytes. The signature
(:mod:`panbayes.consortium.post.signatures`) covers header and body; its namespace says the kind once more.

============ ==================== ======================================================= =========================
kind         from                 body                                                    replies to
============ ==================== ======================================================= =========================
``study``    analyst to holder    :class:`panbayes.consortium.post.bodies.StudyBody`       none
``approval`` holder to analyst    :class:`panbayes.consortium.post.bodies.Approval`        the study
``question`` analyst to holder    the question's bytes, the same for every holder         none
``answer``   holder to analyst    the reply's bytes, a release or a refusal, or sealed    the question
============ ==================== ======================================================= =========================

The addressee stands in the header, not in the question, whose bytes and id stay what they are. A relay that shows a
letter to another holder has shown it something that is not addressed to it; it never reaches that holder's gate, and
costs nothing. The sequence never follows a ledger's position, which would tell what other studies ask.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.signatures import Namespace, sign, verify
from panbayes.errors import PanbayesError

__all__ = [
    "AROUND_BYTES",
    "KINDS",
    "LIMITS",
    "Header",
    "Kind",
    "Letter",
    "LetterError",
    "Signed",
    "namespace_of",
    "stem_of",
]

Kind: TypeAlias = Literal["study", "approval", "question", "answer"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

MAX_HEADER: Final = 1024
LIMITS: Final[dict[Kind, int]] = {
    "study": 32 * 2**20,
    "approval": 2**16,
    "question": 64 * 2**20 + MAX_HEADER,
    "answer": 512 * 2**20 + 2 * MAX_HEADER,
}
"""Bytes of a letter at most: a question or a reply of the protocol fits."""

AROUND_BYTES: Final = 768
"""Bytes that a header, a seal and a signature take at most around the body of an answer."""

_DIGITS: Final = r"(?:0|[1-9][0-9]{0,8})"
_HEADER: Final = re.compile(
    rb"panbayes letter 1\n"
    rb"kind: (study|approval|question|answer)\n"
    rb"study: ([0-9a-f]{64})\n"
    rb"analyst: (SHA256:[A-Za-z0-9+/]{43})\n"
    rb"holder: (SHA256:[A-Za-z0-9+/]{43})\n"
    rb"round: (%(digits)b)\n"
    rb"sequence: (%(digits)b)\n"
    rb"replies-to: ([0-9a-f]{64}|none)\n"
    rb"sealed: (yes|no)\n"
    rb"\n" % {b"digits": _DIGITS.encode()}
)


class LetterError(PanbayesError):
    """Bytes that are no letter, or a letter that is not what it should be; its text never repeats the bytes."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Header:
    """What a letter says about itself; ``analyst`` and ``holder`` are the fingerprints of keys."""

    kind: Kind
    study: str
    analyst: str
    holder: str
    round: int = 0
    sequence: int = 0
    replies_to: str | None = None
    sealed: bool = False

    def __post_init__(self) -> None:
        """Check that it can be written, and that it replies if it is a reply."""
        if not _HEADER.fullmatch(self.encode()):
            raise LetterError("the header of a letter holds what none can")
        if (self.replies_to is not None) != (self.kind in ("approval", "answer")):
            raise LetterError("a letter replies to another, or does not, against its kind")

    def encode(self) -> bytes:
        """Write it, with the empty line behind it."""
        return (
            f"panbayes letter 1\nkind: {self.kind}\nstudy: {self.study}\nanalyst: {self.analyst}\n"
            f"holder: {self.holder}\nround: {self.round}\nsequence: {self.sequence}\n"
            f"replies-to: {self.replies_to or 'none'}\nsealed: {'yes' if self.sealed else 'no'}\n\n"
        ).encode()


@dataclass(frozen=True, slots=True)
class Letter:
    """A header and a body."""

    header: Header
    body: bytes

    @classmethod
    def decode(cls, data: bytes) -> Letter:
        """Read a letter; raise a :class:`LetterError` for any other bytes."""
        found = _HEADER.match(data)
        if found is None:
            raise LetterError("the bytes do not begin as a letter does")
        kind, study, analyst, holder, number, sequence, replied, sealed = (part.decode() for part in found.groups())
        (known,) = (one for one in KINDS if one == kind)
        header = Header(
            known,
            study,
            analyst,
            holder,
            int(number),
            int(sequence),
            None if replied == "none" else replied,
            sealed == "yes",
        )
        return cls(header, data[found.end() :])

    def encode(self) -> bytes:
        """Write it."""
        return self.header.encode() + self.body

    def signed_by(self, key: PrivateKey) -> Signed:
        """Sign it."""
        data = self.encode()
        return Signed(data, sign(key, namespace_of(self.header.kind), data))


@dataclass(frozen=True, slots=True)
class Signed:
    """The bytes of a letter and their signature, as they travel."""

    data: bytes
    signature: str

    @property
    def digest(self) -> str:
        """The SHA-256 of the letter: what a reply to it names."""
        return hashlib.sha256(self.data).hexdigest()

    def open(self, key: PublicKey, kind: Kind) -> Letter | None:
        """Return the letter if this ``key`` signed it as one of this ``kind``; None if it did not."""
        if len(self.data) > LIMITS[kind] or not verify(key, namespace_of(kind), self.data, self.signature):
            return None
        try:
            letter = Letter.decode(self.data)
        except LetterError:
            return None
        return letter if letter.header.kind == kind else None


def namespace_of(kind: Kind) -> Namespace:
    """Return what a signature under a letter of this kind is for."""
    names: dict[Kind, Namespace] = {
        "study": "panbayes-study",
        "approval": "panbayes-approval",
        "question": "panbayes-question",
        "answer": "panbayes-answer",
    }
    return names[kind]


def stem_of(header: Header) -> str:
    """Return what the file of a letter is called, before the dot and its kind; a reply's is that of its letter.

    >>> stem_of(Header("question", "1f" * 32, "SHA256:" + "A" * 43, "SHA256:" + "B" * 43, 3, 7))
    '1f1f1f1f1f1f-000007'
    """
    return f"{header.study[:12]}-{header.sequence:06d}"
