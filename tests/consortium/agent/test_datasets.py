"""A holder whose table changes answers letters from one state of it for each study, and from its one account."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from panbayes.consortium.holder.ledger.kept import codes_of
from panbayes.consortium.local.learn import learn
from panbayes.consortium.protocol.answers import GroupedTablesAnswer
from panbayes.consortium.protocol.cells import unpack_cells
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import GroupedTablesQuery, Grouping, ratio
from panbayes.errors import InputError
from tests.consortium.agent.exchanges import Exchange
from tests.consortium.agent.houses import SCHEMA

STUDY = """\
version = 1
name = "growing"
schema = "clinic.toml"
epsilon = 200
adjacency = "add-remove"
"""
UNIT = '[unit]\ncolumn = "patient"\n'


def write(exchange: Exchange, people: int) -> None:
    lines = "".join(f"p{number},no,30\n" for number in range(people))
    (exchange.house.folder / "north.csv").write_text(f"patient,smokes,age\n{lines}", encoding="utf-8")


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    made = Exchange(tmp_path, text=STUDY, schema=SCHEMA + UNIT)
    made.house.text(cap="1000", rest=made.rest)
    write(made, 12)
    return made


def query(exchange: Exchange) -> GroupedTablesQuery:
    groupings = tuple(Grouping(a, ()) for a in range(len(exchange.study.schema)))
    loss = ratio(exchange.study.grant.amount / 4)
    return GroupedTablesQuery("pure", "add-remove", groupings, ((0,),), (1,), loss)


def answer(exchange: Exchange) -> None:
    """Answer everything, by a process that comes to the records anew."""
    try:
        exchange.answer_here()
    finally:
        exchange.worker.close()


def counted(exchange: Exchange, number: int) -> list[int] | None:
    """Ask how many smoke, by letter number ``number``; None if nothing comes back."""
    stem = exchange.ask(query(exchange), number=number, round=number)
    answer(exchange)
    if exchange.answer(stem) is None:
        return None
    reply = exchange.reply(stem)
    assert isinstance(reply, Release), reply
    assert isinstance(reply.answer, GroupedTablesAnswer)
    return [int(cell) for cell in unpack_cells(reply.answer.cells)]


def declare(exchange: Exchange, *options: str) -> None:
    done = exchange.run_here("dataset", "declare", "--unit", "patient", *options)
    assert done.returncode == 0, done.stderr


def test_a_study_sees_one_state_of_the_table_and_the_next_edition_another(exchange: Exchange) -> None:
    declare(exchange, "--changing", "--blocks", "yearly")
    exchange.approve()
    assert counted(exchange, 1) == [12, 0]
    write(exchange, 5)
    assert counted(exchange, 2) == [12, 0]
    path = exchange.holder.cabinet.path("north")
    codes_of(path, exchange.study.hash).unlink()
    assert counted(exchange, 3) is None, "what it began with is gone: the analyst is told nothing"
    exchange.text = f'{STUDY}edition = "next"\n'
    exchange.approve()
    assert counted(exchange, 4) == [5, 0]
    assert exchange.entries() == 3


def test_a_table_in_another_place_than_was_declared_is_silence(exchange: Exchange) -> None:
    declare(exchange, "--changing")
    exchange.approve()
    folder = exchange.house.folder
    (folder / "north.csv").rename(folder / "moved.csv")
    exchange.house.config.write_text(exchange.house.config.read_text().replace('"north.csv"', '"moved.csv"'))
    assert counted(exchange, 1) is None
    assert exchange.entries() == 0
    declare(exchange, "--changing")
    assert counted(exchange, 2) == [12, 0]


def test_records_that_another_account_has_answered_from_are_silence(exchange: Exchange) -> None:
    declare(exchange, "--changing")
    exchange.approve()
    copy = shutil.copy(exchange.house.folder / "north.csv", exchange.house.folder / "copy.csv")
    state = exchange.holder.cabinet.folder.parent
    with pytest.raises(InputError, match="its officers decide what is answered"):
        learn(exchange.study, {"x": copy}, state=state)
    learn(exchange.study, {"x": copy}, state=exchange.root / "elsewhere")
    for path in (exchange.root / "elsewhere" / "ledgers").glob("x-*"):
        path.rename(state / "ledgers" / path.name)
    assert counted(exchange, 1) is None, "nothing is answered from records that were answered from"
    write(exchange, 13)
    assert counted(exchange, 2) == [13, 0]


def test_what_the_dataset_does_not_promise_is_silence_and_told_to_the_officer(exchange: Exchange) -> None:
    declare(exchange, "--changing")
    exchange.text = STUDY.replace('adjacency = "add-remove"\n', "")
    exchange.approve()
    stem = exchange.ask(query(exchange))
    answer(exchange)
    assert exchange.answer(stem) is None
    shown = exchange.run_here("approve", "growing")
    assert "DOES NOT FIT: the table of this holder changes" in " ".join(shown.stdout.split())


def test_the_dataset_of_a_holders_file_has_its_cap_and_source_from_there(exchange: Exchange) -> None:
    for options, said in (
        (("--cap", "3"), "the holder's file has it"),
        (("--source", "x.csv"), "the holder's file has it"),
    ):
        done = exchange.run_here("dataset", "declare", "--unit", "patient", "--changing", *options)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    declare(exchange, "--changing", "--blocks", "yearly")
    assert "the register knows 12 persons" in exchange.run_here("dataset", "refresh").stdout
    assert "which changes; persons by patient" in exchange.run_here("dataset", "show").stdout
    assert exchange.run_here("dataset", "renumber").returncode == 2
    assert "renumbered" in exchange.run_here("dataset", "renumber", "--yes").stdout
