"""Letters that rest: for good, or for a while that grows, until something changes."""

from __future__ import annotations

from panbayes.consortium.agent import holds
from panbayes.consortium.agent.holds import FIRM, LONGEST, MAX_HELD, Holds


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_waits_comes_again_after_a_pause_that_doubles_up_to_five_minutes() -> None:
    time = Time()
    found = Holds(time)
    pauses = []
    for _ in range(11):
        found.for_now("a")
        start = time.now
        while "a" in found.resting():
            time.now += 0.5
        pauses.append(time.now - start)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert LONGEST == 300


def test_what_waits_comes_at_once_when_something_has_changed_and_what_rests_for_good_does_not() -> None:
    found = Holds(Time())
    found.for_good("stranger")
    found.for_now("pending")
    assert found.resting() == {"stranger", "pending"}
    found.for_now("other")
    for letter in ("pending", "stranger", "unheard of"):
        found.release(letter)
    assert found.resting() == {"stranger", "other"}, "nothing else comes with it"
    found.for_now("pending")
    assert "pending" in found.resting()


def test_what_was_dealt_with_rests_a_little_whatever_changes() -> None:
    time = Time()
    found = Holds(time)
    rests = []
    for _ in range(7):
        found.for_now("failed", firmly=True)
        start = time.now
        while "failed" in found.resting():
            found.release("failed")
            time.now += 0.5
        rests.append(time.now - start)
    assert rests == [1, 2, 4, 8, 10, 10, 10]
    assert FIRM == 10


def test_in_a_single_run_nothing_comes_again_by_itself() -> None:
    time = Time()
    found = Holds(time, again=False)
    found.for_now("a")
    time.now = 1e9
    assert found.resting() == {"a"}


def test_a_flood_is_remembered_up_to_a_bound() -> None:
    found = Holds(Time())
    for number in range(MAX_HELD + 10):
        found.for_good(str(number))
    assert len(found.resting()) == holds.MAX_HELD
    assert str(MAX_HELD + 9) in found.resting(), "the newest are remembered"
