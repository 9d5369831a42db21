"""Strings as SSH writes them: a length in four bytes, then the bytes.

Every file of OpenSSH that panbayes reads or writes, public keys and signatures, is made of them (RFC 4251, section 5).
"""

from __future__ import annotations

__all__ = ["Reader", "WireError", "string"]


class WireError(ValueError):
    """Bytes that end too early, or go on too long."""


def string(data: bytes) -> bytes:
    r"""Write a string.

    >>> string(b"ssh")
    b'\x00\x00\x00\x03ssh'
    """
    return len(data).to_bytes(4, "big") + data


class Reader:
    """Reads one value after another, and refuses to read past the end."""

    def __init__(self, data: bytes) -> None:
        """Begin at the beginning."""
        self._rest = data

    def take(self, count: int) -> bytes:
        """Take so many bytes."""
        if count > len(self._rest):
            raise WireError("the bytes end too early")
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def number(self) -> int:
        """Take four bytes as a number."""
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        """Take a string."""
        return self.take(self.number())

    def end(self) -> None:
        """Say that nothing must follow."""
        if self._rest:
            raise WireError("the bytes go on after their end")
