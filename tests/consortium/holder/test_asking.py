"""A holder asks about its own records: the price first, one charge, and the same answer ever after."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.proposals import wish as wish_module
from panbayes.consortium.holder.proposals.asking import offer, read_answer, take
from panbayes.consortium.holder.proposals.wish import Answer, Cells, Edges, Protected, Values, Wish
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.grids import calendar, decades, listed, steps
from panbayes.schema.schema import Unit
from tests.consortium.holder.datasets import DELTA, declare, people
from tests.consortium.holder.ledgers import edit

EPSILON = Fraction(1, 10)
GRID = steps("age", low=Fraction(0), high=Fraction(120), step=Fraction(10))
WISHES: list[Wish] = [
    Cells(decades("age"), EPSILON),
    Cells(calendar("seen", "month"), EPSILON),
    Cells(listed("ward", ("north", "south", "west")), EPSILON),
    Edges(GRID, (Fraction(1, 4), Fraction(1, 2)), EPSILON),
    Values("job", EPSILON, Fraction(1, 10**9)),
]
NAMES = ["bounds of age", "bounds of seen", "categories of ward", "quantiles of age", "frequent values of job"]


def answered(path: Path, wish: Wish) -> Answer:
    with Ledger.open(path) as ledger:
        return take(ledger, offer(ledger, wish), noise=SecureNoise())


@pytest.mark.parametrize(("wish", "name"), list(zip(WISHES, NAMES, strict=True)), ids=NAMES)
def test_an_answer_is_charged_once_and_is_the_same_ever_after(tmp_path: Path, wish: Wish, name: str) -> None:
    path = declare(tmp_path)
    with Ledger.open(path) as ledger:
        offered = offer(ledger, wish)
        assert (offered.left, offered.delta_left, offered.stored) == (Pure(Fraction(1)), DELTA, None)
        assert ledger.summary().entries == 0
        first = take(ledger, offered, noise=SecureNoise())
        again = take(ledger, offered, noise=SecureNoise())
        free = offer(ledger, wish)
        summary = ledger.summary()
        assert verify(ledger) == []
    assert first == again == read_answer(wish, free.stored or b"", argument="ledger")
    assert (summary.spent, summary.delta, summary.entries) == (Pure(EPSILON), wish.delta, 1)
    assert [study.name for study in summary.studies] == [name]
    (tmp_path / "people.csv").unlink()
    assert answered(path, wish) == first  # without a look at the records


def test_another_edition_is_asked_anew(tmp_path: Path) -> None:
    path = declare(tmp_path)
    wish = Cells(decades("age"), EPSILON)
    first = answered(path, wish)
    people(100).write_csv(tmp_path / "people.csv")
    assert answered(path, wish) == first
    assert answered(path, replace(wish, edition="autumn")) != first
    with Ledger.open(path) as ledger:
        assert ledger.summary().spent == Pure(2 * EPSILON)


def test_nothing_is_read_before_the_price_is_agreed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = declare(tmp_path)
    for name in ("read_records", "count_values", "remote_table"):
        monkeypatch.setattr(wish_module, name, lambda *_, **__: pytest.fail("the records were read"))
    with Ledger.open(path) as ledger:
        for wish in WISHES:
            assert offer(ledger, wish).stored is None


def test_what_there_is_no_room_for_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = declare(tmp_path, cap="1/20", delta=Fraction(0))
    monkeypatch.setattr(wish_module, "count_values", lambda *_, **__: pytest.fail("the records were read"))
    with Ledger.open(path) as ledger:
        with pytest.raises(InputError, match="cap leaves no room"):
            offer(ledger, WISHES[0])
        with pytest.raises(InputError, match="own δ is 0, and leaves no room"):
            offer(ledger, Values("job", Fraction(1, 100), Fraction(1, 10**9)))


def test_pure_epsilon_is_refused_for_an_unknown_domain(tmp_path: Path) -> None:
    with Ledger.open(declare(tmp_path)) as ledger, pytest.raises(InputError, match="under pure ε no value"):
        offer(ledger, Values("job", EPSILON, Fraction(0)))


def test_values_of_few_people_are_not_named(tmp_path: Path) -> None:
    named = answered(declare(tmp_path), Values("job", Fraction(1), Fraction(1, 10**9)))
    assert [pair[0] for pair in named if not isinstance(pair, int)] == ["nurse", "baker"]


def test_adjacency_and_unit_are_those_of_the_dataset(tmp_path: Path) -> None:
    wish = WISHES[0]
    cases = [
        ("changing", True, Unit("patient", max_records=2), Protected("add-remove", Unit("patient", max_records=2))),
        ("fixed", False, Unit("patient"), Protected("replace", Unit("patient"))),
        ("records", False, None, Protected("replace", None)),
    ]
    for name, changing, unit, expected in cases:
        folder = tmp_path / name
        folder.mkdir()
        with Ledger.open(declare(folder, changing=changing, unit=unit)) as ledger:
            assert offer(ledger, wish).protected == expected


def test_under_replace_the_noise_is_twice_that_of_add_remove(tmp_path: Path) -> None:
    scales = []
    for changing in (True, False):
        folder = tmp_path / str(changing)
        folder.mkdir()
        with Ledger.open(declare(folder, changing=changing)) as ledger:
            offered = offer(ledger, WISHES[0])
        wish = offered.wish
        assert isinstance(wish, Cells)
        scales.append(wish.event(offered.protected).scale)
    assert scales == [1 / EPSILON, 2 / EPSILON]


def test_an_empty_table_is_answered(tmp_path: Path) -> None:
    path = declare(tmp_path, table=people(8).head(0))
    for wish in WISHES:
        answered(path, wish)
    with Ledger.open(path) as ledger:
        assert ledger.summary().entries == len(WISHES)


def test_a_column_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    path = declare(tmp_path)
    with pytest.raises(InputError, match="height"):
        answered(path, Cells(decades("height"), EPSILON))
    with Ledger.open(path) as ledger:
        assert ledger.summary().entries == 0
        assert ledger.summary().failures == ()


def test_without_a_declared_dataset_there_is_no_price(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "one.ledger", create=True) as ledger, pytest.raises(InputError, match="declare"):
        offer(ledger, WISHES[0])


@pytest.mark.parametrize("stored", ["", "null", "[1,2,3]", '[["a"]]', "[true,1]", '["a",1]', "[1,99]"])
@pytest.mark.parametrize("wish", WISHES, ids=NAMES)
def test_an_answer_that_is_none_is_a_damaged_ledger(wish: Wish, stored: str) -> None:
    with pytest.raises(LedgerError, match="cannot be read"):
        read_answer(wish, stored.encode(), argument="one.ledger")


def test_an_edited_answer_shows(tmp_path: Path) -> None:
    path = declare(tmp_path)
    answered(path, WISHES[3])
    edit(path, "UPDATE entries SET replied = CAST('[0,0]' AS BLOB)")
    with Ledger.open(path) as ledger:
        assert any("reply has been changed" in str(fault) for fault in verify(ledger))


def test_several_records_of_a_person_count_up_to_the_limit(tmp_path: Path) -> None:
    """One person with a thousand records of one job is one person, and a thousand with their own are many."""
    one = pl.DataFrame({"patient": ["p"] * 1000, "job": ["king"] * 1000})
    many = pl.DataFrame({"patient": [f"q{i}" for i in range(1000)], "job": ["nurse"] * 1000})
    path = declare(tmp_path, unit=Unit("patient", max_records=5), table=pl.concat([one, many]))
    named = answered(path, Values("job", Fraction(1), Fraction(1, 10**9)))
    assert [pair[0] for pair in named if not isinstance(pair, int)] == ["nurse"]
