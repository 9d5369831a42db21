"""A federation whose holders do not all answer: it waits, stops or goes on, and what was decided stays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from panbayes.consortium.agreement.strategies import adaptive
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.protocol.codec import decode_question, decode_reply, encode
from panbayes.consortium.protocol.envelope import Refusal, Release, question
from panbayes.consortium.protocol.transport import Ask
from panbayes.errors import (
    ExitCode,
    HolderError,
    HolderFailedError,
    HolderRefusedError,
    HolderWaitingError,
    InputError,
    InternalError,
)
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table
from tests.consortium.absence import Kept

SCHEMA = Schema("s", (Attribute("a", categories=("x", "y")),))
NAMES = ("east", "north", "west")


def study(missing: Any = "continue", quorum: int | None = 1) -> Study:
    patience = None if missing == "wait" else 72
    return Study("s", SCHEMA, "adaptive", Fraction(1), missing=missing, quorum=quorum, patience=patience)


WAIT, STOP, GO_ON = study("wait", None), study("stop", None), study()
QUERY = adaptive.tables(WAIT).ask(groupings=(), tables=((),), weights=(1,), loss="1/100")


@dataclass
class Doors:
    """Three holders behind real gates; ``how`` says what becomes of a holder's replies."""

    gates: Mapping[str, Ask]
    how: dict[str, Callable[[bytes], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def federation(self, agreed: Study, course: Kept | None = None) -> Federation:
        return Federation(agreed, {name: self._door(name) for name in self.gates}, simulated=True, course=course)

    def _door(self, name: str) -> Ask:
        def ask(data: bytes) -> bytes:
            self.asked.append(name)
            reply = self.gates[name](data)
            return self.how[name](reply) if name in self.how else reply

        return ask


@pytest.fixture
def doors() -> Iterator[Doors]:
    tables = {name: Table(SCHEMA, np.zeros((1, 5), dtype=np.uint8)) for name in NAMES}
    with ExitStack() as stack:
        every = {
            agreed.hash: stack.enter_context(open_gates(agreed, tables, simulate=1))
            for agreed in (WAIT, STOP, GO_ON, study(quorum=2))
        }

        def route(name: str) -> Ask:
            return lambda data: every[decode_question(data).study][name](data)

        yield Doors({name: route(name) for name in NAMES})


def silent(_: bytes) -> bytes:
    raise HolderWaitingError("whoever")


def refusing(reply: bytes) -> bytes:
    return encode(Refusal(decode_reply(reply).id, "over-budget", "the cap leaves no room"))


def ask(federation: Federation, round_number: int = 0) -> dict[str, Release]:
    return federation.ask(QUERY, round_number=round_number)


@pytest.mark.parametrize("agreed", [WAIT, STOP, GO_ON], ids=lambda agreed: agreed.missing)
def test_those_that_have_not_answered_are_waited_for_under_every_rule(agreed: Study, doors: Doors) -> None:
    doors.how = {"west": silent, "north": silent}
    course = Kept(late=())
    federation = doors.federation(agreed, course)
    with pytest.raises(HolderWaitingError, match=r"^waiting for north, west$") as caught:
        ask(federation)
    assert caught.value.holders == ("north", "west")
    assert caught.value.exit_code == ExitCode.WAITING
    assert course.took_part == {}
    assert course.waited == ([] if agreed is WAIT else [0])
    assert federation.names == NAMES, "nobody is out"
    doors.how = {}
    assert set(ask(federation)) == set(NAMES)
    assert course.took_part == {0: NAMES}, "it is the same asking still"
    ask(federation, 1)
    assert course.took_part == {0: NAMES, 1: NAMES}


def test_in_one_process_nobody_is_left_out(doors: Doors) -> None:
    doors.how = {"west": silent}
    for agreed in (WAIT, STOP, GO_ON):
        with pytest.raises(HolderWaitingError):
            ask(doors.federation(agreed))


def test_where_the_study_says_to_wait_nobody_looks_at_the_clock(doors: Doors) -> None:
    doors.how = {"west": silent}
    with pytest.raises(HolderWaitingError):
        ask(doors.federation(WAIT, Kept()))


def test_the_run_stops_and_says_who_is_missing(doors: Doors) -> None:
    doors.how = {"west": silent}
    alone = "^holder west: has not answered within 72 hours, and the study stops then$"
    with pytest.raises(HolderFailedError, match=alone) as caught:
        ask(doors.federation(STOP, course := Kept()))
    assert caught.value.exit_code == ExitCode.FAILED
    assert course.took_part == {}
    doors.how = {"west": silent, "east": silent}
    with pytest.raises(HolderFailedError, match=r"^holder east: .* stops then; nor has west$"):
        ask(doors.federation(STOP, Kept()))
    doors.how = {"west": silent, "north": refusing}
    with pytest.raises(HolderRefusedError, match="north"):
        ask(doors.federation(STOP, Kept()))


def test_the_run_goes_on_without_the_missing_and_never_asks_them_again(doors: Doors) -> None:
    course = Kept(late=[1])
    federation = doors.federation(GO_ON, course)
    ask(federation)
    doors.how = {"west": silent}
    assert set(ask(federation, 1)) == {"east", "north"}
    assert course.took_part == {0: NAMES, 1: ("east", "north")}
    assert federation.names == ("east", "north")
    doors.how = {}
    assert set(ask(federation, 2)) == {"east", "north"}
    assert doors.asked.count("west") == 2
    with pytest.raises(InternalError, match="a query is for west"):
        federation.ask_each({"west": QUERY}, round_number=3)
    assert [(one.round_number, one.answered) for one in federation.attendance["west"]] == [(0, True), (1, False)]
    assert [one.answered for one in federation.attendance["north"]] == [True] * 3


def test_what_comes_late_is_not_looked_at(doors: Doors) -> None:
    """A run that is begun again knows who took part: the others are not even asked, and count as asked."""
    course = Kept()
    doors.how = {"west": silent}
    before = doors.federation(GO_ON, course)
    first = [ask(before, number) for number in range(2)]
    doors.how, doors.asked = {}, []
    after = doors.federation(GO_ON, course)
    assert [ask(after, number) for number in range(2)] == first
    assert "west" not in doors.asked
    assert after.names == before.names
    assert set(after.heads) == {"east", "north"}
    assert [(one.round_number, one.answered) for one in after.attendance["west"]] == [(0, False)]
    assert set(ask(after, 2)) == {"east", "north"}


def test_who_took_part_once_is_waited_for_when_the_run_is_begun_again(doors: Doors) -> None:
    course = Kept()
    ask(doors.federation(GO_ON, course))
    doors.how = {"west": silent}
    with pytest.raises(HolderWaitingError, match="west"):
        ask(doors.federation(GO_ON, course))
    doors.how = {"west": refusing}
    with pytest.raises(HolderRefusedError, match="west"):
        ask(doors.federation(GO_ON, course))
    assert course.waited == []
    assert course.took_part == {0: NAMES}


@pytest.mark.parametrize(("quorum", "missing", "goes_on"), [(1, 2, True), (1, 3, False), (2, 1, True), (2, 2, False)])
def test_so_many_must_be_left(quorum: int, missing: int, goes_on: bool, doors: Doors) -> None:
    agreed = study(quorum=quorum)
    doors.how = dict.fromkeys(NAMES[:missing], silent)
    federation = doors.federation(agreed, course := Kept())
    if goes_on:
        assert len(ask(federation)) == 3 - missing
        return
    with pytest.raises(HolderWaitingError, match=f"^waiting for {', '.join(NAMES[:missing])}$"):
        ask(federation)
    assert course.took_part == {}


def test_those_left_are_counted_over_all_holders_not_over_those_that_were_asked(doors: Doors) -> None:
    """One holder is asked in its turn and is missing: no release comes back, and two are left; one would be too few."""
    federation = doors.federation(study(quorum=2), course := Kept())
    doors.how = {"north": silent, "east": silent}
    assert federation.ask_each({"north": QUERY}, round_number=0) == {}
    assert course.took_part == {0: ()}
    assert federation.names == ("east", "west")
    with pytest.raises(HolderWaitingError, match=r"^waiting for east$"):
        federation.ask_each({"east": QUERY}, round_number=0)
    assert federation.ask_each({}, round_number=1) == {}
    assert course.took_part == {0: ()}, "where nobody is asked there is no asking"
    again = doors.federation(study(quorum=2), course)
    doors.how = {}
    assert again.ask_each({"north": QUERY}, round_number=0) == {}
    assert set(again.ask_each({"east": QUERY}, round_number=0)) == {"east"}


@pytest.mark.parametrize(
    ("bad", "error", "code"),
    [
        (refusing, HolderRefusedError, ExitCode.REFUSED),
        (lambda _: b"Internal Server Error", HolderFailedError, ExitCode.FAILED),
    ],
    ids=["refuses", "answers garbage"],
)
def test_a_holder_without_an_answer_is_an_error_until_its_time_is_over_and_then_left_out(
    bad: Callable[[bytes], bytes], error: type[HolderError], code: ExitCode, doors: Doors
) -> None:
    doors.how = {"north": bad, "east": silent}
    course = Kept(late=())
    with pytest.raises(error, match=r"^holder north: ") as caught:
        ask(doors.federation(GO_ON, course))
    assert caught.value.exit_code == code
    assert course.waited == [0], "its time has begun"
    assert set(ask(doors.federation(GO_ON, Kept()))) == {"west"}
    with pytest.raises(error, match=r"^holder north: "):
        ask(doors.federation(study(quorum=2), Kept()))


def test_who_took_part_is_kept_before_anything_is_handed_back_or_asked(doors: Doors) -> None:
    class Full(Kept):
        def settle(self, place: int, names: Any, /) -> None:
            raise OSError(f"no space for {place}, {names}")

    federation = doors.federation(GO_ON, Full())
    with pytest.raises(OSError, match="no space for 0"):
        ask(federation)
    assert federation.names == NAMES
    assert all(not asked for asked in federation.attendance.values())


def test_a_course_of_other_holders_is_refused(doors: Doors) -> None:
    course = Kept(took_part={0: ("north", "south")})
    with pytest.raises(InputError, match="holders: south took part in this run before") as caught:
        ask(doors.federation(GO_ON, course))
    assert caught.value.exit_code == ExitCode.INPUT
    assert doors.asked == []


def test_a_quorum_that_nobody_can_make_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(InputError, match="study, quorum: is 2, and there are 1 holders; give as many"):
        Federation(study(quorum=2), {"north": silent})


def test_fifty_holders_are_all_asked_before_any_is_waited_for() -> None:
    """Each answers only when all have been asked."""
    together = threading.Barrier(50, timeout=300)

    def slow(_: bytes) -> bytes:
        together.wait()
        raise HolderWaitingError("one of many")

    with pytest.raises(HolderWaitingError) as caught:
        Federation(WAIT, {f"h{number:02}": slow for number in range(50)}).ask(QUERY, round_number=0)
    assert len(caught.value.holders) == 50


def test_a_question_has_the_same_id_whoever_is_left(doors: Doors) -> None:
    """So that what was answered is free to be asked again."""
    doors.how = {"west": silent}
    releases = ask(doors.federation(GO_ON, Kept()))
    assert {release.id for release in releases.values()} == {question(QUERY, study=GO_ON.hash, round_number=0).id}
