"""What a table is known by: the same bytes in every version, whichever order the records come in."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from panbayes.consortium.holder.ledger.binding import (
    Bindings,
    Earlier,
    Fingerprint,
    Stage,
    keyed,
    keyed_earlier,
    keyed_former,
)
from panbayes.consortium.holder.ledger.cabinet import _bound_to
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


def then(table: Table) -> Earlier:
    """What earlier versions knew a table by whose codes have not changed."""
    return fingerprint(table).stages[0]()


def made(schema: Schema = PEOPLE, *, persons: int | None = 3) -> Table:
    return Table(schema, np.array(CODES, dtype=code_type(schema)), persons)


def former(schema: Schema = PEOPLE, *, kind: str = "<u1", persons: int | None = 3) -> bytes:
    """The digest of the first version, from its description: a head, then the records in order of their bytes."""
    head = ["panbayes records 1", schema.hash, 2, 5, persons, np.dtype(kind).itemsize]
    records = sorted(np.array(record, dtype=kind).tobytes() for record in zip(*CODES, strict=True))
    return hashlib.sha256(json.dumps(head).encode() + b"".join(records)).digest()


def test_nothing_that_is_kept_secret_is_shown() -> None:
    """A holder's session may be recorded: whoever has a secret can test guesses at a reply, or at the records."""
    entry = Entry("study", "question", "counts", Pure(Fraction(1)), "reply", 1, "head", b"hidden")
    earlier = Earlier((b"hidden",), (b"hidden",))
    records = Fingerprint((b"hidden",), "who", (Stage(lambda: earlier),))
    for shown in (entry, records, earlier, Bindings(b"hidden", [b"hidden"], [b"hidden"], {"s": b"hidden"})):
        assert "hidden" not in repr(shown)
        assert "lambda" not in repr(shown)
    assert records == Fingerprint((b"hidden",), "who"), "how an older digest is found is no part of it"


def test_the_digest_of_the_first_version_never_changes() -> None:
    assert then(made()).former == (former(),)
    assert then(made(persons=2)).former == (former(persons=2),) != (former(),)
    assert then(made(WIDE, persons=None)).former == (former(WIDE, kind="<u2", persons=None),)


def test_the_order_of_records_does_not_matter() -> None:
    turned = Table(PEOPLE, np.array(CODES, dtype=np.uint8)[:, ::-1], 3)
    assert then(turned) == then(made())
    assert fingerprint(turned).marks == fingerprint(made()).marks


def test_a_table_is_known_by_its_records_and_by_all_that_were_given() -> None:
    table = made()
    mark = mark_of(table)
    assert fingerprint(table).marks == (mark,)
    assert fingerprint(table).unit == anybodys(table.facts).unit == "who"
    for whole in (b"\0" * 32, b"\xff" * 32, mark):
        assert fingerprint(replace(table, origin=origin(whole=whole))).marks == tuple(dict.fromkeys((mark, whole)))


def origin(*, schema: Schema = PEOPLE, whole: bytes | None = None) -> Origin:
    """Where a table was read: a frame of other records than it has now."""
    values = {"a": CODES[0][:4], "b": CODES[1][:4], "who": [1, 2, 3, 4]}
    fit = fit_of(schema, [np.zeros((3, size), dtype=np.int64) for size in schema.sizes])
    return Origin(pl.DataFrame(values), schema, "polars", fit, whole)


def test_a_table_is_read_again_as_earlier_versions_did_only_when_asked_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def again(_origin: Origin, *, rules: object = None, every_record: bool = False) -> None:
        asked.append(f"{'earlier' if rules is not None else 'today'} {every_record}")

    known = fingerprint(replace(made(), origin=origin()))
    monkeypatch.setattr(Origin, "again", again)
    monkeypatch.setattr("panbayes.consortium.holder.ledger.fingerprints._reread", lambda _: ())
    monkeypatch.setattr(Origin, "first", lambda _: asked.append("first"))
    assert not asked
    assert [stage() for stage in known.stages for _ in range(2)][2:] == [Earlier()] * 4
    assert asked == ["earlier False", "earlier True", "first"]
    asked.clear()
    records = replace(PEOPLE, unit=None)
    known = fingerprint(replace(made(records, persons=None), origin=origin(schema=records)))
    assert [stage() for stage in known.stages][1:] == [Earlier()] * 2
    assert asked == ["earlier False", "first"], "without a unit the whole file is what is kept"


def test_what_earlier_versions_read_is_hashed_as_they_did() -> None:
    kept = Table(PEOPLE, np.array(CODES, dtype=np.uint8)[:, :4], 4)
    _, second, first = fingerprint(replace(made(), origin=origin())).stages
    assert second().marks == then(kept).marks * 2
    assert first().former == then(kept).former
    assert len(fingerprint(made()).stages) == 1


def test_what_is_stored_is_keyed_as_it_always_was() -> None:
    assert keyed_earlier(b"key", b"mark").hex() == "720a5af0abf5ae1402e860c52e22da0af7ddc81ffbbcbcd5b6f09479173d6338"
    assert keyed(b"key", b"mark").hex() == "a476c87311b46c8f1060ec7508f87ff231646d0c7c66ba5ac91cd9175d79cdc1"
    assert keyed_former(b"key", b"mark").hex() == "5011311d1753287db6fe1ac8a6843d8e41cf0d18ad6b310862917c54e4f5496c"


def test_a_ledger_of_the_first_version_is_found_by_how_that_one_read_the_records() -> None:
    old, other = Path("old.ledger"), Path("other.ledger")
    bindings = {
        other: Bindings(b"key", [b"mark"]),
        old: Bindings(b"key", [], [], {"schema": keyed_former(b"key", b"read")}),
    }

    def known(*former: bytes, marks: tuple[bytes, ...] = ()) -> Fingerprint:
        return Fingerprint((b"m",), None, (Stage(Earlier), Stage(lambda: Earlier(marks, former))))

    assert _bound_to(bindings, "schema", known(b"read")) == old
    assert _bound_to(bindings, "schema", known(b"else")) is None
    assert _bound_to(bindings, "another", known(b"read")) is None
    assert _bound_to(bindings, "schema", known(marks=(b"read",))) is None
    assert _bound_to(bindings, "schema", Fingerprint((b"m",))) is None


def test_a_ledger_of_versions_2_and_3_is_found_by_its_marks_under_any_schema() -> None:
    old, other = Path("old.ledger"), Path("other.ledger")
    bindings = {
        other: Bindings(b"key", [keyed_earlier(b"key", b"read")]),
        old: Bindings(b"key", [], [keyed_earlier(b"key", b"read")]),
    }
    found = Fingerprint((b"m",), None, (Stage(Earlier), Stage(lambda: Earlier((b"else", b"read")))))
    assert _bound_to(bindings, "any schema", found) == old
    assert _bound_to(bindings, "any schema", Fingerprint((b"m",), None, (Stage(lambda: Earlier((b"else",))),))) is None
    assert (
        _bound_to(bindings, "any schema", Fingerprint((b"m",), None, (Stage(lambda: Earlier((), (b"read",))),))) is None
    )


def test_earlier_marks_are_computed_only_where_no_mark_of_today_finds_a_ledger() -> None:
    def never() -> Earlier:
        raise AssertionError("sorted for nothing")

    bindings = {
        Path("a"): Bindings(b"key", [keyed(b"key", b"m")]),
        Path("b"): Bindings(b"key", [], [b"earlier"], {"schema": b"former"}),
    }
    assert _bound_to(bindings, "schema", Fingerprint((b"m",), None, (Stage(never),))) == Path("a")
    assert _bound_to({Path("a"): bindings[Path("a")]}, "schema", Fingerprint((b"n",), None, (Stage(never),))) is None


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
