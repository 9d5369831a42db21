"""A source that reads from a broker: messages are lines, and what entered a state is acknowledged after the beat.

One thread talks to the broker: it takes messages, puts their lines into the states at once, and acknowledges what the
beat has brought to the disk. A broker that goes away is said to be lost once, sought again at growing intervals, and
said to be found. What was taken and not acknowledged by then comes again, which is harmless where users are counted.

A message may have one id or a batch of them. One of more than :data:`MOST_BYTES` is passed over and acknowledged.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.feed import Feed
from panbayes.service.source import Reading, Surroundings
from panbayes.stream.ids.formats.lines import LineBuffer

__all__ = [
    "MOST_BYTES",
    "PATIENCE",
    "Broker",
    "Brokered",
    "Link",
    "LostError",
    "Messages",
    "missing_driver",
    "mistrusted",
    "mistrusts",
    "plain_server",
    "trusted",
]

MOST_BYTES: Final = 16 << 20
"""Bytes of a message that is read."""

PATIENCE: Final = 0.5
"""Seconds that one look for messages may take."""

_MOST_WAITING: Final = 100_000
"""Messages that may wait for the beat; no more are taken before it."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0
_SEALED: Final = ("rediss://", "tls://")


class LostError(Exception):
    """The broker does not answer."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Some messages: their ``values``, and the ``marks`` by which they are acknowledged."""

    values: Sequence[bytes]
    marks: Sequence[Any]


class Link(Protocol):
    """A connection to a broker. One thread uses it. No call takes longer than some seconds."""

    def open(self) -> None:
        """Connect, for the first time or again; what is not there is an :class:`InputError`."""

    def take(self) -> Messages:
        """Return messages that are there, or that come within :data:`PATIENCE` seconds."""

    def acknowledge(self, marks: Sequence[Any]) -> None:
        """Tell the broker that these messages need not come again."""

    def close(self) -> None:
        """Let the connection go, after what was acknowledged has been heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brokered(Reading):
    """The keys that every source at a broker has."""

    group: Annotated[
        str,
        Key(
            kinds.text('a name such as "visits-1"'),
            "the name under which the broker keeps what was acknowledged; every service has one of its own",
        ),
    ]


class Broker:
    """Takes messages over a link until it is stopped; ``name`` and ``server`` are what the operator is told."""

    def __init__(self, feed: Feed, link: Link, around: Surroundings, *, name: str, server: str) -> None:
        """Begin at once."""
        self._feed, self._link, self._around = feed, link, around
        self._name, self._server = name, server
        self._buffer = LineBuffer(MOST_BYTES + 2)
        self._taken: list[Any] = []
        self._due: deque[list[Any]] = deque()
        self._turns, self._asked, self._idle, self._closing = (
            threading.Lock(),
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )
        self._connected = self._ever = self._told = False
        self._begun: Future[None] = Future()
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(self._run).add_done_callback(self._tell)

    async def begun(self) -> Broker:
        """Wait until the broker was found or was not; raise what is wrong with what is asked of it."""
        await asyncio.wrap_future(self._begun)
        return self

    def _tell(self, done: Future[None]) -> None:
        error = done.exception()
        if error is None:
            return
        if self._begun.done():
            self._around.end(error)
        else:
            self._begun.set_exception(error)

    def _run(self) -> None:
        try:
            self._take_until_asked()
            self._idle.set()
            self._closing.wait()
            if self._connected:
                with suppress(LostError):
                    self._acknowledge()
        finally:
            self._buffer.wipe()
            self._idle.set()
            self._link.close()

    def _take_until_asked(self) -> None:
        pause = _FIRST_PAUSE
        while not self._asked.is_set():
            try:
                self._link.open()
                pause = _FIRST_PAUSE
                self._say_found()
                while not self._asked.is_set():
                    self._acknowledge()
                    self._take()
            except LostError:
                self._say_lost()
            except InputError:
                # What was there once comes back, as it does while a broker starts; what never was is a mistake.
                if not self._ever:
                    raise
                self._say_lost()
            if not self._asked.wait(pause):
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _say_found(self) -> None:
        if self._told:
            self._around.say(f"{self._name}: found {self._server} again")
        self._connected = self._ever = True
        self._told = False
        self._let_begin()

    def _say_lost(self) -> None:
        if not self._told:
            self._around.say(f"{self._name}: lost {self._server}; trying again")
        self._connected, self._told = False, True
        self._let_begin()

    def _let_begin(self) -> None:
        if not self._begun.done():
            self._begun.set_result(None)

    def _take(self) -> None:
        if len(self._taken) >= _MOST_WAITING:
            self._asked.wait(PATIENCE / 10)
            return
        found = self._link.take()
        for value in found.values:
            if 0 < len(value) <= MOST_BYTES:
                self._put(value)
        self._feed.take_whole(self._buffer, ended=True)
        with self._turns:
            self._taken.extend(found.marks)

    def _put(self, value: bytes) -> None:
        """Put a message behind others, which enter the states first where there is no room."""
        if len(self._buffer.room()) <= len(value) + 1:
            self._feed.take_whole(self._buffer, ended=True)
        self._buffer.put(memoryview(value))
        self._buffer.put(memoryview(b"\n"))

    def _acknowledge(self) -> None:
        while self._due:
            self._link.acknowledge(self._due[0])
            self._due.popleft()

    def settle(self) -> Callable[[], None]:
        """Let what was taken in by now be acknowledged; the thread that talks to the broker does so."""
        with self._turns:
            taken, self._taken = self._taken, []

        def acknowledge() -> None:
            if taken:
                self._due.append(taken)

        return acknowledge

    async def stop(self) -> None:
        """Take no more messages."""
        self._asked.set()
        await asyncio.to_thread(self._idle.wait)

    async def close(self) -> None:
        """Acknowledge what is due, and let the broker go."""
        self._asked.set()
        self._closing.set()
        await asyncio.to_thread(self._thread.shutdown)


def missing_driver(kind: str, package: str) -> InputError:
    """Say what to install."""
    return InputError(
        "kind", found=f"a source of kind {kind} needs {package}", remedy=f"run: pip install 'panbayes[{kind}]'"
    )


def trusted(folder: Path, ca: str | None, server: str) -> ssl.SSLContext | None:
    """Return how TLS is spoken with a server, by the certificates that are trusted; nothing where it is not spoken."""
    if not server.startswith(_SEALED):
        if ca is not None:
            found = f"found it with {server.partition(':')[0]}://"
            raise InputError("ca", found=found, remedy=f"give an address with {' or '.join(_SEALED)}, or leave it out")
        return None
    context = ssl.create_default_context()
    try:
        if ca is not None:
            context.load_verify_locations(folder / check_path(ca, argument="ca"))
    except OSError:
        # That it is no certificate is one of these, too.
        raise InputError("ca", found=f"{ca} has no certificates", remedy="give a file of them, as PEM") from None
    return context


def mistrusts(error: BaseException | None) -> bool:
    """Say whether an error comes from a certificate that is not trusted, or from a server that speaks no TLS."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def mistrusted(server: str) -> InputError:
    """Say that a server is not the one that it should be."""
    return InputError(
        "server",
        found=f"{server} shows no certificate for this name that is trusted here",
        remedy="give the file of certificates to trust as ca, and the name that the server's certificate has",
    )


def plain_server(server: str, *, schemes: Sequence[str], example: str) -> str:
    """Check an address that says where a broker is and nothing else: no secret stands in the file of a service."""
    scheme, found, rest = server.partition("://")
    if not found or scheme not in schemes or not rest or any(sign in rest for sign in "@?# "):
        shown = "" if "@" in server or "?" in server else f' "{server}"'
        raise InputError(
            "server",
            found=f"found an address{shown} that is not of the form {example}",
            remedy=f"give {' or '.join(f'{one}://HOST:PORT' for one in schemes)}; passwords come from the environment",
        )
    return server
