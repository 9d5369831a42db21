"""Holders that do not answer in time: who is left out stays out, and nothing else is left out for it."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.desk.receipts import signed_by
from panbayes.consortium.protocol.codec import decode_question, encode
from panbayes.consortium.protocol.envelope import Refusal, Release
from panbayes.consortium.protocol.queries import Query
from panbayes.errors import HolderFailedError, HolderOutError, HolderRefusedError, InputError
from tests.consortium.desk.desks import INDEPENDENT, VOTING, Clock, DeskOf
from tests.consortium.desk.holders import LetterHolder
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


RUBBISH = "the message is not of the protocol: Expected `object`, got `int`"


def signs_rubbish(holder: LetterHolder) -> None:
    """Let a holder sign what is no answer to the question that it has not answered."""
    (stem,) = [
        stem
        for stem in holder.folder.stems("to", holder.name, "question")
        if not holder.folder.has("from", holder.name, stem, "answer")
    ]
    header, _ = holder.reply(stem)
    holder.send(header, b"rubbish")


@pytest.mark.parametrize("waits", [False, True], ids=["run again", "waiting"])
def test_who_signs_what_is_no_answer_is_missing_at_once(desk_of: DeskOf, clock: Clock, waits: bool) -> None:
    """Where the study goes on without those that are missing: nobody's patience mends a signed answer."""
    desk = desk_of(replace(VOTING, missing="continue", patience=Fraction(2), quorum=1))
    large, small = desk.holders.values()
    desk.waiting()
    for holder in (large, small):
        holder.answer()
    desk.waiting()
    signs_rubbish(small)
    awaited = desk.waiting()
    assert awaited.holders == ("large",), "large has its time, and small is not waited for"
    assert awaited.out == {"small": RUBBISH}
    assert "small is left out, for the answer that it signed cannot be used" in str(awaited)
    if waits:
        ended = threading.Event()

        def answering() -> None:
            while not ended.wait(0.01):
                large.answer()

        thread = threading.Thread(target=answering)
        thread.start()
        network = desk.run(wait=True)
        ended.set()
        thread.join()
    else:
        network = desk.finish()
    assert clock.hours == 0
    assert len(small.folder.stems("to", "small", "question")) == 2, "it is asked nothing more"
    assert network.privacy is not None
    (note,) = [note for note in network.privacy.notes if "small" in note]
    assert note == (
        "Of rounds 1 to 5, small took part in round 1: what it was asked in round 2 counts as spent. "
        f"It signed an answer that cannot be used: {RUBBISH}."
    )
    assert network.receipts is not None
    assert [len(one.answers) for one in network.receipts.holders] == [5, 1]
    assert desk.run() == network, "the reason is in the journal"
    small.send(*small.reply(small.folder.stems("to", "small", "question")[-1]))
    assert desk.run() == network, "and what it signs later is not looked at"


@pytest.mark.parametrize(
    "rule",
    [
        {"missing": "continue", "patience": Fraction(2), "quorum": 2},
        {"missing": "stop", "patience": Fraction(2)},
        {},
    ],
    ids=["too few are left", "stop", "wait"],
)
def test_a_run_that_cannot_do_without_a_holder_stops_by_name(
    desk_of: DeskOf, clock: Clock, rule: dict[str, Any]
) -> None:
    desk = desk_of(replace(INDEPENDENT, **rule))
    desk.waiting()
    signs_rubbish(desk.holders["large"])
    for hours in (0, 3):
        clock.hours += hours
        with pytest.raises(HolderOutError, match=r"^holder large: "):
            desk.run()
    desk.holders["small"].answer()
    with pytest.raises(HolderOutError, match=r"^holder large: "):
        desk.run(wait=True)


def test_an_answer_that_cannot_be_used_ends_the_wait_for_it(desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of somebody who waits for it: what comes in the meantime is an answer."""
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    desk.holders["small"].answer()
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            signs_rubbish(desk.holders["large"])
        assert len(pauses) < 10, "it waits on"

    monkeypatch.setattr("panbayes.consortium.desk.learning.time.sleep", sleep)
    with pytest.raises(HolderOutError, match=r"^holder large: "):
        desk.run(wait=True)
    assert len(pauses) == 3


def test_who_is_out_does_not_hide_what_can_be_mended(desk_of: DeskOf) -> None:
    desk = desk_of(replace(INDEPENDENT, missing="continue", patience=Fraction(2), quorum=1))
    desk.waiting()
    large, small = desk.holders.values()
    signs_rubbish(large)
    gate = small.gate
    small.gate = lambda data: encode(Refusal(decode_question(data).id, "over-budget", "no room"))
    small.answer()
    with pytest.raises(HolderRefusedError, match="holder small"):
        desk.run()
    small.gate = gate
    assert desk.finish().receipts is not None


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
