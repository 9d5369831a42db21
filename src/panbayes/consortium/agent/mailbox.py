"""The analyst's mailbox as a carrier: letters are fetched and handed over by HTTPS, on connections that lead outwards.

Two connections are kept: on one a poll is outstanding all the time (:mod:`panbayes.consortium.agent.polling`), on the
other letters are handed over. Requests and their signatures stand in
:mod:`panbayes.consortium.post.requests`; every one may be sent again, and is once when a connection that was kept
turns out to have ended.

Nobody trusts the server. What it sends is bounded in size and time, never leads elsewhere, and ends in a letter that
somebody else has yet to check, in nothing, or in a :class:`panbayes.consortium.agent.carrier.CarrierError`, after which
whoever collects waits before it tries again.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from panbayes.consortium.agent.carrier import Arrived, CarrierError
from panbayes.consortium.agent.connection import Address, Connection, ProxyError, Reply, trusting
from panbayes.consortium.agent.polling import Polling
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import KINDS, LIMITS, Header, Signed, stem_of
from panbayes.consortium.post.requests import (
    CHALLENGE,
    LETTER,
    LONGEST_POLL,
    SIGNATURE,
    Action,
    Poll,
    Request,
    armoured,
    one_line,
)
from panbayes.errors import InternalError

__all__ = ["MailboxCarrier"]

_GRACE: Final = 30.0
_SLOWEST: Final = 16_384
"""A letter may take so many seconds, and one more for every so many bytes."""

_KEPT: Final = 30.0
"""Seconds after which a connection on which nothing happened is not trusted to be there."""

_LARGE: Final = 65_536
"""Bytes of a body that is not sent before the challenge is known to be fresh."""

_TRIES: Final = 3
_ENTRY: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,39})/([0-9a-f]{12}-[0-9]{6,9})\.(study|question)")


class MailboxCarrier:
    """The mailbox at a URL as a carrier for the holder with this ``key``."""

    def __init__(
        self, url: str, key: PrivateKey, *, ca: Path | None = None, poll: int = 30, argument: str = "mailbox"
    ) -> None:
        """Lead to a mailbox; nothing is connected yet.

        Trusted are the system's authorities and those in ``ca``; a poll waits ``poll`` seconds for a letter.
        """
        self._argument = argument
        self._address = Address.parse(url, argument=f"{argument}.url")
        context = trusting(ca, argument=f"{argument}.ca") if self._address.tls else None
        self._key = key
        self._challenge: str | None = None
        self._polls, self._letters = Connection(self._address, context), Connection(self._address, context)
        self._delivering = threading.Lock()
        self._polling = Polling(self._fetch, self._polls.interrupt, seconds=min(poll, LONGEST_POLL))

    def collect(self, have: Collection[str], *, seconds: float) -> Sequence[Arrived]:
        """Return what has come from the mailbox; see :class:`panbayes.consortium.agent.carrier.Carrier`."""
        return self._polling.collect(have, seconds=seconds)

    def deliver(self, name: str, header: Header, letter: Signed) -> None:
        """Hand over an answer or an approval: it is taken, or what it replies to is no longer there."""
        action: Action
        if header.kind == "answer":
            action = "answer"
        elif header.kind == "approval":
            action = "approval"
        else:
            raise InternalError(f"a {header.kind} is nothing that a holder sends")
        with self._delivering:
            self._exchange(self._letters, action, letter.data, signature=one_line(letter.signature))
        if action == "answer":
            self._polling.answered(f"{name}/{stem_of(header)}.question")

    def close(self) -> None:
        """End both connections."""
        self._polling.close()
        self._polls.close()
        self._letters.close()

    def _fetch(self, have: frozenset[str], seconds: int) -> Arrived | None:
        poll = Poll.of(seconds, have)
        arrived = self._exchange(self._polls, "poll", poll.encode(), waits=poll.seconds, have=have)
        return arrived[0] if arrived else None

    def _exchange(
        self,
        connection: Connection,
        action: Action,
        body: bytes,
        *,
        waits: float = 0.0,
        signature: str | None = None,
        have: Collection[str] = (),
    ) -> list[Arrived]:
        """Send a request until it is answered, and return what came with the answer."""
        try:
            status = 401
            if self._challenge is None or len(body) >= _LARGE:
                status = self._ask(connection, "poll", b"", None, waits=0.0, signature=None)[0].status
            for _ in range(_TRIES):
                if status != 401:
                    break
                reply, found = self._ask(connection, action, body, self._challenge, waits=waits, signature=signature)
                if reply.status == 200 and action == "poll":
                    return [self._arrived(reply, found, have)]
                if reply.status == 204 or (reply.status == 409 and action != "poll"):
                    return []
                status = reply.status
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._down(error) from None
        connection.close()
        raise self._refused(status)

    def _ask(
        self,
        connection: Connection,
        action: Action,
        body: bytes,
        challenge: str | None,
        *,
        waits: float,
        signature: str | None,
    ) -> tuple[Reply, bytes]:
        """Send a request once, or twice if the connection had ended, and return the reply and its body."""
        request = Request.of(self._address.authority, action, challenge, body)
        headers = request.headers(self._key) | ({} if signature is None else {SIGNATURE: signature})
        allowed = _GRACE + len(body) / _SLOWEST
        kept = connection.is_open(within=_KEPT)
        if not kept:
            connection.close()
        try:
            connection.send(f"/{action}", headers, body, until=time.monotonic() + allowed)
            reply = connection.receive(until=time.monotonic() + _GRACE + waits)
        except (ConnectionError, ssl.SSLEOFError, http.client.RemoteDisconnected):
            if not kept:
                raise
            connection.close()
            connection.send(f"/{action}", headers, body, until=time.monotonic() + allowed)
            reply = connection.receive(until=time.monotonic() + _GRACE + waits)
        limit = _limit(reply) if reply.status == 200 else 0
        if reply.length > limit:
            raise http.client.HTTPException
        found = connection.read(reply, until=time.monotonic() + _GRACE + reply.length / _SLOWEST)
        told = reply.headers.get(CHALLENGE, "")
        if re.fullmatch(r"[0-9a-f]{64}", told):
            self._challenge = told
        return reply, found

    def _arrived(self, reply: Reply, data: bytes, have: Collection[str]) -> Arrived:
        entry = _ENTRY.fullmatch(reply.headers.get(LETTER, ""))
        signature = armoured(reply.headers.get(SIGNATURE, ""))
        if entry is None or signature is None or entry[0] in have:
            # Sent again although we said that we have it: it would be so for ever.
            raise http.client.HTTPException
        (kind,) = (one for one in KINDS if one == entry[3])
        return Arrived(entry[1], entry[2], kind, Signed(data, signature))

    def _refused(self, status: int) -> CarrierError:
        if status == 404:
            return CarrierError(
                self._argument,
                found=f"{self._address.authority} has no mailbox for this holder's key",
                remedy="check the url; ask the analyst to enroll the key, and compare its words by phone",
            )
        return CarrierError(
            self._argument,
            found=f"{self._address.authority} did not take the request (it said {status})",
            remedy="it is tried again; if that goes on, tell the analyst",
        )

    def _down(self, error: OSError | http.client.HTTPException) -> CarrierError:
        """Say in our own words why nothing came; nothing that the server sent is repeated."""
        where = self._address.authority
        remedy = "check the url and the network; it is tried again"
        if isinstance(error, ssl.SSLCertVerificationError):
            found = f"the certificate of {where} is not trusted ({error.verify_message.rstrip('.')})"
            remedy = f"give the analyst's certificate, or that of its authority, as {self._argument}.ca; check the url"
        elif isinstance(error, ProxyError):
            found, remedy = f"{where} cannot be reached: {error}", "check HTTPS_PROXY and NO_PROXY"
        elif isinstance(error, socket.gaierror):
            found = f"{where} cannot be found by its name"
        elif isinstance(error, TimeoutError):
            found = f"{where} took too long"
        elif isinstance(error, ssl.SSLError):
            found = f"{where} speaks no TLS that can be used"
        elif isinstance(error, OSError):
            found = f"{where} cannot be reached ({(error.strerror or 'the connection ended').lower()})"
        else:
            found, remedy = f"{where} answered as no mailbox does", "check the url"
        return CarrierError(self._argument, found=found, remedy=remedy)


def _limit(reply: Reply) -> int:
    """Return how long the letter that comes with a reply may be."""
    entry = _ENTRY.fullmatch(reply.headers.get(LETTER, ""))
    return 0 if entry is None else max(LIMITS[kind] for kind in KINDS if kind == entry[3])
