"""Heads go out with every release: they commit to everything and tell nothing about other studies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.chain import Charge, commitment, loss_text, next_head, reply_digest, sha256
from panbayes.consortium.holder.ledger.events import FIRST_DIGEST
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.notes import notes_digest
from panbayes.consortium.protocol.answers import ParentChoiceAnswer
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Pair
from tests.conftest import Panbayes
from tests.consortium.holder.examples import asked, released, singles, study, votes
from tests.consortium.holder.ledgers import answer, fill, gate

TRIES = 20


class Eve:
    """An analyst with heads before and after one entry of another study, who tries every reply that may lie between."""

    def __init__(self, before: Release, foreign: Charge, after: Release, own: Charge) -> None:
        """Know two releases of one's own, and everything about the foreign question but its reply."""
        self.before, self.foreign, self.after, self.own = before, foreign, after, own

    def guesses(self) -> Iterator[Release]:
        """Yield every reply that the foreign vote may have got: which attribute comes next, after which parent."""
        for child in (1, 2, 3):
            choice = ParentChoiceAnswer(Pair(child, (0,)))
            yield Release(self.foreign.question, self.before.size, "0" * 64, self.before.private, choice)

    def fitting(self, *, salted: bool) -> list[Release]:
        """Return the guesses that lead to the head she got; with a secret in the chain, she can only make one up."""
        return [guess for guess in self.guesses() if self.head_if(guess, salted=salted) == self.after.ledger]

    def head_if(self, guess: Release, *, salted: bool) -> str:
        between = self.next(2, self.foreign, guess, self.before.ledger, salted=salted)
        return self.next(3, self.own, self.after, between, salted=salted)

    def next(self, sequence: int, charge: Charge, release: Release, previous: str, *, salted: bool) -> str:
        said = (charge.study, charge.question, charge.kind, charge.loss, reply_digest(release, previous=previous))
        if not salted:
            *_, loss, reply = said
            return sha256("panbayes entry", sequence, charge.study, charge.question, loss_text(loss), reply, previous)
        committed = commitment(Charge(*said), secret=bytes(32), notes=notes_digest([]), events=FIRST_DIGEST)
        return next_head(committed, sequence=sequence, previous=previous)


def world(ledger: Ledger, number: int) -> tuple[Eve, Release]:
    """Let Eve ask, then somebody else vote, then Eve ask; return her and what the other was told."""
    one, two = study("independent", name=f"eve {number}"), study("independent", name=f"eve {number} again")
    other = study(name=f"other {number}")
    vote = votes(other)[0]
    before, secret, after = (
        released(gate(ledger, agreed).ask(asked(query, agreed)))
        for agreed, query in ((one, singles(one)), (other, vote), (two, singles(two)))
    )
    foreign, own = ledger.entries()[-2:]
    return Eve(before, foreign, after, own), secret


def in_version_1(eve: Eve, secret: Release) -> Eve:
    """Return what she would have received had the chain no secrets, as in the first version of the ledger."""
    between = eve.next(2, eve.foreign, secret, eve.before.ledger, salted=False)
    head = eve.next(3, eve.own, eve.after, between, salted=False)
    return Eve(eve.before, eve.foreign, msgspec.structs.replace(eve.after, ledger=head), eve.own)


def test_heads_do_not_tell_what_another_study_was_told(tmp_path: Path) -> None:
    """The attack works without a salt, every time, and with one never, whichever construction Eve believes in."""
    for number in range(TRIES):
        with Ledger.open(tmp_path / f"{number}.ledger", create=True) as ledger:
            eve, secret = world(ledger, number)
        (named,) = in_version_1(eve, secret).fitting(salted=False)
        assert named.answer == secret.answer
        assert eve.fitting(salted=False) == []
        assert eve.fitting(salted=True) == []


def test_every_entry_has_a_secret_of_its_own(tmp_path: Path) -> None:
    fill(tmp_path / "one.ledger", 2)
    fill(tmp_path / "two.ledger", 2)
    secrets = set()
    for name in ("one", "two"):
        with Ledger.read(tmp_path / f"{name}.ledger") as ledger:
            secrets |= {entry.secret for entry in ledger.entries()}
    assert len(secrets) == 16
    assert {len(secret) for secret in secrets} == {32}


def test_a_replay_returns_its_old_head(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "a.ledger", create=True) as ledger:
        first = answer(ledger, study(name="one"))
        answer(ledger, study(name="two"))
        assert answer(ledger, study(name="one")) == first


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The ledger of a holder north."""
    path = Cabinet.in_state(tmp_path / "state").path("north")
    path.parent.mkdir(parents=True)
    fill(path, 1)
    return path


def test_show_prints_commitments_and_heads_and_nothing_that_can_be_guessed(path: Path, panbayes: Panbayes) -> None:
    shown = json.loads(panbayes("holder", "ledger", "show", str(path), "--json").stdout)[0]
    assert [set(entry) for entry in shown["entries"]] == [{"sequence", "commitment", "head"}] * 4
    head = shown["first"]
    for entry in shown["entries"]:
        head = next_head(entry["commitment"], sequence=entry["sequence"], previous=head)
        assert head == entry["head"]
    assert head == shown["head"]
    with Ledger.read(path) as ledger:
        hidden = [text for entry in ledger.entries() for text in (entry.question, entry.reply)]
    assert not [text for text in hidden if text in json.dumps(shown)]


def test_one_entry_is_opened_to_an_auditor_and_the_others_stay_hidden(path: Path, panbayes: Panbayes) -> None:
    told = panbayes("holder", "ledger", "open", "north", "2", "--state", "state", "--json").stdout
    opened = json.loads(told)
    loss = json.dumps(opened["loss"], separators=(",", ":"), sort_keys=True)
    said = [opened["secret"], opened["study"], opened["question"], loss, opened["reply"], opened["notes"]]
    assert opened["commitment"] == plain_hash(["panbayes commitment", *said, opened["events"]])
    assert opened["head"] == plain_hash(["panbayes entry", 2, opened["commitment"], opened["previous"]])
    with Ledger.read(path) as ledger:
        entries = ledger.entries()
    assert (opened["previous"], opened["head"]) == (entries[0].head, entries[1].head)
    assert not [e for e in (entries[0], *entries[2:]) if e.secret.hex() in told or e.reply in told]
    lines = panbayes("holder", "ledger", "open", "north", "2", "--state", "state").stdout
    assert f"secret      {opened['secret']}" in lines
    done = panbayes("holder", "ledger", "open", "north", "5", "--state", "state")
    assert (done.returncode, done.stderr) == (2, "error: ENTRY: found 5; the ledger has the entries 1 to 4\n")


def plain_hash(parts: list[object]) -> str:
    """Hash as an auditor would who has read how."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
