"""Signatures of files as OpenSSH makes them (SSHSIG): ``ssh-keygen -Y sign`` and ``ssh-keygen -Y verify``.

Signed is not the file but::

    "SSHSIG" ‖ string(namespace) ‖ string("") ‖ string("sha512") ‖ string(SHA-512(file))

and the signature, in armour, holds the public key, the namespace and the 64 bytes of Ed25519 (OpenSSH's
PROTOCOL.sshsig). The *namespace* says what a signature is for, so that one for a question is none for an approval.
Hardware keys sign the SHA-256 of these bytes together with their application, whether they were touched, and a counter
(OpenSSH's PROTOCOL.u2f); only signatures with a touch are taken.

Everything that panbayes signs can be checked with a program that a hospital has, without panbayes::

    ssh-keygen -Y verify -f roster -I north -n panbayes-answer -s 1f…-000001.answer.sig < 1f…-000001.answer
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from panbayes.consortium.post.keys import PLAIN, TOUCHED, PrivateKey, PublicKey
from panbayes.consortium.post.wire import Reader, WireError, string
from panbayes.errors import InputError

__all__ = [
    "MAX_SIGNATURE_BYTES",
    "Namespace",
    "sign",
    "sign_digest",
    "signer",
    "verify",
    "verify_approval",
    "verify_digest",
]

Namespace: TypeAlias = Literal[
    "panbayes-study", "panbayes-approval", "panbayes-question", "panbayes-answer", "panbayes-request"
]
"""What a signature is for."""

MAX_SIGNATURE_BYTES: Final = 4096

_MAGIC: Final = b"SSHSIG"
_VERSION: Final = 1
_HASHES: Final = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_LINE: Final = 70
_PRESENT: Final = 1
"""The flag of a hardware key that was touched."""

_Digest: TypeAlias = Callable[[bytes], bytes]
"""Gives the digest of a file by the name of its hash; raises ``KeyError`` for a hash that is not taken."""


def sign(key: PrivateKey, namespace: Namespace, data: bytes) -> str:
    """Sign ``data`` for a ``namespace``; return the armoured signature. The same data give the same signature."""
    return sign_digest(key, namespace, hashlib.sha512(data).digest())


def sign_digest(key: PrivateKey, namespace: Namespace, digest: bytes) -> str:
    """Sign the file that has this SHA-512."""
    signature = key.sign(_signed(namespace.encode(), b"sha512", digest))
    blob = (
        _MAGIC
        + _VERSION.to_bytes(4, "big")
        + string(key.public.blob)
        + string(namespace.encode())
        + string(b"")
        + string(b"sha512")
        + string(string(PLAIN.encode()) + string(signature))
    )
    return "\n".join((_BEGIN, *textwrap.wrap(base64.b64encode(blob).decode(), _LINE), _END, ""))


def verify(key: PublicKey, namespace: Namespace, data: bytes, signature: str) -> bool:
    """Tell whether ``signature`` is the key's of ``data`` for this ``namespace``; whatever else it is, it is not."""
    return _verify(key, namespace, signature, lambda name: _HASHES[name](data).digest())


def verify_approval(line: str, data: bytes, signature: str) -> bool:
    """Tell whether a signature of an approval is that of the key on a line."""
    try:
        key = PublicKey.parse(line, argument="key")
    except InputError:
        return False
    return verify(key, "panbayes-approval", data, signature)


def verify_digest(key: PublicKey, namespace: Namespace, digest: bytes, signature: str) -> bool:
    """Tell whether ``signature`` is the key's of the file with this SHA-512, for this ``namespace``."""
    return _verify(key, namespace, signature, {b"sha512": digest}.__getitem__)


def signer(signature: str) -> PublicKey | None:
    """Return the key that a signature says it is by, which nothing proves; None if it is no signature."""
    try:
        return _read(signature)[0]
    except WireError:
        return None


def _verify(key: PublicKey, namespace: Namespace, signature: str, digest: _Digest) -> bool:
    try:
        found, said, hashed, proof = _read(signature)
        if found != key or said != namespace.encode():
            return False
        return _holds(key, proof, _signed(said, hashed, digest(hashed)))
    except (WireError, KeyError):
        return False


def _holds(key: PublicKey, proof: bytes, signed: bytes) -> bool:
    reader = Reader(proof)
    if reader.string().decode(errors="replace") != key.kind:
        return False
    signature = reader.string()
    if key.kind == TOUCHED:
        flags, counter = reader.take(1), reader.take(4)
        if not flags[0] & _PRESENT:
            return False
        signed = hashlib.sha256(key.application).digest() + flags + counter + hashlib.sha256(signed).digest()
    reader.end()
    return key.holds(signature, signed)


def _signed(namespace: bytes, hashed: bytes, digest: bytes) -> bytes:
    return _MAGIC + string(namespace) + string(b"") + string(hashed) + string(digest)


def _read(signature: str) -> tuple[PublicKey, bytes, bytes, bytes]:
    """Return the key, the namespace, the name of the hash and the proof that an armoured signature holds."""
    if len(signature) > MAX_SIGNATURE_BYTES:
        raise WireError("too long for a signature")
    lines = signature.replace("\r\n", "\n").strip().split("\n")
    if lines[0] != _BEGIN or lines[-1] != _END:
        raise WireError("no armour")
    try:
        reader = Reader(base64.b64decode("".join(lines[1:-1]), validate=True))
    except ValueError:
        raise WireError("no base64") from None
    if reader.take(len(_MAGIC)) != _MAGIC or reader.number() != _VERSION:
        raise WireError("no signature")
    key = PublicKey.from_blob(reader.string())
    namespace, reserved, hashed, proof = (reader.string() for _ in range(4))
    reader.end()
    if reserved:
        raise WireError("something is where nothing belongs")
    return key, namespace, hashed, proof
