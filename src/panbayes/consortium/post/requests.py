"""What a holder asks of its analyst's mailbox, and how each request is signed.

There are three requests, all of them ``POST``:

============= =================================================== ============================================
path          body                                                what comes back
============= =================================================== ============================================
``/poll``     a :class:`Poll`: what the holder has, how long it   200 and the next letter to this holder; 204
              waits                                               if none came in that time
``/answer``   an answer, its signature in a header                204: it lies in the folder, or one that
              ``panbayes-signature``                              replies to the same question did already
``/approval`` an approval, likewise                               likewise
============= =================================================== ============================================

**Signed.** The header ``authorization`` has the holder's signature (SSHSIG, namespace ``panbayes-request``) of a text::

    panbayes request 1
    host: analyst.example:8443
    path: /answer
    challenge: 5d0e…                  64 hexadecimal digits that the server chose, or none
    length: 3812
    sha512: 90ab…                     of the body

so that a server knows who asks before it reads a byte of the body. The challenge is random and changes every hour and
with every start; the one before is still taken. Who signs well and is enrolled, but signed no challenge or an old one,
is told the new one (401, header ``panbayes-challenge``) and nothing else happens: so a holder gets its first. Everybody
else, whatever they send, gets one and the same 404. The host is signed so that an analyst cannot pass on to another
analyst's mailbox what a holder of both asks of its own.

**Sent again**, a request changes nothing, so no server keeps a list of those it has seen. A poll writes nothing; it
can only end a waiting poll of the same holder, who asks again. An answer or an approval is taken if there is none to
the same letter, and what is there is never replaced: the second time, there is one. After two hours its challenge is
forgotten and it is answered with 401. And only who reads inside TLS could send one again, who could as well hold back
everything.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.letters import LIMITS
from panbayes.consortium.post.signatures import sign, signer, verify

__all__ = [
    "ACTIONS",
    "CHALLENGE",
    "DIGEST",
    "LETTER",
    "LONGEST_POLL",
    "MAX_REQUEST_HEAD",
    "SIGNATURE",
    "SIZES",
    "Action",
    "Poll",
    "Request",
    "armoured",
    "one_line",
]

Action: TypeAlias = Literal["poll", "answer", "approval"]
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)

CHALLENGE: Final = "panbayes-challenge"
DIGEST: Final = "panbayes-sha512"
LETTER: Final = "panbayes-letter"
SIGNATURE: Final = "panbayes-signature"
"""Names of headers."""

LONGEST_POLL: Final = 50
"""Seconds that a poll waits at most: proxies end connections on which nothing happens for a minute."""

MAX_REQUEST_HEAD: Final = 16_384
"""Bytes of the head of a request at most."""

SIZES: Final[dict[Action, int]] = {"poll": 2**20, "answer": LIMITS["answer"], "approval": LIMITS["approval"]}
"""Bytes of a body at most."""

_SCHEME: Final = "SSHSIG"
_LINE: Final = 70
_HOST: Final = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,300}")
_HEX_32: Final = re.compile(r"[0-9a-f]{64}")
_HEX_64: Final = re.compile(r"[0-9a-f]{128}")
_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{1,4000}={0,2}")
_ENTRY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}/[0-9a-f]{12}-[0-9]{6,9}\.(?:study|question)")


@dataclass(frozen=True, slots=True)
class Request:
    """A request without its body: to which ``host``, for what, and the ``length`` and SHA-512 of the body."""

    host: str
    action: Action
    challenge: str | None
    length: int
    digest: str

    @classmethod
    def of(cls, host: str, action: Action, challenge: str | None, body: bytes) -> Request:
        """Describe the request with this body."""
        return cls(host, action, challenge, len(body), hashlib.sha512(body).hexdigest())

    @classmethod
    def read(
        cls, method: str, target: str, headers: Sequence[tuple[str, str]]
    ) -> tuple[Request, PublicKey, dict[str, str]] | None:
        """Return a request, the key that signed it and its headers; None for any other request.

        The names of ``headers`` are in small letters. The key may be anybody's.
        """
        action = next((one for one in ACTIONS if target == f"/{one}"), None)
        found = dict(headers)
        signature = armoured(found.get("authorization", "").removeprefix(f"{_SCHEME} "))
        host, length, digest = (found.get(name, "") for name in ("host", "content-length", DIGEST))
        challenge = found.get(CHALLENGE)
        if (
            method != "POST"
            or action is None
            or len(found) != len(headers)
            or "transfer-encoding" in found
            or signature is None
            or not _HOST.fullmatch(host)
            or not _LENGTH.fullmatch(length)
            or int(length) > SIZES[action]
            or not _HEX_64.fullmatch(digest)
            or not (challenge is None or _HEX_32.fullmatch(challenge))
        ):
            return None
        request = cls(host, action, challenge, int(length), digest)
        key = signer(signature)
        if key is None or not verify(key, "panbayes-request", request.statement(), signature):
            return None
        return request, key, found

    def statement(self) -> bytes:
        """Return the text that is signed."""
        return (
            f"panbayes request 1\nhost: {self.host}\npath: /{self.action}\nchallenge: {self.challenge or 'none'}\n"
            f"length: {self.length}\nsha512: {self.digest}\n"
        ).encode()

    def headers(self, key: PrivateKey) -> dict[str, str]:
        """Sign it: return the headers that it is sent with."""
        signature = sign(key, "panbayes-request", self.statement())
        return {
            "host": self.host,
            "content-length": str(self.length),
            "authorization": f"{_SCHEME} {one_line(signature)}",
            DIGEST: self.digest,
            **({} if self.challenge is None else {CHALLENGE: self.challenge}),
        }


@dataclass(frozen=True, slots=True)
class Poll:
    """A holder's question for letters: those but what it ``have``, such as ``north/1f0c2a77b3d1-000007.question``."""

    seconds: int
    have: frozenset[str] = frozenset()

    @classmethod
    def of(cls, seconds: float, have: Iterable[str]) -> Poll:
        """Ask for whatever is not among ``have``, as far as that fits into a request."""
        room, named = SIZES["poll"] - 100, []
        for entry in sorted(have):
            room -= len(entry) + 1
            if room < 0:
                break
            named.append(entry)
        return cls(max(0, min(int(seconds), LONGEST_POLL)), frozenset(named))

    @classmethod
    def decode(cls, data: bytes) -> Poll | None:
        """Read the body of a poll; None for any other bytes."""
        if len(data) > SIZES["poll"]:
            return None
        first, *rest = data.decode(errors="replace").split("\n")
        found = re.fullmatch(r"panbayes poll 1, ([0-9]{1,2}) seconds", first)
        if found is None or int(found[1]) > LONGEST_POLL or rest[-1:] != [""]:
            return None
        entries = rest[:-1]
        return cls(int(found[1]), frozenset(entries)) if all(map(_ENTRY.fullmatch, entries)) else None

    def encode(self) -> bytes:
        """Write it."""
        return "\n".join((f"panbayes poll 1, {self.seconds} seconds", *sorted(self.have), "")).encode()


def one_line(signature: str) -> str:
    """Return an armoured signature in one line, as a header can hold it."""
    return "".join(signature.split("\n")[1:-2])


def armoured(line: str) -> str | None:
    """Return the armour around a signature in one line, as :func:`one_line` found it; None if there can be none."""
    if not _BASE64.fullmatch(line):
        return None
    return "\n".join(("-----BEGIN SSH SIGNATURE-----", *textwrap.wrap(line, _LINE), "-----END SSH SIGNATURE-----", ""))
