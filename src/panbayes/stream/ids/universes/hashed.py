"""Ids without a list: anybody may appear, and a public hash says which entry of the state is whose.

The entries are cells that users share. T tiers of B cells each: half of all ids fall into the first tier, a quarter
into the second, and so on, so that whatever the number of users some tiers are neither empty nor full. Where the
number is known within a factor of three one tier is better, and if it has fewer cells than there are users, the rest of
the ids fall into cells that do not exist (of V cells the first B do).

**Privacy.** Fix the hash; it may be any function of ids, good or bad, secret or known, chosen by the adversary even.
A user's id falls into one cell, or into none. Two adjacent streams differ in occurrences of this user alone, so all
other entries have the same law under both and are independent of this one; and of the T counts in a release only one
depends on this entry, for the others add the same entries and the same noise. What remains is one entry, redrawn from
the update law whenever the stream names this user *or another one of the same cell*. The others' redraws happen under
both streams at the same times. So two histories of redraws of one entry face each other, and the theorem of
:mod:`panbayes.stream.guarantee.loss` bounds the ratio for *any* two histories: the loss of one look and all releases
is at most E. A user without a cell changes nothing at all. ∎

The theorem holds for each observation, so it holds too where the adversary chooses the other ids and the time of the
look by what was seen so far. A person with k ids is k users: the losses add up to kE at most. Deletions are refused:
who leaves would take along everybody else in the cell.

**Panels.** A second public hash of the id may give every user one of k panels, and the state is for one panel only: the
one of a given number, or that of the period (:meth:`HashedUniverse.at`). To a stream of another panel the user has no
cell, so the proof holds as it stands, and states of different panels share no user: **their losses do not add up.** All
n users fall into a given cell with probability 1/(kV) each, so every law of the counts is the one without panels with
kV in place of V: estimate, interval and error are about all n users, and the error has the part (k − 1)/n of its square
that comes from who happens to be in the panel.

One id is one user, in any container: a text in its canonical form (:mod:`panbayes.stream.ids.canonical`), bytes as
such a text, an integer as the text of its digits. ``ipv6`` makes a user of an IPv6 address, however it is written, or
of its first 64 bits, which is what a household gets.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.canonical import canonical
from panbayes.stream.ids.chunk import Block, Integers, Texts
from panbayes.stream.ids.kernels.fold_hash import ODD, integer_cells, one_text_cell, put_back, take_odd, text_cells
from panbayes.stream.ids.kernels.panels import keep_panel, panels_of_cells
from panbayes.stream.ids.sampling import MAX_UNIVERSE
from panbayes.stream.ids.single_hash import PlainKey, integer_cell
from panbayes.stream.ids.universes.kind import Example, Saved, Universe, UniverseKind, UniverseSpec

__all__ = [
    "DEFAULT_MEMORY",
    "HASHED",
    "MOST_PANELS",
    "MOST_USERS",
    "HashedUniverse",
    "Ipv6Bits",
    "hashed",
    "no_deletions",
]

Ipv6Bits = Literal[0, 64, 128]

DEFAULT_MEMORY: Final = 128 * 1024
"""Bytes of state where nothing else is said."""

MOST_USERS: Final = 10**10
"""Tiers are so many that the last has no more than two users for each cell at this number."""

MOST_PANELS: Final = 1000
"""More panels than this leave nobody to count."""

_LEAST_MEMORY: Final = 1024
_KEY_BYTES: Final = 16


class _Header(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="hashed"
):
    """The universe in a state file; ``sample`` is the number of entries, as in every header."""

    sample: int
    tiers: int
    of: int
    key: str
    ipv6: Ipv6Bits = 0
    panels: int = 1
    panel: int | None = None


@dataclass(frozen=True, slots=True)
class HashedUniverse:
    """Anybody: ids fall into ``tiers`` times ``cells`` cells by a hash under ``key``.

    ``of`` is V: an id of a tier falls into one of so many cells, of which the first ``cells`` exist. Users of other
    panels than number ``panel`` of ``panels`` have no cell; without a number the panel goes with the period.
    """

    tiers: int
    cells: int
    of: int
    key: bytes
    ipv6: Ipv6Bits = 0
    panels: int = 1
    panel: int | None = None

    def __post_init__(self) -> None:
        """Refuse cells that are not whole words, and tiers that would leave ids out in several ways."""
        if not 1 <= self.tiers <= 40 or self.cells < 64 or self.cells % 64 or self.tiers * self.cells > MAX_UNIVERSE:
            raise ValueError("hashed ids need 1 to 40 tiers of whole words of cells")
        if not self.cells <= self.of <= MAX_UNIVERSE or (self.tiers > 1 and self.of != self.cells):
            raise ValueError("only one tier alone may leave ids out")
        if len(self.key) != _KEY_BYTES or self.ipv6 not in (0, 64, 128):
            raise ValueError("hashed ids need a key of 16 bytes, and IPv6 addresses have 64 or 128 bits that count")
        if not 1 <= self.panels <= MOST_PANELS or (self.panel is not None and not 0 <= self.panel < self.panels):
            raise ValueError("users fall into 1 to 1000 panels, and a state is for one of them")
        if self.panels == 1 and self.panel is not None:
            raise ValueError("a single panel has no number")

    @classmethod
    def of_memory(
        cls,
        memory: int = DEFAULT_MEMORY,
        *,
        expect: int | None = None,
        key: bytes | None = None,
        ipv6: Ipv6Bits = 0,
        parts: int = 1,
    ) -> HashedUniverse:
        """Divide ``memory`` bytes: into tiers, or into one tier where ``expect`` users are expected, a cell each.

        Where a state has ``parts``, each gets as many whole words of one tier; of several it gets a stretch.

        >>> HashedUniverse.of_memory(key=bytes(16)).describe()
        'any ids, hashed into 18 tiers of 58,240 cells'
        >>> HashedUniverse.of_memory(expect=100_000_000, key=bytes(16)).describe()
        'any ids, hashed into 1,048,576 cells, which one id in 95.4 falls into'
        """
        if not _LEAST_MEMORY <= memory <= MAX_UNIVERSE // 8:
            raise InputError("memory", found=f"found {memory} bytes", remedy="give 1K or more, such as 128K or 1M")
        if expect is not None and not 1 <= expect <= MAX_UNIVERSE:
            raise InputError("expect", found=f"found {expect}", remedy="give the number of users to expect, at least 1")
        bits, key = 8 * memory, os.urandom(_KEY_BYTES) if key is None else key
        if expect is not None:
            unit = 64 * parts
            cells = min(bits // unit, -(-expect // unit)) * unit
            if cells:
                return cls(1, cells, max(cells, expect), key, ipv6)
        tiers = 1
        while (bits // tiers // 64 * 64) << (tiers - 1) < MOST_USERS // 2:
            tiers += 1
        cells = bits // tiers // 64 * 64
        if tiers * cells < 64 * parts:
            raise InputError(
                "memory", found=f"{memory} bytes are too few for {parts} parts", remedy="give more, or fewer parts"
            )
        return cls(tiers, cells, cells, key, ipv6)

    @property
    def entries(self) -> int:
        """How many cells there are."""
        return self.tiers * self.cells

    @property
    def sections(self) -> int:
        """Each tier is counted by itself."""
        return self.tiers

    @property
    def spread(self) -> tuple[int, ...]:
        """For each tier, over how many cells all ids would have to be spread to be as dense as in it."""
        return tuple(self.panels * self.of << min(tier + 1, self.tiers - 1) for tier in range(self.tiers))

    @property
    def rotates(self) -> bool:
        """Whether every period has a panel of its own."""
        return self.panels > 1 and self.panel is None

    def at(self, turn: int) -> HashedUniverse:
        """The universe in the period after so many turns: where panels rotate, that of one of them."""
        return replace(self, panel=turn % self.panels) if self.rotates else self

    def panel_numbers(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the numbers of the panels of ids, −1 for what is no id, by a hash of its own."""
        key = hashlib.sha256(b"panbayes panels" + self.key).digest()[:_KEY_BYTES]
        found = HashedUniverse(1, 64 * self.panels, 64 * self.panels, key, self.ipv6).slots(ids, arena)
        panels_of_cells(found, 64)
        return found

    def slots(self, ids: Block, arena: Arena) -> NDArray[np.int64]:
        """Return the slots of ids."""
        if self.rotates:
            raise ValueError("users have slots in one period, not in all")
        slots = arena.array(ids.size, np.int64)
        if isinstance(ids, Integers):
            integer_cells(ids.whole(arena), _words(self.key), self.tiers, self.cells, self.of, slots)
            if ids.missing is not None:
                np.copyto(slots, -1, where=ids.missing)
        else:
            self._of_texts(ids, slots, arena)
        if self.panel is not None:
            keep_panel(slots, self.panel_numbers(ids, arena), self.panel)
        return slots

    def slot(self, one: object) -> int | None:
        """Return the slot of one id at once; nothing for one that is better looked at as in a batch."""
        if self.panels > 1:
            return None
        if type(one) is str and one.isascii():
            return self._slot_of_text(one.encode("ascii"))
        if type(one) is bytes:
            return self._slot_of_text(one)
        if type(one) is int and -(1 << 63) <= one < 1 << 64:
            return integer_cell(one, _plain_words(self.key), self.tiers, self.cells, self.of)
        return None

    def _slot_of_text(self, text: bytes) -> int | None:
        cell = one_text_cell(text, _array(self.key), self.tiers, self.cells, self.of, self.ipv6)
        return None if cell == ODD else cell

    def _of_texts(self, ids: Texts, out: NDArray[np.int64], arena: Arena) -> None:
        count = self._hash(ids, out, one_form=False)
        if not count:
            return
        places, starts, lengths, again = (arena.array(count, np.int64) for _ in range(4))
        take_odd(out, ids.starts, ids.lengths, places, starts, lengths)
        texts = Texts(ids.data, starts, lengths)
        self._hash(canonical(texts, arena), again, one_form=True)
        # As for other universes, white space is taken off the ids themselves.
        put_back(places, starts, lengths, again, ids.starts, ids.lengths, out)

    def _hash(self, texts: Texts, out: NDArray[np.int64], *, one_form: bool) -> int:
        shape = (self.tiers, self.cells, self.of)
        words = _words(self.key)
        return text_cells(texts.data, texts.starts, texts.lengths, words, *shape, self.ipv6, one_form, out)

    def describe(self) -> str:
        """Name the universe for people."""
        by = {0: "", 64: "; an IPv6 address is its first 64 bits", 128: "; an IPv6 address is one however written"}
        whose = "" if self.panels == 1 else f" of one user in {self.panels:,}"
        if self.panel is not None:
            whose += f", panel {self.panel}"
        if self.tiers > 1:
            return f"any ids{whose}, hashed into {self.tiers} tiers of {self.cells:,} cells{by[self.ipv6]}"
        share = f", which one id in {self.of / self.cells:.3g} falls into" if self.of > self.cells else ""
        return f"any ids{whose}, hashed into {self.cells:,} cells{share}{by[self.ipv6]}"

    def save(self) -> Saved:
        """Return what a state file keeps."""
        header = _Header(
            self.entries, self.tiers, self.of, self.key.hex(), self.ipv6, panels=self.panels, panel=self.panel
        )
        return Saved(msgspec.json.encode(header))


@lru_cache(maxsize=64)
def _plain_words(key: bytes) -> PlainKey:
    """The key of the hash: four words from the key of the universe, whatever that is."""
    return struct.unpack("<4Q", hashlib.sha256(b"panbayes hashed ids" + key).digest())


@lru_cache(maxsize=64)
def _array(key: bytes) -> NDArray[np.uint64]:
    words = np.array(_plain_words(key), dtype=np.uint64)
    words.flags.writeable = False
    return words


def _words(key: bytes) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    first, second, third, fourth = map(np.uint64, _plain_words(key))
    return first, second, third, fourth


def hashed(universe: Universe) -> HashedUniverse:
    """Return a hashed universe as one; refuse another."""
    if isinstance(universe, HashedUniverse):
        return universe
    raise InputError(
        "universe",
        found=f"the state is for {universe.describe()}",
        remedy="open it with DensityEstimator: its users are known",
    )


def no_deletions() -> InputError:
    """Return the error for taking a hashed id out again."""
    return InputError(
        "ids",
        found="hashed ids cannot be taken out again: users share cells, and whoever leaves would take others along",
        remedy="start a new stream for the next period, or list the users",
    )


def _claims(spec: UniverseSpec) -> bool:
    return isinstance(spec, str) and spec.lower() == "hashed"


def _read(_spec: UniverseSpec, sample: int | None) -> HashedUniverse:
    if sample is not None:
        raise InputError("sample", found="hashed ids have no list to sample from", remedy="give the memory instead")
    return HashedUniverse.of_memory()


def _load(saved: Saved) -> HashedUniverse:
    header = msgspec.json.decode(saved.header, type=_Header)
    if saved.table or header.tiers < 1 or header.sample % header.tiers:
        raise ValueError("hashed ids have no table, and tiers of equal size")
    return HashedUniverse(
        header.tiers,
        header.sample // header.tiers,
        header.of,
        bytes.fromhex(header.key),
        header.ipv6,
        header.panels,
        header.panel,
    )


HASHED: Final = UniverseKind(
    "hashed",
    "hashed for any ids",
    _claims,
    _read,
    _load,
    Example("hashed", tuple(f"user-{i}@example.org" for i in range(200)), ("", "  ")),
)
