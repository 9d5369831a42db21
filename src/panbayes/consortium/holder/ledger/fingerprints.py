"""Computing what records are known by; see the module ``binding``.

By itself, because it reads tables: who only opens a ledger loads nothing that does.
"""

from __future__ import annotations

import hashlib
import json

from panbayes.consortium.holder.ledger.binding import Fingerprint, Size
from panbayes.tables.counter import Facts
from panbayes.tables.kept import KeptTable
from panbayes.tables.marks import mark_of
from panbayes.tables.reading import SpooledTable
from panbayes.tables.remote import RemoteTable
from panbayes.tables.table import Table

__all__ = ["anybodys", "fingerprint"]


def fingerprint(records: Table | SpooledTable | KeptTable | RemoteTable) -> Fingerprint:
    """Return what records are known by; nothing that cannot be told of some that are counted elsewhere."""
    if isinstance(records, RemoteTable):
        return Fingerprint(records.marks(), _unit(records.facts), size=_size(records.facts))
    origin = records.origin
    whole = None if origin is None else origin.whole
    kept = mark_of(records)
    marks = (kept,) if whole in (None, kept) else (kept, whole)
    return Fingerprint(marks, _unit(records.facts), _size(records.facts))


def anybodys(facts: Facts) -> Fingerprint:
    """Return what a ledger in memory knows its records by, where nothing is private: all are the same to it."""
    return Fingerprint((b"anybody's",), _unit(facts))


def _unit(facts: Facts) -> str | None:
    return None if facts.schema.unit is None else facts.schema.unit.column


def _size(facts: Facts) -> Size:
    """Return how many there are. Whose id means missing follows from the words for it; else no schema changes that."""
    if facts.schema.unit is None:
        return Size("records", facts.size)
    words = json.dumps(sorted(set(facts.schema.missing_values)))
    return Size(f"persons-{hashlib.sha256(words.encode()).hexdigest()[:16]}", facts.size)
