"""Polls that wait: woken by what may be a letter, and by nothing else; challenges and their hours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from panbayes.consortium.desk import waiting
from panbayes.consortium.desk.mailbox import LIFE, Challenges, Enrolment
from panbayes.consortium.desk.waiting import Waiting
from panbayes.consortium.post.keys import PrivateKey
from panbayes.errors import InputError

State = tuple[int, int, int] | None
OLD: State = (1, 1, 1)


class Folder:
    """What a folder is known by, as a test sets it, and how often it was looked at."""

    def __init__(self, state: State = OLD) -> None:
        self.now = state
        self.looks = 0

    def state(self, _holder: str) -> State:
        self.looks += 1
        return self.now


def waited(test: Callable[[Waiting, Folder], Awaitable[None]], state: State = OLD) -> None:
    folder = Folder(state)
    asyncio.run(_limited(test(Waiting(folder.state), folder)))


async def _limited(work: Awaitable[None]) -> None:
    await asyncio.wait_for(work, 30)


async def stirs(ticket: waiting.Ticket, seconds: float) -> int:
    """Count how often a poll is woken."""
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        if ticket.stirred.is_set():
            ticket.stirred.clear()
            count += 1
        await asyncio.sleep(0.005)
    return count


def test_nothing_wakes_a_poll_while_nothing_changes_but_a_look_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_EVER", 0.6)

    async def wait(polls: Waiting, folder: Folder) -> None:
        ticket = polls.enter("north")
        assert 2 <= await stirs(ticket, 1.5) <= 4
        assert folder.looks > 5

    waited(wait)


def test_a_change_wakes_the_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_EVER", 60.0)

    async def wait(polls: Waiting, folder: Folder) -> None:
        ticket = polls.enter("north")
        await ticket.stirred.wait()
        for state in ((1, 2, 1), None, (2, 2, 1), (2, 2, 2)):
            assert await stirs(ticket, 0.3) <= 1
            ticket.stirred.clear()
            folder.now = state
            await ticket.stirred.wait()

    waited(wait)


def test_a_change_that_is_fresh_may_not_be_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_EVER", 60.0)

    async def wait(polls: Waiting, folder: Folder) -> None:
        folder.now = (1, time.time_ns(), 1)
        ticket = polls.enter("north")
        await ticket.stirred.wait()
        assert await stirs(ticket, 2.0) >= 4
        folder.now = (1, time.time_ns() + 60 * 10**9, 1)
        assert await stirs(ticket, 1.0) >= 20

    waited(wait)


def test_nobody_looks_while_nobody_waits() -> None:
    async def wait(polls: Waiting, folder: Folder) -> None:
        tasks = len(asyncio.all_tasks())
        ticket = polls.enter("north")
        await ticket.stirred.wait()
        assert len(asyncio.all_tasks()) == tasks + 1
        polls.leave("north", ticket)
        await asyncio.sleep(0.3)
        looks = folder.looks
        await asyncio.sleep(0.5)
        assert folder.looks == looks
        assert len(asyncio.all_tasks()) == tasks
        again = polls.enter("north")
        folder.now = (9, 9, 9)
        await again.stirred.wait()

    waited(wait)


def test_the_second_poll_of_a_holder_ends_the_first_and_not_itself() -> None:
    async def wait(polls: Waiting, _folder: Folder) -> None:
        first, other = polls.enter("north"), polls.enter("south")
        second = polls.enter("north")
        assert (first.over, first.stirred.is_set(), second.over, other.over) == (True, True, False, False)
        polls.leave("north", first)
        polls.end()
        assert second.over
        assert other.over

    waited(wait)


def test_a_challenge_is_taken_for_its_hour_and_the_next_and_no_longer() -> None:
    now = 0.0
    challenges = Challenges(lambda: now)
    first = challenges.current()
    assert len(first) == 64
    assert not challenges.takes(None)
    assert not challenges.takes("ab" * 32)
    now = LIFE - 1
    assert challenges.current() == first
    now = LIFE
    second = challenges.current()
    assert second != first
    assert challenges.takes(first)
    assert challenges.takes(second)
    now = 2 * LIFE
    assert not challenges.takes(first)
    assert challenges.takes(second)
    third = challenges.current()
    now = 4 * LIFE
    assert not challenges.takes(third)
    assert Challenges(lambda: now).current() != Challenges(lambda: now).current()


def test_a_key_is_a_holders_while_the_roster_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "roster"
    with pytest.raises(InputError, match="--roster"):
        Enrolment(path, said.append)
    north, south = PrivateKey.generate().public, PrivateKey.generate().public
    path.write_text(f'north valid-before="20200101" {south.line}\nnorth valid-after="20200101" {north.line}\n')
    enrolment = Enrolment(path, said.append)
    assert enrolment.name_of(north) == "north"
    assert enrolment.name_of(south) is None
    path.write_text(f"south {south.line}\n")
    assert enrolment.name_of(south) == "south"
    assert enrolment.name_of(north) is None
    path.unlink()
    assert enrolment.name_of(south) == "south"
    assert said[0] == "the roster has changed"
    assert said[1].startswith("the roster has changed and cannot be read, the last one stays: ")
