"""New people bring new budget by blocks: by the period in which their id was first read, whatever happens later."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from panbayes.consortium.holder.dataset import population
from panbayes.consortium.holder.declaring import refresh, renumber
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.proposal import Proposal
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.proposing import propose
from panbayes.errors import InputError, LedgerError
from panbayes.schema.schema import Unit
from tests.consortium.holder.examples import refused
from tests.consortium.holder.ledgers import edit, faults
from tests.consortium.local.declared import (
    MUCH,
    ask,
    counted,
    declared,
    gate,
    now,
    people,
    question,
    study,
    summary,
    write,
)
from tests.consortium.local.past import Past


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "north.csv", people(range(10)))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def path(table: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset whose cap is what one study may spend, from January on."""
    now(monkeypatch, "2026-01-31")
    return declared(state, table, blocks="monthly", cap=MUCH)


def refreshed(path: Path) -> int:
    with Ledger.open(path) as ledger:
        return refresh(ledger)


def spent(path: Path) -> dict[str, Fraction]:
    found = summary(path)
    return {block: found.spent_of(frozenset({block})).amount / MUCH for block in found.blocks}


def test_each_block_has_a_cap_of_its_own_and_people_stay_where_they_were_first_seen(
    path: Path, table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted(ask(study("january"), table, state, parts=1)) == [10, 0]
    assert refused(ask(study("more"), table, state, parts=1))[0] == "over-budget"
    now(monkeypatch, "2026-02-01")
    write(table, people(range(5, 13), "yes"))
    assert refused(ask(study("all"), table, state, parts=1))[0] == "over-budget"
    assert counted(ask(study("new", blocks=("2026-02",)), table, state, parts=1)) == [0, 3]
    now(monkeypatch, "2026-04-01")
    # Back after they were gone: p0 to p4 are people of January still.
    write(table, people(range(14)))
    assert counted(ask(study("april", blocks=("2026-04",)), table, state, parts=1)) == [1, 0]
    # Nobody was new in March: it is answered all the same, once.
    assert counted(ask(study("march", blocks=("2026-03",)), table, state, parts=1)) == [0, 0]
    assert refused(ask(study("again", blocks=("2026-03",)), table, state, parts=1))[0] == "over-budget"
    assert spent(path) == {"2026-01": 1, "2026-02": 1, "2026-03": 1, "2026-04": 1}
    assert summary(path).spent.amount == MUCH


def test_a_refresh_sees_who_comes_and_goes_between_two_studies(
    path: Path, table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refreshed(path) == 10
    write(table, people(range(20, 25)))
    now(monkeypatch, "2026-02-01")
    assert refreshed(path) == refreshed(path) == 15
    write(table, people(range(30)))
    now(monkeypatch, "2026-03-01")
    assert counted(ask(study(blocks=("2026-02",)), table, state)) == [5, 0]
    assert counted(ask(study(blocks=("2026-01", "2026-03")), table, state)) == [25, 0]
    assert summary(path).blocks == ("2026-01", "2026-02", "2026-03")


def test_a_clock_that_goes_back_opens_no_earlier_block(
    path: Path, table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now(monkeypatch, "2026-03-01")
    refreshed(path)
    now(monkeypatch, "2025-12-01")
    write(table, people(range(12), "yes"))
    assert counted(ask(study(), table, state)) == [0, 12]
    assert summary(path).blocks == ("2026-03",)
    with pytest.raises(InputError, match=r'found "2026-04", and the dataset has monthly blocks up to 2026-03'):
        ask(study(blocks=("2026-04",)), table, state)


@pytest.mark.parametrize("block", ["2026-02", "2026-Q1", "2026"])
def test_a_block_that_is_not_there_yet_or_of_another_calendar_is_refused(
    block: str, path: Path, table: Path, state: Path
) -> None:
    with pytest.raises(InputError, match="has monthly blocks up to 2026-01"):
        ask(study(blocks=(block,)), table, state)
    assert summary(path).studies == ()


def test_a_table_without_blocks_does_not_answer_a_study_that_names_some(table: Path, state: Path) -> None:
    code, said = refused(ask(study(blocks=("2026-01",)), table, state))
    assert (code, said) == ("not-in-study", "this holder does not know its people by the blocks that the study names")
    for changing, why in ((False, "does not change"), (True, "has none")):
        declared(state, table, changing=changing)
        with pytest.raises(InputError, match=f"blocks: found some, and the dataset {why}"):
            ask(study(blocks=("2026-01",)), table, state)


def test_a_block_before_the_first_is_empty_and_answered(path: Path, table: Path, state: Path) -> None:
    assert counted(ask(study(blocks=("2025-07",)), table, state)) == [0, 0]
    assert summary(path).spent_of(frozenset({"2025-07"})).amount == MUCH / 2


def test_an_id_is_its_text_without_blanks_and_who_has_none_is_left_out(path: Path, table: Path, state: Path) -> None:
    table.write_text("patient,smokes,sex\np1,no,F\n p1 ,yes,F\n,no,F\n  ,no,F\np2,no,F\n", encoding="utf-8")
    assert counted(ask(study(), table, state)) == [2, 0]
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        assert transaction.dataset.registered() == 2


def test_after_ids_were_renumbered_everything_is_everybodys(
    path: Path, table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(study("january"), table, state)
    now(monkeypatch, "2026-02-01")
    ask(study("february", epsilon=MUCH / 2, blocks=("2026-02",)), table, state)
    with Ledger.open(path) as ledger:
        renumber(ledger)
        renumber(ledger)
        with pytest.raises(InputError, match="ids were renumbered"):
            refresh(ledger)
    now(monkeypatch, "2026-03-01")
    write(table, {f"q{number}": "yes" for number in range(6)})
    with pytest.raises(InputError, match="had its ids renumbered"):
        ask(study("march", blocks=("2026-03",)), table, state)
    # January is full with what is reserved there; so nothing that is everybody's fits.
    assert refused(ask(study("all", epsilon=MUCH / 2), table, state))[0] == "over-budget"
    assert counted(ask(study("january"), table, state, number=1)) == [10, 0]
    with Ledger.open(path) as ledger:
        ledger.set_cap(summary(path).cap and summary(path).reserved.times(2))
    assert counted(ask(study("all"), table, state)) == [0, 6]
    assert refused(ask(study("more"), table, state))[0] == "over-budget"
    found = summary(path)
    assert found.blocks == ("2026-01", "2026-02")
    assert spent(path) == {"2026-01": Fraction(3, 2), "2026-02": Fraction(3, 4)}


def test_who_was_seen_keeps_the_block_whoever_says_another(path: Path) -> None:
    """Two runs may see somebody new at once; the first to write it down has said it."""
    with Ledger.open(path) as ledger, ledger.transaction() as transaction:
        transaction.dataset.register([b"a" * 16, b"b" * 16], "2026-01")
        transaction.dataset.register([b"b" * 16, b"c" * 16], "2026-02")
        found = transaction.dataset.blocks_of([b"a" * 16, b"b" * 16, b"c" * 16, b"d" * 16])
    assert list(found.values()) == ["2026-01", "2026-01", "2026-02"]
    for statement in ("UPDATE register SET block = '2026-03'", "DELETE FROM register"):
        with (
            Ledger.open(path) as ledger,
            pytest.raises(LedgerError, match="append-only"),
            ledger.transaction() as transaction,
        ):
            transaction.connection.execute(statement)


def test_what_was_read_before_ids_were_renumbered_is_not_answered_after(
    path: Path, table: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with gate(study(), table, state) as door:
        with Ledger.open(path) as ledger:
            renumber(ledger)
        assert refused(door(question(study())))[0] == "unavailable"
    assert "was declared anew meanwhile" in capsys.readouterr().err
    assert summary(path).entries == 0


def test_a_running_study_is_charged_to_its_own_blocks_and_sees_nobody_later(
    path: Path, table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(study(), table, state)
    now(monkeypatch, "2026-02-01")
    write(table, people(range(50)))
    refreshed(path)
    assert counted(ask(study(), table, state, number=1)) == [10, 0]
    assert spent(path) == {"2026-01": 1, "2026-02": 0}


def frame(numbers: range) -> pl.DataFrame:
    return pl.DataFrame({"patient": [f"p{number}" for number in numbers], "smokes": "no", "sex": "F"})


@pytest.mark.parametrize("blocks", [None, "quarterly"])
def test_a_source_that_keeps_its_past_is_opened_as_it_was_and_what_is_gone_is_never_replaced(
    blocks: str | None, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now(monkeypatch, "2026-01-31")
    past, ordered = Past(monkeypatch), "past://lake/people?order_by=patient"
    past.write(frame(range(10)))
    path = declared(state, "past://lake/people", blocks="quarterly" if blocks else None)
    first = ask(study(), ordered, state)
    assert not list(path.parent.glob("*codes*"))
    past.write(frame(range(40)))
    now(monkeypatch, "2026-05-01")
    assert counted(ask(study(), ordered, state, number=1, parts=4)) == [10, 0]
    assert counted(ask(study("b"), f"{ordered}&version=1", state)) == [10, 0]
    assert counted(ask(study("c"), ordered, state)) == [40, 0]
    if blocks:
        new = study("d", blocks=("2026-Q2",))
        past.write(frame(range(3)))
        assert counted(ask(new, f"{ordered}&version=2", state)) == [30, 0]
        assert counted(ask(new, ordered, state, number=1)) == [30, 0]
    del past.versions[1]
    assert refused(ask(study(), ordered, state, number=2, parts=4))[0] == "unavailable"
    assert "has no version 1 any more" in capsys.readouterr().err
    assert ask(study(), ordered, state) == first
    past.versions[1] = frame(range(9))
    assert refused(ask(study(), ordered, state, number=2, parts=4))[0] == "unavailable"
    pins = [one.pin for one in summary(path).studies]
    assert [None if pin is None else pin.address for pin in pins] == [
        f"{ordered}&version={number}" for number in (1, 1, 2, 2)[: len(pins)]
    ]


def test_who_moves_people_to_another_block_shows(path: Path, table: Path, state: Path) -> None:
    ask(study(), table, state)
    assert faults(path) == ""
    edit(path, "UPDATE register SET block = '2026-02'")
    assert "people of blocks that were never opened" in faults(path)


MOVED = "people are missing from the register, or were added to it or moved"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM register",
        "DELETE FROM register WHERE person = (SELECT min(person) FROM register)",
        "DELETE FROM register WHERE block = '2026-02'",
        "UPDATE register SET block = '2026-02' WHERE block = '2026-01'",
        "UPDATE register SET person = zeroblob(16) WHERE person = (SELECT min(person) FROM register)",
        "INSERT INTO register VALUES (zeroblob(16), '2026-02')",
    ],
)
def test_who_is_missing_from_the_register_shows(
    statement: str, path: Path, table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(study(), table, state)
    now(monkeypatch, "2026-02-01")
    write(table, people(range(5, 15), "yes"))
    refreshed(path)
    assert faults(path) == ""
    edit(path, statement)
    assert MOVED in faults(path)
    write(table, people(range(20, 25), "yes"))
    refreshed(path)
    assert MOVED in faults(path), "who comes later hides nobody"


def test_sums_that_are_missing_or_no_sums_show(path: Path, table: Path, state: Path) -> None:
    ask(study(), table, state)
    edit(path, "DELETE FROM meta WHERE key = 'register'")
    with Ledger.open(path) as ledger:
        assert verify(ledger) == [MOVED]
    edit(path, "INSERT INTO meta VALUES ('register', CAST('[]' AS BLOB))")
    assert "the sums of its register are not what panbayes writes" in faults(path)


@pytest.mark.parametrize("people", [0, 1, 2**14 - 1, 2**14, 2**14 + 1, 40_000])
def test_as_many_people_as_come_at_once_are_looked_up_as_one_by_one(path: Path, people: int) -> None:
    ids = [hashlib.md5(str(number).encode(), usedforsecurity=False).digest() for number in range(people)]
    with Ledger.open(path) as ledger, ledger.transaction() as transaction:
        transaction.dataset.register(ids[::3], "2026-01")
        found = transaction.dataset.register(ids[::2], "2026-02")
        assert found == transaction.dataset.blocks_of(ids[::2])
        expected = dict.fromkeys(ids[::2], "2026-02") | dict.fromkeys(ids[::3], "2026-01")
        assert transaction.dataset.blocks_of(ids) == expected
        assert transaction.dataset.registered() == len(expected)
        assert transaction.dataset.kept_sums() == transaction.dataset.sums()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE notes SET content = replace(content, '2026-01', '2025-01') WHERE what = 'pinned'", "a cap or another"),
        (
            "UPDATE notes SET content = replace(content, '2026-01', '2027-01') WHERE what = 'pinned'",
            "other blocks than",
        ),
        ("UPDATE notes SET content = replace(content, '[\"2026-01\"]', 'null')", "other blocks than there were"),
        ("DELETE FROM notes WHERE what = 'pinned'", "its study is pinned to nothing"),
        ("UPDATE notes SET content = '2026-13' WHERE what = 'block'", "a block was opened that the dataset does not"),
        ("UPDATE notes SET content = '{}' WHERE what = 'dataset'", "a note of a dataset"),
        ("UPDATE notes SET content = '{}' WHERE what = 'pinned'", "a note of what a study sees"),
        ("INSERT INTO notes (after, what, content) SELECT 1, what, content FROM notes", "the blocks are not in order"),
        ("INSERT INTO notes (after, what, content) SELECT 1, what, content FROM notes", "a study was pinned twice"),
    ],
)
def test_who_edits_what_is_declared_shows(statement: str, said: str, path: Path, table: Path, state: Path) -> None:
    ask(study(), table, state)
    edit(path, statement)
    assert said in faults(path)


def test_spending_is_checked_block_by_block(path: Path, table: Path, state: Path) -> None:
    """A ledger that let too much through, in one block, is told by its entries."""
    ask(study("a"), table, state, parts=1)
    with Ledger.open(path) as ledger:
        ledger.set_cap(None)
    ask(study("b"), table, state, parts=1)
    assert faults(path) == ""
    edit(path, "UPDATE notes SET content = (SELECT content FROM notes WHERE what = 'cap') WHERE content IS NULL")
    assert "entry 2: the total is above the cap in force" in faults(path)


FREQUENT = Proposal("frequent", {"column": "smokes"}, "add-remove", Unit("patient"), MUCH / 8, Fraction(1, 10**7))


def test_a_proposal_is_charged_to_the_blocks_that_it_sees(
    table: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now(monkeypatch, "2026-01-31")
    path = declared(state, table, blocks="monthly", cap=MUCH / 2, delta=Fraction(2, 10**7))
    january, february = frozenset({"2026-01"}), ("2026-02",)
    with Ledger.open(path) as ledger:
        for name in "ab":
            seen = population(ledger, table, argument="data")
            assert seen.blocks == january
            assert propose(ledger, replace(FREQUENT, name=name), lambda: b"yes", blocks=seen.blocks) == b"yes"
        third = replace(FREQUENT, name="c")
        with pytest.raises(InputError, match="own δ is 2e-07"):
            propose(ledger, third, pytest.fail, blocks=january)
        with pytest.raises(InputError, match="cap leaves no room"):
            propose(ledger, replace(third, epsilon=MUCH / 2, delta=Fraction(0)), pytest.fail, blocks=january)
        with pytest.raises(LedgerError, match="declared anew"):
            propose(ledger, replace(third, delta=Fraction(0)), pytest.fail)
        now(monkeypatch, "2026-02-01")
        new = population(ledger, table, argument="data", chosen=february)
        propose(ledger, third, lambda: b"no", blocks=new.blocks)
    assert spent(path) == {"2026-01": Fraction(1, 4), "2026-02": Fraction(1, 8)}
    assert summary(path).delta == Fraction(2, 10**7)
