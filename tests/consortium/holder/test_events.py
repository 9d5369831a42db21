"""What happened is written down in order and for good, and it shows if somebody has been at it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from panbayes.consortium.holder.ledger import event_table
from panbayes.consortium.holder.ledger import ledger as ledger_module
from panbayes.consortium.holder.ledger.clock import utc
from panbayes.consortium.holder.ledger.events import HAPPENINGS, STRANGERS, Event, Happening, read_detail
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.errors import InternalError, LedgerError
from tests.consortium.holder.examples import asked, refused, released, script, singles, study
from tests.consortium.holder.ledgers import WAYS, Way, answer, edit, faults, fill, gate

ANALYST = "SHA256:analyst"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def plain_hash(*parts: object) -> str:
    """Hash as an auditor would who has read how."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()


def approve(ledger: Ledger, agreed: str, key: str = "key") -> None:
    said = {"key": key, "statement": "yes", "signature": "signed"}
    ledger.write_event("approved", said, study=agreed, asker=ANALYST)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of five entries, with eleven events: before, between and after them."""
    path = tmp_path_factory.mktemp("watched") / "watched.ledger"
    agreed = study(name="watched")
    with Ledger.open(path, create=True) as ledger:
        answer(ledger, study("independent"))
        approve(ledger, agreed.hash)
        door = gate(ledger, agreed)
        for number, query in enumerate(script(agreed)):
            ledger.write_event("overrun", {"promised": 1, "needed": 2 + number}, study=agreed.hash, asker=ANALYST)
            assert door.settle(asked(query, agreed, number), asker=ANALYST).what == "answered"
        ledger.write_event("stopped", {"by": "agent", "reason": "two overruns"}, study=agreed.hash)
    return path


@pytest.fixture
def eventful(watched: Path, path: Path) -> Path:
    """A copy of it."""
    for end in ("", "-attempt"):
        shutil.copy2(f"{watched}{end}", f"{path}{end}")
    return path


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_answer_is_told_right_behind_its_charge_by_the_formula_in_the_manual(way: Way, tmp_path: Path) -> None:
    agreed = study()
    with way(tmp_path, 1) as ledger:
        door = gate(ledger, agreed)
        questions = [asked(query, agreed, number) for number, query in enumerate(script(agreed))]
        replies = [door.ask(question, asker=ANALYST if number else "") for number, question in enumerate(questions)]
        entries, events = ledger.entries(), ledger.events()
    digest = plain_hash("panbayes events 1")
    assert len(events) == len(entries) == 4
    for number, (entry, event) in enumerate(zip(entries, events, strict=True)):
        assert entry.events == digest
        detail = f'{{"entry":{number + 1},"received":{len(questions[number])},"sent":{len(replies[number])}}}'
        asker = ANALYST if number else ""
        said = (event.time, "answered", agreed.hash, asker, released(replies[number]).id, detail)
        digest = plain_hash("panbayes event 1", number + 1, *said, digest)
        assert event == Event(number + 1, *said, digest)


def test_an_entry_commits_to_every_event_before_it(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        approve(ledger, "a")
        answer(ledger, study("independent"))
        entry, before = ledger.entries()[0], ledger.events()[0].digest
    assert entry.events == before
    loss = '{"class":"pure","epsilon":"1"}'
    said = (entry.secret.hex(), entry.study, entry.question, loss, entry.reply, entry.notes, before)
    assert entry.commitment == plain_hash("panbayes commitment", *said)
    assert replace(entry, events=before[:-1] + "x").commitment != entry.commitment


def test_times_are_of_the_clock_on_disk_and_always_the_same_in_memory(path: Path) -> None:
    before = utc()
    fill(path, 1)
    with Ledger.read(path) as ledger:
        assert all(before <= event.time <= utc() for event in ledger.events())
    heads = set()
    for _ in range(2):
        with Ledger.in_memory() as ledger:
            heads.add(tuple(released(reply).ledger for reply in answer(ledger, study())))
            assert {event.time for event in ledger.events()} == {"1970-01-01 00:00:00Z"}
    assert len(heads) == 1, "what is simulated can be repeated"


def test_repeats_and_refusals_are_written_by_whoever_carries_them_and_by_nobody_else(path: Path) -> None:
    agreed = study("independent")
    question = asked(singles(agreed), agreed)
    with Ledger.open(path, create=True) as ledger:
        approve(ledger, agreed.hash)
        door = gate(ledger, agreed)
        outcomes = [
            door.settle(data, asker=ANALYST) for data in (question, question, asked(singles(agreed), agreed, 1))
        ]
        assert [event.what for event in ledger.events()] == ["approved", "answered"]
        for found in outcomes[1:]:
            more = {"code": found.code} if found.code else {}
            told: dict[str, str | int] = {"received": len(question), "sent": len(found.reply), **more}
            assert found.what != "answered"
            assert ledger.write_event(found.what, told, study=agreed.hash, asker=ANALYST, question=found.question)
        events = ledger.events()
        assert verify(ledger) == []
    assert [found.what for found in outcomes] == ["answered", "repeated", "refused"]
    assert outcomes[0].reply == outcomes[1].reply
    assert [found.code for found in outcomes] == [None, None, "not-in-study"]
    assert [found.withheld for found in outcomes] == [False] * 3
    assert [(event.what, event.question, event.asker) for event in events[1:]] == [
        (found.what, found.question, ANALYST) for found in outcomes
    ]


def test_an_answer_is_told_by_its_charge_alone(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger, pytest.raises(InternalError, match="the transaction that charges"):
        ledger.write_event("answered", {"entry": 1, "received": 1, "sent": 1}, study="a")


@pytest.mark.parametrize(
    "said", [{}, {"by": "me"}, {"by": "me", "reason": 3}, {"by": "me", "reason": "r", "more": "m"}, {"by": "\ud800"}]
)
def test_an_event_says_what_its_kind_says(said: dict[str, str | int], path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        with pytest.raises(ValueError, match="an event stopped has no detail such as"):
            ledger.write_event("stopped", said, study="a")
        with pytest.raises(InternalError, match="too long"):
            ledger.write_event("stopped", {"by": "me", "reason": ""}, study="a" * 70_000)
        assert ledger.events() == ()


@pytest.mark.parametrize("number", [-1, 2**53, True])
def test_a_number_that_is_none_is_not_read(number: int) -> None:
    assert read_detail("overrun", json.dumps({"promised": number, "needed": 1})) is None
    assert read_detail("overrun", json.dumps({"promised": 2**53 - 1, "needed": 0})) is not None
    assert read_detail("overrun", "[" * 100_000) is read_detail("overrun", "7") is None
    assert read_detail("declined", json.dumps({"by": "a" * 70_000, "reason": ""})) is None


def test_a_flood_of_repeats_or_refusals_is_counted_and_does_not_fill_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By study, kind and day; decisions and overruns are always written."""
    day = "2026-03-01"
    monkeypatch.setattr(ledger_module, "DAILY", 3)
    monkeypatch.setattr(ledger_module, "utc", lambda: f"{day} 12:00:00Z")
    with Ledger.open(path, create=True) as ledger:

        def ask_again(agreed: str) -> bool:
            return ledger.write_event("repeated", {"received": 1, "sent": 2}, study=agreed)

        assert [ask_again("a") for _ in range(5)] == [True] * 3 + [False] * 2
        assert ask_again("b"), "another study has its own"
        assert ledger.write_event("refused", {"code": "malformed", "received": 1, "sent": 2}, study="a")
        for _ in range(5):
            assert ledger.write_event("stopped", {"by": "", "reason": ""}, study="a")
        day = "2026-03-02"
        assert [ask_again("a") for _ in range(4)] == [True] * 3 + [False]
        assert [(found.day, found.what, found.count) for found in ledger.strangers()] == [
            ("2026-03-01", "repeated", 2),
            ("2026-03-02", "repeated", 1),
        ]
        assert verify(ledger) == []


def test_strangers_are_counted_by_day_and_kind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = "2026-03-01"
    monkeypatch.setattr(ledger_module, "utc", lambda: f"{day} 23:59:59Z")
    with Ledger.open(path, create=True) as ledger:
        ledger.count_strangers("unsigned")
        size = path.stat().st_size
        for _ in range(50):
            ledger.count_strangers("unsigned", 10**6)
        ledger.count_strangers("unknown", 3)
        day = "2026-03-02"
        ledger.count_strangers("unsigned", 2**53)
        ledger.count_strangers("unsigned", 2**53)
        assert [(found.day, found.what, found.count) for found in ledger.strangers()] == [
            ("2026-03-01", "unknown", 3),
            ("2026-03-01", "unsigned", 50_000_001),
            ("2026-03-02", "unsigned", 2**53 - 1),
        ]
        assert path.stat().st_size == size
        for number in (0, -5):
            with pytest.raises(InternalError, match="cannot be counted"):
                ledger.count_strangers("unsigned", number)
        assert ledger.events() == ()
        assert verify(ledger) == []
    edit(path, "INSERT INTO strangers VALUES ('2026-03-01', 'martians', 1)")
    assert faults(path) == "there are strangers of an unknown kind (martians)"


def test_strangers_of_a_kind_that_is_none_are_not_counted(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger, ledger.transaction() as transaction:
        for what in STRANGERS:
            transaction.events.count_strangers(what, 1)
        with pytest.raises(InternalError, match="kind martians"):
            vars(event_table)["EventTable"].count_strangers(transaction.events, "martians", 1)


EDITS = {
    "UPDATE events SET time = '1999-01-01 00:00:00Z' WHERE position = 1": "event 1: it has been changed",
    "UPDATE events SET study = 'b' WHERE position = 3": "event 3: it has been changed",
    "UPDATE events SET asker = 'b' WHERE position = 3": "event 3: it has been changed",
    "UPDATE events SET question = 'b' WHERE position = 3": "event 3: it has been changed",
    "UPDATE events SET what = 'approved' WHERE position = 11": "event 11: it has been changed",
    """UPDATE events SET detail = '{"needed":9,"promised":1}' WHERE position = 3""": "event 3: it has been changed",
    "UPDATE events SET detail = '{}' WHERE position = 3": "event 3: it cannot be read",
    "UPDATE events SET what = 'fire' WHERE position = 3": "event 3: it is of an unknown kind (fire)",
    "UPDATE events SET digest = 'b' WHERE position = 3": "event 3: it has been changed",
    "UPDATE events SET digest = 7 WHERE position = 3": "event 3: it has been changed",
    "UPDATE events SET position = 99 WHERE position = 3": "event 3 is missing",
    "DELETE FROM events WHERE position = 1": "event 1 is missing",
    "DELETE FROM events WHERE position = 2": "event 2 is missing",
    "DELETE FROM events WHERE position = 11": "the newest events are missing",
    "DELETE FROM events WHERE position > 5": "the newest events are missing",
    "DELETE FROM events": "entry 1: there is no event of its answer",
    "INSERT INTO events SELECT 12, time, what, study, asker, question, detail, digest FROM events LIMIT 1": (
        "event 12: it has been changed"
    ),
    "INSERT INTO events SELECT 0, time, what, study, asker, question, detail, digest FROM events LIMIT 1": (
        "event 1 is missing"
    ),
    "DELETE FROM meta WHERE key = 'events'": "the newest events are missing",
    "UPDATE meta SET value = x'ff' WHERE key = 'events'": "the newest events are missing",
    "UPDATE entries SET events = 'b' WHERE sequence = 3": "entry 3: an event before it has been changed, or is missing",
    "UPDATE entries SET secret = x'00' WHERE sequence = 3": "entry 3: its head does not follow",
}


@pytest.mark.parametrize("statement", EDITS)
def test_an_edited_event_shows(statement: str, eventful: Path) -> None:
    assert faults(eventful) == ""
    edit(eventful, statement)
    assert EDITS[statement] in faults(eventful)


@pytest.mark.parametrize("verb", ["UPDATE events SET time = ''", "DELETE FROM events"])
def test_a_slip_is_refused(verb: str, eventful: Path) -> None:
    connection = sqlite3.connect(eventful)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(verb)
    connection.close()


Forgery = Callable[[list[Event]], Sequence[Event]]

FORGERIES: dict[str, Forgery] = {
    "edited": lambda events: [*events[:2], replace(events[2], detail='{"needed":9,"promised":1}'), *events[3:]],
    "removed": lambda events: [*events[:2], *events[3:]],
    "inserted": lambda events: [*events[:3], events[2], *events[3:]],
    "swapped": lambda events: [events[1], events[0], *events[2:]],
    "an answer left out": lambda events: [*events[:3], *events[4:]],
    "the end cut off": lambda events: events[:5],
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_history_that_was_written_anew_shows_in_the_entries_after_it(forgery: str, eventful: Path) -> None:
    """Every digest was made to fit, and the newest too: the entries still commit to what was there."""
    rewrite(eventful, FORGERIES[forgery])
    found = faults(eventful)
    assert "it has been changed, or is another one" not in found
    assert "the newest events" not in found
    assert "entry " in found, "it shows by entries alone"
    edit(eventful, "UPDATE entries SET events = (SELECT digest FROM events WHERE position = 4) WHERE sequence = 3")
    assert "entry 3: its head does not follow" in faults(eventful)


def rewrite(path: Path, forgery: Forgery) -> None:
    """Write another history of events, with a chain that fits."""
    with Ledger.read(path) as ledger:
        events = forgery(list(ledger.events()))
    digest = plain_hash("panbayes events 1")
    edit(path, "DELETE FROM events")
    for position, event in enumerate(events, start=1):
        moved = replace(event, position=position)
        digest = moved.expected_digest(digest)
        said = (moved.time, moved.what, moved.study, moved.asker, moved.question, moved.detail)
        edit(path, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values=(position, *said, digest))
    edit(path, "UPDATE meta SET value = ? WHERE key = 'events'", values=(digest.encode(),))


def test_an_answer_that_nobody_gave_shows_although_the_chain_was_made_to_fit(eventful: Path) -> None:
    rewrite(eventful, lambda events: [*events, events[3]])
    assert faults(eventful) == "event 12: it tells of an answer that was not given then"


@pytest.mark.parametrize(
    ("decisions", "fits"),
    [
        ([], False),
        (["approved"], True),
        (["approved", "stopped"], False),
        (["approved", "stopped", "resumed"], True),
        (["approved", "stopped", "approved"], False),
        (["approved", "declined"], False),
        (["approved", "declined", "approved"], True),
    ],
)
def test_an_answer_to_others_without_consent_shows(decisions: list[Happening], fits: bool, path: Path) -> None:
    """Of this study, and to others: in one process whoever runs it is the officer."""
    agreed, own = study("independent"), study("independent", name="own")
    with Ledger.open(path, create=True) as ledger:
        for what in decisions:
            if what == "approved":
                approve(ledger, agreed.hash)
            else:
                ledger.write_event(what, {"by": "", "reason": ""}, study=agreed.hash)
        ledger.write_event("stopped", {"by": "", "reason": ""}, study=own.hash)
        released(gate(ledger, own).ask(asked(singles(own), own)))
        released(gate(ledger, agreed).ask(asked(singles(agreed), agreed), asker=ANALYST))
        assert verify(ledger) == (
            [] if fits else ["entry 2: its study was not approved, or had been declined or stopped"]
        )


def test_a_ledger_that_lost_its_newest_events_answers_nothing_new(eventful: Path) -> None:
    """Looking at the newest one costs nothing; whoever cut off a stop must not get an answer."""
    path = eventful
    agreed = study("independent", name="late")
    edit(path, "DELETE FROM events WHERE position = 11")
    told: list[BaseException] = []
    with Ledger.open(path) as ledger:
        door = gate(ledger, agreed, report=told.append)
        assert refused(door.ask(asked(singles(agreed), agreed)))[0] == "unavailable"
        with pytest.raises(LedgerError, match="its newest events have been changed, or are missing"):
            approve(ledger, agreed.hash)
    assert [type(error) for error in told] == [LedgerError]
    edit(path, "DELETE FROM meta WHERE key = 'events'")
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match='its digest of "events" is missing'):
        approve(ledger, agreed.hash)


def test_what_an_answer_costs_does_not_grow_with_what_has_happened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest digest is enough: neither all events nor all notes are hashed again, and nothing more is synced."""
    agreed = study("independent")
    with Ledger.open(path, create=True) as ledger:
        for number in range(30):
            ledger.set_cap(None)
            approve(ledger, str(number))
        begun: list[str] = []
        ledger_transaction = Ledger.transaction

        def transaction(self: Ledger, *, write: bool = True) -> object:
            begun.append("write" if write else "read")
            return ledger_transaction(self, write=write)

        hashed: list[object] = []
        real = Event.expected_digest

        def expected(self: Event, previous: str) -> str:
            hashed.append(self)
            return real(self, previous)

        door = gate(ledger, agreed)
        monkeypatch.setattr(Ledger, "transaction", transaction)
        monkeypatch.setattr(Event, "expected_digest", expected)
        monkeypatch.setattr(event_table.EventTable, "all", lambda _self: pytest.fail("all events were read"))
        released(door.ask(asked(singles(agreed), agreed), asker=ANALYST))
    assert begun == ["write"], "one transaction, which is synced once"
    assert len(hashed) == 1


def test_events_of_a_transaction_that_fails_never_happened(path: Path) -> None:
    def fail(transaction: Transaction) -> None:
        transaction.events.write("stopped", {"by": "", "reason": ""}, study="a")
        raise RuntimeError

    with Ledger.open(path, create=True) as ledger:
        with pytest.raises(RuntimeError), ledger.transaction() as transaction:
            fail(transaction)
        assert ledger.events() == ()
        assert verify(ledger) == []


def test_every_kind_of_event_is_in_the_manual() -> None:
    manual = (Path(__file__).resolve().parents[3] / "docs" / "ledger.md").read_text(encoding="utf-8")
    assert not [what for what in (*HAPPENINGS, *STRANGERS) if f"`{what}`" not in manual]
