"""A cap holds for all studies together: what has begun can be finished, and what is closed gives its rest back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.protocol.queries import GroupedTablesQuery, Grouping, ratio
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.schema.schema import Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, asked, refused, released, script, singles, study, table
from tests.consortium.holder.ledgers import WAYS, answer, edit, gate

NO_ROOM = "cap leaves no room"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return WAYS["open"](tmp_path, 1)


def begin(ledger: Ledger, agreed: Study) -> bytes:
    """Let a study ask its first question."""
    return gate(ledger, agreed).ask(asked(script(agreed)[0], agreed))


def test_what_a_study_that_has_begun_was_granted_is_kept_for_it(ledger: Ledger) -> None:
    """However the questions of two studies come in turn, who was let in is not turned away half-way."""
    one, two, small = study(name="one"), study(name="two"), study("independent", "1/2", name="small")
    ledger.set_cap(Pure(Fraction(3, 2)))
    released(begin(ledger, one))
    assert NO_ROOM in refused(begin(ledger, two))[1]
    released(begin(ledger, small))
    assert [released(reply).private for reply in answer(ledger, one)] == [True] * 4
    summary = ledger.summary()
    assert summary.spent == summary.reserved == Pure(Fraction(3, 2))
    assert summary.left == Pure(Fraction(0))
    assert verify(ledger) == []


def test_the_rest_of_a_closed_study_is_free_again_and_the_study_gets_nothing_new(ledger: Ledger) -> None:
    one, two = study(name="one"), study(name="two")
    ledger.set_cap(Pure(Fraction(3, 2)))
    first = begin(ledger, one)
    spent = ledger.summary().spent
    assert ledger.summary().left == Pure(Fraction(1, 2))
    ledger.close_study(one.hash)
    ledger.close_study(one.hash)
    assert ledger.summary().left == Pure(Fraction(3, 2) - spent.amount)
    for reply in answer(ledger, two):
        released(reply)
    assert begin(ledger, one) == first, "what it was told it may ask for again"
    reply = gate(ledger, one).ask(asked(script(one)[1], one, 1))
    assert refused(reply) == ("over-budget", "this holder has closed the study: it answers nothing new")
    assert [study.closed for study in ledger.summary().studies] == [True, False]
    assert verify(ledger) == []


def test_studies_that_began_under_another_rule_are_finished_as_far_as_the_cap_allows(ledger: Ledger) -> None:
    """An older ledger may have let in more than the cap can serve: nobody is locked out, nothing is overspent."""
    one, two = study(name="one"), study(name="two")
    released(begin(ledger, one))
    released(begin(ledger, two))
    ledger.set_cap(Pure(Fraction(3, 2)))
    for reply in answer(ledger, one):
        released(reply)
    assert NO_ROOM in refused(answer(ledger, two)[1])[1]
    assert verify(ledger) == []


def test_a_cap_counts_the_rho_of_other_studies(ledger: Ledger) -> None:
    one = replace(study("adaptive", name="one"), delta=Fraction(1, 10**6))
    query = GroupedTablesQuery("zcdp", "replace", (Grouping(0, ()),), ((0,),), (1,), ratio(one.grant.amount))
    assert isinstance(one.grant, ZeroConcentrated)
    two = replace(one, name="two")
    ledger.set_cap(ZeroConcentrated(one.grant.rho * 3 / 2))
    released(gate(ledger, one).ask(asked(query, one)))
    assert NO_ROOM in refused(gate(ledger, two).ask(asked(query, two)))[1]
    ledger.set_cap(ZeroConcentrated(one.grant.rho * 2))
    released(gate(ledger, two).ask(asked(query, two)))


def test_a_cap_in_rho_counts_the_epsilon_of_other_studies(ledger: Ledger) -> None:
    """ε-privacy is ε²/2-zCDP."""
    ledger.set_cap(ZeroConcentrated(Fraction(3, 4)))
    released(begin(ledger, study("independent", name="one")))
    assert NO_ROOM in refused(begin(ledger, study("independent", name="two")))[1]


def of_persons(column: str, agreed: str) -> tuple[Study, Table]:
    schema = replace(SCHEMA, name=column, unit=Unit(column, 3))
    return study("independent", name=agreed, schema=schema), Table(schema, table().codes, persons=20)


def test_losses_of_patients_and_of_visits_are_not_added_up(ledger: Ledger) -> None:
    """A patient with ten visits loses ten times what a visit does."""
    patients, records = of_persons("patient", "patients")
    released(gate(ledger, patients, records).ask(asked(singles(patients), patients)))
    visits, same_records = of_persons("visit", "visits")
    reply = gate(ledger, visits, same_records).ask(asked(singles(visits), visits))
    assert "another adjacency or privacy unit" in refused(reply)[1]
    again, records = of_persons("patient", "patients again")
    released(gate(ledger, again, records).ask(asked(singles(again), again)))


def test_a_ledger_that_never_wrote_down_whose_the_records_are_learns_it_from_its_own_schema(tmp_path: Path) -> None:
    """Ledgers of the first version did not: until then, no other schema adds up."""
    path = tmp_path / "clinic.ledger"
    patients, records = of_persons("patient", "patients")
    renamed = replace(patients, name="renamed", schema=replace(patients.schema, name="renamed"))
    same = Table(renamed.schema, records.codes, persons=20)
    with Ledger.open(path, create=True) as ledger:
        released(gate(ledger, patients, records).ask(asked(singles(patients), patients)))
    edit(path, "DELETE FROM units")
    with Ledger.open(path) as ledger:
        reply = gate(ledger, renamed, same).ask(asked(singles(renamed), renamed))
        assert "another adjacency or privacy unit" in refused(reply)[1]
        gate(ledger, patients, records)
        released(gate(ledger, renamed, same).ask(asked(singles(renamed), renamed)))
