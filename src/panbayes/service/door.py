"""Serving HTTP: what a connection may take, and nothing said about who came.

A connection has :data:`PATIENCE` seconds for the head of each request, from the end of the answer before; there are at
most :data:`MOST` connections, fewer where the system grants few open files, and one more is closed at once: however
many clients come, files are left for the states and for releases. No request is logged. uvicorn reads HTTP; an error of
ours shows by its name alone.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from panbayes.service.source import Say

__all__ = ["MOST", "PATIENCE", "Door"]

MOST: Final = 1024
PATIENCE: Final = 20.0
_FAREWELL: Final = 5
_FILES: Final = 8 * MOST


class _Connection(H11Protocol):
    """A connection that must begin a request in time, and may not be one too many."""

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
        if len(self.connections) >= (self.limit_concurrency or MOST):
            transport.abort()
        else:
            self._watch(transport)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch(self.transport)

    def handle_events(self) -> None:
        super().handle_events()
        self._watch(self.transport)

    def _watch(self, transport: asyncio.Transport) -> None:
        """Wait for the head of a request while none is being answered; what comes before it ends does not help."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._rest()
        elif self._patience is None and not transport.is_closing():
            self._patience = self.loop.call_later(PATIENCE, transport.abort)

    def _rest(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)


class Door(uvicorn.Server):
    """A server of one application at one socket, which ends when it is asked to and hears no signals."""

    def __init__(self, app: ASGIApp, listening: socket.socket, say: Say) -> None:
        """Make it; it serves once it is started."""
        logger = logging.getLogger("uvicorn.error")
        logger.handlers, logger.propagate = [_Faults(say)], False
        most = min(MOST, _open_files() // 8)
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
            # One more than there can be: a connection is closed, never told that there are too many.
            limit_concurrency=most + 1,
            backlog=min(128, most),
            timeout_keep_alive=int(PATIENCE),
            timeout_graceful_shutdown=_FAREWELL,
        )
        super().__init__(settings)
        self._listening = listening
        self._serving: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service."""
        yield

    async def open(self) -> None:
        """Begin to serve."""
        self._serving = asyncio.get_running_loop().create_task(self.serve(sockets=[self._listening]))
        while not self.started and not self._serving.done():
            await asyncio.sleep(0.01)

    async def main_loop(self) -> None:
        """Serve until it is asked to end, without looking at the clock ten times a second meanwhile."""
        await self._ending.wait()

    def ask_to_end(self) -> None:
        """Take no more connections; what was begun is answered."""
        self.should_exit = True
        self._ending.set()

    async def end(self) -> None:
        """Answer what was begun, and serve no more."""
        self.ask_to_end()
        if self._serving is not None:
            await self._serving


def _open_files() -> int:
    """Let this process have as many open files as it needs, and return how many it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class _Faults(logging.Handler):
    """Says in one line that a request met a bug, by the name of the error alone."""

    def __init__(self, say: Say) -> None:
        super().__init__(logging.ERROR)
        self._say_line = say

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self._say_line(f"internal error: {record.exc_info[0].__name__} while a request was answered")
