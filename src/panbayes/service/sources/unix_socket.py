"""Lines over a Unix socket of this machine: whoever may write to the socket's file may feed."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.feed import Feed
from panbayes.service.lines import Lines
from panbayes.service.source import Reading, SourceKind, Surroundings, nothing

__all__ = ["SOCKET", "SocketSource"]

_PIECE: Final = 1 << 18
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
        connections.server = await asyncio.start_unix_server(connections.serve, sock=listening, limit=_PIECE)
        around.say(f"taking lines at {place}")
        return connections


class _Connections:
    """Connections that lines come over."""

    server: asyncio.Server

    def __init__(self, feed: Feed, place: Path) -> None:
        self._feed, self._place, self._free = feed, place, asyncio.Semaphore(_MOST)
        self._open: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._stopped:
            writer.close()
            return
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        lines = Lines()
        try:
            async with self._free:
                while piece := await reader.read(_PIECE):
                    self._take(lines.add(piece))
                self._take(lines.end())
        except (OSError, asyncio.CancelledError):
            # Whole lines count; what was begun of one does not.
            pass
        finally:
            lines.wipe()
            writer.close()

    def _take(self, lines: bytearray) -> None:
        if lines:
            self._feed.take(lines)
            lines[:] = bytes(len(lines))

    def settle(self) -> Callable[[], None]:
        """Acknowledge nothing: lines have no sender who waits."""
        return nothing

    async def stop(self) -> None:
        """Take no more lines."""
        self._stopped = True
        self.server.close()
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open))

    async def close(self) -> None:
        """Remove the socket."""
        with suppress(OSError):
            self._place.unlink()


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
