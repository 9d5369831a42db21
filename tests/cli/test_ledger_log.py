"""What happened at a gate, as a table, for a spreadsheet and for a program."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from panbayes.cli.ledger_log import Log
from panbayes.consortium.holder.ledger.events import HAPPENINGS, Event, StrangerCount, read_detail
from panbayes.consortium.holder.ledger.ledger import Ledger
from tests.consortium.holder.examples import asked as question
from tests.consortium.holder.examples import released, singles, study
from tests.consortium.holder.ledgers import answer, gate

ANALYST = "SHA256:LAj6vTfBVZxJmZRWVB5uBZGYkXvQhT0FqkCqUQ5AK8w"
OFFICER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8Yd3Jg0O3C3Wc4q2fZ5yC0d0mJm2m0q8Qb1bV0Gx7u"


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """The log of a ledger on which everything has happened, all of it at one time."""
    equinox, other = study("independent", name="equinox"), "0" * 64
    with Ledger.open(tmp_path / "a.ledger", create=True) as ledger:
        asked = {"study": equinox.hash, "asker": ANALYST}
        signed = {"key": OFFICER, "signature": "none\n", "statement": "panbayes approval 1\n"}
        ledger.write_event("approved", signed, **asked)
        released(gate(ledger, equinox).ask(question(singles(equinox), equinox), asker=ANALYST))
        (entry,) = ledger.entries()
        asked["question"] = entry.question
        ledger.write_event("repeated", {"received": 198, "sent": 230}, **asked)
        ledger.write_event("refused", {"code": "not-in-study", "received": 198, "sent": 150}, **asked)
        ledger.write_event("overrun", {"promised": 1, "needed": 3}, **asked)
        ledger.write_event(
            "stopped", {"by": "agent", "reason": "two answers took longer than was promised"}, study=equinox.hash
        )
        ledger.write_event("resumed", {"by": OFFICER, "reason": "the disk was replaced"}, study=equinox.hash)
        ledger.write_event("declined", {"by": OFFICER, "reason": "no ethics vote"}, study=other)
        found = Log.of(ledger, people={ANALYST: "Institute", OFFICER: "Anna"})
    at = "2026-11-16 14:00:00Z"
    strangers = (StrangerCount(at[:10], "unknown", 1000), StrangerCount(at[:10], "unsigned", 7000))
    return replace(found, events=tuple(replace(event, time=at) for event in found.events), strangers=strangers)


def test_the_table(log: Log) -> None:
    question = {event.what: event.question[:12] for event in log.events}
    assert {event.what for event in log.events} == {*HAPPENINGS}
    assert log.lines() == [
        "  time                  what      study         asker      question      bytes in  out  detail",
        "  2026-11-16 14:00:00Z  approved  equinox       Institute                               signed by Anna",
        f"  2026-11-16 14:00:00Z  answered  equinox       Institute  {question['answered']}  198       230  entry 1",
        f"  2026-11-16 14:00:00Z  repeated  equinox       Institute  {question['answered']}  198       230  free",
        f"  2026-11-16 14:00:00Z  refused   equinox       Institute  {question['refused']}  198       150"
        "  not-in-study",
        f"  2026-11-16 14:00:00Z  overrun   equinox       Institute  {question['answered']}"
        "                 3 slots needed, 1 promised",
        "  2026-11-16 14:00:00Z  stopped   equinox                                               "
        "by agent: two answers took longer than was promised",
        "  2026-11-16 14:00:00Z  resumed   equinox                                               "
        "by Anna: the disk was replaced",
        "  2026-11-16 14:00:00Z  declined  000000000000                                          "
        "by Anna: no ethics vote",
        "  Not let in, and told nothing:",
        "  day         why       how many",
        "  2026-11-16  unknown      1,000",
        "  2026-11-16  unsigned     7,000",
    ]


def test_keys_of_nobody_known_are_shown_by_what_tells_them_apart(log: Log) -> None:
    text = "\n".join(replace(log, people={}, studies={}).lines())
    assert "SHA256:LAj6vTfB…" in text
    assert "signed by …Qb1bV0Gx7u" not in text
    assert f"signed by …{OFFICER[-12:]}" in text
    assert log.events[0].study[:12] in text
    commented = replace(log.events[0], detail=log.events[0].detail.replace(OFFICER, f"{OFFICER} anna@clinic"))
    assert "signed by Anna" in replace(log, events=(commented,)).lines()[1]


def test_nothing_has_happened() -> None:
    empty = Log(())
    assert empty.lines() == ["  Nothing has happened yet."]
    assert empty.csv() == "time,what,study,name,asker,who,question,received,sent,detail\n"
    assert empty.json() == {"events": [], "strangers": []}


def test_a_spreadsheet_runs_nothing(log: Log) -> None:
    evil = '=cmd|"/c calc"!A1'
    stopped = next(event for event in log.events if event.what == "stopped")
    said = json.dumps({"by": "", "reason": evil})
    forged = replace(stopped, detail=said)
    written = replace(log, events=(*log.events, forged), studies={stopped.study: evil}, people={ANALYST: "@me"}).csv()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert len(rows) == 9
    assert rows[-1]["detail"] == rows[-1]["name"] == f"'{evil}"
    assert rows[0]["who"] == "'@me"
    assert [row["received"] for row in rows] == ["", "198", "198", "198", *[""] * 5]
    assert rows[1] == {
        "time": "2026-11-16 14:00:00Z",
        "what": "answered",
        "study": stopped.study,
        "name": f"'{evil}",
        "asker": ANALYST,
        "who": "'@me",
        "question": log.events[1].question,
        "received": "198",
        "sent": "230",
        "detail": "entry 1",
    }


def test_a_program_gets_everything(log: Log) -> None:
    told = json.loads(json.dumps(log.json()))
    assert told["strangers"][1] == {"day": "2026-11-16", "what": "unsigned", "count": 7000}
    for event, found in zip(log.events, told["events"], strict=True):
        assert found.pop("detail") == event.said
        named = {"name": log.studies.get(event.study), "who": "Institute" if event.asker else None}
        assert found == {
            **named,
            **{
                key: getattr(event, key) for key in ("position", "time", "what", "study", "asker", "question", "digest")
            },
        }


def test_an_event_that_cannot_be_read_is_a_line_like_any_other() -> None:
    damaged = [Event(1, "", what, "", "", "", "{") for what in (*HAPPENINGS, "fire")]
    assert all(read_detail(event.what, event.detail) is None for event in damaged)
    log = Log(tuple(damaged), (StrangerCount("", "", 0),))
    assert len(log.lines()) == len(damaged) + 4
    assert len(log.csv().splitlines()) == len(damaged) + 1


def test_in_one_process_the_log_names_nobody() -> None:
    with Ledger.in_memory() as ledger:
        answer(ledger, study("independent", name="spring"))
        (row,) = Log.of(ledger).lines()[1:]
        assert row.split()[2:4] == ["answered", "spring"]
        assert "test" in Log.of(ledger, studies={ledger.entries()[0].study: "test"}).lines()[1]
