"""More that shows in a ledger, and at the gate: overspending, damage, answers to the paused, questions exchanged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.attempts import PAUSING, Attempt, dismiss_begun
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.protocol.codec import decode_question, decode_reply, encode
from panbayes.consortium.protocol.envelope import Refusal
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, asked, refused, released, script, singles, study, table
from tests.consortium.holder.ledgers import answer, edit, faults, fill, gate


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def test_a_study_that_spent_more_than_it_was_granted_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two answers at all of ε each, in perfect order: what is wrong is what they cost together."""
    agreed = study("independent")
    monkeypatch.setattr(Gate, "_check_budget", lambda *_: None)
    with Ledger.open(path, create=True) as ledger:
        door = gate(ledger, agreed)
        for number in range(2):
            released(door.ask(asked(singles(agreed), agreed, number)))
        other = study("independent", name="other")
        released(gate(ledger, other).ask(asked(singles(other), other)))
    assert faults(path) == "entry 2: its study has spent more than it was granted"


def test_a_total_above_the_cap_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cap in force at the time: one that was set later says nothing of what came before."""
    monkeypatch.setattr(Gate, "_check_budget", lambda *_: None)
    with Ledger.open(path, create=True) as ledger:
        for number, cap in enumerate((3, 2, None, 1)):
            ledger.set_cap(None if cap is None else Pure(Fraction(cap)))
            answer(ledger, study("independent", name=f"study {number}"))
    assert faults(path) == "entry 4: the total is above the cap in force"


def test_damage_that_hides_from_every_query_shows(path: Path) -> None:
    """A byte that only SQLite's own check looks at: how many bytes of a page lie idle."""
    fill(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'units'").fetchone()
    data = bytearray(path.read_bytes())
    data[(page - 1) * size + 7] += 5
    path.write_bytes(data)
    found = faults(path)
    assert found.startswith("the file is damaged: ")
    assert "; " not in found, "a damaged file is looked into no further"


def test_a_refusal_in_the_place_of_a_reply_shows(path: Path) -> None:
    fill(path, 1)
    with Ledger.read(path) as ledger:
        entry = ledger.entries()[1]
    forged = encode(Refusal(entry.question, "over-budget", "nothing"))
    edit(path, "UPDATE entries SET replied = ? WHERE sequence = 2", values=(forged,))
    assert faults(path) == "entry 2: its reply is another one"


def test_a_reply_that_carries_another_head_shows(path: Path) -> None:
    """Its digest is taken without the head, so the head is compared by itself."""
    fill(path, 1)
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        stored = transaction.stored(ledger_entry(transaction, 2).question)
    assert stored is not None
    forged = encode(msgspec.structs.replace(released(stored[1]), ledger="0" * 64))
    edit(path, "UPDATE entries SET replied = ? WHERE sequence = 2", values=(forged,))
    assert faults(path) == "entry 2: its reply is another one"


def ledger_entry(transaction: Transaction, number: int) -> Entry:
    return next(entry for entry in transaction.entries() if entry.sequence == number)


def test_a_simulated_reply_among_private_ones_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate lets none in; whoever gets one past it shows, although everything else is in order."""
    agreed = study("independent")
    with Ledger.open(path, create=True) as ledger:
        door = gate(ledger, agreed)
        monkeypatch.setattr(SecureNoise, "private", False)
        assert not released(door.ask(asked(singles(agreed), agreed))).private
    assert faults(path) == "entry 1: its reply has simulated noise"


def test_a_damaged_note_before_an_answer_is_one_line_among_others(path: Path) -> None:
    agreed = study("independent")
    with Ledger.open(path, create=True) as ledger:
        with ledger.transaction() as transaction:
            transaction.note("failed", attempt(agreed).text())
        answer(ledger, agreed)
    edit(path, "UPDATE notes SET content = '{}'")
    assert "a note of a failure cannot be read" in faults(path)


def attempt(agreed: Study) -> Attempt:
    return Attempt.now(study=agreed.hash, name=agreed.name, question="q", kind="counts")


@pytest.mark.parametrize(
    ("notes", "paused"),
    [
        (["one"] * PAUSING, True),
        (["one"] * (PAUSING - 1), False),
        (["two"] * PAUSING, False),
        (["one"] * (PAUSING - 1) + ["two"], False),
        (["one"] * PAUSING + ["look at one"], False),
        (["one"] * PAUSING + ["look at two"], True),
        (["one"] * PAUSING + ["cap"], True),
        (["cap"] + ["one"] * (PAUSING - 1), False),
        (["one"] * (PAUSING - 1) + ["look at one"] + ["one"] * (PAUSING - 1), False),
        (["one"] * (PAUSING - 1) + ["look at one"] + ["one"] * PAUSING, True),
        (["two"] * PAUSING + ["look at two", "close two"] + ["one"] * (PAUSING - 1), False),
    ],
)
def test_verify_and_the_gate_agree_on_who_is_paused(
    notes: list[str], paused: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures of the one study since the holder looked at that one, whatever else was written down between them."""
    studies = {name: study("independent", name=name) for name in ("one", "two")}
    with Ledger.open(path, create=True) as ledger:
        for note in notes:
            with ledger.transaction() as transaction:
                verb, _, name = note.rpartition(" ")
                if note == "cap":
                    transaction.set_cap(Pure(Fraction(9)))
                elif verb:
                    transaction.note("closed" if verb == "close" else "resumed", studies[name].hash)
                else:
                    transaction.note("failed", attempt(studies[name]).text())
        one = studies["one"]
        question = asked(singles(one), one)
        if paused:
            assert refused(gate(ledger, one).ask(question))[0] == "paused"
            monkeypatch.setattr("panbayes.consortium.holder.ledger.transaction.PAUSING", 99)
        released(gate(ledger, one).ask(question))
        assert verify(ledger) == (["entry 1: its study had been paused"] if paused else [])


def test_an_answer_that_was_given_is_no_longer_this_processs_to_dismiss(path: Path) -> None:
    """Whoever interrupts a process after its answers must not remove what another is at work on."""
    with Ledger.open(path, create=True) as ledger:
        answer(ledger, study("independent"))
        beside = path.with_name(f"{path.name}-attempt")
        beside.write_text(attempt(study()).text(), encoding="utf-8")
        dismiss_begun()
        assert beside.read_text(encoding="utf-8")


def test_every_refusal_names_the_question_it_refuses(path: Path) -> None:
    agreed, other, dear = study(), study(name="unknown"), study(epsilon="2")
    with Ledger.open(path, create=True) as ledger:
        door = gate(ledger, agreed)
        ledger.set_cap(Pure(Fraction(1, 2)))
        for data, code in (
            (asked(singles(other), other), "unknown-study"),
            (asked(singles(agreed), agreed), "not-in-study"),
            (asked(script(dear)[0], agreed), "not-in-study"),
            (asked(script(agreed)[0], agreed), "over-budget"),
        ):
            found = decode_reply(door.ask(data))
            assert isinstance(found, Refusal)
            assert (found.id, found.code) == (decode_question(data).id, code)


def test_a_stored_question_that_is_another_is_not_answered_by_its_reply(path: Path) -> None:
    """An id is the hash of its question; where a ledger says otherwise its reply does not go out."""
    agreed = study()
    fill(path, 1)
    renamed = study(name="study 0")
    assert agreed.hash != renamed.hash
    edit(path, "UPDATE entries SET asked = (SELECT asked FROM entries WHERE sequence = 2) WHERE sequence = 1")
    with Ledger.open(path) as ledger:
        replies = [gate(ledger, renamed).ask(asked(script(renamed)[number], renamed, number)) for number in range(2)]
    assert refused(replies[0]) == ("wrong-id", "this id was used for another question")
    released(replies[1])


def test_a_study_without_privacy_is_answered_nothing(path: Path) -> None:
    open_study = Study("open", SCHEMA, "non-private")
    with Ledger.open(path, create=True) as ledger:
        reply = gate(ledger, open_study).ask(asked(singles(study()), open_study))
        assert refused(reply) == ("not-in-study", 'a study of strategy "non-private" is not answered here')


def test_a_gate_of_persons_needs_to_know_how_many_there_are() -> None:
    of_persons = replace(SCHEMA, unit=Unit("patient", 3))
    agreed = study(schema=of_persons)
    with Ledger.in_memory() as ledger:
        with pytest.raises(ValueError, match="needs a table that knows its number of persons"):
            Gate(Table(of_persons, table().codes), agreed, ledger, SimulatedNoise(0))
        Gate(Table(of_persons, table().codes, persons=20), agreed, ledger, SimulatedNoise(0))


def test_a_promise_names_the_column_of_its_unit_and_one_of_no_known_column_is_no_others(path: Path) -> None:
    people = replace(SCHEMA, unit=Unit("who", 2))
    agreed = study("independent", schema=people)
    with Ledger.open(path, create=True) as ledger:
        door = Gate(replace(table(schema=people), persons=30), agreed, ledger, SecureNoise())
        released(door.ask(asked(singles(agreed), agreed)))
        with ledger.transaction(write=False) as transaction:
            assert transaction.promises() == {("replace", 2, "who")}
    edit(path, "UPDATE units SET unit = NULL")
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        assert transaction.promises() == {("replace", 2, "")}
