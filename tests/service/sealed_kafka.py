"""A Kafka broker behind TLS that asks for a password, and what an eavesdropper before it would hear.

librdkafka's mock cluster speaks neither TLS nor SASL. So clients talk to a proxy that does, by the protocol: it adds
``SaslHandshake`` and ``SaslAuthenticate`` to the list of what the broker can do and answers them itself; before a right
password it hands over that list alone. Everything else is the mock cluster's.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.service.deleting_proxy import API_VERSIONS, frame, framed, offering

__all__ = ["Eavesdropper", "SealedProxy"]

_HANDSHAKE, _AUTHENTICATE = 17, 36
_HOST: Final = b"127.0.0.1"
_REFUSED: Final = 58


class SealedProxy:
    """A proxy that speaks TLS before a broker of this machine, and lets in who knows the user and the password.

    ``shown`` is what clients showed; ``sealed = False`` makes it one that speaks no TLS. Clients are led to
    ``advertised``.
    """

    def __init__(self, servers: str, *, certificate: Path, key: Path, login: bytes, sealed: bool = True) -> None:
        """Begin to listen."""
        self._broker = int(servers.rpartition(":")[2])
        self._login, self._sealed = login, sealed
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self.shown: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.advertised = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                threading.Thread(target=self._begin, args=(client,), daemon=True).start()

    def _begin(self, plain: socket.socket) -> None:
        with suppress(OSError):
            client = self._context.wrap_socket(plain, server_side=True) if self._sealed else plain
            broker = socket.create_connection(("127.0.0.1", self._broker))
            self._open += [client, broker]
            kinds: dict[int, tuple[int, int]] = {}
            threading.Thread(target=self._down, args=(broker, client, kinds), daemon=True).start()
            self._up(client, broker, kinds)

    def _up(self, client: socket.socket, broker: socket.socket, kinds: dict[int, tuple[int, int]]) -> None:
        known = False
        with suppress(OSError):
            while message := framed(client):
                kind, version, number = struct.unpack_from(">hhi", message)
                if kind == _HANDSHAKE:
                    client.sendall(frame(struct.pack(">ihih", number, 0, 1, 5) + b"PLAIN"))
                elif kind == _AUTHENTICATE:
                    (length,) = struct.unpack_from(">h", message, 8)
                    self.shown.append(message[10 + max(0, length) + 4 :])
                    known = self.shown[-1] == self._login
                    answer = struct.pack(">ihhi", number, 0 if known else _REFUSED, -1, 0)
                    client.sendall(frame(answer + (struct.pack(">q", 0) if version else b"")))
                elif known or kind == API_VERSIONS:
                    kinds[number] = kind, version
                    broker.sendall(frame(message))
                else:
                    break
        for one in (client, broker):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _down(self, broker: socket.socket, client: socket.socket, kinds: dict[int, tuple[int, int]]) -> None:
        with suppress(OSError):
            while message := framed(broker):
                kind, version = kinds.pop(struct.unpack_from(">i", message)[0], (0, 0))
                theirs, ours = (_HOST + struct.pack(">i", port) for port in (self._broker, self.advertised))
                message = message.replace(theirs, ours)
                if kind == API_VERSIONS:
                    message = offering(message, version, _HANDSHAKE, _AUTHENTICATE)
                client.sendall(frame(message))

    def close(self) -> None:
        """End it."""
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class Eavesdropper:
    """Hands on everything that is said at ``port`` to another port, and has ``heard`` it."""

    def __init__(self, to: int) -> None:
        """Begin to listen."""
        self._to = to
        self.heard = bytearray()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                there = socket.create_connection(("127.0.0.1", self._to))
                self._open += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._hand_on, args=(one, other), daemon=True).start()

    def _hand_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while piece := one.recv(65_536):
                self.heard += piece
                other.sendall(piece)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it."""
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
