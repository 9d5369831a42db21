"""Universes: whom the density is a fraction of, and which of them have an entry.

A universe is public and fixed before the stream starts: the integers 0 … U−1, the IPv4 addresses (all, or one
network), or a list of text ids. The sample of m users is drawn without replacement by a key that does not depend on any
data; a sample of all U users is the universe itself. A universe maps ids to slots 0 … m−1. An id outside the
universe or the sample has no slot: it is dropped and not counted, because the number of such ids has no bounded
sensitivity. Every array made on the way is overwritten once its slots have been used.

Thesis: the sampling step of Algorithm DworkDE.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids import text_kernels
from panbayes.stream.ids.arrow import Integers, Texts, wrong_type
from panbayes.stream.ids.columns import spans_of

__all__ = [
    "MAX_UNIVERSE",
    "IntegerUniverse",
    "Ipv4Universe",
    "ListedUniverse",
    "Sampling",
    "Universe",
    "ipv4_universe",
    "universe_of",
]

MAX_UNIVERSE: Final = 1 << 40

_BLOCK: Final = 1 << 16


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
        if len(self.key) != (0 if self.sample == self.size else 96):
            raise ValueError("a proper sample needs a key of 96 bytes, a full one none")

    @classmethod
    def of(cls, size: int, sample: int | None) -> Sampling:
        """Draw the key of a sample (all users if ``sample`` is ``None``)."""
        sample = size if sample is None else sample
        return cls(size, sample, os.urandom(96) if 1 <= sample < size else b"")

    def slots(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Map the numbers of users to slots; without a key they are the slots."""
        if not self.key:
            return ids
        out = np.empty_like(ids)
        bits = max(2, (self.size - 1).bit_length())
        keys = np.frombuffer(self.key, dtype=np.uint64).copy()
        keys[::2] |= np.uint64(1)
        text_kernels.sampled(ids, self.size, self.sample, bits, keys, out)
        return out


def _blocks(chunk: Integers) -> Iterator[NDArray[np.int64]]:
    """Yield a chunk as 64-bit integers, a missing id as −1; whole and uncopied where it is that already."""
    if chunk.missing is None and chunk.values.dtype in (np.dtype(np.int64), np.dtype(np.uint64)):
        yield chunk.values.view(np.int64)
        return
    for begin in range(0, chunk.values.size, _BLOCK):
        block = chunk.values[begin : begin + _BLOCK].astype(np.int64)
        if chunk.missing is not None:
            block[chunk.missing[begin : begin + _BLOCK]] = -1
        yield block
        block[:] = 0


def _pieces(ids: NDArray[np.int64], sampling: Sampling) -> Iterator[NDArray[np.int64]]:
    """Yield slots: all at once where ids are slots, else in blocks that stay in the processor's cache."""
    if not sampling.key:
        yield ids
        return
    for begin in range(0, ids.size, _BLOCK):
        slots = sampling.slots(ids[begin : begin + _BLOCK])
        yield slots
        slots[:] = 0


@dataclass(frozen=True, slots=True)
class IntegerUniverse:
    """The integers 0 … U−1, as numbers or as decimal text."""

    sampling: Sampling

    def slots(self, chunk: Integers | Texts) -> Iterator[NDArray[np.int64]]:
        """Yield the slots of a chunk of ids, −1 for an id without one."""
        if isinstance(chunk, Integers):
            for block in _blocks(chunk):
                yield from _pieces(block, self.sampling)
            return
        out = np.empty(chunk.starts.size, dtype=np.int64)
        text_kernels.trim(chunk.data, chunk.starts, chunk.lengths)
        text_kernels.read_decimal(chunk.data, chunk.starts, chunk.lengths, out)
        yield from _pieces(out, self.sampling)
        out[:] = 0

    def describe(self) -> str:
        """Name the universe for people."""
        return f"the integers 0 to {self.sampling.size - 1}"


@dataclass(frozen=True, slots=True)
class Ipv4Universe:
    """The IPv4 addresses from ``first`` on, as dotted text or as numbers; a user is an address."""

    first: int
    sampling: Sampling

    def slots(self, chunk: Integers | Texts) -> Iterator[NDArray[np.int64]]:
        """Yield the slots of a chunk of ids, −1 for an id without one."""
        if isinstance(chunk, Integers):
            for block in _blocks(chunk):
                moved = block - self.first if self.first else block
                yield from _pieces(moved, self.sampling)
                if moved is not block:
                    moved[:] = 0
            return
        out = np.empty(chunk.starts.size, dtype=np.int64)
        text_kernels.read_ipv4(chunk.data, chunk.starts, chunk.lengths, _dot_places(), out)
        if self.first:
            out -= self.first
        yield from _pieces(out, self.sampling)
        out[:] = 0

    def describe(self) -> str:
        """Name the universe for people."""
        bits = 32 - (self.sampling.size - 1).bit_length()
        return f"the IPv4 addresses of {ipaddress.IPv4Address(self.first)}/{bits}"


@lru_cache(maxsize=1)
def _dot_places() -> NDArray[np.uint16]:
    return text_kernels.dot_places()


def ipv4_universe(network: str, sample: int | None) -> Ipv4Universe:
    """Return the universe of a network such as ``10.0.0.0/8``; an empty text means every address.

    >>> ipv4_universe("10.0.0.0/8", None).describe()
    'the IPv4 addresses of 10.0.0.0/8'
    """
    try:
        parsed = ipaddress.IPv4Network(network or "0.0.0.0/0")
    except ValueError:
        raise InputError(
            "universe", found=f"found the network {network!r}", remedy="write it like ipv4:10.0.0.0/8, or just ipv4"
        ) from None
    return Ipv4Universe(int(parsed.network_address), Sampling.of(parsed.num_addresses, sample))


@dataclass(frozen=True, slots=True)
class ListedUniverse:
    """A list of text ids, kept as a table from keyed hashes to slots; the texts themselves are not kept.

    Two ids of the universe never share a hash (the key is drawn again until none do). An id outside the universe has
    the hash of one inside with probability U/2⁶⁴.
    """

    sampling: Sampling
    hash_key: bytes
    table: NDArray[np.uint64]
    values: NDArray[np.uint32]

    @classmethod
    def of(cls, ids: Iterable[str], sample: int | None) -> ListedUniverse:
        """Build the table of a list of distinct ids; a sample takes ``sample`` of them."""
        texts = [text for text in (line.strip() for line in ids) if text]
        if not texts:
            raise InputError("universe", found="the list has no ids", remedy="write one id a line")
        if len(set(texts)) != len(texts):
            raise InputError("universe", found="the list names an id twice", remedy="write every id once")
        sampling = Sampling.of(len(texts), sample)
        spans = spans_of(texts)
        slots = sampling.slots(np.arange(len(texts), dtype=np.int64))
        kept = slots >= 0
        capacity = 1 << max(3, math.ceil(math.log2(1.5 * sampling.sample)))
        while True:
            key, hashes = os.urandom(16), np.empty(len(texts), dtype=np.uint64)
            text_kernels.hash_texts(spans.data, spans.starts, spans.lengths, np.frombuffer(key, dtype="<u8"), hashes)
            table, values = np.zeros(capacity, dtype=np.uint64), np.zeros(capacity, dtype=np.uint32)
            distinct = np.unique(hashes).size == hashes.size
            if distinct and text_kernels.fill_table(hashes[kept], slots[kept], table, values):
                return cls(sampling, key, table, values)

    def slots(self, chunk: Integers | Texts) -> Iterator[NDArray[np.int64]]:
        """Yield the slots of a chunk of ids, −1 for an id without one."""
        if isinstance(chunk, Integers):
            raise wrong_type("integers, but the universe is a list of texts")
        hashes, out = np.empty(chunk.starts.size, dtype=np.uint64), np.empty(chunk.starts.size, dtype=np.int64)
        text_kernels.trim(chunk.data, chunk.starts, chunk.lengths)
        key = np.frombuffer(self.hash_key, dtype="<u8")
        text_kernels.hash_texts(chunk.data, chunk.starts, chunk.lengths, key, hashes)
        text_kernels.find_listed(hashes, self.table, self.values, out)
        yield out
        hashes[:] = 0
        out[:] = 0

    def describe(self) -> str:
        """Name the universe for people."""
        return f"a list of {self.sampling.size} ids"


Universe: TypeAlias = IntegerUniverse | Ipv4Universe | ListedUniverse


def universe_of(spec: int | str | Path | Iterable[str], *, sample: int | None) -> Universe:
    """Read a universe: a number U, ``"ipv4"`` or ``"ipv4:NETWORK"``, a file with one id a line, or the ids themselves.

    A text that is a number means that number; any other text but ``ipv4…`` is the name of a file.
    """
    if isinstance(spec, str) and spec.lower().split(":")[0] == "ipv4":
        return ipv4_universe(spec.partition(":")[2], sample)
    if isinstance(spec, str) and re.fullmatch(r"[+-]?[0-9_,]+", spec):
        return IntegerUniverse(Sampling.of(int(spec.replace(",", "")), sample))
    if isinstance(spec, int):
        return IntegerUniverse(Sampling.of(spec, sample))
    if isinstance(spec, str | Path):
        return ListedUniverse.of(_read_list(Path(spec)), sample)
    return ListedUniverse.of(spec, sample)


def _read_list(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "unreadable").lower() if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(
            "universe",
            found=f"{path} cannot be read as a list of ids ({reason})",
            remedy="give a number of users, ipv4, ipv4:NETWORK or a text file with one id a line",
        ) from None
