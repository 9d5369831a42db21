"""The same records are recognised: no sorting, no other name of holder, schema or column opens a fresh account."""

from __future__ import annotations

import datetime as dt
import io
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.holder.ledger.binding import keyed, keyed_earlier, keyed_former
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.ledger.versions import newest
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.local.learn import learn
from panbayes.errors import HolderRefusedError, InputError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.encoding import EARLIER
from panbayes.tables.marks import mark_of, sorted_mark
from panbayes.tables.reading import read_records
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, pure, singles, study, table
from tests.consortium.holder.golden_ledger import EXCHANGES, Golden, records
from tests.consortium.holder.ledgers import edit

PATIENTS = replace(SCHEMA, unit=Unit("patient", max_records=2))


def frame(seed: int = 1) -> pl.DataFrame:
    """Visits of patients, about five each, and their numbers."""
    columns = {attribute.name: attribute.labels for attribute in SCHEMA.attributes}
    codes = table(seed, 200).codes
    values = {name: [labels[code] for code in row] for (name, labels), row in zip(columns.items(), codes, strict=True)}
    numbers = np.random.default_rng(seed).integers(0, 40, 200)
    return pl.DataFrame({**values, "patient": [f"p{n}" for n in numbers], "visit": [f"v{n}" for n in range(200)]})


def ask(schema: Schema, holder: str, data: object, state: Path, *, name: str = "a study") -> None:
    """Let a study ask one holder everything it asks."""
    agreed = study("independent", name=name, schema=schema)
    with open_gates(agreed, {holder: Table.read(data, schema)}, state=state) as gates:
        Federation(agreed, gates).ask(singles(agreed), round_number=0)


def accounts(state: Path) -> list[Fraction]:
    """Return what every ledger has spent."""
    spent = []
    for path in Cabinet.in_state(state).files():
        with Ledger.read(path) as ledger:
            assert verify(ledger) == []
            spent.append(pure(ledger.summary().spent))
    return spent


def test_with_a_unit_sorting_the_file_and_renaming_the_holder_opens_no_fresh_account(tmp_path: Path) -> None:
    data = frame()
    assert Table.read(data, PATIENTS).codes.tolist() != Table.read(data.sort(SCHEMA.names), PATIENTS).codes.tolist()
    ask(PATIENTS, "north", data, tmp_path)
    ask(PATIENTS, "Dr. North", data.sort(SCHEMA.names), tmp_path, name="another")
    ask(PATIENTS, "N.", data.reverse(), tmp_path, name="a third")
    assert accounts(tmp_path) == [3]


@pytest.mark.parametrize("schema", [SCHEMA, PATIENTS])
def test_renaming_schema_and_holder_opens_no_fresh_account(schema: Schema, tmp_path: Path) -> None:
    ask(schema, "north", frame(), tmp_path)
    renamed = replace(schema, name="renamed")
    ask(renamed, "Dr. North", frame().reverse(), tmp_path)
    attributes = tuple(replace(a, name=a.name.upper()) for a in reversed(schema.attributes))
    ask(
        replace(schema, attributes=attributes), "N.", frame().rename(str.upper).rename({"PATIENT": "patient"}), tmp_path
    )
    assert accounts(tmp_path) == [3]


def test_with_a_unit_a_visit_more_that_is_left_out_anyway_opens_no_fresh_account(tmp_path: Path) -> None:
    ask(PATIENTS, "north", frame(), tmp_path)
    longer = pl.concat([frame(), frame()[:1]])
    assert Table.read(longer, PATIENTS).codes.tolist() == Table.read(frame(), PATIENTS).codes.tolist()
    ask(PATIENTS, "Dr. North", longer, tmp_path, name="another")
    assert accounts(tmp_path) == [2]


def test_patients_and_visits_are_not_added_up_whatever_the_holder_is_called(tmp_path: Path) -> None:
    ask(PATIENTS, "north", frame(), tmp_path)
    visits = replace(SCHEMA, name="visits", unit=Unit("visit", max_records=2))
    for holder in ("north", "Dr. North"):
        with pytest.raises(HolderRefusedError, match="another adjacency or privacy unit"):
            ask(visits, holder, frame(), tmp_path)
    assert accounts(tmp_path) == [1]


def test_other_records_have_their_own_account(tmp_path: Path) -> None:
    """Ids are no mark: two holders may number their people alike."""
    ask(PATIENTS, "north", frame(1), tmp_path)
    alike = frame(2).with_columns(frame(1)["patient"], frame(1)["visit"])
    ask(PATIENTS, "south", alike, tmp_path)
    assert accounts(tmp_path) == [1, 1]
    with pytest.raises(LedgerError, match="belongs to other records"):
        ask(PATIENTS, "north", frame(3), tmp_path)


@pytest.mark.parametrize("version", range(1, newest() + 1))
def test_a_ledger_of_any_version_is_found_by_its_records_and_marked_once(version: int, tmp_path: Path) -> None:
    """Nobody is locked out, and nobody gets a fresh account."""
    golden = Golden(version)
    cabinet = Cabinet.in_state(tmp_path)
    cabinet.make_folder()
    golden.copy(cabinet.folder)
    old = EXCHANGES[0].study
    for number, schema in enumerate((old.schema, replace(old.schema, name="renamed"))):
        agreed = study("independent", "1/10", name=f"new {number}", schema=schema)
        holder = f"nobody's name {number}"
        with open_gates(agreed, {holder: records(schema).select(slice(None, None, -1))}, state=tmp_path) as gates:
            Federation(agreed, gates).ask(singles(agreed), round_number=0)
    (path,) = cabinet.files()
    with Ledger.read(path) as ledger:
        assert ledger.summary().entries == len(golden.heads) + 2
        assert verify(ledger, heads=golden.heads) == []
        with ledger.transaction(write=False) as transaction:
            assert keyed(transaction.secret("key"), mark_of(records(old.schema))) in transaction.bindings().marks


def test_a_ledger_of_the_first_version_with_a_unit_is_found_in_the_order_it_was_bound_in_and_then_in_any(
    tmp_path: Path,
) -> None:
    ask(PATIENTS, "north", frame(), tmp_path)
    (path,) = Cabinet.in_state(tmp_path).files()
    (former,) = fingerprint(Table.read(frame(), PATIENTS)).stages[0]().former
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        key = transaction.secret("key")
    # As the first version left it: one digest of the records that were kept, no marks, no columns.
    edit(path, "DELETE FROM marks", "DELETE FROM units")
    bound = "INSERT INTO bindings (schema, digest) VALUES (?, ?)"
    edit(path, bound, values=(PATIENTS.hash, keyed_former(key, former)))
    ask(PATIENTS, "Dr. North", frame(), tmp_path, name="another")
    ask(PATIENTS, "N.", frame().reverse(), tmp_path, name="a third")
    assert accounts(tmp_path) == [3]


SEEN = Schema("seen", (Attribute("at", categories=("2020-01-01 12:00:00", "never", "2020-01-01"), other="other"),))
VISITS = replace(SEEN, unit=Unit("patient", max_records=1))
NOON = dt.datetime(2020, 1, 1, 12)

Odd = tuple[Schema, list[list[int]], int | None, Callable[[Path], object]]


def written(name: str, text: str) -> Callable[[Path], object]:
    """Return what writes a file and gives its path."""

    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text(text)
        return path

    return write


ODD: dict[str, Odd] = {
    "two people who differ by a blank": (
        VISITS,
        [[1, 1, 3]],
        3,
        written("v.csv", "patient,at\n1,never\n1 ,never\n2,?\n"),
    ),
    "a missing value at the end": (SEEN, [[1, 1]], None, written("s.csv", "at\nnever\nnever\n\n")),
    "times by the type of their column": (SEEN, [[3, 3]], None, lambda _: pl.DataFrame({"at": [NOON, NOON]})),
    "large ids that fall together": (
        VISITS,
        [[1]],
        1,
        lambda _: pl.DataFrame({"patient": [Decimal(2**53), Decimal(2**53 + 1)], "at": ["never", "never"]}),
    ),
    "objects of pandas": (
        SEEN,
        [[3, 1]],
        None,
        lambda _: pd.DataFrame({"at": [dt.datetime(2020, 1, 1), "never"]}, dtype=object),
    ),
}
"""Tables with odd values: the codes and the persons that the first version read, and the table itself."""


def bound_as_first(state: Path, schema: Schema, codes: list[list[int]], persons: int | None) -> None:
    """Leave one ledger, as the first version left it: bound to these codes, with a study charged."""
    old = Table(schema, np.array(codes, dtype=np.uint8), persons)
    agreed = study("independent", name="old", schema=schema)
    with open_gates(agreed, {"north": old}, state=state) as gates:
        Federation(agreed, gates).ask(singles(agreed), round_number=0)
    (path,) = Cabinet.in_state(state).files()
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        key = transaction.secret("key")
    edit(path, "DELETE FROM marks", "DELETE FROM units")
    bound = "INSERT INTO bindings (schema, digest) VALUES (?, ?)"
    (former,) = fingerprint(old).stages[0]().former
    edit(path, bound, values=(schema.hash, keyed_former(key, former)))


@pytest.mark.parametrize("name", ODD)
def test_a_ledger_of_the_first_version_is_found_by_records_that_are_read_otherwise_today_and_marked_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, codes, persons, make = ODD[name]
    bound_as_first(tmp_path, schema, codes, persons)
    data = make(tmp_path)
    today = Table.read(data, schema)
    assert (sorted(today.codes[0].tolist()), today.persons) != (sorted(codes[0]), persons)
    for holder in ("Dr. North", "north"):
        ask(schema, holder, data, tmp_path, name=f"by {holder}")
        # Marked: what the first version read is not asked for again.
        monkeypatch.setattr("panbayes.tables.reading.read_as_first", lambda *_: pytest.fail("read again"))
    assert accounts(tmp_path) == [3]


def test_records_that_the_first_version_knew_otherwise_have_their_own_account(tmp_path: Path) -> None:
    bound_as_first(tmp_path, VISITS, [[1, 1, 1]], 3)
    _, _, _, make = ODD["two people who differ by a blank"]
    with pytest.raises(LedgerError, match="belongs to other records"):
        ask(VISITS, "north", make(tmp_path), tmp_path)
    ask(VISITS, "Dr. North", make(tmp_path), tmp_path)
    assert accounts(tmp_path) == [1, 1]


BLANKS = Schema(
    "blanks",
    (
        Attribute("sex", categories=("F", "M"), other="other"),
        Attribute("age", bins=(0, 40, 120), missing="missing"),
        Attribute("smokes", categories=("no", "yes")),
    ),
)
BLANK_VISITS = replace(BLANKS, unit=Unit("patient", max_records=1))


def blanks(seed: int = 1) -> pl.DataFrame:
    """Texts with blanks around them, and words where numbers belong, both read otherwise since version 4."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.choice(["F", " F", "M ", "x"], 90),
            "age": rng.choice(["7", "50", "old", "?"], 90),
            "smokes": rng.choice(["no", " yes", "yes"], 90),
            "patient": rng.choice([f"p{n}" for n in range(40)], 90),
        }
    )


def left_by_version_3(state: Path, schema: Schema, data: object) -> None:
    """Leave a ledger as version 3 did: a study charged, and marks of the codes that it gave, sorted."""
    ask(schema, "north", data, state)
    (path,) = Cabinet.in_state(state).files()
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        key = transaction.secret("key")
    edit(path, "DELETE FROM marks")
    for every_record in (False, True):
        with read_records(data, schema, rules=EARLIER, every_record=every_record) as read:
            mark = keyed_earlier(key, sorted_mark(read))
        edit(path, "INSERT OR IGNORE INTO marks (schema, digest) VALUES (?, ?)", values=(schema.hash, mark))


@pytest.mark.parametrize("schema", [BLANKS, BLANK_VISITS])
def test_a_ledger_of_version_3_is_found_by_records_that_are_read_otherwise_today_and_marked_once(
    schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_by_version_3(tmp_path, schema, blanks())
    with read_records(blanks(), schema, rules=EARLIER) as then:
        assert sorted_mark(then) != sorted_mark(Table.read(blanks(), schema)), "they are read otherwise"
    ask(schema, "Dr. North", blanks().sort("sex"), tmp_path, name="sorted and renamed")
    monkeypatch.setattr("panbayes.tables.reading.Origin.again", lambda *_, **__: pytest.fail("read again"))
    ask(schema, "N.", blanks(), tmp_path, name="a third")
    renamed = replace(schema, name="renamed", attributes=schema.attributes[::-1])
    ask(renamed, "nobody", blanks().reverse(), tmp_path, name="a fourth")
    assert accounts(tmp_path) == [4]


def test_a_ledger_of_version_3_is_found_by_a_table_whose_decimal_commas_are_numbers_today(tmp_path: Path) -> None:
    """Version 3 took 25,3 in a table with tabs for a word."""
    path = tmp_path / "t.tsv"
    path.write_text("sex\tage\tsmokes\n" + "F\t25,3\tno\nM\t50,5\tyes\nM\t50\tno\n" * 5)
    with read_records(path, BLANKS, rules=EARLIER) as then:
        counted = then.count([(1,)]).flat.tolist()
    assert counted == [0, 15, 0], "words were put into the last bin"
    left_by_version_3(tmp_path, BLANKS, path)
    ask(BLANKS, "Dr. North", path, tmp_path, name="another")
    assert accounts(tmp_path) == [2]


def test_what_cannot_be_read_again_opens_no_fresh_account(tmp_path: Path) -> None:
    """A stream is read once: whether a ledger of an earlier version belongs to it cannot be found out."""
    left_by_version_3(tmp_path, BLANKS, blanks())
    with pytest.raises(InputError, match=r"^data: is a stream that has been read; .* its table \(read_all\(\)\)"):
        ask(BLANKS, "Dr. North", blanks().to_arrow().to_reader(), tmp_path, name="another")
    assert accounts(tmp_path) == [1]
    ask(BLANKS, "Dr. North", blanks().to_arrow(), tmp_path, name="another")
    ask(BLANKS, "N.", blanks().to_arrow().to_reader(), tmp_path, name="a third")
    assert accounts(tmp_path) == [3]


def test_a_large_table_is_not_read_whole_for_ledgers_that_the_first_version_did_not_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_by_version_3(tmp_path, BLANKS, blanks(1))
    monkeypatch.setattr("panbayes.tables.reading.read_as_first", lambda *_: pytest.fail("read whole"))
    ask(BLANKS, "south", blanks(2), tmp_path)
    assert accounts(tmp_path) == [1, 1]


def test_with_a_unit_a_ledger_of_version_3_is_found_by_the_whole_file_in_another_order(tmp_path: Path) -> None:
    """Other records are kept then, with the codes of today: only the whole file is the same."""
    left_by_version_3(tmp_path, PATIENTS, frame())
    ask(PATIENTS, "Dr. North", frame().sort(SCHEMA.names), tmp_path, name="another")
    assert accounts(tmp_path) == [2]


def test_other_records_than_those_of_a_ledger_of_version_3_have_their_own_account(tmp_path: Path) -> None:
    left_by_version_3(tmp_path, BLANKS, blanks(1))
    ask(BLANKS, "south", blanks(2), tmp_path)
    with pytest.raises(LedgerError, match="belongs to other records"):
        ask(BLANKS, "north", blanks(3), tmp_path, name="another")
    assert accounts(tmp_path) == [1, 1]


def test_a_ledger_whose_schemas_are_all_marked_anew_is_not_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_by_version_3(tmp_path, BLANKS, blanks(1))
    ask(BLANKS, "north", blanks(1), tmp_path, name="another")
    monkeypatch.setattr("panbayes.consortium.holder.ledger.fingerprints.sorted_mark", lambda _: pytest.fail("sorted"))
    ask(BLANKS, "south", blanks(2), tmp_path)
    assert sorted(accounts(tmp_path)) == [1, 2]


def run(agreed: Study, state: Path, *names: str) -> None:
    tables = {name: table(seed) for seed, name in enumerate(names)}
    with open_gates(agreed, tables, state=state) as gates:
        Federation(agreed, gates).ask(singles(agreed), round_number=0)


def test_a_missing_cap_is_said_once_to_a_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(study("independent"), tmp_path / "in a pipe", "north")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Ledger.open(made(tmp_path, "capped"), create=True) as ledger:
        ledger.set_cap(Pure(Fraction(9)))
    run(study("independent"), tmp_path, "north", "south", "capped")
    told = capsys.readouterr().err
    assert told.startswith("note: no cap is set for north, south: ")
    assert told.count("\n") == 1
    run(study("independent"), tmp_path, "north", "south", "capped")
    run(study("independent", name="another"), tmp_path, "north", "south", "capped")
    assert capsys.readouterr().err == ""


def made(state: Path, holder: str) -> Path:
    cabinet = Cabinet.in_state(state)
    cabinet.make_folder()
    return cabinet.path(holder)


def test_learning_asks_nobody_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for a cap, nor at a large ε, nor where everything is looked at."""
    keyboard = io.StringIO("yes\n" * 9)
    monkeypatch.setattr(sys, "stdin", keyboard)
    for terminal in (keyboard, sys.stderr):
        monkeypatch.setattr(terminal, "isatty", lambda: True)
    for strategy, epsilon in (("independent", 1), ("independent", 100), ("non-private", None)):
        learn(Study("asking", SCHEMA, strategy, epsilon), {"north": table(1)}, state=tmp_path)
    assert keyboard.tell() == 0


@pytest.mark.parametrize(("epsilon", "warned"), [("10", False), ("10.01", True), ("1000", True)])
def test_a_large_epsilon_is_warned_of(
    epsilon: str, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger.open(made(tmp_path, "north"), create=True) as ledger:
        ledger.set_cap(Pure(Fraction(9999)))
    run(study("independent", epsilon), tmp_path, "north")
    told = capsys.readouterr().err
    assert told == (f"warning: the study grants ε = {epsilon}: above 10 little is promised to anybody\n" * warned)
