"""Private proposals where people have budgets by block: everybody is asked about, and every block is charged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.holder.declaring import renumber
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.proposals.asking import offer, take
from panbayes.consortium.holder.proposals.wish import Cells, Values, Wish
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError
from panbayes.schema.grids import listed
from tests.consortium.local.declared import MUCH, declared, now, people, summary, write

SMOKES = Cells(listed("smokes", ("no", "yes")), MUCH)


def answer(path: Path, wish: Wish) -> list[object]:
    with Ledger.open(path) as ledger:
        found = take(ledger, offer(ledger, wish), noise=SecureNoise())
        assert verify(ledger) == []
    return list(found)


def spent(path: Path) -> dict[str, Fraction]:
    found = summary(path)
    return {block: found.spent_of(frozenset({block})).amount / MUCH for block in found.blocks}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "north.csv", people(range(10)))


@pytest.fixture
def path(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset by months, whose cap leaves everybody two proposals, from January on."""
    now(monkeypatch, "2026-01-31")
    return declared(tmp_path / "state", table, blocks="monthly", cap=2 * MUCH)


def test_every_block_is_charged_for_an_answer_about_everybody(
    path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(path, SMOKES) == [10, 0, 0, 0]
    assert spent(path) == {"2026-01": 1}
    now(monkeypatch, "2026-03-01")
    write(table, people(range(5, 13), "yes"))
    assert answer(path, SMOKES) == [10, 0, 0, 0]  # the same question, as it was answered
    assert answer(path, replace(SMOKES, edition="march")) == [0, 8, 0, 0]
    assert spent(path) == {"2026-01": 2, "2026-02": 1, "2026-03": 1}
    with pytest.raises(InputError, match="cap leaves no room"):
        answer(path, replace(SMOKES, edition="once more"))


def test_whoever_is_read_is_in_the_register(path: Path) -> None:
    answer(path, replace(SMOKES, edition="first"))
    with Ledger.open(path) as ledger, ledger.transaction(write=False) as transaction:
        assert transaction.dataset.registered() == 10


def test_frequent_values_are_read_through_the_register_too(path: Path, table: Path) -> None:
    wish = Values("smokes", MUCH, Fraction(1, 10**9))
    with Ledger.open(path) as ledger, pytest.raises(InputError, match="own δ is 0"):
        offer(ledger, wish)
    with Ledger.open(path) as ledger, ledger.transaction() as transaction:
        dataset = transaction.dataset.declared()
        assert dataset is not None
        transaction.dataset.declare(replace(dataset, delta=Fraction(1, 10**6)))
    write(table, {**people(range(9)), "somebody": "yes"})
    assert answer(path, wish) == [("no", 9)]
    with Ledger.open(path) as ledger, ledger.transaction(write=False) as transaction:
        assert transaction.dataset.registered() == 10


@pytest.mark.parametrize("kind", ["cells", "values"])
def test_people_of_some_blocks_alone_are_asked_about_and_charged(
    path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    answer(path, SMOKES)
    now(monkeypatch, "2026-02-01")
    write(table, {**people(range(10)), **people(range(20, 27), "yes")})
    if kind == "cells":
        assert answer(path, replace(SMOKES, blocks=("2026-02",))) == [0, 7, 0, 0]
    else:
        with Ledger.open(path) as ledger, ledger.transaction() as transaction:
            dataset = transaction.dataset.declared()
            assert dataset is not None
            transaction.dataset.declare(replace(dataset, delta=Fraction(1, 10**6)))
        wish = Values("smokes", MUCH, Fraction(1, 10**9), blocks=("2026-02",))
        assert answer(path, wish) == [("yes", 7)]
    assert spent(path) == {"2026-01": 1, "2026-02": 1}


@pytest.mark.parametrize("blocks", [("2026",), ("2026-13",), ("2026-02",)])
def test_blocks_that_there_are_not_are_refused_and_cost_nothing(path: Path, blocks: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="blocks"):
        answer(path, replace(SMOKES, blocks=blocks))
    assert summary(path).entries == 0


def test_once_ids_are_renumbered_everybody_is_charged(path: Path) -> None:
    answer(path, SMOKES)
    with Ledger.open(path) as ledger:
        renumber(ledger)
    answer(path, replace(SMOKES, edition="after"))
    found = summary(path)
    assert found.spent.amount == 2 * MUCH
    assert [one.blocks for one in found.studies] == [frozenset({"2026-01"}), None]
