"""Who may stay connected to a mailbox: everybody for a moment, an enrolled holder as long as it behaves.

A connection is a *stranger's* until a request of an enrolled holder came over it. A stranger has :data:`PATIENCE`
seconds for its handshake and the head of one request, is told 404 and cut off; nothing more is read of what it sends.
There are at most :data:`MOST` strangers, fewer where the system lets a process have few files; for one more, the one
that came first is cut off. So a flood costs bounded memory, and a holder gets in between: its connection is a
stranger's only for its first request. A holder has at most :data:`PER_HOLDER` connections; for one more, its oldest is
cut off.

Connections are told apart by a number of their own, never by the address at their other end: one that was reset has
none any more, as those in their handshake have none yet, and what is meant for it would be done to all of them.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from itertools import count
from typing import Any, Final

import h11
import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

__all__ = ["MOST", "NOT_FOUND", "PATIENCE", "PER_HOLDER", "Connection", "Doorkeeper", "Settings"]

MOST: Final = 256
PER_HOLDER: Final = 4
PATIENCE: Final = 10.0
_FAREWELL: Final = 0.5
"""Seconds between a stranger's 404 and the end of its connection, in which the answer gets through."""

NOT_FOUND: Final = ((b"content-length", b"0"), (b"Connection", b"close"))
"""The headers of what a stranger is told, which has no body: a 404 to HEAD is the same as to GET.

They are written as h11 writes them where it closes a connection by itself.
"""


class Doorkeeper:
    """Knows the connections of one server, and which of them are holders'."""

    def __init__(self, tls: ssl.SSLContext | None, *, most: int = MOST) -> None:
        """Let in over TLS, or, behind a proxy on the same machine, without; ``most`` strangers at a time."""
        self.tls = tls
        self._most = most
        self.strangers = 0
        self._numbers = count(1)
        self._unknown: dict[Connection, None] = {}
        self._holders: dict[Connection, str] = {}

    def number(self) -> int:
        """Return a number that no other connection has."""
        return next(self._numbers)

    def enter(self, connection: Connection) -> None:
        """Let a stranger in, and for it the oldest out if there are too many."""
        if len(self._unknown) >= self._most:
            self.strangers += 1
            next(iter(self._unknown)).cut_off()
        self._unknown[connection] = None

    def leave(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._unknown.pop(connection, None)
        self._holders.pop(connection, None)

    def trust(self, scope: Scope, holder: str) -> None:
        """Say that the connection of a request is a holder's."""
        for connection in self._of(scope):
            connection.stay()
            self.leave(connection)
            self._holders[connection] = holder
        own = [one for one, whose in self._holders.items() if whose == holder]
        for connection in own[:-PER_HOLDER]:
            connection.cut_off()

    def dismiss(self, scope: Scope) -> None:
        """Say that the connection of a request is a stranger's, who is told so."""
        for connection in self._of(scope):
            connection.say_farewell()

    def cut_off(self, scope: Scope) -> None:
        """End the connection of a request."""
        for connection in self._of(scope):
            connection.cut_off()

    def _of(self, scope: Scope) -> list[Connection]:
        """Return the connection that a request came over, by its number."""
        return [one for one in (*self._holders, *self._unknown) if one.client == scope["client"]]


class Settings(uvicorn.Config):
    """What uvicorn is told, and the doorkeeper that it is not."""

    doorkeeper: Doorkeeper


class Connection(H11Protocol):
    """A connection: what uvicorn makes of one, behind TLS and a doorkeeper."""

    def __init__(
        self,
        config: Settings,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Make what uvicorn makes."""
        super().__init__(config, server_state, app_state, _loop)
        self._door = config.doorkeeper
        self._number = self._door.number()
        self._raw: asyncio.Transport | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._made = False
        self._early = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with the handshake, of which uvicorn need not know."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError
        self._raw = transport
        self._patience = self.loop.call_later(PATIENCE, self.cut_off)
        self._door.enter(self)
        if self._door.tls is None:
            self._begin(transport)
        elif not transport.is_closing():
            transport.pause_reading()
            self._handshake = self.loop.create_task(self._shake_hands(transport, self._door.tls))

    async def _shake_hands(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        inner = None
        with suppress(OSError, asyncio.CancelledError):
            inner = await self.loop.start_tls(
                transport, self, tls, server_side=True, ssl_handshake_timeout=PATIENCE, ssl_shutdown_timeout=1.0
            )
        if inner is None or transport.is_closing():
            self.cut_off()
            return
        self._begin(inner)
        if self._early:
            self.data_received(bytes(self._early))
            self._early.clear()

    def _begin(self, transport: asyncio.Transport) -> None:
        """Let uvicorn know of it; what it takes for an address is the number, which every request then carries."""
        self._made = True
        super().connection_made(transport)
        self.client = "connection", self._number

    def data_received(self, data: bytes) -> None:
        """Read on; what comes in the same moment as the end of the handshake is kept until uvicorn knows of it."""
        if self._made:
            super().data_received(data)
        else:
            self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._door.leave(self)
        if self._patience is not None:
            self._patience.cancel()
        if self._made:
            super().connection_lost(exc)

    def send_400_response(self, _message: str) -> None:
        """Tell a stranger who speaks no HTTP what every stranger is told."""
        self._door.strangers += 1
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            head = h11.Response(status_code=404, headers=list(NOT_FOUND), reason=b"Not Found")
            for event in (head, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self.say_farewell()

    def stay(self) -> None:
        """Let it stay: it is a holder's."""
        if self._patience is not None:
            self._patience.cancel()

    def say_farewell(self) -> None:
        """Read nothing more, and end it when what was written had the time to get through."""
        if self._raw is not None and not self._raw.is_closing():
            self._raw.pause_reading()
        self.loop.call_later(_FAREWELL, self.cut_off)

    def cut_off(self) -> None:
        """End it now."""
        self._door.leave(self)
        if self._patience is not None:
            self._patience.cancel()
        if self._raw is not None:
            self._raw.abort()
