"""The same records are recognised: no sorting, no other name of holder, schema or column opens a fresh account."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.local.learn import learn
from panbayes.errors import HolderRefusedError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, pure, singles, study, table

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
