"""The sample: which users of a universe have an entry.

The sample of m users is drawn without replacement by a key that does not depend on any data; a sample of all U users
is the universe itself.

Thesis: the sampling step of Algorithm DworkDE.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.kernels.feistel import sampled, sampled_one

__all__ = ["MAX_UNIVERSE", "Sampling", "SamplingHeader"]

MAX_UNIVERSE: Final = 1 << 40

_KEY_BYTES: Final = 96


class SamplingHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sampling as a state file keeps it; the header of every kind of universe begins with these fields."""

    size: int
    sample: int
    key: str = ""

    def sampling(self) -> Sampling:
        """Return the sampling; a ``ValueError`` if there is none like it."""
        return Sampling(self.size, self.sample, bytes.fromhex(self.key))


@dataclass(frozen=True, slots=True)
class Sampling:
    """A sample of ``sample`` out of ``size`` users; ``key`` picks them and is empty if all are in."""

    size: int
    sample: int
    key: bytes = b""

    def __post_init__(self) -> None:
        """Refuse impossible sizes."""
        if not 1 <= self.size <= MAX_UNIVERSE:
            raise InputError("universe", found=f"found {self.size} users", remedy=f"it must have 1 to {MAX_UNIVERSE}")
        if not 1 <= self.sample <= self.size:
            raise InputError(
                "sample", found=f"found {self.sample}", remedy=f"sample at least 1 and at most all {self.size} users"
            )
        if len(self.key) != (0 if self.sample == self.size else _KEY_BYTES):
            raise ValueError("a proper sample needs a key of 96 bytes, a full one none")

    @classmethod
    def of(cls, size: int, sample: int | None) -> Sampling:
        """Draw the key of a sample (all users if ``sample`` is ``None``)."""
        sample = size if sample is None else sample
        return cls(size, sample, os.urandom(_KEY_BYTES) if 1 <= sample < size else b"")

    @staticmethod
    def derived_key(key: bytes) -> bytes:
        """Return the key of a sample that all who know ``key`` draw alike."""
        return hashlib.shake_256(b"panbayes sample" + key).digest(_KEY_BYTES)

    def slots(self, numbers: NDArray[np.int64], arena: Arena) -> NDArray[np.int64]:
        """Map the numbers of users to slots, −1 without one; if all users are in, the numbers are the slots."""
        if not self.key:
            return numbers
        out = arena.array(numbers.size, np.int64)
        sampled(numbers, self.size, self.sample, self._bits, _multipliers(self.key), out)
        return out

    def slot(self, number: int) -> int:
        """Map the number of one user to a slot, −1 without one."""
        if not 0 <= number < self.size:
            return -1
        return sampled_one(number, self.size, self.sample, self._bits, _multipliers(self.key)) if self.key else number

    @property
    def _bits(self) -> int:
        return max(2, (self.size - 1).bit_length())


@cache
def _multipliers(key: bytes) -> NDArray[np.uint64]:
    """Return the words of a key, every second one odd."""
    words = np.frombuffer(key, dtype="<u8").astype(np.uint64)
    words[::2] |= np.uint64(1)
    return words
