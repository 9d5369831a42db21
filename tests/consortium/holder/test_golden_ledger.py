"""A ledger of every version is read, means the same, gives the same bytes, and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest

from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.ledger.versions import newest
from panbayes.consortium.protocol.cells import pack_cells
from panbayes.consortium.protocol.codec import decode_question
from panbayes.consortium.protocol.queries import (
    Count,
    FormerChoiceQuery,
    GroupedTablesQuery,
    Grouping,
    TableCandidate,
    TableChoiceQuery,
    ratio,
)
from panbayes.dp.secure import SecureNoise
from panbayes.errors import LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.tables.sources.file import File
from panbayes.tables.table import Table
from tests.conftest import Panbayes
from tests.consortium.holder.examples import asked, refused, released, singles, study
from tests.consortium.holder.golden_ledger import EARLIER, EXCHANGES, FOLDER, Golden, gate, layout, records, replay

RHO = ZeroConcentrated(Fraction(243559, 10**7))
"""What (ε, δ) = (1, 10⁻⁶) grants."""

DECLARED = Dataset(File("/data/golden.csv"), None, changing=False, delta=Fraction(1, 10**6))


def test_there_is_one_of_every_version() -> None:
    files = {path.name for path in FOLDER.glob("version-*.ledger")}
    assert files == {f"version-{number}.ledger" for number in range(1, newest() + 1)}


@pytest.fixture(params=range(1, newest() + 1))
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


@pytest.fixture
def path(golden: Golden, tmp_path: Path) -> Path:
    return golden.copy(tmp_path)


@pytest.mark.parametrize("way", [Ledger.open, Ledger.read])
def test_it_says_what_it_said(way: Callable[[Path], Ledger], golden: Golden, path: Path) -> None:
    with way(path) as ledger:
        assert verify(ledger, heads=golden.heads) == []
        assert [entry.head for entry in ledger.entries()] == golden.heads
        assert {entry.commitment is None for entry in ledger.entries()} == {golden.version == 1}
        assert [entry.kind for entry in ledger.entries()] == [
            *["vote"] * 3,
            "counts",
            "model",
            "counts",
            "tables",
            "choice",
            *["counts"] * (golden.version > 4),
            *["proposal"] * (golden.version > 5),
        ]
        assert [entry.events is None for entry in ledger.entries()] == [True] * 8 + [False] * max(golden.version - 4, 0)
        summary = ledger.summary()
        with ledger.transaction(write=False) as transaction:
            caps = transaction.caps()
            promises = transaction.promises()
    assert (summary.first, summary.head) == (golden.first, golden.heads[-1])
    assert summary.unsalted == (len(golden.heads) if golden.version == 1 else 0)
    assert summary.looked == (() if golden.version == 1 else ("look",))
    failed = [failure.name for failure in summary.failures]
    assert failed == (["autumn", "frost", "frost", "frost"] if golden.version > 2 else [])
    assert len(summary.paused) == (golden.version > 2)
    first, later = summary.studies[:4], summary.studies[4:]
    tenth = Pure(Fraction(1, 10))
    assert [study.closed for study in first] == [False, False, False, golden.version > 1]
    assert [(study.name, study.grant, study.spent, study.entries) for study in later] == (
        [("equinox", tenth, tenth, 1), ("bounds of age", tenth, tenth, 1)][: max(golden.version - 4, 0)]
    )
    assert summary.dataset == (DECLARED if golden.version > 5 else None)
    assert (summary.blocks, summary.renumbered) == ((), False)
    assert summary.delta == (Fraction(1, 10**7) if golden.version > 5 else 0)
    assert [(study.name, study.grant, study.spent, study.entries) for study in first] == [
        ("spring", Pure(Fraction(1)), Pure(Fraction(1)), 4),
        ("summer", Pure(Fraction(3, 10)), Pure(Fraction(3, 10)), 1),
        ("autumn", Pure(Fraction(1, 10)), Pure(Fraction(1, 10)), 1),
        ("winter", RHO, ZeroConcentrated(RHO.rho * 3 / 4), 2),
    ]
    squares = 1 + Fraction(9, 100) + Fraction(1, 100) + Fraction(len(later), 100)
    assert summary.spent == ZeroConcentrated(squares / 2 + RHO.rho * 3 / 4)
    assert caps == [(0, Pure(Fraction(5))), (6, None), (6, ZeroConcentrated(Fraction(2)))]
    assert promises == {("replace", None, None)}


def test_events_and_strangers_are_what_they_were(path: Path, golden: Golden) -> None:
    with Ledger.read(path) as ledger:
        events, strangers = ledger.events(), ledger.strangers()
    if golden.version < 5:
        assert (events, strangers) == ((), ())
        return
    analyst = "SHA256:LAj6vTfBVZxJmZRWVB5uBZGYkXvQhT0FqkCqUQ5AK8w"
    officer = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8Yd3Jg0O3C3Wc4q2fZ5yC0d0mJm2m0q8Qb1bV0Gx7u"
    asked_for = decode_question(golden.exchanges[-1].question)
    proposed, events = events[8:], events[:8]
    assert [(event.what, event.said) for event in proposed] == (
        [("answered", {"entry": 10, "received": 184, "sent": 18})] if golden.version > 5 else []
    )
    equinox, declined = {event.study for event in events[:-1]}, events[-1].study
    assert (equinox, declined) == ({asked_for.study}, "0" * 64)
    assert {event.asker for event in events[:5]} == {analyst}
    assert {event.asker for event in events[5:]} == {""}
    assert [event.question == asked_for.id for event in events] == [False, True, True, False, True, *[False] * 3]
    assert {event.time[:11] for event in events} == {"2026-11-16 "}
    signature = "-----BEGIN SSH SIGNATURE-----\nnone\n-----END SSH SIGNATURE-----\n"
    size, sent = len(golden.exchanges[-1].question), len(golden.exchanges[-1].reply)
    assert [(event.what, event.said) for event in events] == [
        ("approved", {"key": officer, "statement": "panbayes approval 1\nstudy equinox\n", "signature": signature}),
        ("answered", {"entry": 9, "received": size, "sent": sent}),
        ("repeated", {"received": size, "sent": sent}),
        ("refused", {"code": "not-in-study", "received": size, "sent": 150}),
        ("overrun", {"promised": 1, "needed": 3}),
        ("stopped", {"by": "agent", "reason": "two answers took longer than was promised"}),
        ("resumed", {"by": officer, "reason": "the disk was replaced"}),
        ("declined", {"by": officer, "reason": "no ethics vote"}),
    ]
    assert [(found.what, found.count) for found in strangers] == [("unknown", 1), ("unsigned", 7)]


def test_old_questions_get_the_same_bytes_and_cost_nothing(golden: Golden, path: Path) -> None:
    with Ledger.open(path) as ledger:
        assert replay(ledger, golden.exchanges) == [exchange.reply for exchange in golden.exchanges]
        assert [entry.head for entry in ledger.entries()] == golden.heads


def test_a_study_that_an_earlier_version_began_is_told_how_to_end(golden: Golden, path: Path) -> None:
    """Of "winter" three quarters are spent, on a choice among others: nothing new is answered, and what was is."""
    *others, choice = golden.exchanges[: len(EXCHANGES)]
    winter, (before,) = choice.study, [found for found in others if found.study == choice.study]
    former, first = decode_question(choice.question), decode_question(before.question)
    assert isinstance(former.query, FormerChoiceQuery)
    assert isinstance(first.query, GroupedTablesQuery)
    small = ratio(winter.grant.amount / 100)
    with Ledger.open(path) as ledger:
        door = gate(ledger, winter)
        for query in (
            msgspec.structs.replace(former.query, loss=small),
            msgspec.structs.replace(first.query, loss=small),
            choices(winter.schema.sizes, loss=small),
        ):
            assert refused(door.ask(asked(query, winter, 9))) == ("not-in-study", EARLIER)
        assert [door.ask(exchange.question) for exchange in (before, choice)] == [before.reply, choice.reply]
        assert [entry.head for entry in ledger.entries()] == golden.heads
        assert verify(ledger, heads=golden.heads) == []


def test_a_study_that_an_earlier_version_began_and_left_before_its_first_choice_is_told_too(tmp_path: Path) -> None:
    """It asked for the total in the same words, then for single attributes at another loss; what is left is kept."""
    *_, choice = EXCHANGES
    agreed = replace(choice.study, name="left early")
    groupings = tuple(Grouping(a, ()) for a in range(len(agreed.schema)))
    total = ((),), (1,)
    singles = tuple((a,) for a in range(len(agreed.schema))), (1,) * len(agreed.schema)

    def ask(what: tuple[tuple[tuple[int, ...], ...], tuple[int, ...]], part: int, number: int) -> bytes:
        loss = ratio(agreed.grant.amount / part)
        query = GroupedTablesQuery("zcdp", "replace", groupings if what == singles else (), *what, loss)
        return asked(query, agreed, number)

    with Ledger.open(tmp_path / "left.ledger", create=True) as ledger:
        door = Gate(records(agreed.schema), agreed, ledger, SecureNoise())
        first = door.ask(ask(total, 200, 0))
        released(door.ask(ask(singles, 2, 1)))
        spent = ledger.summary().spent
        assert door.ask(ask(total, 200, 0)) == first
        code, text = refused(door.ask(ask(singles, 3, 1)))
        assert code == "not-in-study"
        assert text.startswith("another question for tables was answered in round 1 of this study, by an earlier")
        assert text.endswith("or have the holders close it (panbayes holder ledger close) and agree on a new one")
        assert ledger.summary().spent == spent
        released(door.ask(ask(singles, 4, 3)))
        choosing = choices(agreed.schema.sizes, loss=ratio(agreed.grant.amount / 8))
        released(door.ask(asked(choosing, agreed, 3)))
        assert refused(door.ask(asked(msgspec.structs.replace(choosing, least=1), agreed, 3)))[0] == "not-in-study"


def test_a_new_study_beside_it_is_answered_and_is_not_asked_in_the_former_way(path: Path) -> None:
    *_, choice = EXCHANGES
    agreed = replace(choice.study, name="next winter")
    former = decode_question(choice.question).query
    assert isinstance(former, FormerChoiceQuery)
    with Ledger.open(path) as ledger:
        ledger.set_cap(None)
        door = gate(ledger, agreed)
        assert refused(door.ask(asked(former, agreed))) == ("not-in-study", EARLIER)
        released(door.ask(asked(choices(agreed.schema.sizes, loss=ratio(agreed.grant.amount / 2)), agreed)))
        assert refused(door.ask(asked(former, agreed))) == ("not-in-study", EARLIER)
        assert verify(ledger) == []


def choices(sizes: tuple[int, ...], *, loss: str) -> TableChoiceQuery:
    """A choice of one pair, as it is asked now."""
    own = (Grouping(0, ()), Grouping(1, ()))
    cells = pack_cells(np.zeros(sizes[0] * sizes[1], dtype=np.int64))
    pair = (TableCandidate((0, 1), 0, 0),)
    return TableChoiceQuery("zcdp", "replace", own, pair, cells, "forest", (), (Count(1, 0),), 0, "1/5", loss)


def test_it_belongs_to_the_same_records(path: Path) -> None:
    agreed = EXCHANGES[0].study
    codes = records(agreed.schema).codes.copy()
    codes[0, 0] = 1 - codes[0, 0]
    with Ledger.open(path) as ledger:
        gate(ledger, agreed)
        with pytest.raises(LedgerError, match="belongs to other records"):
            Gate(Table(agreed.schema, codes), agreed, ledger, SecureNoise())


def test_it_goes_on_from_where_it_stands_and_salts_what_is_new(golden: Golden, path: Path) -> None:
    agreed = study("independent", "1/10", schema=EXCHANGES[0].study.schema)
    with Ledger.open(path) as ledger:
        release = released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
        assert ledger.summary().entries == len(golden.heads) + 1
        assert ledger.entries()[-1].commitment is not None
        assert verify(ledger, heads=[*golden.heads, release.ledger]) == []


def test_a_new_ledger_has_the_layout_of_an_old_one(path: Path) -> None:
    new = path.with_name("new.ledger")
    for one in (path, new):
        Ledger.open(one, create=True).close()
    assert layout(new) == layout(path)


def test_the_command_line_shows_and_verifies_it_and_names_what_is_unsalted(
    golden: Golden, path: Path, panbayes: Panbayes
) -> None:
    shown = json.loads(panbayes("holder", "ledger", "show", path.name, "--json").stdout)
    assert [entry["head"] for entry in shown[0]["entries"]] == golden.heads
    heads = [argument for head in golden.heads for argument in ("--head", head)]
    done = panbayes("holder", "ledger", "verify", path.name, *heads)
    assert done.returncode == 0, done.stderr
    for told in (done.stdout, panbayes("holder", "ledger", "show", path.name).stdout):
        assert ("Entries 1 to 8 are unsalted" in told) == (golden.version == 1)
    shown_failed = "  3 answers to frost failed; it is paused until you look: panbayes holder ledger resume LEDGER"
    assert (shown_failed in told) == (golden.version > 2)
