"""Serving a mailbox: sockets, TLS, and the end of it.

uvicorn reads HTTP and runs the application; connections are kept in order by
:mod:`panbayes.consortium.desk.doorkeeper`. There is nothing to save: letters lie in the folder, and a server that is
killed and started again goes on where it was. Asked to stop (SIGTERM, SIGINT, SIGHUP) it lets every poll go and ends.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import uvicorn

from panbayes.consortium.desk.certificate import Certificate, host_of
from panbayes.consortium.desk.doorkeeper import MOST, Connection, Doorkeeper, Settings
from panbayes.consortium.desk.mailbox import Enrolment, Mailbox
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.requests import MAX_REQUEST_HEAD
from panbayes.errors import InputError

__all__ = ["is_loopback", "listen", "serve"]

_IDLE: Final = 75
"""Seconds that a holder's connection stays open while nothing happens on it."""

_BUFFER: Final = 2**15
_FILES: Final = 8192
"""Files and connections that a server asks the system for, if it may have so many."""

_MINUTE: Final = 60.0
_FAREWELL: Final = 3


def is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's own, which nobody else can reach."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str | None, port: int) -> socket.socket:
    """Listen at a port, on one address or, without, on all that this machine has."""
    try:
        if host is None and socket.has_dualstack_ipv6():
            made = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
        else:
            family = socket.AF_INET6 if host is not None and ":" in host else socket.AF_INET
            made = socket.create_server((host or "", port), family=family, backlog=128)
        # For every connection that comes: else short replies wait for each other, 40 ms at a time.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    except (OSError, OverflowError, UnicodeError) as error:
        number = error.errno if isinstance(error, OSError) else None
        told = os.strerror(number) if number is not None and number > 0 else "no such address"
        where = f"port {port}" if host is None else f"{host}, port {port}"
        raise InputError(
            "--port" if host is None else "--host",
            found=f"cannot listen at {where} ({told.lower()})",
            remedy="give an address of this machine, and a port that no other program uses",
        ) from None


def serve(
    folder: Folder,
    *,
    roster: Path,
    listening: socket.socket,
    certificate: Certificate | None,
    names: Collection[str] = (),
    say: Callable[[str], None],
) -> None:
    """Serve a folder until the process is asked to stop.

    Without a certificate it is known by the names of this machine's own addresses, and by ``names``, which a proxy in
    front passes on.
    """
    door = Doorkeeper(None if certificate is None else certificate.context, most=_most_strangers())
    mailbox = Mailbox(
        folder,
        enrolment=Enrolment(roster, say),
        doorkeeper=door,
        hosts=_Loopback(names).is_for if certificate is None else certificate.is_for,
        say=say,
    )
    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [_Faults(say)], False
    settings = Settings(
        mailbox,
        http=Connection,
        ws="none",
        loop="asyncio",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_FAREWELL,
        h11_max_incomplete_event_size=MAX_REQUEST_HEAD,
    )
    settings.doorkeeper = door
    address, port = listening.getsockname()[:2]
    say(f"serving {folder.path} at {address}, port {port}{', without TLS' if certificate is None else ''}")
    # Whoever connects, and be it a stranger, gets a buffer of this size, and leaves it in a ring of objects for the
    # collector. That comes when there is a quarter more than there was: of what is loaded, which stays, nothing counts.
    SSLProtocol.max_size = _BUFFER
    gc.collect()
    gc.freeze()
    asyncio.run(_Server(settings, mailbox, certificate, say).serve(sockets=[listening]))


def _most_strangers() -> int:
    """Return how many strangers there is room for: a quarter of what the system lets this process have open.

    Without that, strangers who say nothing would leave no room for holders, nor for the files of letters.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(min(MOST, soft // 4), 1)


class _Loopback:
    """What a server is known by that only this machine reaches: requests for any other host are a stranger's.

    Else a name that somebody's DNS leads here, or another mailbox's, would do.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(map(host_of, names)) | {"localhost"}

    def is_for(self, host: str) -> bool:
        name = host_of(host)
        return name in self._names or is_loopback(name)


class _Faults(logging.Handler):
    """Says in one line that a request met a bug, by the name of the error alone."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._say_line = say

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self._say_line(f"internal error: {record.exc_info[0].__name__} while a request was answered")


class _Server(uvicorn.Server):
    """uvicorn's server, which ends quietly and says once a minute who came in vain."""

    def __init__(
        self, settings: Settings, mailbox: Mailbox, certificate: Certificate | None, say: Callable[[str], None]
    ) -> None:
        super().__init__(settings)
        self._mailbox, self._door, self._certificate, self._say = mailbox, settings.doorkeeper, certificate, say

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when asked to, and leave it at that: whoever asked knows."""
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.getsignal(number) for number in numbers}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, _number: int, _frame: object) -> None:
        self.should_exit = True

    async def main_loop(self) -> None:
        """Serve, and look after the certificate and the count of strangers every minute."""
        asyncio.get_running_loop().set_exception_handler(_ignore)
        minutes = asyncio.get_running_loop().create_task(self._every_minute())
        try:
            await super().main_loop()
        finally:
            minutes.cancel()
            with suppress(asyncio.CancelledError):
                await minutes

    async def _every_minute(self) -> None:
        while True:
            await asyncio.sleep(_MINUTE)
            self._tell_strangers()
            if self._certificate is not None:
                self._certificate.renew(self._say)

    def _tell_strangers(self) -> None:
        strangers, refused = self._mailbox.strangers + self._door.strangers, self._mailbox.refused
        self._mailbox.strangers = self._door.strangers = self._mailbox.refused = 0
        if strangers:
            self._say(f"{strangers:,} requests of strangers since the last such line, answered with 404")
        if refused:
            self._say(f"{refused:,} requests of holders since the last such line that could not be taken")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let polls go, then everything else."""
        self._tell_strangers()
        self._mailbox.end()
        await super().shutdown(sockets)


def _ignore(_loop: asyncio.AbstractEventLoop, _context: dict[str, object]) -> None:
    """Keep quiet about connections that broke: the doorkeeper has dealt with them."""
