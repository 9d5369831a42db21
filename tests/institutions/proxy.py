"""What lies between a holder's agent and the analyst's mailbox: a line that drops, delays, cuts and repeats.

A faulty line, by a seed, does one of these to a connection: nothing; ends it at once; ends it after so many bytes, in
either direction, so that a request or its answer is cut off; stalls for a while; or passes bytes on in small pieces.
Connections wait for each other in no order. Where there is no TLS it also records what it carries, and sends whole
requests once more over connections of its own: right away, or much later.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Line"]

PIECE = 65536
PATIENCE = 20.0


@dataclass
class Line:
    """Listens at ``port`` on loopback and carries connections to another port of this machine."""

    port: int
    to: int
    seed: int
    chance: float = 0.4
    honest: bool = False
    repeats: bool = False
    did: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._recorded: list[bytes] = []
        self._open: set[socket.socket] = set()
        self._ended = False
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Line:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """End all connections."""
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._ended:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(connection,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        fault = (
            "none" if self.honest or self._rng.random() >= self.chance else FAULTS[int(self._rng.integers(len(FAULTS)))]
        )
        self._count(fault)
        if fault == "drop":
            near.close()
            return
        if fault == "stall":
            time.sleep(self._rng.random() * 1.5)
        try:
            far = socket.create_connection(("127.0.0.1", self.to), timeout=PATIENCE)
        except OSError:
            near.close()
            return
        with near, far:
            with self._lock:
                self._open |= {near, far}
            limits: list[int | None] = [None, None]
            if fault == "cut request":
                limits[0] = int(self._rng.integers(1, 4000))
            elif fault == "cut answer":
                limits[1] = int(self._rng.integers(1, 4000))
            back = threading.Thread(
                target=self._pass, args=(far, near, limits[1], fault == "pieces", False), daemon=True
            )
            back.start()
            self._pass(near, far, limits[0], fault == "pieces", self.repeats)
            back.join()
            with self._lock:
                self._open -= {near, far}
        if self.repeats and not self.honest and self._recorded and self._rng.random() < self.chance:
            self._repeat()

    def _pass(self, source: socket.socket, target: socket.socket, limit: int | None, slow: bool, record: bool) -> None:
        left, kept = limit, bytearray()
        with suppress(OSError):
            while left is None or left > 0:
                data = source.recv(PIECE if not slow else 700)
                if not data:
                    break
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                if slow:
                    time.sleep(0.005)
                if record:
                    kept += data
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        if kept:
            self._recorded.append(bytes(kept))

    def _repeat(self) -> None:
        """Send something that was carried before once more, whole or cut off, and read what comes of it."""
        data = self._recorded[int(self._rng.integers(len(self._recorded)))]
        if self._rng.random() < 0.3:
            data = data[: int(self._rng.integers(len(data)))]
        self._count("repeat")
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.to), timeout=2) as far:
            far.sendall(data)
            while far.recv(PIECE):
                pass

    def _count(self, what: str) -> None:
        self.did[what] = self.did.get(what, 0) + 1


FAULTS = ("drop", "stall", "cut request", "cut answer", "pieces")
