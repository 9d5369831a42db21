"""A Kafka broker that deletes records: the mock cluster behind a proxy that answers ``DeleteRecords`` by the protocol.

librdkafka's mock cluster has no ``DeleteRecords``, and no registry of packages that tests use has a whole broker. So
clients talk to this proxy, which hands everything over but two things: to the list of what the broker can do it adds
``DeleteRecords``, and such a request it answers itself, with the code that a test wishes. Addresses in answers are its
own, so that clients come back to it. What a broker does then with its segments is not seen here.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Final

__all__ = ["API_VERSIONS", "DeletingProxy", "frame", "framed", "offering"]

API_VERSIONS, _DELETE_RECORDS = 18, 21
_HOST: Final = b"127.0.0.1"


class DeletingProxy:
    """A proxy before a broker at a port of this machine.

    ``asked`` are the (topic, partition, offset) of requests; they are answered with ``code``, after ``delay`` seconds.
    """

    def __init__(self, servers: str) -> None:
        """Begin to listen."""
        self._broker = int(servers.rpartition(":")[2])
        self.asked: list[tuple[str, int, int]] = []
        self.code = self.answered = 0
        self.delay = 0.0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.servers = f"127.0.0.1:{self.port}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                broker = socket.create_connection(("127.0.0.1", self._broker))
                self._open += [client, broker]
                kinds: dict[int, tuple[int, int]] = {}
                threading.Thread(target=self._up, args=(client, broker, kinds), daemon=True).start()
                threading.Thread(target=self._down, args=(broker, client, kinds), daemon=True).start()

    def _up(self, client: socket.socket, broker: socket.socket, kinds: dict[int, tuple[int, int]]) -> None:
        with suppress(OSError):
            while message := framed(client):
                kind, version, number = struct.unpack_from(">hhi", message)
                if kind == _DELETE_RECORDS:
                    answer = self._deleted(message, version, number)
                    time.sleep(self.delay)
                    client.sendall(frame(answer))
                    self.answered += 1
                    continue
                kinds[number] = kind, version
                broker.sendall(frame(message))
        broker.close()

    def _down(self, broker: socket.socket, client: socket.socket, kinds: dict[int, tuple[int, int]]) -> None:
        with suppress(OSError):
            while message := framed(broker):
                kind, version = kinds.pop(struct.unpack_from(">i", message)[0], (0, 0))
                theirs, ours = (_HOST + struct.pack(">i", port) for port in (self._broker, self.port))
                message = message.replace(theirs, ours)
                client.sendall(frame(offering(message, version, _DELETE_RECORDS) if kind == API_VERSIONS else message))
        client.close()

    def _deleted(self, message: bytes, version: int, number: int) -> bytes:
        """Answer a request of version 0 or 1, which have one form."""
        assert version in (0, 1), version
        (length,) = struct.unpack_from(">h", message, 8)
        place = 10 + max(0, length)
        (topics,) = struct.unpack_from(">i", message, place)
        place += 4
        answer = struct.pack(">iii", number, 0, topics)
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", message, place)
            name = message[place + 2 : place + 2 + length]
            (partitions,) = struct.unpack_from(">i", message, place + 2 + length)
            place += 6 + length
            answer += struct.pack(">h", length) + name + struct.pack(">i", partitions)
            for _ in range(partitions):
                partition, offset = struct.unpack_from(">iq", message, place)
                place += 12
                self.asked.append((name.decode(), partition, offset))
                answer += struct.pack(">iqh", partition, -1 if self.code else offset, self.code)
        return answer

    def close(self) -> None:
        """End it."""
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def offering(message: bytes, version: int, *kinds: int) -> bytes:
    """Add kinds of requests, of versions 0 and 1, to a list of what a broker can do."""
    entries = [struct.pack(">hhh", kind, 0, 1) for kind in kinds]
    if version < 3:
        (count,) = struct.unpack_from(">i", message, 6)
        return message[:6] + struct.pack(">i", count + len(kinds)) + b"".join(entries) + message[10:]
    assert message[6] + len(kinds) < 128, "the list is longer than one byte says"
    return message[:6] + bytes([message[6] + len(kinds)]) + b"".join(entry + b"\0" for entry in entries) + message[7:]


def frame(message: bytes) -> bytes:
    """Write a message with its length."""
    return struct.pack(">i", len(message)) + message


def framed(connection: socket.socket) -> bytes:
    """Read a message; nothing where the connection has ended."""
    head = _exactly(connection, 4)
    return _exactly(connection, struct.unpack(">i", head)[0]) if head else b""


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            return b""
        found += piece
    return found
