"""An agent that serves: goes on whatever the carrier does, says each thing once, and waits longer each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from panbayes.consortium.agent.carrier import CarrierError
from panbayes.consortium.agent.serving import LONGEST_PAUSE, Voice, serve
from panbayes.errors import LedgerError


class EndOfTestError(BaseException):
    """Ends what would go on for ever."""


class Turns:
    """An agent that does what a list says, and then ends the test."""

    def __init__(self, *turns: Callable[[], None]) -> None:
        self.turns = list(turns)

    def turn(self, *, seconds: float) -> bool:
        assert seconds == 9.0
        if not self.turns:
            raise EndOfTestError
        self.turns.pop(0)()
        return False


class Time:
    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)


def down(error: Exception) -> Callable[[], None]:
    def turn() -> None:
        raise error

    return turn


def fine() -> None:
    pass


def served(*turns: Callable[[], None]) -> tuple[list[str], list[float]]:
    lines: list[str] = []
    time = Time()
    agent: Any = Turns(*turns)
    with pytest.raises(EndOfTestError):
        serve(agent, seconds=9.0, say=Voice(lines.append), clock=time)
    return lines, time.slept


def test_a_carrier_that_is_down_is_told_once_and_waited_for_longer_each_time() -> None:
    away = CarrierError("--post", found="is gone", remedy="bring it back")
    lines, slept = served(*[down(away)] * 9, fine, down(away))
    assert lines == [str(away), "letters can be fetched again", str(away)]
    for pause, most in zip(slept, [1, 2, 4, 8, 16, 32, 60, 60, 60, 1], strict=True):
        assert most / 2 <= pause <= most
    assert LONGEST_PAUSE == 60


def test_pauses_are_not_alike() -> None:
    away = CarrierError("--post", found="is gone", remedy="bring it back")
    _, slept = served(*[down(away)] * 30)
    assert len(set(slept[6:])) > 5, "chance of less: below 1e-20"


@pytest.mark.parametrize(
    "error",
    [
        LedgerError("north.ledger", found="is in use", remedy="wait"),
        OSError(28, "No space left on device"),
        OSError("strange"),
    ],
)
def test_nothing_that_the_system_or_the_ledger_refuses_ends_it(error: Exception) -> None:
    lines, slept = served(down(error), fine)
    assert len(lines) == 2
    assert len(slept) == 1


def test_what_goes_wrong_is_said_once_an_hour_or_once_until_it_is_right_again() -> None:
    lines: list[str] = []
    time = Time()
    voice = Voice(lines.append, clock=time)
    for line in ("a\n", "a\n", "b", "a\n", "b"):
        voice(line)
    assert lines == ["a\\n", "b"], "and nothing in it ends a line"
    voice.right_again("fine")
    voice("b")
    assert lines[2:] == ["fine", "b"]
    time.now += 3599
    voice("b")
    assert len(lines) == 4
    time.now += 1
    voice("b")
    assert len(lines) == 5
    for number in range(500):
        voice(str(number))
    voice("b")
    assert len(lines) == 506, "what is remembered has a bound"
