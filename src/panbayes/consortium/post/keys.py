"""Keys of analysts, holders and officers: Ed25519, in the files that OpenSSH uses.

A private key lies in ``NAME.key`` (mode 0600), its public key in ``NAME.pub``, one line. Both can be read by
``ssh-keygen``, and keys made by it are read here: ``ssh-ed25519``, and for officers also
``sk-ssh-ed25519@openssh.com``, whose private half never leaves a hardware key.

A key is known by its *fingerprint*, as ``ssh-keygen -lf NAME.pub`` shows it, and compared by phone by four words
(:mod:`panbayes.consortium.post.words`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from panbayes.consortium.post.wire import Reader, WireError, string
from panbayes.errors import InputError
from panbayes.files import new_file, writing

__all__ = ["MAX_KEY_BYTES", "PLAIN", "TOUCHED", "PrivateKey", "PublicKey"]

PLAIN: Final = "ssh-ed25519"
TOUCHED: Final = "sk-ssh-ed25519@openssh.com"
"""The kinds of keys: in a file, or in a device that wants to be touched."""

MAX_KEY_BYTES: Final = 16_384
_POINT: Final = 32


@dataclass(frozen=True)
class PublicKey:
    """A public key: its ``kind``, the ``point`` of 32 bytes, and for hardware keys their ``application``."""

    kind: str
    point: bytes
    application: bytes = b""

    def __post_init__(self) -> None:
        """Check what it is made of."""
        if (
            self.kind not in (PLAIN, TOUCHED)
            or len(self.point) != _POINT
            or bool(self.application) != (self.kind == TOUCHED)
        ):
            raise ValueError("no Ed25519 key")

    @classmethod
    def from_blob(cls, blob: bytes) -> Self:
        """Read the bytes that stand, in base64, in the line; raise :class:`WireError` for any other."""
        reader = Reader(blob)
        try:
            kind, point = reader.string().decode(), reader.string()
            application = reader.string() if kind == TOUCHED else b""
            reader.end()
            return cls(kind, point, application)
        except ValueError as error:
            raise WireError(str(error)) from None

    @classmethod
    def parse(cls, line: str, *, argument: str) -> Self:
        """Read a line ``ssh-ed25519 AAAA… comment``; ``argument`` names it in the error."""
        words = line.split()
        try:
            key = cls.from_blob(base64.b64decode(words[1], validate=True))
            if key.kind != words[0]:
                raise WireError("the line says another kind")
        except (IndexError, ValueError, binascii.Error):
            private = " (this is a private key: it never leaves its owner)" if "PRIVATE KEY" in line else ""
            raise InputError(
                argument,
                found=f"is no Ed25519 public key{private}",
                remedy='give a line such as "ssh-ed25519 AAAA…", the content of a .pub file; '
                "`panbayes keygen NAME` makes a pair",
            ) from None
        return key

    @classmethod
    def load(cls, path: str | Path, *, argument: str) -> Self:
        """Read a ``.pub`` file."""
        return cls.parse(_text(Path(path), argument=argument), argument=argument)

    @cached_property
    def blob(self) -> bytes:
        """The bytes that OpenSSH writes of it."""
        return string(self.kind.encode()) + string(self.point) + (string(self.application) if self.application else b"")

    @property
    def line(self) -> str:
        """The line of a ``.pub`` file, without a comment."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    @cached_property
    def fingerprint(self) -> str:
        """What it is known by: ``SHA256:`` and 43 characters."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    def holds(self, signature: bytes, data: bytes) -> bool:
        """Tell whether these 64 bytes are the key's signature of ``data``."""
        try:
            Ed25519PublicKey.from_public_bytes(self.point).verify(signature, data)
        except (InvalidSignature, ValueError):
            return False
        return True

    def __str__(self) -> str:
        """Return the fingerprint."""
        return self.fingerprint


class PrivateKey:
    """A private key; it shows nothing of itself but its public half."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """Hold a key."""
        self._key = key
        self.public = PublicKey(PLAIN, key.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> Self:
        """Make a new one, from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | Path, *, argument: str) -> Self:
        """Read a key file that nobody else can read."""
        file = Path(path)
        text = _text(file, argument=argument, private=True)
        try:
            key = serialization.load_ssh_private_key(text.encode(), password=None)
        except (TypeError, UnsupportedAlgorithm):
            raise InputError(
                argument,
                found=f"{file} is protected by a passphrase, or of a kind that panbayes does not read",
                remedy="sign with `ssh-keygen -Y sign` and give --signature, or make a key with `panbayes keygen NAME`",
            ) from None
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError(
                argument,
                found=f"{file} is no private key of Ed25519",
                remedy="give the .key file that `panbayes keygen NAME` or `ssh-keygen -t ed25519` made",
            )
        return cls(key)

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``, 64 bytes; the same for the same data."""
        return self._key.sign(data)

    def seed(self) -> bytes:
        """Return the 32 secret bytes, for what is derived from them."""
        return self._key.private_bytes_raw()

    def save(self, path: Path, *, comment: str, argument: str) -> tuple[Path, Path]:
        """Write ``PATH.key`` and ``PATH.pub``; neither may be there."""
        secret, public = path.with_name(f"{path.name}.key"), path.with_name(f"{path.name}.pub")
        data = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
        for file in (secret, public):
            if os.path.lexists(file):
                raise InputError(
                    argument, found=f"{file} is there already", remedy="give another name, or move it away"
                )
        for file, content in ((secret, data), (public, f"{self.public.line} {comment}\n".encode())):
            with writing(file, argument=argument), new_file(file) as temporary:
                temporary.write_bytes(content)
        public.chmod(0o644)
        return secret, public


def _text(path: Path, *, argument: str, private: bool = False) -> str:
    """Read a small text file; a ``private`` one must be its owner's alone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise InputError(argument, found=f"{path} is not a file", remedy="give a key file")
            if private and mode & 0o077:
                raise InputError(
                    argument,
                    found=f"{path} may be read by others (mode {stat.S_IMODE(mode):04o})",
                    remedy=f"run: chmod 600 {path}",
                )
            data = file.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(
            argument, found=f"{path} cannot be read ({reason})", remedy="check the path; `panbayes keygen` makes keys"
        ) from None
    if len(data) > MAX_KEY_BYTES:
        raise InputError(argument, found=f"{path} is too large for a key", remedy="give a key file")
    return data.decode(errors="replace")
