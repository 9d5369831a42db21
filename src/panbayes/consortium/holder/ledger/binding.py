"""Which records a ledger belongs to, without keeping them.

A ledger adds up what has been said about certain people, so it must notice when it is used for others, and be found
again when the same records come back under another name. It knows them by *marks* (:mod:`panbayes.tables.marks`): the
SHA-256 of the encoded records, of all that the file holds and, under a ``[unit]``, of those that were kept. Each is
stored as ``HMAC-SHA256(key, mark)`` with the 32 random bytes of the ledger's own *key*. The ledger is the one of these
records if *either* mark is known.

A mark stays the same when the file is sorted, when the schema, attributes, categories or the holder are renamed, when
attributes change places, or when another column is named as the unit's. Under a unit, which records are kept depends on
the order of the file; the mark of the whole file does not.

What no mark can see: records that changed, or somebody more or less; another selection of attributes, other bins, or
another order of categories. Then the holder's name is all there is, and a new name opens a new account. Ids are no
mark: two holders that number their people from 1 would be taken for one.

What the stored digests give away: nothing to somebody who has not the ledger, and they cannot be looked up in a list
made beforehand or compared between ledgers, since each has its own key. Somebody who *has* the ledger can test a guess
of the *whole* table, and with all records but one in hand could try the values of the last. A ledger is therefore to be
guarded like the records themselves (mode 0600), and neither key nor digest nor anything computed from them is ever
released: the hash chain does not cover them.

Ledgers of the first version were bound by one digest per schema, of the schema's hash and the records that were kept
(``former``). They are found by it, and marked as above when they are next used. If the records have other codes today
than they had then, which odd values may have, they are read once more as they were at that time
(:mod:`panbayes.tables.first_reading`): only where nothing else finds a ledger and there is one of that version under
the same schema.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from panbayes.tables.marks import mark_of
from panbayes.tables.table import Table

__all__ = ["Bindings", "Fingerprint", "anybodys", "fingerprint", "keyed", "keyed_former"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a table is known by: its ``marks``, and the one a ledger of the first version knew it by.

    That one is ``former`` for the codes of today; ``older`` reads the table once more, as that version did.

    ``unit`` is the column of the privacy unit, None where the record is the unit. It lives in memory only; what is
    stored is keyed.
    """

    marks: tuple[bytes, ...] = field(repr=False)
    unit: str | None = None
    former: bytes = field(default=b"", repr=False)
    older: Callable[[], bytes | None] = field(default=lambda: None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a ledger keeps of its records: its key, its marks, and per schema the digest of the first version."""

    key: bytes = field(repr=False)
    marks: Collection[bytes] = field(repr=False)
    former: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def belongs_to(self, schema: str, records: Fingerprint) -> bool:
        """Tell whether these are the ledger's records; ``schema`` is the hash of theirs.

        >>> bindings = Bindings(b"key", [keyed(b"key", b"ours")])
        >>> [bindings.belongs_to("schema", Fingerprint((mark,))) for mark in (b"ours", b"others")]
        [True, False]
        """
        if self._was_bound_to(schema, records.former):
            return True
        return any(hmac.compare_digest(known, keyed(self.key, mark)) for mark in records.marks for known in self.marks)

    def belonged_to(self, schema: str, records: Fingerprint) -> bool:
        """Tell whether these are the records of a ledger of the first version, as that one read them."""
        if schema not in self.former:
            return False
        older = records.older()
        return older is not None and self._was_bound_to(schema, older)

    def _was_bound_to(self, schema: str, former: bytes) -> bool:
        known = self.former.get(schema)
        return known is not None and hmac.compare_digest(known, keyed_former(self.key, former))


def fingerprint(table: Table) -> Fingerprint:
    """Return what a table is known by."""
    marks = {mark_of(table.codes), *([] if table.whole is None else [table.whole])}
    return Fingerprint(tuple(sorted(marks)), _unit(table), _former(table), cache(partial(_older, table)))


def anybodys(table: Table) -> Fingerprint:
    """Return what a ledger in memory knows its records by, where nothing is private: all are the same to it."""
    return Fingerprint((b"anybody's",), _unit(table))


def _unit(table: Table) -> str | None:
    return None if table.schema.unit is None else table.schema.unit.column


def _former(table: Table) -> bytes:
    """Return the SHA-256 of the schema's hash and the records that are kept, in whichever order they come."""
    width = table.codes.dtype.itemsize
    head = ["panbayes records 1", table.schema.hash, len(table.schema), table.records, table.persons, width]
    digest = hashlib.sha256(json.dumps(head).encode())
    rows = np.ascontiguousarray(table.codes.T, dtype=f"<u{width}")
    digest.update(np.sort(rows.view(f"V{width * len(table.schema)}").ravel()).tobytes())
    return digest.digest()


def _older(table: Table) -> bytes | None:
    """Return what the first version knew a table by, read as it read it; None if it would have refused it."""
    found = None if table.first is None else table.first()
    if found is None:
        return None
    codes, persons = found
    return _former(Table(table.schema, codes.astype(table.codes.dtype), persons))


def keyed(key: bytes, mark: bytes) -> bytes:
    """Return what a ledger with this ``key`` stores for a mark."""
    return hmac.digest(key, b"panbayes mark 2" + mark, "sha256")


def keyed_former(key: bytes, former: bytes) -> bytes:
    """Return what a ledger of the first version with this ``key`` stored for records."""
    return hmac.digest(key, b"panbayes binding 1" + former, "sha256")
