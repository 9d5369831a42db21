"""What a table is known by: the same bytes in every version, whichever order the records come in."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from panbayes.consortium.holder.ledger.binding import (
    Bindings,
    Fingerprint,
    anybodys,
    fingerprint,
    keyed,
    keyed_former,
)
from panbayes.consortium.holder.ledger.cabinet import _bound_to
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.marks import mark_of
from panbayes.tables.table import Table

CODES = [[0, 1, 1, 0, 2], [1, 0, 1, 1, 0]]
PEOPLE = Schema("s", (Attribute("a", categories=(0, 1, 2)), Attribute("b", categories=(0, 1))), unit=Unit("who", 2))


WIDE = Schema("s", (Attribute("a", categories=tuple(range(300))), *PEOPLE.attributes[1:]))


def made(schema: Schema = PEOPLE, *, persons: int | None = 3) -> Table:
    return Table(schema, np.array(CODES, dtype=np.uint8 if schema is PEOPLE else np.uint16), persons)


def former(schema: Schema = PEOPLE, *, kind: str = "<u1", persons: int | None = 3) -> bytes:
    """The digest of the first version, from its description: a head, then the records in order of their bytes."""
    head = ["panbayes records 1", schema.hash, 2, 5, persons, np.dtype(kind).itemsize]
    records = sorted(np.array(record, dtype=kind).tobytes() for record in zip(*CODES, strict=True))
    return hashlib.sha256(json.dumps(head).encode() + b"".join(records)).digest()


def test_nothing_that_is_kept_secret_is_shown() -> None:
    """A holder's session may be recorded: whoever has a secret can test guesses at a reply, or at the records."""
    entry = Entry("study", "question", "counts", Pure(Fraction(1)), "reply", 1, "head", b"hidden")
    records = Fingerprint((b"hidden",), "who", b"hidden", lambda: b"hidden")
    for shown in (entry, records, Bindings(b"hidden", [b"hidden"], {"s": b"hidden"})):
        assert "hidden" not in repr(shown)
        assert "lambda" not in repr(shown)
    assert records == Fingerprint((b"hidden",), "who", b"hidden"), "how an older digest is found is no part of it"


def test_the_digest_of_the_first_version_never_changes() -> None:
    assert fingerprint(made()).former == former()
    assert fingerprint(made(persons=2)).former == former(persons=2) != former()
    assert fingerprint(made(WIDE, persons=None)).former == former(WIDE, kind="<u2", persons=None)


def test_the_order_of_records_does_not_matter() -> None:
    turned = Table(PEOPLE, np.array(CODES, dtype=np.uint8)[:, ::-1], 3)
    assert fingerprint(turned).former == fingerprint(made()).former
    assert fingerprint(turned).marks == fingerprint(made()).marks


def test_a_table_is_known_by_its_records_and_by_all_that_were_given() -> None:
    table = made()
    mark = mark_of(table.codes)
    assert fingerprint(table).marks == (mark,)
    assert fingerprint(table).unit == anybodys(table).unit == "who"
    for whole in (b"\0" * 32, b"\xff" * 32, mark):
        assert fingerprint(replace(table, whole=whole)).marks == tuple(sorted({mark, whole}))


def test_the_first_version_is_asked_how_it_read_a_table_once() -> None:
    asked: list[int] = []

    def first() -> tuple[NDArray[np.int64], int | None]:
        asked.append(1)
        return np.array(CODES)[:, :4], 2

    known = fingerprint(replace(made(), first=first))
    assert not asked
    wanted = fingerprint(Table(PEOPLE, np.array(CODES, dtype=np.uint8)[:, :4], 2)).former
    assert [known.older(), known.older()] == [wanted, wanted]
    assert asked == [1]
    assert fingerprint(made()).older() is None
    assert fingerprint(replace(made(), first=lambda: None)).older() is None


def test_what_is_stored_is_keyed_as_it_always_was() -> None:
    assert keyed(b"key", b"mark").hex() == "720a5af0abf5ae1402e860c52e22da0af7ddc81ffbbcbcd5b6f09479173d6338"
    assert keyed_former(b"key", b"mark").hex() == "5011311d1753287db6fe1ac8a6843d8e41cf0d18ad6b310862917c54e4f5496c"


def test_a_ledger_of_the_first_version_is_found_by_how_that_one_read_the_records() -> None:
    old, other = Path("old.ledger"), Path("other.ledger")
    bindings = {
        other: Bindings(b"key", [b"mark"]),
        old: Bindings(b"key", [], {"schema": keyed_former(b"key", b"read")}),
    }
    assert _bound_to(bindings, "schema", Fingerprint((b"m",), older=lambda: b"read")) == old
    assert _bound_to(bindings, "schema", Fingerprint((b"m",), older=lambda: b"else")) is None
    assert _bound_to(bindings, "another", Fingerprint((b"m",), older=lambda: b"read")) is None
    assert _bound_to(bindings, "schema", Fingerprint((b"m",))) is None
