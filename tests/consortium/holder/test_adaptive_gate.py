"""The adaptive strategy at the gate: what it may ask, what is charged in which class, and what never leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.protocol.answers import TableChoiceAnswer
from panbayes.consortium.protocol.cells import pack_cells
from panbayes.consortium.protocol.queries import (
    Count,
    GroupedTablesQuery,
    Grouping,
    TableCandidate,
    TableChoiceQuery,
    ratio,
)
from panbayes.dp.secure import SecureNoise
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated, rho_for
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, asked, refused, released, singles, study, table

PURE = Study("pure", SCHEMA, "adaptive", Fraction(1))
PRIVATE_SIZE = replace(PURE, name="hidden", adjacency="add-remove")
CONCENTRATED = replace(PRIVATE_SIZE, name="zcdp", delta=Fraction(1, 10**9))
RHO = rho_for(Fraction(1), Fraction(1, 10**9))


def tables(
    agreed: Study, loss: Fraction, views: tuple[tuple[int, ...], ...] = ((), (0,), (0, 1))
) -> GroupedTablesQuery:
    privacy: Literal["pure", "zcdp"] = "zcdp" if agreed.delta else "pure"
    groupings = (Grouping(0, ()), Grouping(1, (0, 0, 1)))
    return GroupedTablesQuery(privacy, agreed.adjacency, groupings, views, (1,) * len(views), ratio(loss))


def choice(agreed: Study, loss: Fraction, least: int = 0) -> TableChoiceQuery:
    groupings = (Grouping(0, ()), Grouping(1, ()))
    expected = pack_cells(np.zeros(6, dtype=np.int64))
    privacy: Literal["pure", "zcdp"] = "zcdp" if agreed.delta else "pure"
    return TableChoiceQuery(
        privacy,
        agreed.adjacency,
        groupings,
        (TableCandidate((0, 1), 0, 0),),
        expected,
        "forest",
        (),
        (Count(1, 0),),
        least,
        "1/5",
        ratio(loss),
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "test.ledger", create=True) as opened:
        yield opened


def gate(agreed: Study, ledger: Ledger) -> Gate:
    return Gate(table(), agreed, ledger, SecureNoise())


@pytest.mark.parametrize("agreed", [PURE, PRIVATE_SIZE, CONCENTRATED], ids=lambda s: s.name)
def test_the_number_of_people_leaves_only_where_it_is_public(agreed: Study, ledger: Ledger) -> None:
    whole = Fraction(1, 2) if not agreed.delta else RHO / 2
    found = released(gate(agreed, ledger).ask(asked(tables(agreed, whole), agreed)))
    assert found.size == (table().size if agreed.adjacency == "replace" else None)
    assert verify(ledger) == []


@pytest.mark.parametrize("agreed", [PURE, CONCENTRATED], ids=lambda s: s.name)
def test_everything_together_spends_the_grant_and_not_a_part_more(agreed: Study, ledger: Ledger) -> None:
    grant = RHO if agreed.delta else Fraction(1)
    door = gate(agreed, ledger)
    half = asked(tables(agreed, grant / 2), agreed)
    released(door.ask(half))
    released(door.ask(asked(choice(agreed, grant / 4), agreed, 1)))
    code, text = refused(door.ask(asked(tables(agreed, grant / 4 + Fraction(1, 10**20)), agreed, 2)))
    assert code == "over-budget"
    assert ("ρ" in text) == bool(agreed.delta)
    released(door.ask(asked(tables(agreed, grant / 4), agreed, 2)))
    assert door.ask(half) == door.ask(half)
    spent = ledger.summary().spent
    assert spent == (ZeroConcentrated(grant) if agreed.delta else Pure(grant))
    assert verify(ledger) == []


@pytest.mark.parametrize("agreed", [PURE, CONCENTRATED], ids=lambda s: s.name)
def test_a_choice_that_finds_nothing_worth_measuring_is_charged_in_full(agreed: Study, ledger: Ledger) -> None:
    """Noise of scale 20 or so beside two thousand million: nothing is above that."""
    third = (RHO if agreed.delta else Fraction(1)) / 3
    found = released(gate(agreed, ledger).ask(asked(choice(agreed, third, least=2**31 - 1), agreed)))
    assert found.answer == TableChoiceAnswer(0, ())
    assert ledger.summary().spent == (ZeroConcentrated(third) if agreed.delta else Pure(third))
    assert verify(ledger) == []


def test_kinds_are_counted(ledger: Ledger) -> None:
    door = gate(PURE, ledger)
    for number in range(PURE.plan.times("tables")):
        released(door.ask(asked(tables(PURE, Fraction(1, 100)), PURE, number)))
    for number in range(PURE.plan.times("choices")):
        released(door.ask(asked(choice(PURE, Fraction(1, 100)), PURE, number)))
    code, text = refused(door.ask(asked(choice(PURE, Fraction(1, 100)), PURE, 9)))
    assert (code, text) == ("not-in-study", "the study asks for choices 5 times, and has")
    code, text = refused(door.ask(asked(tables(PURE, Fraction(1, 100)), PURE, 9)))
    assert (code, text) == ("not-in-study", "the study asks for tables 7 times, and has")


@pytest.mark.parametrize(
    ("agreed", "query"),
    [
        (PURE, tables(PRIVATE_SIZE, Fraction(1, 2))),
        (PRIVATE_SIZE, tables(PURE, Fraction(1, 2))),
        (PURE, msgspec.structs.replace(tables(PURE, Fraction(1, 2)), privacy="zcdp")),
        (CONCENTRATED, msgspec.structs.replace(tables(CONCENTRATED, Fraction(1, 2)), privacy="pure")),
        (PURE, singles(study("independent"))),
        (study("independent"), tables(PURE, Fraction(1, 2))),
        (study("noisy-majority-voting"), choice(PURE, Fraction(1, 2))),
    ],
)
def test_another_class_adjacency_or_strategy_is_refused(
    agreed: Study, query: GroupedTablesQuery | TableChoiceQuery
) -> None:
    assert agreed.plan.complaint(query) is not None


@pytest.mark.parametrize(
    ("cap", "fits"),
    [
        (ZeroConcentrated(RHO), True),
        (ZeroConcentrated(RHO - Fraction(1, 10**12)), False),
        (Pure(Fraction(100)), False),
    ],
)
def test_a_study_in_rho_fits_under_a_cap_in_rho(cap: Loss, fits: bool, ledger: Ledger) -> None:
    ledger.set_cap(cap)
    reply = gate(CONCENTRATED, ledger).ask(asked(tables(CONCENTRATED, RHO / 2), CONCENTRATED))
    if fits:
        released(reply)
        assert ledger.summary().spent == ZeroConcentrated(RHO / 2)
        assert ledger.summary().left == ZeroConcentrated(Fraction(0)), "the rest is kept for the study"
    else:
        assert refused(reply)[0] == "over-budget"
    assert verify(ledger) == []


def test_pure_and_concentrated_studies_add_up_under_a_cap_in_rho(ledger: Ledger) -> None:
    """A pure ε counts ε²/2: with ε = 1 and (1, 1e-9) that is ½ + ρ."""
    ledger.set_cap(ZeroConcentrated(Fraction(1, 2) + RHO))
    released(gate(PRIVATE_SIZE, ledger).ask(asked(tables(PRIVATE_SIZE, Fraction(1)), PRIVATE_SIZE)))
    released(gate(CONCENTRATED, ledger).ask(asked(tables(CONCENTRATED, RHO), CONCENTRATED)))
    assert ledger.summary().spent == ZeroConcentrated(Fraction(1, 2) + RHO)
    other = replace(PRIVATE_SIZE, name="one more")
    assert refused(gate(other, ledger).ask(asked(tables(other, Fraction(1, 10)), other)))[0] == "over-budget"
    assert verify(ledger) == []


def test_losses_of_different_promises_are_never_added(ledger: Ledger) -> None:
    """ε for replacing a record and ε for adding one do not add up, nor ε per record and ε per person."""
    released(gate(PURE, ledger).ask(asked(tables(PURE, Fraction(1, 2)), PURE)))
    code, text = refused(gate(PRIVATE_SIZE, ledger).ask(asked(tables(PRIVATE_SIZE, Fraction(1, 2)), PRIVATE_SIZE)))
    assert code == "over-budget"
    assert "another adjacency or privacy unit" in text
    persons = Schema("persons", SCHEMA.attributes, unit=Unit("who", 3))
    counted = Study("persons", persons, "adaptive", Fraction(1))
    of_persons = Table(persons, table().codes, persons=30)
    question = asked(tables(counted, Fraction(1, 2)), counted)
    _, text = refused(Gate(of_persons, counted, ledger, SecureNoise()).ask(question))
    assert "another adjacency or privacy unit" in text
    assert ledger.summary().spent == Pure(Fraction(1, 2))


def test_another_question_of_a_kind_in_the_same_round_is_refused_before_it_costs_anything(ledger: Ledger) -> None:
    """A run that is begun anew must come by the same way: else two ways together spend what one was granted."""
    door = gate(PURE, ledger)
    first, other = tables(PURE, Fraction(1, 4)), tables(PURE, Fraction(1, 4), ((), (1,)))
    released(door.ask(asked(first, PURE, 3)))
    code, text = refused(door.ask(asked(other, PURE, 3)))
    assert (code, "was answered in round 3" in text) == ("not-in-study", True)
    assert ledger.summary().entries == 1
    released(door.ask(asked(first, PURE, 3)))
    released(door.ask(asked(choice(PURE, Fraction(1, 4)), PURE, 3)))
    released(door.ask(asked(other, PURE, 4)))
    assert ledger.summary().entries == 3
