"""A process that computes and gets stuck is ended when its time is over; the agent goes on, and answers once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.agent import worker as worker_module
from panbayes.consortium.agent.answering import Agent
from panbayes.consortium.agent.pipe import Done, Job, Promise, Said, Taken
from panbayes.consortium.agent.pipe_end import TIMES, PipeEnd, StuckError, most_seconds, most_to_begin
from panbayes.consortium.agent.worker import Worker, _Process
from tests.conftest import ROOT
from tests.consortium.agent.exchanges import Exchange
from tests.effort import soak

JOB = Job("ab" * 32, "cd" * 32, 0, "somebody", b"a question")


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    made = Exchange(tmp_path, rest="[time]\ngrid = 0\n")
    made.approve()
    return made


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_MODULE", "tests.consortium.agent.hanging")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def test_the_time_that_a_process_has_follows_from_its_promise() -> None:
    assert [most_to_begin(records) for records in (None, 3_600_000, 7_200_000)] == [3600, 3600, 7200]
    assert [most_seconds(promised) for promised in (0, 59, 61, 3600)] == [600, 600, 610, 36_000]


def test_an_end_of_a_pipe_waits_until_its_moment_and_no_longer() -> None:
    reading, writing = os.pipe()
    end, other = PipeEnd(reading), PipeEnd(writing)
    other.write(b"four")
    assert end.read(4) == b"four"
    other.write(b"few")
    end.until = other.until = 0.0
    with pytest.raises(StuckError):
        end.read(4)
    with pytest.raises(StuckError):
        other.write(bytes(2**20))
    end.until = float("inf")
    other.close()
    assert len(end.read(2**20)) < 2**20, "what was there, then its end"
    end.close()


@pytest.mark.usefixtures("hanging")
@pytest.mark.parametrize("how", ["deaf", "mute", "reading", "promised", "half a word"])
def test_a_process_that_is_stuck_is_killed(exchange: Exchange, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ignores whatever asks it to stop, and one that reads nothing is stuck too."""
    monkeypatch.setenv("PANBAYES_TEST_HANGS", how)
    late = how in ("promised", "half a word")
    given, numbers, give = list[float](), set[int](), _Process.give

    def giving(process: _Process, seconds: float) -> float:
        """Give all the time there is until the process is where it gets stuck."""
        given.append(seconds)
        numbers.add(process.number)
        stuck_at = {"deaf": 1, "mute": 1, "reading": 2}.get(how, 3)
        return give(process, 1.0 if len(given) == stuck_at else seconds)

    monkeypatch.setattr(_Process, "give", giving)
    worker = Worker(exchange.holder)
    job = Job(JOB.study, JOB.letter, 0, JOB.asker, bytes(2**20)) if how == "deaf" else JOB
    *before, last = worker.work(job)
    assert before == {"reading": [Taken()]}.get(how, [Taken(), Promise(0.001)] if late else [])
    assert isinstance(last, Done)
    assert (last.became, last.reply, last.stuck) == ("withheld", b"", TIMES)
    assert "had said nothing for 1 seconds and was ended" in last.trouble
    assert given == {"deaf": [3600], "mute": [3600], "reading": [3600, 3600]}.get(how, [3600, 3600, 600])
    assert worker.process is None
    (number,) = numbers
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


@soak
@pytest.mark.usefixtures("hanging")
def test_what_was_charged_before_it_got_stuck_is_what_the_question_gets(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its answer is in the ledger: it leaves later, from there, once; and nothing is charged again."""
    mark, given = tmp_path / "mark", list[float]()
    monkeypatch.setenv("PANBAYES_TEST_HANGS", str(mark))

    def most_seconds_once_stuck(promised: float) -> float:
        """Give the first process all the time until it is stuck, and then little more."""
        given.append(promised)
        if len(given) > 1:
            return most_seconds(promised)
        until = time.monotonic() + 600
        while not mark.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        return 0.5

    monkeypatch.setattr(worker_module, "most_seconds", most_seconds_once_stuck)
    worker = Worker(exchange.holder)
    told, left = list[str](), dict[str, int]()
    stem = exchange.put(*exchange.question())
    try:
        for _ in range(2):
            agent = Agent(
                exchange.holder, exchange.carrier, worker, say=told.append, note=lambda _line: None, again=False
            )
            agent.turn(seconds=0.0)
            left = dict(agent.did.left)
            if not left.get("repeated"):
                assert exchange.answer(stem) is None
                assert exchange.entries() == 1
    finally:
        worker.close()
    assert left["repeated"] == 1
    assert exchange.answer(stem) is not None
    assert exchange.entries() == 1
    assert "was ended" in told[0]
    with exchange.holder.ledger() as ledger:
        assert [event.what for event in ledger.events()][-3:] == ["answered", "overrun", "repeated"]


class Stuck:
    """A worker whose process is stuck every time."""

    def __init__(self) -> None:
        self.asked = 0

    def work(self, _job: Job) -> Iterator[Said]:
        self.asked += 1
        yield Done("withheld", trouble="it was ended", stuck=TIMES)


@pytest.mark.parametrize("again", [True, False])
def test_the_second_time_stops_the_study_whatever_the_grid(exchange: Exchange, again: bool) -> None:
    stuck, told = Stuck(), list[str]()
    options: dict[str, Any] = {"say": told.append, "note": lambda _line: None}
    exchange.put(*exchange.question())
    for _ in range(4):
        agent = Agent(exchange.holder, exchange.carrier, stuck, again=again, **options)
        agent.turn(seconds=0.0)
    assert stuck.asked == 2
    with exchange.holder.ledger() as ledger:
        events = [(event.what, (event.said or {}).get("needed")) for event in ledger.events()][-3:]
    assert events == [("overrun", TIMES), ("overrun", TIMES), ("stopped", None)]
    assert "the study is stopped until an officer resumes it" in told[-1]
