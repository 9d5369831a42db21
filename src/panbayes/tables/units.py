"""Whom a record belongs to: at most so many records of one person, chosen without looking at values.

Each person's first ``max_records`` records in the order of the file are kept. The choice depends on the ids and the
order alone, and whether a record is kept depends on its own person's records alone, so replacing one person changes
at most ``max_records`` kept records into at most ``max_records`` others: group privacy with that factor holds, and
with it the number of persons, not of records, is what the guarantee may treat as public (errata 6).

A person is an id's exact text without blanks around it. A record without an id (null, NaN, blank, or a missing value)
is left out: it may be anybody's, so no promise to a person could count it.

While a table is read, of every id a hash of 128 bits is kept, under two keys drawn for this reading. Afterwards the
hashes are gone through in parts, those of one person in one part, so that the memory this takes does not grow with the
table, but for one bit a record. Two of 10⁹ people fall together with a probability below 10⁻²⁰.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.schema.blanks import BLANKS, stripped
from panbayes.tables.sources.batch import Column
from panbayes.tables.spool import SPOOL_RECORDS, Spool
from panbayes.tables.texts import as_text

__all__ = ["FirstRecords", "PersonHashes", "first_records", "person_texts"]

PART_RECORDS: Final = 2**21
"""About so many records are gone through at once."""


def person_texts(ids: pl.Series, missing_values: tuple[str, ...]) -> tuple[pl.Series, NDArray[np.bool_]]:
    """Return the texts that people are known by, and which ids name nobody.

    >>> texts, nobody = person_texts(pl.Series(["a", " a", None, "?", " "]), ("?",))
    >>> texts.to_list(), nobody.tolist()
    (['a', 'a', None, '?', ''], [False, False, True, True, True])
    """
    texts = as_text(ids).str.strip_chars(BLANKS)
    missing = ["", *map(stripped, missing_values)]
    return texts, (texts.is_null() | texts.is_in(missing).fill_null(value=True)).to_numpy()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FirstRecords:
    """Which records are kept: a bit each, in file order; how many; of how many persons; and how many name nobody."""

    bits: NDArray[np.uint8]
    kept: int
    persons: int
    unnamed: int

    def mask(self, start: int, records: int) -> NDArray[np.bool_]:
        """Tell which of some records are kept; ``start`` is a multiple of 8."""
        return np.unpackbits(self.bits[start // 8 :], count=records, bitorder="little").astype(np.bool_)


class PersonHashes:
    """The hashes of ids, batch by batch."""

    def __init__(self, missing_values: tuple[str, ...], *, keep: int = SPOOL_RECORDS) -> None:
        """Draw the keys. ``keep`` is how many records' hashes stay in memory."""
        self._missing = missing_values
        self._keys = tuple(int.from_bytes(os.urandom(8)) for _ in range(2))
        self._hashes = Spool(2, np.uint64, keep=keep)

    def append(self, ids: Column) -> None:
        """Add the ids of some records."""
        texts, nobody = person_texts(ids.values, self._missing)
        found = np.stack([texts.hash(key).to_numpy() for key in self._keys])
        found[:, nobody] = 0  # what a text has with a probability of 2⁻¹²⁸
        self._hashes.append(found if ids.places is None else found[:, ids.places])

    def first_records(self, max_records: int) -> FirstRecords:
        """Return which records are each person's first; the hashes are let go."""
        records = self._hashes.records
        bits = np.zeros(-(-records // 8), dtype=np.uint8)
        parts = -(-records // PART_RECORDS)
        kept = persons = 0
        unnamed = sum(int(np.count_nonzero(~_named(block))) for block in self._hashes.blocks())
        for part in range(parts):
            hashes, places = self._part(part, parts, max_records)
            first, people = _first(hashes, max_records)
            chosen = places[first]
            np.bitwise_or.at(bits, chosen >> 3, np.left_shift(1, chosen & 7).astype(np.uint8))
            kept += chosen.size
            persons += people
        self._hashes.close()
        return FirstRecords(bits, kept, persons, unnamed)

    def _part(self, part: int, parts: int, max_records: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the hashes of one part, and the places of their records.

        Whoever has many records is in one part with all of them: once there are too many, only first ones are kept.
        """
        found: list[NDArray[np.uint64]] = []
        places: list[NDArray[np.int64]] = []
        start = held = 0
        room = 2 * PART_RECORDS
        for block in self._hashes.blocks():
            chosen = np.flatnonzero(_named(block) & (block[0] % np.uint64(parts) == part))
            found.append(block[:, chosen])
            places.append(chosen + start)
            start += block.shape[1]
            held += chosen.size
            if held > room:
                hashes = np.concatenate(found, axis=1)
                first, _ = _first(hashes, max_records)
                found, places, held = [hashes[:, first]], [np.concatenate(places)[first]], first.size
                room = 2 * max(PART_RECORDS, held)
        return np.concatenate(found, axis=1), np.concatenate(places)


def _named(hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    named: NDArray[np.bool_] = (hashes[0] != 0) | (hashes[1] != 0)
    return named


def _first(hashes: NDArray[np.uint64], max_records: int) -> tuple[NDArray[np.intp], int]:
    """Return which are each person's first records, in order, and the number of persons."""
    order = np.lexsort((hashes[1], hashes[0]))  # stable: of one person, in file order
    ordered = hashes[:, order]
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    starts = np.flatnonzero(new)
    rank = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return np.sort(order[rank < max_records]), int(starts.size)


def first_records(
    ids: pl.Series, max_records: int, missing_values: tuple[str, ...] = ()
) -> tuple[NDArray[np.intp], int]:
    """Return the positions of each person's first ``max_records`` records, in file order, and the number of persons.

    >>> kept, persons = first_records(pl.Series(["a", "b", " a", None, "?", "a"]), 2, ("?",))
    >>> kept.tolist(), persons
    ([0, 1, 2], 2)
    """
    hashes = PersonHashes(missing_values)
    hashes.append(Column(ids))
    found = hashes.first_records(max_records)
    return np.flatnonzero(found.mask(0, ids.len())), found.persons
