"""Ids over HTTP: ``POST /`` with lines as its body, one or a million.

Every body is answered alike: 204 once it is on the disk, whatever was in it. Bodies are read in pieces that enter the
states as they come; a body of more than :data:`MOST_BYTES` is refused with 413, and what had come in before counts. So
does what a client sent that went away, up to its last whole line.

At an address that others can reach, clients show a token: ``Authorization: Bearer …``. Without one, requests that a
browser sends for a page are refused with 403: any page that is open on this machine could feed otherwise.

A body has :data:`LONGEST` seconds. When the service stops, one that is still coming is answered with 503.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.address import read_address
from panbayes.service.door import PATIENCE, Door
from panbayes.service.feed import LONGEST as LONGEST_LINE
from panbayes.service.feed import Feed
from panbayes.service.source import Reading, SourceKind, Surroundings
from panbayes.stream.ids.formats.lines import LineBuffer

__all__ = ["HTTP", "LONGEST", "MOST_BYTES", "HttpSource"]

MOST_BYTES: Final = 64 << 20
LONGEST: Final = 600.0
_LEAST_TOKEN: Final = 16
_READY: Final = "/ready"
_OF_BROWSERS: Final = ("origin", "sec-fetch-site")
"""Headers that a browser adds to what a page sends, and that no page can leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSource(Reading):
    """Where bodies are taken."""

    listen: Annotated[str, Key(kinds.text('an address such as "127.0.0.1:8080"'), "where bodies are taken")]
    token: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "ingest.token"'),
            "a file with a token that clients must show; needed where others than this machine can reach the address",
            default="none",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse an address that anybody could feed."""
        if not read_address(self.listen, argument="listen").loopback and self.token is None:
            raise InputError(
                "listen",
                found=f"others can reach {self.listen}, and could feed what they like",
                remedy="listen at 127.0.0.1, or give a token",
            )

    def describe(self) -> str:
        """Say where lines come from."""
        return f"POST http://{self.listen}/"

    async def start(self, feed: Feed, around: Surroundings) -> _Bodies:
        """Begin to take bodies."""
        token = None if self.token is None else _read_token(around.folder / check_path(self.token, argument="token"))
        listening = read_address(self.listen, argument="listen").listen(argument="listen")
        bodies = _Bodies(feed, token)
        bodies.door = Door(bodies, listening, around.say)
        await bodies.door.open()
        around.say(f"taking lines at http://{_name(listening.getsockname())}/")
        return bodies


class _Bodies:
    """The application: reads bodies, and answers them by the beat."""

    door: Door

    def __init__(self, feed: Feed, token: bytes | None) -> None:
        self._feed, self._token = feed, token
        self._taken: list[asyncio.Future[bool]] = []
        self._waiting: set[asyncio.Future[bool]] = set()
        self._reading: set[asyncio.Task[bool]] = set()
        self._stopped = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await (await self._answer(Request(scope, receive)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.url.path == _READY and request.method in ("GET", "HEAD"):
            return Response(status_code=204)
        if request.url.path != "/":
            return Response(status_code=404)
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        if self._token is not None and not hmac.compare_digest(_shown(request), self._token):
            return Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})
        if self._token is None and any(name in request.headers for name in _OF_BROWSERS):
            return Response(status_code=403)
        if request.headers.get("content-encoding", "identity") != "identity":
            return Response(status_code=415, headers={"Accept-Encoding": "identity"})
        if _announced(request) > MOST_BYTES:
            return Response(status_code=413)
        if self._stopped:
            return Response(status_code=503)
        reading = asyncio.get_running_loop().create_task(self._read(request))
        self._reading.add(reading)
        try:
            whole = await reading
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return Response(status_code=408)
        except asyncio.CancelledError:
            return Response(status_code=503)
        finally:
            self._reading.discard(reading)
        if not await self._settled():
            return Response(status_code=503)
        return Response(status_code=204 if whole else 413)

    async def _settled(self) -> bool:
        """Wait for the beat; say whether it brought to the disk what was taken in."""
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._taken.append(taken)
        self._waiting.add(taken)
        try:
            return await taken
        finally:
            self._waiting.discard(taken)

    async def _read(self, request: Request) -> bool:
        """Take a body in; say whether it was whole."""
        buffer, size = LineBuffer(LONGEST_LINE), 0
        pieces, clock = request.stream(), asyncio.get_running_loop()
        end = clock.time() + LONGEST
        try:
            while clock.time() < end:
                piece = await asyncio.wait_for(anext(pieces, None), PATIENCE)
                if piece is None:
                    self._feed.take_whole(buffer, ended=True)
                    return True
                size += len(piece)
                if size > MOST_BYTES:
                    return False
                rest = memoryview(piece)
                while rest:
                    rest = rest[buffer.put(rest) :]
                    self._feed.take_whole(buffer)
            raise TimeoutError
        finally:
            buffer.wipe()

    def settle(self) -> Callable[[], None]:
        """Let the bodies that were taken in by now be answered."""
        taken, self._taken = self._taken, []

        def answer() -> None:
            for one in taken:
                if not one.done():
                    one.set_result(True)

        return answer

    async def stop(self) -> None:
        """Take no more bodies, and nothing more of one that is coming."""
        self._stopped = True
        self.door.ask_to_end()
        for reading in self._reading:
            reading.cancel()
        if self._reading:
            await asyncio.wait(self._reading)

    async def close(self) -> None:
        """End all connections; no beat follows that what still waits could be answered by."""
        for one in self._waiting:
            if not one.done():
                one.set_result(False)
        await self.door.end()


def _shown(request: Request) -> bytes:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip().encode() if kind.lower() == "bearer" else b""


def _announced(request: Request) -> int:
    size = request.headers.get("content-length", "0")
    return int(size) if size.isascii() and size.isdecimal() and len(size) < 20 else MOST_BYTES + 1


def _read_token(path: Path) -> bytes:
    try:
        token = path.read_bytes().strip()
        others = path.stat().st_mode & 0o077
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise InputError(
            "token", found=f"{path} cannot be read ({reason})", remedy="give a file with a token"
        ) from None
    if len(token) < _LEAST_TOKEN or not token.isascii() or b" " in token:
        raise InputError(
            "token", found=f"{path} has no token of {_LEAST_TOKEN} characters or more", remedy="write one line into it"
        )
    if others:
        raise InputError("token", found=f"{path} can be read by others", remedy=f"run: chmod 600 {path}")
    return token


def _name(found: tuple[str, int] | tuple[str, int, int, int]) -> str:
    host, port = found[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


HTTP: Final = SourceKind("http", "lines in the bodies of POST requests", HttpSource, repeats=True)
