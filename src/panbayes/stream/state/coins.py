"""Coins for the state that nobody can toss again.

An intruder who finds the generator finds the past: from a seeded generator in memory, every redraw can be replayed
and compared with the state. So there is no generator. :func:`system_coins` fills a buffer with the keystream of
AES-256-CTR under a key drawn from the operating system for that one call; the key is overwritten before the call
returns, and the caller overwrites the buffer once the coins are used. A few coins come from the operating system
themselves. None are drawn ahead: coins kept for the next call would be seen by a look, and tell what comes next.

See errata 5.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from panbayes.errors import InternalError

__all__ = ["BLOCK", "SYSTEM_CALL", "Coins", "seeded_coins", "system_coins"]

Coins: TypeAlias = Callable[[NDArray[np.uint8]], None]
"""Fills a buffer of bytes with fresh, independent, uniform coins."""

BLOCK: Final = 1 << 18
"""The largest buffer, in bytes: it stays in the processor's cache."""

_ZEROS: Final = bytes(BLOCK)
_FEW: Final = 256
_getrandom: Final = getattr(ctypes.CDLL(None), "getrandom", None)

SYSTEM_CALL: Final = _getrandom is not None
"""Whether the system gives randomness by a call of its own, which compiled loops can make too."""


def system_coins(buffer: NDArray[np.uint8]) -> None:
    """Fill ``buffer`` (at most :data:`BLOCK` bytes) from a fresh key, and erase the key.

    >>> buffer = np.zeros(64, dtype=np.uint8)
    >>> system_coins(buffer)
    >>> bool(buffer.any())
    True
    """
    if len(buffer) <= _FEW:
        _from_system(buffer.data)
        return
    key = bytearray(32)
    _from_system(memoryview(key))
    # Every key is used once, so the counter may start at zero.
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    stream.update_into(memoryview(_ZEROS)[: len(buffer)], memoryview(buffer.data))
    stream.finalize()
    key[:] = bytes(32)


def _from_system(buffer: memoryview) -> None:
    """Fill a small buffer with randomness of the operating system, which is never given in part up to 256 bytes."""
    size = len(buffer)
    if _getrandom is None:
        _from_device(buffer)
    elif _getrandom((ctypes.c_char * size).from_buffer(buffer), size, 0) != size:
        raise InternalError("the operating system gave no randomness")


def _from_device(buffer: memoryview) -> None:
    """Fill a small buffer where the system has no call for it."""
    system = os.open("/dev/urandom", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.readv(system, [buffer]) != len(buffer):
            raise InternalError("the operating system gave no randomness")
    finally:
        os.close(system)


def seeded_coins(seed: int) -> Coins:
    """Return coins from a seed, the same every time, for experiments and tests: such a state is not private."""
    key = hashlib.sha256(f"panbayes simulated coins {seed}".encode()).digest()
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def fill(buffer: NDArray[np.uint8]) -> None:
        buffer[:] = np.frombuffer(stream.update(bytes(len(buffer))), dtype=np.uint8)

    return fill
