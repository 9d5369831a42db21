"""A proposal is charged like a study, once, with a δ that adds up by itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.proposal import Proposal
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.proposing import check_proposal, propose
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Unit
from panbayes.tables.sources.file import File
from tests.consortium.holder.examples import asked, refused, released, singles, study
from tests.consortium.holder.ledgers import edit, faults, gate

FIXED = Dataset(File("/data/clinic.csv"), None, changing=False, delta=Fraction(1, 1000))
BOUNDS = Proposal("bounds of age", {"column": "age"}, "replace", None, Fraction(1, 4), Fraction(1, 2000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.ledger"


def declared(path: Path, dataset: Dataset = FIXED, cap: str = "1") -> Ledger:
    ledger = Ledger.open(path, create=True)
    ledger.set_cap(Pure(Fraction(cap)))
    with ledger.transaction() as transaction:
        transaction.dataset.declare(dataset)
    return ledger


def test_the_same_proposal_gets_the_same_bytes_and_costs_nothing(path: Path) -> None:
    drawn = iter([b"first", b"second"])
    with declared(path) as ledger:
        assert check_proposal(ledger, BOUNDS) is None
        assert propose(ledger, BOUNDS, lambda: next(drawn)) == b"first"
        assert propose(ledger, BOUNDS, lambda: next(drawn)) == check_proposal(ledger, BOUNDS) == b"first"
        assert propose(ledger, replace(BOUNDS, question={"column": "days"}), lambda: next(drawn)) == b"second"
        summary = ledger.summary()
        assert verify(ledger) == []
    assert (summary.spent, summary.delta) == (Pure(Fraction(1, 2)), Fraction(1, 1000))
    assert [(one.name, one.entries) for one in summary.studies] == [("bounds of age", 1)] * 2


def test_it_adds_up_with_studies_under_one_cap(path: Path) -> None:
    agreed = study("independent", "3/4")
    with declared(path) as ledger:
        propose(ledger, BOUNDS, lambda: b"")
        released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
        with pytest.raises(InputError, match=r"cap leaves no room for a study of ε = 0\.25"):
            propose(ledger, replace(BOUNDS, name="once more", delta=Fraction(0)), pytest.fail)
        code, _ = refused(gate(ledger, study("independent", "1/4", name="b")).ask(asked(singles(agreed), agreed)))
        assert code == "unknown-study"
        assert verify(ledger) == []


def test_delta_adds_up_by_itself(path: Path) -> None:
    with declared(path, cap="100") as ledger:
        for name in "ab":
            propose(ledger, replace(BOUNDS, name=name), lambda: b"")
        for delta in (Fraction(1, 10**9), Fraction(1, 2000)):
            with pytest.raises(InputError, match=r"the dataset's own δ is 0\.001, and leaves no room"):
                propose(ledger, replace(BOUNDS, name="c", delta=delta), pytest.fail)
        propose(ledger, replace(BOUNDS, name="c", delta=Fraction(0)), lambda: b"")
        assert (ledger.summary().delta, verify(ledger)) == (Fraction(1, 1000), [])


@pytest.mark.parametrize(
    ("proposal", "said"),
    [
        (replace(BOUNDS, unit=Unit("patient")), "every record of this holder is declared to be a person"),
        (replace(BOUNDS, adjacency="add-remove"), "another adjacency or privacy unit"),
    ],
)
def test_its_promise_must_be_that_of_the_dataset_and_of_all_before(proposal: Proposal, said: str, path: Path) -> None:
    with declared(path) as ledger:
        propose(ledger, BOUNDS, lambda: b"")
        with pytest.raises(InputError, match=said):
            propose(ledger, replace(proposal, delta=Fraction(0)), pytest.fail)


def test_without_a_declared_dataset_nothing_is_proposed(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger, pytest.raises(InputError, match="holder dataset declare"):
        propose(ledger, BOUNDS, pytest.fail)
    with Ledger.in_memory() as ledger, pytest.raises(ValueError, match="on disk"):
        propose(ledger, BOUNDS, pytest.fail)


def test_what_fails_is_not_charged_and_counted_and_the_third_pauses(path: Path) -> None:
    def fail() -> bytes:
        raise MemoryError

    with declared(path) as ledger:
        for _ in range(3):
            with pytest.raises(MemoryError):
                propose(ledger, BOUNDS, fail)
        with pytest.raises(InputError, match="paused"):
            propose(ledger, BOUNDS, pytest.fail)
        assert ledger.summary().entries == 0
        assert len(ledger.resume(BOUNDS.hash)) == 3
        assert propose(ledger, BOUNDS, lambda: b"x") == b"x"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE entries SET replied = X'00'", "its reply has been changed"),
        ("""UPDATE entries SET loss = '{"class":"pure","epsilon":"1/8"}'""", "charged for something else"),
        ("UPDATE entries SET asked = X'7b7d'", "cannot be read"),
        ("UPDATE notes SET content = replace(content, '1/1000', '1/9999') WHERE what = 'dataset'", "sum of δ is above"),
        ("DELETE FROM notes WHERE what = 'dataset'", "no dataset had been declared"),
    ],
)
def test_who_edits_it_shows(statement: str, said: str, path: Path) -> None:
    with declared(path) as ledger:
        propose(ledger, BOUNDS, lambda: b"bytes")
    edit(path, statement)
    assert said in faults(path)
