"""Four words of a key, to compare by phone.

Who could put its own key in the place of another's must not find one with the same words. Four of 1,024 words are 40
bits, which a patient attacker could search for; so the words are taken from a slow hash of the key,
PBKDF2-HMAC-SHA256 with 2²⁰ iterations, which makes every try a million times dearer: some 60 bits of work. It takes a
person's computer a part of a second.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final

from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.word_list import WORDS

__all__ = ["words_of"]

_ITERATIONS: Final = 2**20
_SALT: Final = b"panbayes words 1"
_COUNT: Final = 4
_BITS: Final = 10


@cache
def words_of(key: PublicKey) -> str:
    """Return the words of a key, such as "walnut harbor comet tiger"."""
    slow = int.from_bytes(hashlib.pbkdf2_hmac("sha256", key.blob, _SALT, _ITERATIONS, dklen=8), "big")
    return " ".join(WORDS[slow >> _BITS * place & (1 << _BITS) - 1] for place in range(_COUNT))
