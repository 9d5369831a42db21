"""Where a service listens: an address and a port of this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
from dataclasses import dataclass

from panbayes.errors import InputError

__all__ = ["Address", "read_address"]


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address of this machine and a port; port 0 is any that is free."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether nobody but this machine can reach it."""
        return ipaddress.ip_address(self.host).is_loopback

    def listen(self, *, argument: str) -> socket.socket:
        """Listen there."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=256)
        except OSError as error:
            told = os.strerror(error.errno).lower() if error.errno else "no such address"
            raise InputError(
                argument,
                found=f"cannot listen at {self} ({told})",
                remedy="give an address of this machine, and a port that no other program uses",
            ) from None

    def __str__(self) -> str:
        """Write it as people do."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str, *, argument: str) -> Address:
    """Read an address such as ``127.0.0.1:8080`` or ``[::1]:8080``.

    >>> read_address("[::1]:8080", argument="listen").loopback
    True
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
        number = int(port) if port.isascii() and port.isdecimal() else -1
    except ValueError:
        number = -1
    if not 0 <= number <= 65535:
        raise InputError(
            argument, found=f'found "{text}"', remedy='give an IP address and a port, such as "127.0.0.1:8080"'
        )
    return Address(host, number)
