"""A declared dataset is found by the place of its table, and every study sees one state of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake

from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.kept import codes_of
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.learn import learn
from panbayes.errors import HolderRefusedError, InputError, LedgerError
from panbayes.privacy.adjacency import Adjacency
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.sources.file import File
from tests.consortium.holder.examples import refused
from tests.consortium.local.declared import (
    MUCH,
    SMOKES,
    ask,
    counted,
    declared,
    gate,
    people,
    question,
    study,
    summary,
    write,
)
from tests.tables.databases import in_duckdb
from tests.tables.lakes import as_delta


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "north.csv", people(range(30)) | people(range(30, 40), "yes"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def linked(table: Path) -> Path:
    link = table.with_name("link.csv")
    link.symlink_to(table)
    return link


def hard(table: Path) -> Path:
    link = table.with_name("hard.csv")
    link.hardlink_to(table)
    return link


def roundabout(table: Path) -> Path:
    return Path(os.path.relpath(table)).parent / "." / table.name


WAYS: list[Callable[[Path], object]] = [
    lambda table: table,
    str,
    lambda table: File(table),
    roundabout,
    linked,
    hard,
    lambda table: table.parent / ".." / table.parent.name / table.name,
]


@pytest.mark.parametrize("changing", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_it_is_found_under_any_name_of_its_place(
    way: Callable[[Path], object], changing: bool, table: Path, state: Path
) -> None:
    path = declared(state, table, changing=changing)
    assert counted(ask(study(), way(table), state, holder="somebody else")) == [30, 10]
    assert Cabinet.in_state(state).files() == [path]
    assert summary(path).spent.amount == MUCH / 2


def sorted_file(table: Path) -> None:
    pl.read_csv(table).sort("smokes", "patient", descending=True).write_csv(table)


def test_no_other_order_name_schema_or_bins_open_a_fresh_account(table: Path, state: Path) -> None:
    path = declared(state, table)
    ask(study(), table, state)
    sorted_file(table)
    ask(study("b", schema=replace(SMOKES, name="other")), table, state, holder="Dr. North")
    bins = replace(SMOKES, attributes=(Attribute("smokes", categories=("yes",), other="other"),))
    ask(study("c", schema=bins), table, state, holder="N.")
    write(table, people(range(5), "yes"))
    ask(study("d"), table, state, holder="M.")
    assert Cabinet.in_state(state).files() == [path]
    assert summary(path).spent.amount == 2 * MUCH


def test_records_of_a_dataset_that_changes_are_refused_without_their_place(table: Path, state: Path) -> None:
    path = declared(state, table)
    ask(study(), table, state)
    copy = shutil.copy(table, table.with_name("copy.csv"))
    for data in (copy, pl.read_csv(table), pl.read_csv(table).reverse()):
        for holder in ("north", "somebody else"):
            with pytest.raises(LedgerError, match="is the account of a dataset that changes, whose table is"):
                ask(study("b"), data, state, holder=holder)
    # What was answered of an earlier state is known too.
    write(table, people(range(3)))
    with pytest.raises(LedgerError, match="dataset that changes"):
        ask(study("b"), copy, state, holder="somebody else")
    assert Cabinet.in_state(state).files() == [path]


def test_a_copy_is_no_dataset_of_its_own(table: Path, state: Path) -> None:
    path = declared(state, table)
    copy = Path(shutil.copy(table, table.with_name("copy.csv")))
    other = declared(state, copy, name="south")
    ask(study(), table, state)
    with pytest.raises(LedgerError, match="has been used for these very records, which were declared as another"):
        ask(study("b"), copy, state)
    for empty in (table, copy):
        write(empty, {})
    assert counted(ask(study("c"), table, state)) == counted(ask(study("d"), copy, state)) == [0, 0]
    assert (summary(path).entries, summary(other).entries) == (2, 1)


def test_other_records_under_the_name_of_a_dataset_that_changes_are_refused(table: Path, state: Path) -> None:
    declared(state, table)
    other = write(table.with_name("other.csv"), people(range(9)))
    with pytest.raises(LedgerError, match="give that table itself"):
        ask(study(), other, state)
    assert counted(ask(study(), other, state, holder="south")) == [9, 0]


def test_a_copy_of_a_fixed_table_is_the_same_account_and_a_changed_one_is_refused(table: Path, state: Path) -> None:
    path = declared(state, table, changing=False)
    ask(study(), table, state)
    ask(study("b"), shutil.copy(table, table.with_name("copy.csv")), state, holder="x")
    assert summary(path).spent.amount == MUCH
    write(table, people(range(9)))
    with pytest.raises(LedgerError, match="belongs to other records"):
        ask(study("c"), table, state)


SEX = Schema("sex", (Attribute("sex", categories=("F", "M", "X")),), unit=SMOKES.unit)
RECORDS = replace(SEX, unit=None)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize(("first", "other"), [(SMOKES, SEX), (replace(SMOKES, unit=None), RECORDS)])
def test_a_fixed_table_that_has_changed_is_noticed_under_another_schema(
    first: Schema, other: Schema, adjacency: Adjacency, table: Path, state: Path
) -> None:
    """Under replace the exact size is said: two of them would tell who came and went."""
    everybody = pl.read_csv(table)
    path = declared(state, table, changing=False, unit=first.unit)
    ask(study(schema=first, adjacency=adjacency), table, state)
    for changed in (everybody.head(39), pl.concat([everybody, everybody.head(1).with_columns(patient=pl.lit("new"))])):
        changed.write_csv(table)
        with pytest.raises(LedgerError, match=r"is not the one that was declared fixed: it has another number of"):
            ask(study("b", schema=other, adjacency=adjacency), table, state)
    assert summary(path).entries == 1
    everybody.reverse().write_csv(table)
    ask(study("b", schema=other, adjacency=adjacency), table, state)
    assert summary(path).entries == 2, "another order is no change"


def test_a_size_counts_once_something_was_charged_and_among_equal_words_for_missing(table: Path, state: Path) -> None:
    everybody = pl.read_csv(table)
    path = declared(state, table, changing=False)
    with gate(study(), table, state):
        pass  # Nothing is asked: what lay there then is nobody's business.
    everybody.head(39).write_csv(table)
    ask(study("b", schema=SEX), table, state)
    words = replace(SEX, name="p0", missing_values=("p0",))
    assert counted(ask(study("c", schema=words), table, state)) == [38, 0, 0], "to it p0 is nobody"
    assert summary(path).entries == 2


def test_what_was_counted_where_it_lies_is_read_into_the_same_account(table: Path, state: Path) -> None:
    address = f"{in_duckdb(pl.read_csv(table), table.with_name('north'))}&order_by=patient"
    path = declared(state, address, changing=False)
    assert counted(ask(study(), f"{address}&pushdown=true", state)) == [30, 10]
    with pytest.raises(LedgerError, match="belongs to other records"):  # Of a copy nothing is known but the name.
        ask(study("b"), table, state)
    assert counted(ask(study(), address, state, holder="x", number=1)) == [30, 10]
    assert counted(ask(study("b"), table, state, holder="y")) == [30, 10]
    assert summary(path).spent.amount == MUCH * 3 / 2
    assert Cabinet.in_state(state).files() == [path]
    other = in_duckdb(pl.read_csv(table).head(9), table.with_name("north"))
    Path(other.partition("?")[0].removeprefix("duckdb://")).rename(address.partition("?")[0].removeprefix("duckdb://"))
    with pytest.raises(LedgerError, match="belongs to other records"):
        ask(study("c"), address, state)


def test_the_size_of_what_cannot_be_compared_is_not_said(table: Path, state: Path) -> None:
    address = f"{in_duckdb(pl.read_csv(table), table.with_name('north'))}&order_by=patient"
    declared(state, address, changing=False)
    with pytest.raises(InputError, match=r"may have changed unseen.*add-remove"):
        ask(study(adjacency="replace"), f"{address}&pushdown=true", state)
    assert counted(ask(study(adjacency="replace"), address, state)) == [30, 10]


def test_a_table_is_read_as_it_was_declared(table: Path, state: Path) -> None:
    other = File(table, header=False, separator=",", columns=("smokes", "patient"))
    declared(state, table)
    with pytest.raises(InputError, match="read otherwise than its dataset was declared"):
        ask(study(), other, state)
    semicolons = table.with_name("semicolons.csv")
    semicolons.write_text("\n".join(table.read_text().replace(",", ";").splitlines()[1:]) + "\n")
    names = tuple(table.read_text().splitlines()[0].split(","))
    said = File(semicolons, header=False, separator="semicolon", columns=names)
    declared(state, said, name="south")
    assert counted(ask(study(), semicolons, state)) == [30, 10]


def test_a_version_of_a_lake_is_found_from_any_folder_until_it_is_vacuumed(
    table: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = as_delta(pl.read_csv(table), table.with_name("lake"))
    place = Path(whole.removeprefix("delta://"))
    path = declared(state, whole)
    monkeypatch.chdir(place.parent)
    first = ask(study(), "delta://lake?order_by=patient", state, parts=4)
    write_deltalake(place.as_uri(), pl.read_csv(table).head(9).to_arrow(), mode="overwrite")
    (pin,) = [one.pin for one in summary(path).studies]
    assert pin is not None
    assert pin.address == f"{whole}?order_by=patient&version=0"
    monkeypatch.chdir(place)
    again = f"{whole}?order_by=patient"
    assert counted(ask(study(), again, state, number=1, parts=4)) == [30, 10]
    DeltaTable(place).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert refused(ask(study(), again, state, number=2, parts=4))[0] == "unavailable"
    assert "version 0 cannot be read" in capsys.readouterr().err
    assert ask(study(), again, state, parts=4) == first
    assert counted(ask(study("b"), again, state)) == [9, 0]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (replace(SMOKES, unit=Unit("ward")), "declared by column patient"),
        (replace(SMOKES, unit=Unit("patient", max_records=2)), "at most 1 records each"),
        (replace(SMOKES, unit=None), r"\[unit\] must say the same"),
    ],
)
def test_the_unit_is_part_of_the_promise(schema: Schema, said: str, table: Path, state: Path) -> None:
    declared(state, table)
    with pytest.raises(InputError, match=said):
        ask(study(schema=schema), table, state)


def test_what_changes_is_never_asked_under_replace(table: Path, state: Path) -> None:
    declared(state, table)
    with pytest.raises(InputError, match='must say adjacency = "add-remove"'):
        learn(replace(study(), adjacency="replace"), {"north": table}, state=state)


def test_a_study_sees_one_state_and_a_new_edition_the_next(table: Path, state: Path) -> None:
    path = declared(state, table)
    first = ask(study(), table, state, number=0)
    write(table, people(range(7), "yes"))
    assert counted(ask(study(), table, state, number=1)) == [30, 10]
    assert ask(study(), table, state, number=0) == first
    assert counted(ask(study(edition="2"), table, state, number=0)) == [0, 7]
    table.unlink()
    assert counted(ask(study(edition="2"), table, state, number=1)) == [0, 7]
    assert (study().hash, study(edition="2").hash) == tuple(one.study for one in summary(path).studies)


def test_an_empty_table_is_answered(table: Path, state: Path) -> None:
    path = declared(state, write(table, {}), blocks="yearly")
    assert counted(ask(study(), table, state)) == [0, 0]
    assert summary(path).spent.amount == MUCH / 2


def test_what_is_kept_is_the_owners_alone_and_goes_when_the_study_is_closed(table: Path, state: Path) -> None:
    path = declared(state, table)
    first = ask(study(), table, state)
    kept = codes_of(path, study().hash)
    assert kept.stat().st_mode & 0o777 == 0o600
    write(table, people(range(3)))
    with Ledger.open(path) as ledger:
        ledger.close_study(study().hash)
    assert not kept.exists()
    assert ask(study(), table, state) == first
    assert refused(ask(study(), table, state, number=1))[0] == "unavailable"


def test_a_fixed_table_is_not_kept(table: Path, state: Path) -> None:
    path = declared(state, table, changing=False)
    ask(study(), table, state)
    assert not list(path.parent.glob("*codes*"))


def remove(kept: Path) -> None:
    kept.unlink()


def cut(kept: Path) -> None:
    kept.write_bytes(kept.read_bytes()[:-1])


def flip(kept: Path) -> None:
    data = bytearray(kept.read_bytes())
    data[-40] ^= 1
    kept.write_bytes(data)


def lengthen(kept: Path) -> None:
    kept.write_bytes(kept.read_bytes() + b"\0")


def of_another_study(kept: Path) -> None:
    kept.write_bytes(kept.read_bytes().replace(study().hash.encode(), b"0" * 64))


@pytest.mark.parametrize("damage", [remove, cut, flip, lengthen, of_another_study])
@pytest.mark.parametrize("changed", [True, False])
def test_without_what_was_kept_the_study_is_unavailable_whatever_the_table_says(
    damage: Callable[[Path], None], changed: bool, table: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer while the table is the same, and silence after, would tell whether anybody came or went."""
    path = declared(state, table)
    first = ask(study(), table, state)
    damage(codes_of(path, study().hash))
    if changed:
        write(table, people(range(3)))
    assert refused(ask(study(), table, state, number=2, parts=4)) == (
        "unavailable",
        "this holder cannot answer now; ask again later",
    )
    assert "close the study (panbayes holder ledger close) and agree on a new edition" in capsys.readouterr().err
    assert ask(study(), table, state) == first
    assert summary(path).failures == ()


def test_two_that_begin_at_once_from_two_states_do_not_mix(table: Path, state: Path) -> None:
    """The second has read its table before the first one's answer pins the study."""
    path = declared(state, table)
    with gate(study(), table, state) as door:
        write(table, people(range(4)))
        first = ask(study(), table, state)
        assert counted(first) == [4, 0]
        assert refused(door(question(study(), number=1)))[0] == "unavailable"
        assert door(question(study())) == first
    assert summary(path).entries == 1


def test_a_dataset_that_is_declared_while_a_gate_is_open_is_not_answered_from_it(table: Path, state: Path) -> None:
    with gate(study(), table, state) as door:
        path = declared(state, table)
        assert refused(door(question(study())))[0] == "unavailable"
    assert summary(path).entries == 0


@pytest.mark.parametrize("changing", [True, False])
def test_learning_goes_through_it(changing: bool, table: Path, state: Path) -> None:
    path = declared(state, table, changing=changing, cap=2 * MUCH)
    one, again = (learn(study(), {name: table}, state=state) for name in ("north", "other"))
    assert one.tables[0].tolist() == again.tables[0].tolist()
    write(table, people(range(3)))
    if changing:
        again = learn(study(), {"north": table}, state=state)
        assert one.tables[0].tolist() == again.tables[0].tolist()
        learn(study(edition="2"), {"north": table}, state=state)
        with pytest.raises(HolderRefusedError, match="cap leaves no room"):
            learn(study(edition="3"), {"north": table}, state=state)
    else:
        with pytest.raises(LedgerError, match="belongs to other records"):
            learn(study(), {"north": table}, state=state)
    assert summary(path).spent.amount <= 2 * MUCH


def test_looking_without_privacy_is_written_into_its_account(table: Path, state: Path) -> None:
    path = declared(state, table)
    look = replace(study(), strategy="non-private", epsilon=None, adjacency="replace")
    learn(look, {"x": table}, state=state)
    assert summary(path).looked == ("a",)
    assert Cabinet.in_state(state).files() == [path]


def test_simulating_leaves_it_alone(table: Path, state: Path) -> None:
    path = declared(state, table)
    learn(study(), {"x": table}, state=state, simulate=7)
    assert summary(path).entries == 0
    with pytest.raises(InputError, match="only a ledger knows who is in a block"):
        learn(study(blocks=("2026-11",)), {"x": table}, state=state, simulate=7)


def test_what_is_answered_costs_as_much_as_it_says(table: Path, state: Path) -> None:
    path = declared(state, table, cap=Fraction(100))
    assert refused(ask(study(), table, state))[0] == "over-budget"
    assert not codes_of(path, study().hash).exists()
    assert summary(path).studies == ()
