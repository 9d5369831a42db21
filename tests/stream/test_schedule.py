"""Releases by the clock: once a period, never more than planned, whatever the clock and the processes do."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from panbayes.errors import InputError
from panbayes.stream.guarantee.calibration import MAX_RELEASES
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.portfolio import portfolio
from panbayes.stream.saved_setup import load_setup, save_setup
from panbayes.stream.schedule import SCHEDULES, due_of, moment, read_schedule
from panbayes.stream.setup import StreamSetup, configure
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import WHOLE, Window
from tests.running import environment

DAY = 86_400
NOON = 20_000 * DAY + DAY // 2


class Clock:
    """A clock that a test sets."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(NOON)
    monkeypatch.setattr("panbayes.stream.schedule.time.time", found)
    return found


def daily(releases: int = 3, window: Window = WHOLE) -> StreamSetup:
    plain = configure(1000, statistic=Density(), epsilon=4, releases=releases, window=window)
    return replace(plain, schedule=SCHEDULES["daily"])


def started(path: Path, setup: StreamSetup) -> StreamEstimator[Answer]:
    return StreamEstimator[Answer].start(path, setup)


def test_periods_begin_where_people_expect_them() -> None:
    for name, begin in {
        "hourly": datetime(2026, 11, 18, 15, tzinfo=UTC),
        "daily": datetime(2026, 11, 18, tzinfo=UTC),
        "weekly": datetime(2026, 11, 16, tzinfo=UTC),
    }.items():
        schedule, at = SCHEDULES[name], datetime(2026, 11, 18, 15, 59, 59, tzinfo=UTC).timestamp()
        assert schedule.begin(schedule.period(at)) == begin.timestamp()
        assert schedule.period(begin.timestamp()) == schedule.period(at) == schedule.period(begin.timestamp() - 1) + 1
    assert datetime(2026, 11, 16, tzinfo=UTC).strftime("%A") == "Monday"
    with pytest.raises(InputError, match='did you mean "daily"'):
        read_schedule("dayly")


def test_one_release_a_day_and_no_more_than_planned(clock: Clock, tmp_path: Path) -> None:
    with started(tmp_path / "s", daily()) as stream:
        with pytest.raises(InputError, match="nothing is due before 2024-10-05 00:00 UTC"):
            stream.estimate()
        assert stream.releases_left == 3
        clock.at = NOON + DAY / 2
        first = stream.estimate()
        assert (first.fresh, first.releases_left) == (True, 2)
        for at in (clock.at, clock.at + DAY - 1):
            clock.at = at
            again = stream.estimate()
            assert (again.fresh, again.facts()["statistic"]) == (False, first.facts()["statistic"])
        # Two days nobody asked: what was missed is kept, and not made up for at once.
        clock.at += 2 * DAY
        assert (stream.estimate().fresh, stream.estimate().fresh, stream.releases_left) == (True, False, 1)
        clock.at += DAY
        assert (stream.estimate().fresh, stream.releases_left) == (True, 0)
        clock.at += DAY
        assert stream.estimate().fresh is False
        assert stream.releases_left == 0


def test_a_clock_that_goes_back_releases_nothing_twice(clock: Clock, tmp_path: Path) -> None:
    with started(tmp_path / "s", daily(9)) as stream:
        clock.at += DAY
        assert stream.estimate().fresh
        for back in (1, 2, 400, 19_000):
            clock.at = NOON + DAY - back * DAY
            assert stream.estimate().fresh is False
            found = stream.due()
            assert found is not None
            assert (found.now, found.backwards, found.next) == (False, True, (20_002) * DAY)
        clock.at = NOON + DAY
        assert stream.estimate().fresh is False
        clock.at = NOON + 2 * DAY
        assert stream.estimate().fresh is True
        assert stream.releases_left == 7


def test_what_is_due_and_when_the_plan_ends() -> None:
    day = SCHEDULES["daily"]
    fresh = due_of(day, 20_000, 3, NOON)
    assert (fresh.now, fresh.next, fresh.last) == (False, 20_001 * DAY, 20_003 * DAY)
    due = due_of(day, 20_000, 3, NOON + DAY)
    assert (due.now, due.next, due.last, due.backwards) == (True, 20_001 * DAY, 20_003 * DAY, False)
    late = due_of(day, 20_000, 3, NOON + 9 * DAY)
    assert (late.now, late.last) == (True, 20_011 * DAY)
    assert due_of(day, 20_000, 0, NOON + DAY).now is False
    assert due_of(day, 20_000, None, NOON + DAY).last is None


def test_turns_go_by_the_clock_and_releases_are_free(clock: Clock, tmp_path: Path) -> None:
    with started(tmp_path / "s", daily(2, Window(anew=True))) as stream:
        assert stream.estimate().fresh
        with pytest.raises(InputError, match="nothing is due before 2024-10-05 00:00 UTC"):
            stream.turn()
        assert (stream.turns, stream.releases_left) == (0, 1)
        clock.at += DAY
        # A release after midnight is still one of the old period, and does not take its turn away.
        assert stream.estimate().fresh
        stream.turn()
        assert (stream.turns, stream.releases_left) == (1, 2)
        assert stream.estimate().fresh
        with pytest.raises(InputError, match="nothing is due"):
            stream.turn()
        clock.at -= 5 * DAY
        with pytest.raises(InputError, match="nothing is due"):
            stream.turn()
        clock.at += 6 * DAY
        stream.turn()
        assert stream.turns == 2


def test_a_turn_that_is_not_due_forgets_nothing(clock: Clock, tmp_path: Path) -> None:
    with started(tmp_path / "s", daily(1, Window(anew=True))) as stream:
        stream.update(range(1000))
        before = (tmp_path / "s").read_bytes()
        with pytest.raises(InputError, match="nothing is due"):
            stream.turn()
        assert (tmp_path / "s").read_bytes() == before
    assert clock.at == NOON


RUNNER = """
import sys, time
from pathlib import Path
from panbayes.stream import schedule
from panbayes.stream.stream_estimator import StreamEstimator
first, count = float(sys.argv[2]), int(sys.argv[3])
fresh = 0
for day in range(count):
    for _ in range(4):
        schedule.time.time = lambda: first + day * 86400
        with StreamEstimator.open(sys.argv[1], writing=False) as stream:
            fresh += stream.estimate().fresh
print(fresh)
"""


def test_several_processes_release_once_a_day(clock: Clock, tmp_path: Path) -> None:
    """Two processes with clocks of their own go through the same six days; twenty releases were planned."""
    started(tmp_path / "s", daily(20)).close()
    command = [sys.executable, "-c", RUNNER, str(tmp_path / "s"), str(clock.at + DAY), "6"]
    running = [
        subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    found = [process.communicate(timeout=300) for process in running]
    assert [errors for _, errors in found] == ["", ""]
    # A process that is ahead makes the days of those behind pass: no day twice.
    total = sum(int(output) for output, _ in found)
    left = inspect_state(tmp_path / "s").left
    assert total == 20 - left
    assert 1 <= total <= 6


def test_a_state_keeps_its_schedule(clock: Clock, tmp_path: Path) -> None:
    setup = daily()
    saved = save_setup(setup)
    assert saved.header.endswith(b',"at":"daily"}')
    assert load_setup(saved) == setup
    with pytest.raises(InputError):
        load_setup(Saved(saved.header.replace(b'"daily"', b'"yearly"')))
    started(tmp_path / "s", setup).close()
    assert inspect_state(tmp_path / "s").period == 20_000
    clock.at += 3 * DAY
    with started_again(tmp_path / "s") as stream:
        assert stream.estimate().fresh
    assert inspect_state(tmp_path / "s").period == 20_003


def started_again(path: Path) -> StreamEstimator[Answer]:
    return StreamEstimator[Answer].open(path, writing=False)


@pytest.mark.parametrize("scheduled", [True, False])
def test_a_record_that_contradicts_the_schedule_is_refused(scheduled: bool, tmp_path: Path) -> None:
    setup = daily() if scheduled else replace(daily(), schedule=None)
    started(tmp_path / "s", setup).close()
    store = StateFile(tmp_path / "s", writing=True)
    store.transact(lambda count, _: replace(count, period=None if scheduled else 5))
    store.close()
    with pytest.raises(InputError, match="not possible"):
        StateFile(tmp_path / "s", writing=False)


@pytest.mark.parametrize("period", [10**18, 10**40, 3_000_000, -2, -(10**18)])
def test_a_crafted_period_that_no_clock_shows_is_not_believed(period: int, tmp_path: Path) -> None:
    started(tmp_path / "s", daily()).close()
    store = StateFile(tmp_path / "s", writing=True)
    store.transact(lambda count, _: replace(count, period=period))
    store.close()
    for look in (inspect_state, started_again):
        with pytest.raises(InputError, match="not possible"):
            look(tmp_path / "s")


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_latest_plan_that_is_believed_has_dates(name: str) -> None:
    schedule = SCHEDULES[name]
    period = schedule.period(5000 * 365 * DAY)
    assert schedule.has(period)
    assert not schedule.has(period + 1)
    last = due_of(schedule, period, MAX_RELEASES, NOON).last
    assert last is not None
    assert moment(last).endswith("UTC")


@pytest.mark.parametrize("turn", [10**9 + 1, 10**400])
def test_a_crafted_number_of_turns_is_not_believed(turn: int, tmp_path: Path) -> None:
    started(tmp_path / "s", daily(window=Window(anew=True))).close()
    store = StateFile(tmp_path / "s", writing=True)
    store.transact(lambda count, _: replace(count, turn=turn))
    store.close()
    with pytest.raises(InputError, match="not possible"):
        portfolio([tmp_path / "s"])


KILLED = """
import os, signal, sys, time
from panbayes.stream import schedule
from panbayes.stream.state import mapped
from panbayes.stream.stream_estimator import StreamEstimator
schedule.time.time = lambda: float(sys.argv[2])
write, flushes = mapped.write_record, int(sys.argv[3])
def dying(memory, record):
    if flushes == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(memory, record)
    os.kill(os.getpid(), signal.SIGKILL)
mapped.write_record = dying
with StreamEstimator.open(sys.argv[1], writing=False) as stream:
    stream.estimate()
print("alive")
"""


@pytest.mark.parametrize(("written", "spent"), [(0, 0), (1, 1)])
def test_a_process_that_is_killed_within_a_release_buys_no_second(
    written: int, spent: int, clock: Clock, tmp_path: Path
) -> None:
    """Killed before its record was written, the release is not made; after it, it is made and shown again."""
    started(tmp_path / "s", daily(5)).close()
    clock.at += DAY
    command = [sys.executable, "-c", KILLED, str(tmp_path / "s"), str(clock.at), str(written)]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (-9, "")
    assert inspect_state(tmp_path / "s").left == 5 - spent
    with started_again(tmp_path / "s") as stream:
        assert stream.estimate().fresh is not bool(spent)
        assert not stream.estimate().fresh
        assert stream.releases_left == 4
