"""What may be declared of a ledger follows from what it has answered; two datasets never share a table."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from panbayes.consortium.holder.dataset import see
from panbayes.consortium.holder.declaring import refresh, renumber
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.counter import Facts
from panbayes.tables.counting.block_counts import Counted
from panbayes.tables.remote import RemoteTable
from panbayes.tables.sources import dispatch
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.file import File
from panbayes.tables.sources.source import Source, whole
from tests.consortium.local.declared import SMOKES, ask, counted, declared, people, study, summary, write
from tests.consortium.local.past import Past


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "data" / "north.csv", people(range(9)))


@pytest.fixture(autouse=True)
def folders(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_what_is_declared_is_kept_and_declared_again_it_has_both_places(table: Path, state: Path) -> None:
    path = declared(state, table, blocks="yearly", cap=Fraction(600), delta=Fraction(1, 10**6))
    found = summary(path)
    assert found.dataset is not None
    assert (found.dataset.source, found.dataset.unit, found.dataset.blocks) == (
        File(table),
        SMOKES.unit,
        "yearly",
    )
    assert (found.dataset.delta, found.cap) == (Fraction(1, 10**6), Pure(Fraction(600)))
    ask(study(), table, state)
    moved = write(table.with_name("moved.csv"), people(range(5)))
    assert declared(state, moved, blocks="yearly", delta=Fraction(1, 1000)) == path
    assert counted(ask(study("b"), moved, state, holder="x")) == [5, 0]
    assert counted(ask(study("c"), table, state, holder="y")) == [9, 0]
    found = summary(path)
    assert found.dataset is not None
    assert (found.dataset.delta, found.cap, found.entries) == (Fraction(1, 1000), Pure(Fraction(600)), 3)


def test_declaring_twice_the_same_writes_nothing(table: Path, state: Path) -> None:
    path = declared(state, table, cap=Fraction(1))
    assert declared(state, table, cap=Fraction(1)) == path
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        assert [note.what for note in transaction.notes()] == ["dataset", "cap"]


@pytest.mark.parametrize("second", ["data/north.csv", "data", "data/*.csv", "link.csv"])
def test_two_datasets_never_share_a_table(second: str, table: Path, state: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(table)
    declared(state, table)
    with pytest.raises(InputError, match=r"is the table of another dataset|has some of the same files"):
        declared(state, tmp_path / second, name="south")
    assert len(Cabinet.in_state(state).files()) == 1


def test_part_of_a_dataset_or_more_than_it_is_not_learned_from(table: Path, state: Path) -> None:
    write(table.with_name("south.csv"), people(range(20, 25)))
    declared(state, table.parent)
    with pytest.raises(LedgerError, match="give that table as a whole"):
        ask(study(), table, state, holder="x")
    assert counted(ask(study(), table.parent, state, holder="x")) == [14, 0]


def test_a_column_that_is_not_there_and_a_table_that_is_not_are_refused(table: Path, state: Path) -> None:
    with pytest.raises(InputError, match='--unit: found "who"'):
        declared(state, table, unit=Unit("who"))
    with pytest.raises(InputError, match="no such file"):
        declared(state, table.with_name("nowhere.csv"))
    with pytest.raises(InputError, match="--unit: is not given for a dataset that changes"):
        declared(state, table, unit=None)
    with pytest.raises(InputError, match="--blocks: is given for a fixed dataset"):
        declared(state, table, changing=False, blocks="yearly")
    with pytest.raises(InputError, match="--delta"):
        declared(state, table, delta=Fraction(1))
    assert Cabinet.in_state(state).files() == []


def test_a_used_ledger_may_be_declared_if_that_is_what_it_promised(table: Path, state: Path) -> None:
    first = ask(study(), table, state)
    with pytest.raises(InputError, match="--unit: does not go with what the ledger has answered"):
        declared(state, table, unit=Unit("sex"))
    with pytest.raises(InputError, match="--unit: does not go with"):
        declared(state, table, unit=Unit("patient", max_records=2))
    with pytest.raises(InputError, match="--unit: does not go with"):
        declared(state, table, unit=None, changing=False)
    with pytest.raises(InputError, match="--blocks: is not what it was"):
        declared(state, table, blocks="monthly")
    declared(state, table, changing=False)
    path = declared(state, table)
    assert b"unavailable" in ask(study(), table, state, number=1, parts=4)
    assert ask(study(), table, state) == first
    with pytest.raises(InputError, match="--fixed: the dataset was declared to change"):
        declared(state, table, changing=False)
    assert summary(path).entries == 1


@pytest.mark.parametrize("changed", [True, False])
def test_a_study_that_began_before_does_not_go_on_whatever_the_table_says(
    changed: bool, table: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer while the table is the same, and silence after, would tell whether anybody came or went."""
    first = ask(study(), table, state)
    declared(state, table)
    if changed:
        write(table, people(range(3)))
    assert b"unavailable" in ask(study(), table, state, number=1)
    assert "was begun before the dataset was declared to change" in capsys.readouterr().err
    assert ask(study(), table, state) == first


def test_what_was_answered_under_replace_stays_fixed(table: Path, state: Path) -> None:
    learn(replace(study(), adjacency="replace"), {"north": table}, state=state)
    with pytest.raises(InputError, match=r'--changing: does not go with .* must say adjacency = "add-remove"'):
        declared(state, table)
    path = declared(state, table, changing=False)
    learn(replace(study("b"), adjacency="replace"), {"x": table}, state=state)
    assert summary(path).spent.amount == 400


def test_blocks_stay_once_one_was_opened(table: Path, state: Path) -> None:
    path = declared(state, table, blocks="monthly")
    declared(state, table, blocks="yearly")
    with Ledger.open(path) as ledger:
        refresh(ledger)
    for blocks in ("monthly", None):
        with pytest.raises(InputError, match="--blocks: is not what it was"):
            declared(state, table, blocks="monthly" if blocks else None)


def test_only_what_has_blocks_is_refreshed_or_renumbered(table: Path, state: Path) -> None:
    with Ledger.open(declared(state, table)) as ledger:
        for verb in (refresh, renumber):
            with pytest.raises(InputError, match="has no blocks"):
                verb(ledger)


EMPTY = pl.DataFrame(
    {"patient": [], "smokes": [], "sex": []}, schema=dict.fromkeys(("patient", "smokes", "sex"), pl.String)
)


class Counting(RemoteTable):
    """A table that is counted where it lies, and cannot be known again."""

    @property
    def facts(self) -> Facts:
        return Facts(SMOKES, 9, 9)

    def count(self, *_given: object, **_options: object) -> Counted:
        raise NotImplementedError

    def parities(self, *_given: object) -> NDArray[np.int64]:
        raise NotImplementedError

    def marks(self) -> tuple[bytes, ...]:
        return ()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Past:
    """Let the scheme ``past`` be counted where it lies, as ``there``, too."""
    past = Past(monkeypatch)
    (source,) = [one for one in dispatch.sources() if one.name == "past"]
    there = Source("there", source.open, schemes=("there",), remote=lambda _address: True)
    forgetful = replace(there, name="forgetful", open=whole(lambda *_, **__: EMPTY), schemes=("therenow",))
    known = dispatch.sources()
    monkeypatch.setattr(dispatch, "sources", lambda: (*known, there, forgetful))
    monkeypatch.setattr("panbayes.consortium.holder.records.remote_table", remote)
    return past


def remote(data: object, _schema: Schema, **_options: object) -> Counting | None:
    return Counting() if isinstance(data, Address | str) and str(data).startswith("there") else None


def test_what_is_counted_elsewhere_and_not_known_again_must_be_declared(elsewhere: Past, state: Path) -> None:
    elsewhere.write(pl.DataFrame({"patient": ["a"], "smokes": ["no"], "sex": ["F"]}))
    with pytest.raises(LedgerError, match="panbayes holder dataset declare NAME"):
        learn(study(), {"north": "there://db/people?order_by=patient"}, state=state)
    path = declared(state, "there://db/people", name="fixed", changing=False)
    with Ledger.open(path) as ledger, ExitStack() as stack:
        seen = see(study(), ledger, "there://db/people?order_by=patient", argument="data", stack=stack)
        assert isinstance(seen.records, Counting)
        assert seen.edition is None
    path = declared(state, "there://db/others", name="growing", blocks="yearly")
    with Ledger.open(path) as ledger, ExitStack() as stack, pytest.raises(InputError, match="which no id leaves"):
        see(study(), ledger, "there://db/others?order_by=patient", argument="data", stack=stack)
    path = declared(state, "there://db/third", name="third")
    with Ledger.open(path) as ledger, ExitStack() as stack:
        pinned = see(study(), ledger, "there://db/third?order_by=patient", argument="data", stack=stack).edition
        assert pinned is not None
        assert pinned.pin.address == "there://db/third?order_by=patient&version=1"
    path = declared(state, "therenow://db/people", name="forgetful")
    with Ledger.open(path) as ledger, ExitStack() as stack, pytest.raises(InputError, match="keeps no past"):
        see(study(), ledger, "therenow://db/people?order_by=patient", argument="data", stack=stack)
