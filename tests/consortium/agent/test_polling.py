"""Polls go on whatever the agent does, and say what it has."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from panbayes.consortium.agent import polling
from panbayes.consortium.agent.carrier import Arrived, CarrierError
from panbayes.consortium.agent.polling import MOST, Polling
from panbayes.consortium.post.letters import Kind, Signed


def arrived(number: int, kind: Kind = "question") -> Arrived:
    return Arrived("north", f"1f1f1f1f1f1f-{number:06d}", kind, Signed(b"", ""))


DOWN = CarrierError("mailbox", found="is down", remedy="wait")
OVER = None
POLL = 25


class Server:
    """What polls are answered with, when a test says so."""

    def __init__(self) -> None:
        self.polls: queue.Queue[tuple[frozenset[str], int]] = queue.Queue()
        self.replies: queue.Queue[Arrived | Exception | None] = queue.Queue()
        self.cut_short = 0
        self.polling = Polling(self.fetch, self.interrupt, seconds=POLL)

    def fetch(self, have: frozenset[str], seconds: int) -> Arrived | None:
        self.polls.put((have, seconds))
        reply = self.replies.get()
        if isinstance(reply, Exception):
            raise reply
        return reply

    def interrupt(self, wanted: bool) -> None:
        if wanted:
            self.cut_short += 1
            self.replies.put(DOWN)

    def poll(self) -> tuple[set[str], int]:
        """Wait for the next poll; return what it has and how long it waits."""
        have, seconds = self.polls.get(timeout=10)
        return set(have), seconds


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(polling, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(polling, "_EARLY", 0.01)
    made = Server()
    yield made
    made.polling.close()


def names(letters: object) -> list[str]:
    assert isinstance(letters, list)
    return [one.known_by for one in letters]


def later(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Timer(0.1, act)
    thread.start()
    return thread


def test_the_first_poll_looks_and_those_after_it_wait(server: Server) -> None:
    server.replies.put(OVER)
    assert names(server.polling.collect((), seconds=0)) == []
    assert server.poll() == (set(), 0)
    assert server.poll() == (set(), POLL)


def test_polls_go_on_while_the_agent_works_and_do_not_ask_for_what_it_works_at(server: Server) -> None:
    one, two = arrived(1), arrived(2)
    server.replies.put(one)
    assert names(server.polling.collect(("have",), seconds=5)) == [one.known_by]
    assert server.poll() == ({"have"}, 0)
    assert server.poll() == ({"have", one.known_by}, POLL)
    server.replies.put(two)
    assert server.poll() == ({"have", one.known_by, two.known_by}, POLL)
    server.replies.put(OVER)
    assert server.poll() == ({"have", one.known_by, two.known_by}, POLL)
    # Silent about the first: nothing of that shows, neither now nor in the next poll.
    assert names(server.polling.collect(("have", one.known_by), seconds=0)) == [two.known_by]
    assert server.cut_short == 0
    server.replies.put(OVER)
    assert server.poll() == ({"have", one.known_by, two.known_by}, POLL)


def test_after_an_answer_no_poll_is_cut_short(server: Server) -> None:
    one = arrived(1)
    server.replies.put(one)
    assert names(server.polling.collect((), seconds=5)) == [one.known_by]
    server.poll()
    assert server.poll() == ({one.known_by}, POLL)
    server.polling.answered(one.known_by)
    assert names(server.polling.collect((), seconds=0)) == []
    assert server.cut_short == 0
    server.replies.put(OVER)
    assert server.poll() == (set(), POLL)
    # Should it be asked for once more, then as any other.
    server.replies.put(one)
    assert names(server.polling.collect((), seconds=5)) == [one.known_by]
    server.poll()
    assert names(server.polling.collect((), seconds=0)) == []
    assert server.cut_short == 1


def test_what_the_agent_wants_again_is_asked_for_at_once(server: Server) -> None:
    one = arrived(1)
    server.replies.put(OVER)
    assert names(server.polling.collect((one.known_by,), seconds=0)) == []
    assert server.poll() == ({one.known_by}, 0)
    assert server.poll() == ({one.known_by}, POLL)
    thread = later(lambda: server.replies.put(one))
    assert names(server.polling.collect((), seconds=5)) == [one.known_by]
    thread.join()
    assert server.cut_short == 1
    assert server.poll() == (set(), POLL)


def test_all_studies_come_and_one_question(server: Server) -> None:
    letters = [arrived(1), arrived(2), arrived(3, "study"), arrived(4, "study")]
    server.replies.put(OVER)
    server.polling.collect((), seconds=0)
    for letter in letters:
        server.replies.put(letter)
    for _ in range(6):
        server.poll()
    assert names(server.polling.collect((), seconds=5)) == [letters[place].known_by for place in (0, 2, 3)]
    assert names(server.polling.collect((letters[0].known_by,), seconds=5)) == [letters[1].known_by]


def test_what_is_kept_is_bounded_and_the_rest_comes_later(server: Server) -> None:
    server.replies.put(OVER)
    server.polling.collect((), seconds=0)
    letters = [arrived(number) for number in range(MOST + 3)]
    for letter in letters:
        server.replies.put(letter)
    for _ in range(len(letters) + 1):
        server.poll()
    asked = {letter.known_by for letter in letters}
    assert server.poll() == (asked, POLL)
    first = names(server.polling.collect((), seconds=0))
    assert first == [letters[0].known_by]
    # Those that were dropped are wanted, so the poll is cut short and asks for them.
    assert server.cut_short == 1
    assert server.poll() == (asked - {letter.known_by for letter in letters[MOST:]}, POLL)


def test_an_error_is_told_and_polls_go_on_by_themselves(server: Server) -> None:
    server.replies.put(DOWN)
    with pytest.raises(CarrierError):
        server.polling.collect((), seconds=5)
    for _ in range(3):
        server.poll()
        server.replies.put(DOWN)
    server.replies.put(arrived(1))
    for _ in range(3):
        server.poll()
    assert names(server.polling.collect((), seconds=5)) == [arrived(1).known_by]


def test_polls_after_errors_become_rare(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_FIRST_PAUSE", 0.05)
    for _ in range(100):
        server.replies.put(DOWN)
    with pytest.raises(CarrierError):
        server.polling.collect((), seconds=0)
    time.sleep(1)
    # 0.05 + 0.1 + 0.2 + 0.4 + 0.8 s lie between six of them.
    assert server.polls.qsize() <= 6


def test_two_agents_that_end_each_others_polls_do_not_hurry(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_EARLY", 0.2)
    for _ in range(100):
        server.replies.put(OVER)
    server.polling.collect((), seconds=0)
    time.sleep(1)
    assert server.polls.qsize() <= 8


def test_whoever_waits_is_woken_by_the_end(server: Server) -> None:
    server.replies.put(OVER)
    server.polling.collect((), seconds=0)
    server.poll()
    server.poll()
    thread = later(server.polling.close)
    assert names(server.polling.collect((), seconds=60)) == []
    thread.join()


def test_a_poll_that_was_ended_on_purpose_is_no_failure(server: Server) -> None:
    server.replies.put(OVER)
    server.polling.collect((), seconds=0)
    server.poll()
    server.poll()
    server.polling.close()
    assert names(server.polling.collect((), seconds=0)) == []


@pytest.mark.parametrize("error", [MemoryError(), UnicodeError(), ValueError("of closed file"), RuntimeError()])
def test_whatever_a_poll_meets_it_is_said_and_the_next_one_follows(
    server: Server, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "_PATIENCE", 3.0)
    server.replies.put(error)
    with pytest.raises(CarrierError, match=f"internal error, {type(error).__name__}"):
        server.polling.collect([], seconds=3)
    server.poll()
    server.poll()
    server.replies.put(arrived(1))
    until(lambda: server.polling.collect([], seconds=0.1))


def until(happened: Callable[[], object]) -> None:
    """Wait until something has happened, whatever is said to be wrong before."""
    end = time.monotonic() + 10
    found: object = None
    while not found:
        assert time.monotonic() < end
        try:
            found = happened()
        except CarrierError:
            time.sleep(0.01)
