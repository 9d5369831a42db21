"""Lines over a Unix socket of this machine: whoever may write to the socket's file may feed."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.feed import LONGEST, Feed
from panbayes.service.source import Reading, SourceKind, Surroundings, nothing
from panbayes.stream.ids.formats.lines import LineBuffer

__all__ = ["SOCKET", "SocketSource"]

_MOST: Final = 256
"""Connections at a time; one more waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketSource(Reading):
    """Where the socket lies."""

    path: Annotated[str, Key(kinds.text('a path such as "ingest.socket"'), "the socket; it is made at mode 0600")]

    def describe(self) -> str:
        """Say where lines come from."""
        return f"the socket {self.path}"

    async def start(self, feed: Feed, around: Surroundings) -> _Connections:
        """Begin to take lines."""
        place = around.folder / check_path(self.path, argument="path")
        connections = _Connections(feed, place)
        listening = _listen(place)
        connections.server = await asyncio.get_running_loop().create_unix_server(
            lambda: _Connection(connections), sock=listening
        )
        around.say(f"taking lines at {place}")
        return connections


class _Connections:
    """Connections that lines come over."""

    server: asyncio.Server

    def __init__(self, feed: Feed, place: Path) -> None:
        self.feed, self._place = feed, place
        self._open: set[_Connection] = set()
        self._waiting: deque[_Connection] = deque()
        self.stopped = False

    def begin(self, connection: _Connection) -> None:
        """Let a connection be read, now or once another one has ended."""
        if len(self._open) < _MOST:
            self._open.add(connection)
        else:
            self._waiting.append(connection)
            connection.transport.pause_reading()

    def end(self, connection: _Connection) -> None:
        """Let the next one be read."""
        if connection not in self._open:
            self._waiting.remove(connection)
            return
        self._open.remove(connection)
        if self._waiting and not self.stopped:
            following = self._waiting.popleft()
            self._open.add(following)
            following.transport.resume_reading()

    def settle(self) -> Callable[[], None]:
        """Acknowledge nothing: lines have no sender who waits."""
        return nothing

    async def stop(self) -> None:
        """Take no more lines. Whole lines count; what was begun of one does not."""
        self.stopped = True
        self.server.close()
        for connection in (*self._open, *self._waiting):
            connection.buffer.wipe()
            connection.transport.abort()
        while self._open or self._waiting:
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Remove the socket."""
        with suppress(OSError):
            self._place.unlink()


class _Connection(asyncio.BufferedProtocol):
    """One connection: what comes is read into its buffer, and whole lines enter the states at once."""

    transport: asyncio.Transport

    def __init__(self, connections: _Connections) -> None:
        self._connections, self.buffer = connections, LineBuffer(LONGEST)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError
        self.transport = transport
        self._connections.begin(self)
        if self._connections.stopped:
            transport.abort()

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self.buffer.room()

    def buffer_updated(self, nbytes: int) -> None:
        self.buffer.grew(nbytes)
        self._take(ended=False)

    def eof_received(self) -> None:
        self._take(ended=True)

    def connection_lost(self, _error: Exception | None) -> None:
        self.buffer.wipe()
        self._connections.end(self)

    def _take(self, *, ended: bool) -> None:
        if not self._connections.stopped:
            self._connections.feed.take_whole(self.buffer, ended=ended)


def _listen(place: Path) -> socket.socket:
    """Listen at a path; a socket that nobody listens at any more is replaced, and nothing else is."""
    made = socket.socket(socket.AF_UNIX)
    try:
        if place.exists() or place.is_symlink():
            _remove_left(place)
        before = os.umask(0o177)
        try:
            made.bind(str(place))
        finally:
            os.umask(before)
        made.listen(_MOST)
    except OSError as error:
        made.close()
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            "path",
            found=f"{place} cannot be listened at ({reason})",
            remedy="give another place, of 100 letters at most",
        ) from None
    return made


def _remove_left(place: Path) -> None:
    if not stat.S_ISSOCK(place.lstat().st_mode):
        raise InputError("path", found=f"{place} exists and is no socket", remedy="give another name")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(place))
        except ConnectionRefusedError:
            place.unlink()
            return
    raise InputError("path", found=f"another process listens at {place}", remedy="stop it, or give another name")


SOCKET: Final = SourceKind("socket", "lines over a Unix socket", SocketSource, repeats=False)
