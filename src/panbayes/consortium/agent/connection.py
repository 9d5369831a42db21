"""A connection outwards: by a proxy if the environment names one, over TLS to the host by its name, in bounded time.

A connection leads to one host. Whoever is at the other end may send anything, or nothing, or a byte now and then: every
wait ends at the moment that was set, the head of a reply is at most as long as ``http.client`` allows, and a body as
long as was said before. Nothing is followed elsewhere.

Proxies are those of ``HTTPS_PROXY`` and ``NO_PROXY``; a proxy is asked to connect (``CONNECT``) and sees nothing but
the name of the host.
"""

from __future__ import annotations

import base64
import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from panbayes.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Address", "Connection", "ProxyError", "Reply", "trusting"]

_PORT: Final = 443
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9._~-]+)*/?")
_PIECE: Final = 65_536
_MAX_LINE: Final = 1000
_MAX_PROXY_HEAD: Final = 16_384


class ProxyError(OSError):
    """A proxy did not connect."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a mailbox is: a ``host``, a ``port``, whether TLS is spoken there, and what a proxy there knows it by."""

    host: str
    port: int
    tls: bool
    prefix: str = ""

    @classmethod
    def parse(cls, url: str, *, argument: str) -> Address:
        """Read a URL; only this machine may be reached without TLS."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
            host.encode("idna")
        except ValueError:
            parts, host, port = urlsplit(""), "", None
        tls = parts.scheme == "https"
        near = parts.scheme == "http" and host in ("127.0.0.1", "::1", "localhost")
        more = parts.username is not None or parts.query or parts.fragment
        if not host or more or not (tls or near) or not url.isascii() or not _PREFIX.fullmatch(parts.path):
            raise InputError(
                argument,
                found=f'found "{url}"',
                remedy="give a URL such as https://analyst.example:8443",
            )
        return cls(host, port or (_PORT if tls else 80), tls, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        """What a request says that it is meant for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.tls and self.port == _PORT else f"{host}:{self.port}"


def trusting(ca: Path | None, *, argument: str) -> ssl.SSLContext:
    """Return the TLS of a client that trusts the system's authorities and those in a file."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is not None:
        try:
            context.load_verify_locations(cafile=ca)
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or "no certificate").lower()
            raise InputError(
                argument, found=f"{ca} is no file of certificates ({reason})", remedy="give a file in PEM"
            ) from None
    return context


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a reply: its ``status``, the ``length`` of its body, and its headers, in small letters."""

    status: int
    length: int
    headers: Mapping[str, str]


class _Timed(io.RawIOBase):
    """A socket on which every wait ends at one moment, ``until``, whatever comes before it."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self.sock = sock
        self.until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._limit()
        return self.sock.recv_into(buffer)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._limit()
            view = view[self.sock.send(view[:_PIECE]) :]

    def secure(self, context: ssl.SSLContext, host: str) -> None:
        self._limit()
        self.sock = context.wrap_socket(self.sock, server_hostname=host)

    def interrupt(self) -> None:
        with suppress(OSError):
            # Not TLS's own, which would let the waiting thread read what is not decrypted.
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self.sock.close()
        super().close()

    def _limit(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.sock.settimeout(left)


class Connection:
    """A connection to an address, made when it is needed and kept for the next request.

    Its methods raise :class:`OSError` (also of TLS and of time that is over) and
    :class:`http.client.HTTPException`; after either it is to be closed.
    """

    def __init__(self, address: Address, context: ssl.SSLContext | None) -> None:
        """Lead to an address; ``context`` says whom to trust, if TLS is spoken there."""
        self._address, self._context = address, context
        self._timed: _Timed | None = None
        self._incoming: io.BufferedReader | None = None
        self._used = 0.0
        self._interrupted = False

    def is_open(self, *, within: float) -> bool:
        """Tell whether it is open and was used in the last seconds."""
        return self._timed is not None and time.monotonic() - self._used < within

    def send(self, path: str, headers: Mapping[str, str], body: bytes, *, until: float) -> None:
        """Send a request, all of it until a moment."""
        if self._timed is None:
            self._timed = self._dial(until)
            self._incoming = io.BufferedReader(self._timed, _PIECE)
        if self._interrupted:
            raise InterruptedError
        self._timed.until = until
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._timed.send(
            f"POST {self._address.prefix}{path} HTTP/1.1\r\n{head}\r\n".encode("ascii")
            + (body if len(body) < _PIECE else b"")
        )
        if len(body) >= _PIECE:
            self._timed.send(body)

    def receive(self, *, until: float) -> Reply:
        """Read the head of the reply."""
        if self._timed is None or self._incoming is None:
            raise http.client.NotConnected
        self._timed.until = until
        line = self._incoming.readline(_MAX_LINE)
        if not line and self._interrupted:
            raise InterruptedError
        if not line:
            raise http.client.RemoteDisconnected("")
        found = re.fullmatch(rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [ -~]*)?\r?\n", line)
        if found is None:
            raise http.client.BadStatusLine("")
        status = int(found[1])
        headers = {name.lower(): value for name, value in http.client.parse_headers(self._incoming).items()}
        length = "0" if status == 204 else headers.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,12}", length) or "transfer-encoding" in headers:
            raise http.client.HTTPException
        return Reply(status, int(length), headers)

    def read(self, reply: Reply, *, until: float) -> bytes:
        """Read the body of the reply."""
        if self._timed is None or self._incoming is None:
            raise http.client.NotConnected
        self._timed.until = until
        body = self._incoming.read(reply.length)
        if len(body) < reply.length:
            raise http.client.IncompleteRead(b"")
        self._used = time.monotonic()
        if reply.headers.get("connection", "").lower() == "close":
            self.close()
        return body

    def interrupt(self, wanted: bool) -> None:
        """Let nobody wait, in whatever thread, until that is no longer ``wanted``."""
        self._interrupted = wanted
        timed = self._timed
        if wanted and timed is not None:
            timed.interrupt()

    def close(self) -> None:
        """End it; the next request makes another."""
        if self._timed is not None:
            self._timed.close()
        self._timed = self._incoming = None

    def _dial(self, until: float) -> _Timed:
        address, proxy = self._address, _proxy_for(self._address)
        host, port = (address.host, address.port) if proxy is None else (proxy.host, proxy.port)
        left = max(0.1, until - time.monotonic())
        timed = _Timed(socket.create_connection((host, port), timeout=left), until)
        try:
            timed.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            timed.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if proxy is not None:
                _ask_proxy(timed, address, proxy)
            if self._context is not None:
                timed.secure(self._context, address.host)
        except BaseException:
            timed.close()
            raise
        return timed


@dataclass(frozen=True, slots=True)
class _Proxy:
    host: str
    port: int
    credentials: str | None


def _proxy_for(address: Address) -> _Proxy | None:
    """Return the proxy that the environment names for an address; None if there is none."""
    url = getproxies().get("https") if address.tls else None
    if not url or proxy_bypass(f"{address.host}:{address.port}"):
        return None
    credentials = None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port
        host.encode("idna")  # as the system will be asked for it
        if parts.username is not None:
            told = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            credentials = base64.b64encode(told.encode()).decode()
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme != "http" or not host:
        raise ProxyError("HTTPS_PROXY is no URL such as http://proxy.example:3128")
    return _Proxy(host, port or 80, credentials)


def _ask_proxy(timed: _Timed, address: Address, proxy: _Proxy) -> None:
    """Ask a proxy to connect; it says nothing after its own reply before we do."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    head = f"CONNECT {host}:{address.port} HTTP/1.1\r\nHost: {host}:{address.port}\r\n"
    if proxy.credentials is not None:
        head += f"Proxy-Authorization: Basic {proxy.credentials}\r\n"
    timed.send(f"{head}\r\n".encode("ascii"))
    told = b""
    while not told.endswith(b"\r\n\r\n"):
        piece = timed.read(_PIECE)
        told += piece or b""
        if not piece or len(told) > _MAX_PROXY_HEAD:
            raise ProxyError("the proxy answered as none does")
    found = re.match(rb"HTTP/1\.[01] ([0-9]{3})", told)
    status = "nothing" if found is None else found[1].decode()
    if status != "200":
        told_407 = ", it wants a user and a password" if status == "407" else ""
        raise ProxyError(f"the proxy did not connect (it said {status}{told_407})")
