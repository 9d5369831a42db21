"""Serving HTTP: what a connection may take, and nothing said about who came.

A connection has :data:`PATIENCE` seconds for the head of a request; there are at most :data:`MOST` connections, and one
more is told to come later. No request is logged. uvicorn reads HTTP; an error of ours shows by its name alone.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from panbayes.service.source import Say

__all__ = ["MOST", "PATIENCE", "Door"]

MOST: Final = 1024
PATIENCE: Final = 20.0
_FAREWELL: Final = 5


class _Connection(H11Protocol):
    """A connection that must begin a request in time."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError
        super().connection_made(transport)
        self._patience = self.loop.call_later(PATIENCE, transport.abort)

    def handle_events(self) -> None:
        super().handle_events()
        if self._begun() and self._patience is not None:
            self._patience.cancel()

    def _begun(self) -> bool:
        """Say whether the head of a request has come."""
        cycle: object = self.cycle
        return cycle is not None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)


class Door(uvicorn.Server):
    """A server of one application at one socket, which ends when it is asked to and hears no signals."""

    def __init__(self, app: ASGIApp, listening: socket.socket, say: Say) -> None:
        """Make it; it serves once it is started."""
        logger = logging.getLogger("uvicorn.error")
        logger.handlers, logger.propagate = [_Faults(say)], False
        settings = uvicorn.Config(
            app,
            http=_Connection,
            ws="none",
            loop="asyncio",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            limit_concurrency=MOST,
            timeout_keep_alive=int(PATIENCE),
            timeout_graceful_shutdown=_FAREWELL,
        )
        super().__init__(settings)
        self._listening = listening
        self._serving: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service."""
        yield

    async def open(self) -> None:
        """Begin to serve."""
        self._serving = asyncio.get_running_loop().create_task(self.serve(sockets=[self._listening]))
        while not self.started and not self._serving.done():
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        """Answer what was begun, and serve no more."""
        self.should_exit = True
        if self._serving is not None:
            await self._serving


class _Faults(logging.Handler):
    """Says in one line that a request met a bug, by the name of the error alone."""

    def __init__(self, say: Say) -> None:
        super().__init__(logging.ERROR)
        self._say_line = say

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self._say_line(f"internal error: {record.exc_info[0].__name__} while a request was answered")
