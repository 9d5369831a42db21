"""Letters that got no answer: each is counted once, by whichever run looks at it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from panbayes.consortium.agent import strangers
from panbayes.consortium.agent.answering import Agent
from panbayes.consortium.agent.carrier import Arrived
from panbayes.consortium.agent.serving import answer_all
from panbayes.consortium.agent.strangers import Strangers
from panbayes.consortium.agent.worker import Worker
from panbayes.consortium.post.letters import Signed
from tests.consortium.agent.exchanges import Exchange


def run(exchange: Exchange) -> Agent:
    """Look at everything once, as `panbayes holder answer` does."""
    agent = Agent(
        exchange.holder,
        exchange.carrier,
        Worker(exchange.holder),
        say=pytest.fail,
        note=lambda _line: None,
        again=False,
    )
    answer_all(agent)
    return agent


def test_a_letter_that_lies_there_counts_once_however_often_somebody_looks(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path)
    exchange.propose()
    exchange.ask()
    exchange.ask(number=2, holder=exchange.holder.analysts[0].key.fingerprint)
    for _ in range(3):
        agent = run(exchange)
        assert (agent.did.turned_away, len(agent.did.waiting)) == (1, 1), "each run says what lies there"
        assert exchange.strangers() == {"misaddressed": 1, "unapproved": 1}
    exchange.ask(number=3)
    run(exchange)
    assert exchange.strangers() == {"misaddressed": 1, "unapproved": 2}, "another letter is another"
    path = exchange.holder.state_folder / "post" / "counted"
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_text().split()) == 3
    path.write_bytes(b"rubbish\n\xff")
    run(exchange)
    assert exchange.strangers() == {"misaddressed": 2, "unapproved": 4}, "what cannot be read has been forgotten"


def test_of_a_flood_the_first_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers, "MOST_KNOWN", 3)
    exchange = Exchange(tmp_path)
    letters = [Arrived("north", f"{number}", "question", Signed(b"alike", "a signature")) for number in range(5)]
    for _ in range(2):
        known = Strangers(exchange.holder)
        for letter in letters:
            known.count("unknown", letter)
        known.write(exchange.holder)
        known.write(exchange.holder)
    assert len((exchange.holder.state_folder / "post" / "counted").read_text().split()) == 3
    assert exchange.strangers() == {"unknown": 10}
    known = Strangers(exchange.holder)
    for letter in letters[2:]:
        known.count("unknown", letter)
    known.write(exchange.holder)
    assert exchange.strangers() == {"unknown": 10}
