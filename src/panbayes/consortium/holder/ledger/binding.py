"""Which records a ledger belongs to, without keeping them.

A ledger adds up what has been said about certain people, so it must notice when it is used for others. At first use
under a schema it stores ``HMAC-SHA256(key, fingerprint)``: the *key* is 32 random bytes drawn when the ledger was made
and kept in it, the *fingerprint* the SHA-256 of the encoded records in sorted order. The order of the records does not
count, since an export may come in any; everything else does.

What the stored digest gives away: nothing to somebody who has not the ledger, and it cannot be looked up in a list made
beforehand or compared between ledgers, since each has its own key. Somebody who *has* the ledger can test a guess of
the *whole* table, and with all records but one in hand could try the values of the last. A ledger is therefore to be
guarded like the records themselves (mode 0600), and neither key nor digest nor anything computed from them is ever
released: the hash chain does not cover them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from panbayes.tables.table import Table

__all__ = ["Bindings", "fingerprint", "keyed"]


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a ledger keeps of its records: its key, and the digest stored under each schema's hash."""

    key: bytes = field(repr=False)
    digests: Mapping[str, bytes] = field(repr=False)

    def belongs_to(self, schema: str, records: bytes) -> bool | None:
        """Tell whether ``records`` (a fingerprint) are the ones bound under a schema; None if none are.

        >>> Bindings(b"key", {"schema": keyed(b"key", b"records")}).belongs_to("schema", b"others")
        False
        """
        digest = self.digests.get(schema)
        return None if digest is None else hmac.compare_digest(digest, keyed(self.key, records))


def fingerprint(table: Table) -> bytes:
    """Return the SHA-256 of the schema's hash and the records, in whichever order they come.

    It lives in memory only; what is stored is :func:`keyed`.
    """
    width = table.codes.dtype.itemsize
    head = ["panbayes records 1", table.schema.hash, len(table.schema), table.records, table.persons, width]
    digest = hashlib.sha256(json.dumps(head).encode())
    rows = np.ascontiguousarray(table.codes.T, dtype=f"<u{width}")
    # One opaque value per record, compared byte by byte: any total order will do.
    digest.update(np.sort(rows.view(f"V{width * len(table.schema)}").ravel()).tobytes())
    return digest.digest()


def keyed(key: bytes, records: bytes) -> bytes:
    """Return what a ledger with this ``key`` stores for ``records`` (a :func:`fingerprint`)."""
    return hmac.digest(key, b"panbayes binding 1" + records, "sha256")
