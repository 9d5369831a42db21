"""A list of text ids."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.canonical import canonical, canonical_bytes
from panbayes.stream.ids.chunk import Block, Integers, Texts, wrong_type
from panbayes.stream.ids.kernels.hash_table import fill_table, find_listed, find_text
from panbayes.stream.ids.kernels.siphash import hash_texts
from panbayes.stream.ids.sampling import Sampling, SamplingHeader
from panbayes.stream.ids.universes.kind import Example, Saved, SizedUniverse, UniverseKind, UniverseSpec

__all__ = ["LISTED", "ListedUniverse"]


class _Header(
    SamplingHeader, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="list"
):
    """The universe in a state file; its table has ``capacity`` hashes of eight bytes, then as many slots of four."""

    hash_key: str = ""
    capacity: int = 0


@dataclass(frozen=True, slots=True)
class ListedUniverse(SizedUniverse):
    """A list of text ids, kept as a table from keyed hashes to slots; the texts themselves are not kept.

    Two ids of the universe never share a hash (the key is drawn again until none do). An id outside the universe has
    the hash of one inside with probability U/2⁶⁴.
    """

    sampling: Sampling
    hash_key: bytes
    table: NDArray[np.uint64]
    values: NDArray[np.uint32]

    def __post_init__(self) -> None:
        """Refuse a table in which a search might not end."""
        if len(self.hash_key) != 16 or self.table.size != self.values.size or self.table.size.bit_count() != 1:
            raise ValueError("a table needs a key of 16 bytes and a power of two of places")
        if not np.count_nonzero(self.table) == self.sampling.sample < self.table.size:
            raise ValueError("a table has one hash for each user of the sample, and free places")

    @classmethod
    def of(cls, ids: Iterable[str], sample: int | None) -> ListedUniverse:
        """Build the table of a list of distinct ids; a sample takes ``sample`` of them."""
        texts = [text for text in (canonical_bytes(line.encode("utf-8", "surrogatepass")) for line in ids) if text]
        if not texts:
            raise InputError("universe", found="the list has no ids", remedy="write one id a line")
        if len(set(texts)) != len(texts):
            raise InputError("universe", found="the list names an id twice", remedy="write every id once")
        sampling = Sampling.of(len(texts), sample)
        spans = Texts.of(texts)
        slots = sampling.slots(np.arange(len(texts), dtype=np.int64), Arena())
        kept = slots >= 0
        capacity = 1 << max(3, math.ceil(math.log2(1.5 * sampling.sample)))
        while True:
            key, hashes = os.urandom(16), np.empty(len(texts), dtype=np.uint64)
            hash_texts(spans.data, spans.starts, spans.lengths, np.frombuffer(key, dtype="<u8"), hashes)
            table, values = np.zeros(capacity, dtype=np.uint64), np.zeros(capacity, dtype=np.uint32)
            distinct = np.unique(hashes).size == hashes.size
            if distinct and fill_table(hashes[kept], slots[kept], table, values):
                return cls(sampling, key, table, values)

    def slots(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids."""
        if isinstance(ids, Integers):
            raise wrong_type("integers, but the universe is a list of texts")
        hashes, slots = arena.array(ids.size, np.uint64), arena.array(ids.size, np.int64)
        texts = canonical(ids, arena)
        hash_texts(texts.data, texts.starts, texts.lengths, _words(self.hash_key), hashes)
        find_listed(hashes, self.table, self.values, slots)
        return slots

    def slot(self, one: object) -> int | None:
        """Return the slot of one text; whatever else goes the long way."""
        if not isinstance(one, str):
            return None
        text = canonical_bytes(one.encode("utf-8", "surrogatepass"))
        if not text:
            return -1
        return find_text(np.frombuffer(text, dtype=np.uint8), _words(self.hash_key), self.table, self.values)

    def describe(self) -> str:
        """Name the universe for people."""
        return f"a list of {self.sampling.size} ids"

    def save(self) -> Saved:
        """Return what a state file keeps."""
        chosen = self.sampling
        header = _Header(chosen.size, chosen.sample, chosen.key.hex(), self.hash_key.hex(), self.table.size)
        table = self.table.astype("<u8").tobytes() + self.values.astype("<u4").tobytes()
        return Saved(msgspec.json.encode(header), table)


def _claims(spec: UniverseSpec) -> bool:
    """Claim files and lists; a text that no other kind claims is the name of a file too."""
    return isinstance(spec, Path) or (not isinstance(spec, str | bytes) and isinstance(spec, Iterable))


def _read(spec: UniverseSpec, sample: int | None) -> ListedUniverse:
    if isinstance(spec, str | Path):
        return ListedUniverse.of(_read_file(check_path(spec, argument="universe")), sample)
    ids = list(spec) if isinstance(spec, Iterable) else [None]
    if not all(isinstance(text, str) for text in ids):
        raise InputError("universe", found="the list holds something else than texts", remedy="give every id as a text")
    return ListedUniverse.of([text for text in ids if isinstance(text, str)], sample)


def _read_file(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "unreadable").lower() if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(
            "universe",
            found=f"{path} cannot be read as a list of ids ({reason})",
            remedy="give a text file with one id a line",
        ) from None


def _load(saved: Saved) -> ListedUniverse:
    header = msgspec.json.decode(saved.header, type=_Header)
    places = header.capacity
    if places < 0 or len(saved.table) != 12 * places:
        raise ValueError("a table has 12 bytes for each place")
    table = np.frombuffer(saved.table, dtype="<u8", count=places)
    values = np.frombuffer(saved.table, dtype="<u4", count=places, offset=8 * places)
    return ListedUniverse(header.sampling(), bytes.fromhex(header.hash_key), table, values)


@cache
def _words(key: bytes) -> NDArray[np.uint64]:
    """Return the words of a key."""
    return np.frombuffer(key, dtype="<u8")


LISTED: Final = UniverseKind(
    "list",
    "a text file with one id a line",
    _claims,
    _read,
    _load,
    Example(
        tuple(f"user-{i}@example.org" for i in range(200)),
        tuple(f"user-{i}@example.org" for i in range(200)),
        ("user-200@example.org", "user-1@example.or", "", "7", "somebody"),
    ),
)
