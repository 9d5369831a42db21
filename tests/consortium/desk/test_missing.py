"""Holders that do not answer in time: who is left out stays out, and nothing else is left out for it."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.desk.receipts import signed_by
from panbayes.consortium.protocol.envelope import Release
from panbayes.consortium.protocol.queries import Query
from panbayes.errors import HolderFailedError, InputError
from tests.consortium.desk.desks import INDEPENDENT, VOTING, Clock, DeskOf
from tests.consortium.studies import SCHEMA


def test_a_holder_that_is_left_out_stays_out(desk_of: DeskOf, clock: Clock) -> None:
    """Its answer comes late, and a journal that knows better does not look at it."""
    study = replace(VOTING, missing="continue", patience=Fraction(2), quorum=1)
    desk = desk_of(study)
    large, small = desk.holders.values()
    desk.waiting()
    large.answer()
    clock.hours += 1.9
    assert desk.waiting().holders == ("small",)
    clock.hours += 0.2
    assert desk.waiting().holders == ("large",), "small is out"
    small.answer()
    network = desk.finish()
    assert len(small.folder.stems("to", "small", "question")) == 1, "it is asked nothing more"
    assert network.receipts is not None
    assert [(one.name, len(one.answers)) for one in network.receipts.holders] == [("large", 5), ("small", 0)]
    told = [re.sub(r"SHA256:\S{43}", "KEY", line) for line in signed_by(network.receipts)]
    assert told == ["signed by large (KEY), 5 answers", "no answer of small (KEY) was used"]
    assert network.privacy is not None
    assert any("small took part in none" in note for note in network.privacy.notes)
    assert desk.run() == network
    # The patience of the next asking begins when it is first open.
    shutil.rmtree(desk.post)
    desk.post.mkdir()
    assert desk.run() == network


def test_a_journal_lost_after_somebody_was_left_out_does_not_mix_questions(desk_of: DeskOf, clock: Clock) -> None:
    """The folder holds letters under numbers that now ask something else: those numbers are passed over."""
    study = Study("a", SCHEMA, "noisy-majority-voting", 1, missing="continue", patience=Fraction(2), quorum=1)
    desk = desk_of(study)
    large, small = desk.holders.values()
    desk.waiting()
    large.answer()
    clock.hours += 3
    desk.waiting()
    small.answer()
    large.answer()
    desk.waiting()
    shutil.rmtree(desk.state)
    network = desk.finish()
    assert network.receipts is not None
    assert [len(one.answers) for one in network.receipts.holders] == [5, 5]
    assert desk.run() == network
    for holder in (large, small):
        assert len(holder.answered) == len(set(holder.answered))


def test_waiting_ends_when_the_study_stops(desk_of: DeskOf, clock: Clock) -> None:
    desk = desk_of(replace(INDEPENDENT, missing="stop", patience=Fraction(1)))
    desk.waiting()
    desk.holders["small"].answer()
    timer = threading.Timer(0.2, clock.jump, (1.5,))
    timer.start()
    with pytest.raises(HolderFailedError, match="holder large: has not answered within 1 hour"):
        desk.run(wait=True)
    timer.join()


def test_waiting_goes_on_past_the_patience_while_too_few_are_left(
    desk_of: DeskOf, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_of(replace(INDEPENDENT, missing="continue", patience=Fraction(1), quorum=1))
    desk.waiting()
    clock.hours += 2
    timer = threading.Timer(0.3, desk.holders["small"].answer)
    sleep, asked, slept = time.sleep, list[str](), list[float]()
    ask = Federation.ask_each

    def asking(self: Federation, queries: Mapping[str, Query], *, round_number: int) -> dict[str, Release]:
        asked.append("asked")
        return ask(self, queries, round_number=round_number)

    def sleeping(seconds: float) -> None:
        slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr("panbayes.consortium.desk.learning.time.sleep", sleeping)
    monkeypatch.setattr(Federation, "ask_each", asking)
    timer.start()
    network = desk.run(wait=True)
    timer.join()
    assert network.receipts is not None
    assert [len(one.answers) for one in network.receipts.holders] == [0, 1]
    assert slept
    assert len(asked) <= 3, "it is asked again when there is news, and not before"


def test_trouble_on_this_side_leaves_nobody_out(desk_of: DeskOf, clock: Clock) -> None:
    desk = desk_of(replace(INDEPENDENT, missing="continue", patience=Fraction(1), quorum=1))
    desk.waiting()
    desk.holders["small"].answer()
    clock.hours += 2
    (stem,) = desk.holders["large"].folder.stems("to", "large", "question")
    path = desk.post / "to-large" / f"{stem}.question"
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"--post: .*to-large.* cannot be written"):
        desk.run()
    path.rmdir()
    network = desk.run()
    assert network.receipts is not None
    assert [len(one.answers) for one in network.receipts.holders] == [0, 1]
