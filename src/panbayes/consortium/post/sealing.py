"""Sealing: answers that a relay carries but cannot read, by HPKE (RFC 9180) to the analyst.

The suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, in base mode. The analyst's sealing key is
derived from the seed of its signing key by HKDF, so that there is no second file to lose, and no key has two uses; its
public half stands in every letter that proposes a study, under the analyst's signature. The header of the answer is
bound to what is sealed: it cannot be opened under another.

Releases are private already: sealing hides them from carriers and from other holders until the model is published. It
is sealed first and signed then, so that anybody can check the signature, and only the analyst can read.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import LetterError

__all__ = ["open_sealed", "seal", "sealing_key"]

_SUITE: Final = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
_LABEL: Final = b"panbayes sealing 1"


def sealing_key(key: PrivateKey) -> str:
    """Return the public key, in hexadecimal, that answers to the owner of ``key`` are sealed to."""
    return _private(key).public_key().public_bytes_raw().hex()


def seal(body: bytes, *, to: str, header: bytes) -> bytes:
    """Seal a body to the owner of the sealing key ``to``, under a ``header``."""
    try:
        public = X25519PublicKey.from_public_bytes(bytes.fromhex(to))
        return _SUITE.encrypt(body, public, info=_LABEL + header)
    except ValueError:
        raise LetterError("the analyst's sealing key is none") from None


def open_sealed(body: bytes, key: PrivateKey, *, header: bytes) -> bytes:
    """Open what was sealed to the owner of ``key`` under a ``header``; raise a :class:`LetterError` if it was not."""
    try:
        return _SUITE.decrypt(body, _private(key), info=_LABEL + header)
    except (InvalidTag, ValueError):
        raise LetterError("the answer is sealed to another key, or was changed") from None


def _private(key: PrivateKey) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(key.seed()))
