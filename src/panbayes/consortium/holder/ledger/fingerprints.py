"""Computing what records are known by, today and as earlier versions read them; see the module ``binding``.

By itself, because it reads tables: who only opens a ledger loads nothing that does.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, partial

import numpy as np

from panbayes.consortium.holder.ledger.binding import Earlier, Fingerprint, Size, Stage
from panbayes.tables.codes import code_type
from panbayes.tables.counter import BlockCounter, Facts
from panbayes.tables.encoding import EARLIER
from panbayes.tables.kept import KeptTable
from panbayes.tables.marks import mark_of, sorted_digest, sorted_mark
from panbayes.tables.reading import Origin, SpooledTable
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
    stages = [Stage(cache(partial(_today, records)))]
    if origin is not None:
        stages.append(Stage(cache(partial(_as_second, origin))))
        stages.append(Stage(cache(partial(_as_first, origin)), only_first=True))
    marks = (kept,) if whole in (None, kept) else (kept, whole)
    return Fingerprint(marks, _unit(records.facts), tuple(stages), _size(records.facts))


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


def _today(records: BlockCounter) -> Earlier:
    """Return what earlier versions knew records by whose codes have not changed."""
    return Earlier((sorted_mark(records),), (_former(records),))


def _as_second(origin: Origin) -> Earlier:
    """Return what versions 2 and 3 knew the records by, and the whole file, read as they did."""
    kept = _reread(origin.again(rules=EARLIER))
    whole = _reread(origin.again(rules=EARLIER, every_record=True)) if origin.schema.unit is not None else ()
    return Earlier((*kept, *whole))


def _reread(records: SpooledTable) -> tuple[bytes, ...]:
    with records:
        return (sorted_mark(records),)


def _as_first(origin: Origin) -> Earlier:
    """Return what the first version knew records by, read as it did; nothing if it would have refused the file."""
    found = origin.first()
    if found is None:
        return Earlier()
    codes, persons = found
    return Earlier((), (_former(Table(origin.schema, codes.astype(code_type(origin.schema)), persons)),))


def _former(records: BlockCounter) -> bytes:
    """Return the SHA-256 of the schema's hash and the records that are kept, in whichever order they come."""
    facts = records.facts
    width = np.dtype(code_type(facts.schema)).itemsize
    head = ["panbayes records 1", facts.schema.hash, len(facts.schema), facts.records, facts.persons, width]
    digest = hashlib.sha256(json.dumps(head).encode())
    return sorted_digest(digest, records, list(range(len(facts.schema))), f"<u{width}")
