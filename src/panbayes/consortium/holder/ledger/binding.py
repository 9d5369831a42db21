"""Which records a ledger belongs to, without keeping them.

A ledger adds up what has been said about certain people, so it must notice when it is used for others, and be found
again when the same records come back under another name. It knows them by *marks* (:mod:`panbayes.tables.marks`): the
digest of the encoded records, of all that the file holds and, under a ``[unit]``, of those that were kept. Each is
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

"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass, field

__all__ = [
    "Bindings",
    "Fingerprint",
    "Size",
    "keyed",
]


@dataclass(frozen=True, slots=True)
class Size:
    """How many persons or records there are, and of what ``kind`` that number is: equal for equal words for missing."""

    kind: str
    number: int

    def text(self) -> str:
        """Write it as it is kept."""
        return f"{self.kind} {self.number}"

    def differs(self, kept: str) -> bool:
        """Tell whether a size that was kept is of the same kind, and another.

        >>> [Size("records", 5).differs(kept) for kept in ("records 5", "records 6", "persons 6")]
        [False, True, False]
        """
        return kept.split(" ")[0] == self.kind and kept != self.text()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What records are known by: their ``marks``.

    The first mark is that of the records that are kept; there is none where nothing can be told. ``unit`` is the column
    of the privacy unit, None where the record is the unit. ``size`` is how many of these there are, with all that this
    depends on beside the table: two tables of one dataset with different sizes of one kind are not the same. It lives
    in memory only; what is stored is keyed, but for the size.
    """

    marks: tuple[bytes, ...] = field(repr=False)
    unit: str | None = None
    size: Size | None = field(default=None, repr=False)

    @property
    def kept(self) -> bytes | None:
        """The mark of the records that are kept, None if there is none."""
        return self.marks[0] if self.marks else None


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a ledger keeps of its records: its key and its marks."""

    key: bytes = field(repr=False)
    marks: Collection[bytes] = field(repr=False)

    def belongs_to(self, records: Fingerprint) -> bool:
        """Tell whether these are the ledger's records.

        >>> bindings = Bindings(b"key", [keyed(b"key", b"ours")])
        >>> [bindings.belongs_to(Fingerprint((mark,))) for mark in (b"ours", b"others")]
        [True, False]
        """
        return any(hmac.compare_digest(known, keyed(self.key, mark)) for mark in records.marks for known in self.marks)


def keyed(key: bytes, mark: bytes) -> bytes:
    """Return what a ledger with this ``key`` stores for a mark."""
    return hmac.digest(key, b"panbayes mark" + mark, "sha256")
