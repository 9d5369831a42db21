"""What a table is known by: the same bytes in every version, whichever order the records come in."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from panbayes.consortium.holder.ledger.binding import (
    Bindings,
    Fingerprint,
)
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.fingerprints import anybodys, fingerprint
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.codes import code_type
from panbayes.tables.fit import fit_of
from panbayes.tables.marks import mark_of
from panbayes.tables.reading import Origin
from panbayes.tables.remote import RemoteTable
from panbayes.tables.table import Table

CODES = [[0, 1, 1, 0, 2], [1, 0, 1, 1, 0]]
PEOPLE = Schema("s", (Attribute("a", categories=(0, 1, 2)), Attribute("b", categories=(0, 1))), unit=Unit("who", 2))


WIDE = Schema("s", (Attribute("a", categories=tuple(range(300))), *PEOPLE.attributes[1:]))


def made(schema: Schema = PEOPLE, *, persons: int | None = 3) -> Table:
    return Table(schema, np.array(CODES, dtype=code_type(schema)), persons)


def test_nothing_that_is_kept_secret_is_shown() -> None:
    """A holder's session may be recorded: whoever has a secret can test guesses at a reply, or at the records."""
    entry = Entry("study", "question", "counts", Pure(Fraction(1)), "reply", 1, "head", b"hidden", "notes", "events")
    for shown in (entry, Fingerprint((b"hidden",), "who"), Bindings(b"hidden", [b"hidden"])):
        assert "hidden" not in repr(shown)


def test_the_order_of_records_does_not_matter() -> None:
    turned = Table(PEOPLE, np.array(CODES, dtype=np.uint8)[:, ::-1], 3)
    assert fingerprint(turned).marks == fingerprint(made()).marks


def test_a_table_is_known_by_its_records_and_by_all_that_were_given() -> None:
    table = made()
    mark = mark_of(table)
    assert fingerprint(table).marks == (mark,)
    assert fingerprint(table).unit == anybodys(table.facts).unit == "who"
    for whole in (b"\0" * 32, b"\xff" * 32, mark):
        assert fingerprint(replace(table, origin=origin(whole))).marks == tuple(dict.fromkeys((mark, whole)))


def origin(whole: bytes) -> Origin:
    """Where a table was read that is known as a ``whole`` by this mark."""
    fit = fit_of(PEOPLE, [np.zeros((3, size), dtype=np.int64) for size in PEOPLE.sizes])
    return Origin("polars", fit, whole)


def test_what_is_counted_elsewhere_is_known_by_its_size_too() -> None:
    """Or a fixed table that has grown would be another one under another schema."""
    table = made()

    class Elsewhere(RemoteTable):
        facts = table.facts
        count = table.count
        parities = table.parities

        def marks(self) -> tuple[bytes, ...]:
            return (mark_of(table),)

    found = fingerprint(Elsewhere())
    assert found.size == fingerprint(table).size
    assert found.size is not None
    assert found.marks == fingerprint(table).marks
