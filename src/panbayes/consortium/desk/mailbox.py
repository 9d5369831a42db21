"""The mailbox: the analyst's folder behind HTTPS, for holders that connect outwards only.

What holders ask and how they sign it stands in :mod:`panbayes.consortium.post.requests`, what they get and may bring in
:mod:`panbayes.consortium.desk.letterbox`. Here is who is answered at all: requests of enrolled holders. Everybody else
gets one 404, the same bytes for every path, method, header and body, none of which is read further than it takes to see
that it is not a holder's; nothing of it is kept but a count.

A holder has one poll and one upload at a time; a second poll ends the first, a second upload waits for the first.
Bodies go to the disk in pieces while they are hashed, and none may take longer than its size explains. What replies to
nothing by its first bytes does not go there, and what is larger than its answer can be is not read on.

The log names holders as the roster does and what they brought or took; it has no addresses and nothing of strangers but
how many requests there were.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.requests import ClientDisconnect
from starlette.requests import Request as Received
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from panbayes.consortium.desk.doorkeeper import NOT_FOUND
from panbayes.consortium.desk.letterbox import HEAD, PIECE, Admission, Incoming, Letterbox, Outgoing, Reply
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.desk.waiting import Waiting
from panbayes.consortium.post.letters import namespace_of
from panbayes.consortium.post.requests import CHALLENGE, LETTER, SIGNATURE, Poll, Request, armoured
from panbayes.consortium.post.signatures import verify_digest
from panbayes.errors import InputError

if TYPE_CHECKING:
    from panbayes.consortium.desk.doorkeeper import Doorkeeper
    from panbayes.consortium.post.folder import Folder
    from panbayes.consortium.post.keys import PublicKey

__all__ = ["LIFE", "Challenges", "Enrolment", "Mailbox"]

LIFE: Final = 3600.0
"""Seconds after which a new challenge is given out; the one before is taken for as long again."""

_GRACE: Final = 30.0
_SLOWEST: Final = 16_384
"""A body may take so many seconds, and one more for every so many bytes."""

_DRAINED: Final = 16 * 2**20
"""Bytes of a body that is not wanted that are read all the same, so that who sent it hears why."""

_QUEUE: Final = 2
"""Uploads of one holder that wait for another of its own."""


class Challenges:
    """What holders sign so that their requests are fresh: random, made anew every hour."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Make the first."""
        self._clock = clock
        self._since = clock()
        self._now, self._before = secrets.token_hex(32), secrets.token_hex(32)

    def current(self) -> str:
        """Return the one that is given out now."""
        if self._clock() - self._since >= LIFE:
            if self._clock() - self._since >= 2 * LIFE:
                self._now = secrets.token_hex(32)
            self._since, self._before, self._now = self._clock(), self._now, secrets.token_hex(32)
        return self._now

    def takes(self, challenge: str | None) -> bool:
        """Tell whether a request with this challenge is fresh."""
        return challenge is not None and challenge in (self.current(), self._before)


class Enrolment:
    """The roster at a path, read again whenever it changes; one that cannot be read leaves the last that could."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        """Read it."""
        self._path, self._say = path, say
        self._state = self._stat()
        self._roster = Roster.load(path)

    def name_of(self, key: PublicKey) -> str | None:
        """Return the name of the holder whose key this is now; None if it is nobody's."""
        state = self._stat()
        if state != self._state:
            self._state = state
            try:
                self._roster = Roster.load(self._path)
                self._say("the roster has changed")
            except InputError as error:
                self._say(f"the roster has changed and cannot be read, the last one stays: {error}")
        moment = datetime.now(UTC)
        return next((one.name for one in self._roster.enrolled if one.key == key and one.valid(moment)), None)

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


@dataclass(frozen=True, slots=True)
class _Known:
    """Who asks what: a holder, its key, its request, and the signature of the letter that it brings."""

    holder: str
    key: PublicKey
    request: Request
    signature: str | None


class Mailbox:
    """The application: an ASGI callable."""

    def __init__(
        self,
        folder: Folder,
        *,
        enrolment: Enrolment,
        doorkeeper: Doorkeeper,
        hosts: Callable[[str], bool],
        say: Callable[[str], None],
    ) -> None:
        """Serve a folder to whom a roster enrolls; ``hosts`` tells whether a name is this server's."""
        self._letters = Letterbox(folder)
        self._enrolment, self._door, self._hosts, self._say = enrolment, doorkeeper, hosts, say
        self._challenges = Challenges()
        self._uploads: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._queued: defaultdict[str, int] = defaultdict(int)
        self._waiting = Waiting(self._letters.state)
        self._told: set[str] = set()
        self._trouble = ""
        self.strangers = 0
        self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        known = self._known(scope)
        if known is None:
            self.strangers += 1
            self._door.dismiss(scope)
            await _refuse(send)
            return
        self._door.trust(scope, known.holder)
        try:
            await self._answer(known, Received(scope, receive), send)
        except (ClientDisconnect, TimeoutError):
            self._door.cut_off(scope)
        except (OSError, InputError) as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                self._say(f"{known.holder} could not be served: {error}")
            await self._tell(503, scope, receive, send)

    def end(self) -> None:
        """Let no poll wait any longer."""
        self._waiting.end()

    def _known(self, scope: Scope) -> _Known | None:
        """Return who asks what; None for everybody who is not enrolled, and for everything that is no request."""
        target = scope["raw_path"] + (b"?" if scope["query_string"] else b"") + scope["query_string"]
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        found = Request.read(scope["method"], target.decode("latin-1"), headers)
        if found is None or not self._hosts(found[0].host):
            return None
        request, key, named = found
        holder = self._enrolment.name_of(key)
        return None if holder is None else _Known(holder, key, request, armoured(named.get(SIGNATURE, "")))

    async def _answer(self, known: _Known, received: Received, send: Send) -> None:
        scope, receive = received.scope, received.receive
        if not self._challenges.takes(known.request.challenge):
            await self._tell(401, scope, receive, send)
        elif known.request.action == "poll":
            await self._poll(known, received, send)
        else:
            await self._take(known, known.request.action, received, send)

    async def _tell(self, status: int, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(status_code=status, headers={CHALLENGE: self._challenges.current()})(scope, receive, send)

    async def _poll(self, known: _Known, received: Received, send: Send) -> None:
        pieces: list[bytes] = []
        whole = await _pass_on(known.request, received, pieces.append)
        poll = Poll.decode(b"".join(pieces)) if whole else None
        if poll is None:
            self.refused += 1
            await _refuse(send)
            return
        letter = await self._next_letter(known, poll, received.receive)
        if letter is None:
            await self._tell(204, received.scope, received.receive, send)
        else:
            with letter.file:
                await self._send(known.holder, letter, send)

    async def _next_letter(self, known: _Known, poll: Poll, receive: Receive) -> Outgoing | None:
        """Wait for a letter until the poll is over, another of the same holder comes, or the holder is gone."""
        ticket = self._waiting.enter(known.holder)
        gone = asyncio.ensure_future(receive())
        loop = asyncio.get_running_loop()
        until = loop.time() + poll.seconds
        try:
            while not ticket.over and not gone.done():
                ticket.stirred.clear()
                if not self._is_enrolled(known):  # Its key was replaced while it waited, for it was stolen, say.
                    return None
                letter = self._letters.next_letter(known.holder, known.key, poll.have)
                left = until - loop.time()
                if letter is not None or left <= 0:
                    return letter
                stirred = asyncio.ensure_future(ticket.stirred.wait())
                await asyncio.wait({stirred, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                stirred.cancel()
            return None
        finally:
            gone.cancel()
            self._waiting.leave(known.holder, ticket)

    def _is_enrolled(self, known: _Known) -> bool:
        """Tell whether who asked may still ask, by the roster as it is now."""
        return self._enrolment.name_of(known.key) == known.holder

    async def _send(self, holder: str, letter: Outgoing, send: Send) -> None:
        headers = {**letter.headers, CHALLENGE: self._challenges.current(), "content-length": str(letter.size)}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        async with asyncio.timeout(_GRACE + letter.size / _SLOWEST):
            await send({"type": "http.response.start", "status": 200, "headers": raw})
            left = letter.size
            while left:
                piece = _read(letter, min(PIECE, left))
                if not piece:
                    raise ClientDisconnect  # Somebody cut the file short: so is what is sent.
                left -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        if letter.headers[LETTER] not in self._told:
            self._told.add(letter.headers[LETTER])
            self._say(f"{holder}: took {letter.headers[LETTER].partition('/')[2]}")

    async def _take(self, known: _Known, kind: Reply, received: Received, send: Send) -> None:
        """Take an answer or an approval in."""
        holder, signature = known.holder, known.signature
        digest = bytes.fromhex(known.request.digest)
        signed = signature is not None and verify_digest(known.key, namespace_of(kind), digest, signature)
        if signature is None or not signed or self._queued[holder] > _QUEUE:
            self.refused += 1
            await _refuse(send)
            return
        self._queued[holder] += 1
        try:
            async with self._uploads[holder]:
                with self._letters.incoming(holder) as incoming:
                    entrance = _Entrance(self._letters, known, kind, incoming)
                    whole = await _pass_on(known.request, received, entrance.write)
                    wanted = whole and entrance.admission == "admitted" and self._is_enrolled(known)
                    verdict = self._letters.take(holder, known.key, kind, incoming, signature) if wanted else "refused"
        except _UnwantedError:
            self.refused += 1
            raise ClientDisconnect from None
        finally:
            self._queued[holder] -= 1
        self._waiting.stir()
        if verdict == "refused":
            self.refused += 1
        elif verdict == "taken":
            self._say(f"{holder}: brought an {kind} of {known.request.length:,} bytes")
        await self._tell(409 if verdict == "refused" else 204, received.scope, received.receive, send)


class _UnwantedError(Exception):
    """What a holder sends is more than is wanted of it."""


class _Entrance:
    """Lets a body in, or does not, as soon as its head has come."""

    def __init__(self, letters: Letterbox, known: _Known, kind: Reply, incoming: Incoming) -> None:
        self._letters, self._known, self._kind, self._incoming = letters, known, kind, incoming
        self._head = b""
        self._drained = 0
        self.admission: Admission | None = None

    def write(self, piece: bytes) -> None:
        """Take a piece; raise an :class:`_UnwantedError` where nothing more is wanted."""
        if self.admission == "refused":
            self._drained += len(piece)
            if self._drained > _DRAINED:
                raise _UnwantedError
            return
        self._incoming.write(piece)
        if self.admission is None:
            known, size = self._known, self._known.request.length
            self._head += piece[: HEAD - len(self._head)]
            if len(self._head) == min(HEAD, size):
                self.admission = self._letters.admits(known.holder, known.key, self._kind, self._head, size)
                if self.admission == "too large":
                    raise _UnwantedError


async def _pass_on(request: Request, received: Received, use: Callable[[bytes], object]) -> bool:
    """Pass a body on, piece by piece; tell whether it was the one that was signed."""
    digest, length = hashlib.sha512(), 0
    async with asyncio.timeout(_GRACE + request.length / _SLOWEST):
        async for piece in received.stream():
            length += len(piece)
            if length > request.length:
                return False
            digest.update(piece)
            use(piece)
    return digest.hexdigest() == request.digest


def _read(letter: Outgoing, size: int) -> bytes:
    """Read on in a letter; a disk that gives no more ends it."""
    try:
        return letter.file.read(size)
    except OSError:
        return b""


async def _refuse(send: Send) -> None:
    """Say what everybody is told who is told nothing."""
    await send({"type": "http.response.start", "status": 404, "headers": list(NOT_FOUND)})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
