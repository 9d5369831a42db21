"""Answers that fail are not charged for, so they are counted: the third pauses the study until the holder looks."""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.cli.ledger_account import account
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.attempts import PAUSING, Attempt, AttemptFile, dismiss_begun
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.notes import Note, notes_digest
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.protocol.codec import encode
from panbayes.consortium.protocol.envelope import question
from panbayes.dp.secure import SecureNoise
from panbayes.errors import LedgerError
from panbayes.privacy.events import Rule
from tests.consortium.holder.examples import (
    asked,
    model,
    pure,
    refused,
    released,
    script,
    singles,
    study,
    table,
    tables_of_votes,
    votes,
)
from tests.consortium.holder.ledgers import edit, faults, gate
from tests.consortium.protocol import examples
from tests.consortium.protocol.mutation import mutations
from tests.effort import some
from tests.test_files import limited_size

AGREED = study("independent")
QUESTION = asked(singles(AGREED), AGREED)
ROOT = Path(__file__).resolve().parents[3]


class Failing(SecureNoise):
    """A source that does something else first, such as failing, as memory and hardware may."""

    __slots__ = ("first",)

    def __init__(self, first: Callable[[], object]) -> None:
        self.first = first

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        self.first()
        return super().discrete_laplace(size, scale=scale)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        self.first()
        return super().select(scores, scale=scale, mechanism=mechanism)

    def spawn(self, _key: bytes, /) -> SecureNoise:
        return self


def no_memory() -> None:
    raise MemoryError("Jane Doe")


def failing(ledger: Ledger, first: Callable[[], object] = no_memory) -> Gate:
    return Gate(table(), AGREED, ledger, Failing(first))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def test_the_third_failure_pauses_the_study_until_the_holder_looks(path: Path) -> None:
    for _ in range(PAUSING):
        with Ledger.open(path, create=True) as ledger:
            assert refused(failing(ledger).ask(QUESTION))[0] == "unavailable"
    with Ledger.open(path) as ledger:
        for door in (gate(ledger, AGREED), failing(ledger)):
            code, text = refused(door.ask(QUESTION))
            assert code == "paused"
            assert text == (
                "answers to this study failed here; it is paused until the holder has looked at why "
                "(panbayes holder ledger resume)"
            )
        assert ledger.summary().paused == (AGREED.hash,)
        failed = ledger.resume(AGREED.hash)
        assert [(f.study, f.name, f.kind, f.error) for f in failed] == [
            (AGREED.hash, "test", "counts", "MemoryError")
        ] * PAUSING
        assert ledger.resume(AGREED.hash) == ()
        released(gate(ledger, AGREED).ask(QUESTION))
        assert ledger.summary().failures == ()
        assert verify(ledger) == []


@pytest.mark.parametrize("answered", [True, False])
def test_a_ledger_that_was_moved_without_its_attempts_answers_nothing_new(
    answered: bool, path: Path, tmp_path: Path
) -> None:
    """Else an answer that was cut off would be forgotten by moving the ledger; what was answered stays free."""
    agreed = study("independent", name="other")
    other = asked(singles(agreed), agreed)
    with Ledger.open(path, create=True) as ledger:
        before = (gate(ledger, AGREED) if answered else failing(ledger)).ask(QUESTION)
        assert ledger.summary().left_behind is None
    moved, beside = tmp_path / "elsewhere.ledger", path.with_name(f"{path.name}-attempt")
    path.rename(moved)
    place = moved.with_name("elsewhere.ledger-attempt")
    with Ledger.open(moved) as ledger:
        assert ledger.summary().left_behind == place
        assert refused(gate(ledger, agreed).ask(other))[0] == "unavailable"
        if answered:
            assert gate(ledger, AGREED).ask(QUESTION) == before
        told = "  It was moved without elsewhere.ledger-attempt, and answers nothing new: move that here too."
        assert told in account(moved, ledger.summary())
        with pytest.raises(
            LedgerError, match=r"^.*elsewhere\.ledger: was moved without elsewhere\.ledger-attempt, .*touch"
        ):
            ledger.write_cut_off()
        assert ledger.summary().left_behind == place
    if answered:
        beside.rename(place)
    else:
        place.touch()
    with Ledger.open(moved) as ledger:
        assert ledger.summary().left_behind is None
        assert told not in account(moved, ledger.summary())
        released(gate(ledger, agreed).ask(other))
        assert verify(ledger) == []


def test_failures_of_a_study_pause_no_other_and_each_look_begins_the_count_anew(path: Path) -> None:
    other = study("independent", name="other")
    with Ledger.open(path, create=True) as ledger:
        for _ in range(PAUSING - 1):
            failing(ledger).ask(QUESTION)
        assert len(ledger.resume(AGREED.hash)) == PAUSING - 1
        for _ in range(PAUSING):
            assert refused(failing(ledger).ask(QUESTION))[0] == "unavailable"
        Gate(table(), other, ledger, Failing(no_memory)).ask(asked(singles(other), other))
        assert len(ledger.resume(other.hash)) == 1
        released(gate(ledger, other).ask(asked(singles(other), other)))
        assert refused(gate(ledger, AGREED).ask(QUESTION))[0] == "paused"


def test_failures_of_different_questions_add_up_and_an_answer_between_does_not_undo_them(path: Path) -> None:
    agreed = study("noisy-majority-voting")
    queries = script(agreed)
    with Ledger.open(path, create=True) as ledger:
        for number in range(PAUSING):
            door = Gate(table(), agreed, ledger, Failing(no_memory))
            assert refused(door.ask(asked(queries[number], agreed, number)))[0] == "unavailable"
            if number < PAUSING - 1:
                released(gate(ledger, agreed).ask(asked(queries[number], agreed, number)))
        assert refused(gate(ledger, agreed).ask(asked(queries[3], agreed, 3)))[0] == "paused"


def test_what_was_answered_is_answered_again_while_the_study_is_paused(path: Path) -> None:
    agreed = study("noisy-majority-voting")
    queries = script(agreed)
    with Ledger.open(path, create=True) as ledger:
        first = gate(ledger, agreed).ask(asked(queries[0], agreed))
        for _ in range(PAUSING):
            Gate(table(), agreed, ledger, Failing(no_memory)).ask(asked(queries[1], agreed, 1))
        assert refused(gate(ledger, agreed).ask(asked(queries[1], agreed, 1)))[0] == "paused"
        assert gate(ledger, agreed).ask(asked(queries[0], agreed)) == first


def in_a_child(work: Callable[[], object]) -> int:
    """Do something in a process of its own; return how that ended."""
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_an_answer_that_was_killed_is_counted_like_one_that_failed(path: Path) -> None:
    """The system ends a process for want of memory without a word: that is how a private number could be probed."""
    Ledger.open(path, create=True).close()

    def work() -> None:
        with Ledger.open(path) as ledger:
            failing(ledger, lambda: os.kill(os.getpid(), signal.SIGKILL)).ask(QUESTION)

    for _ in range(PAUSING):
        assert in_a_child(work) == -signal.SIGKILL
    with Ledger.open(path) as ledger:
        assert refused(gate(ledger, AGREED).ask(QUESTION))[0] == "paused"
        assert [failure.error for failure in ledger.resume(AGREED.hash)] == ["cut off"] * PAUSING
        released(gate(ledger, AGREED).ask(QUESTION))
        assert verify(ledger) == []


def test_a_failure_that_cannot_be_written_down_is_written_down_later(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        gate(ledger, AGREED)
        with limited_size(path.stat().st_size // 8):
            assert refused(gate(ledger, AGREED).ask(QUESTION))[0] == "unavailable"
        assert ledger.summary().failures == ()
        released(gate(ledger, AGREED).ask(QUESTION))
        assert [failure.error for failure in ledger.summary().failures] == ["cut off"]


def test_an_attempt_is_counted_once_whoever_finds_it(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        failing(ledger).ask(QUESTION)
        with ledger.transaction() as transaction:
            assert transaction.left_over() is None
        (failure,) = ledger.summary().failures
        ledger.write_failure(failure, MemoryError())
        ledger.write_failure(replace(failure, error="cut off"), MemoryError())
        ledger.write_cut_off()
        assert len(ledger.summary().failures) == 1
        released(gate(ledger, AGREED).ask(QUESTION))
        ledger.write_cut_off()
        assert len(ledger.summary().failures) == 1


def test_the_attempt_is_on_disk_before_a_record_is_touched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    def look() -> None:
        assert synced == [f"{path.name}-attempt", path.parent.name]
        newest = AttemptFile(path).newest()
        assert newest is not None
        assert newest.study == AGREED.hash

    with Ledger.open(path, create=True) as ledger:
        door = failing(ledger, look)
        monkeypatch.setattr(os, "fsync", fsync)
        released(door.ask(QUESTION))
    assert path.with_name(f"{path.name}-attempt").stat().st_mode & 0o777 == 0o600


def test_what_public_facts_refuse_is_never_counted(path: Path) -> None:
    agreed, foreign = study("noisy-majority-voting"), study(name="foreign")
    questions = [
        b"",
        b"\x81",
        asked(votes(foreign)[0], foreign),
        asked(model(agreed), agreed),
        asked(votes(agreed)[0], agreed),  # of a study that is closed
        asked(msgspec.structs.replace(votes(agreed)[0], epsilon="1"), agreed),
        asked(msgspec.structs.replace(tables_of_votes(agreed), sets=((0,), (0,), (1, 1), (2,))), agreed),
        encode(msgspec.structs.replace(question(votes(agreed)[0], study=agreed.hash, round_number=0), round=1)),
    ]
    seeds = [*(encode(m) for m in examples.QUESTIONS.values()), *(asked(q, agreed) for q in script(agreed))]
    questions += mutations(seeds, 2_000, seed=5)
    with Ledger.open(path, create=True) as ledger:
        ledger.close_study(agreed.hash)
        door = Gate(table(), agreed, ledger, Failing(no_memory))
        assert {refused(door.ask(data))[0] for data in questions} >= {"malformed", "not-in-study", "over-budget"}
        assert ledger.summary().failures == ()
        assert AttemptFile(path).newest() is None


def test_records_of_others_are_no_failure_of_an_answer(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        early = gate(ledger, AGREED, table(1))
        released(gate(ledger, AGREED, table(2)).ask(QUESTION))
        for number in range(1, PAUSING + 2):
            assert refused(early.ask(asked(singles(AGREED), AGREED, number)))[0] == "unavailable"
        assert ledger.summary().failures == ()


def test_many_runs_at_once_are_not_taken_for_failures(path: Path) -> None:
    agreed = study("noisy-majority-voting")
    Ledger.open(path, create=True).close()

    def work() -> None:
        with Ledger.open(path) as ledger:
            door = Gate(table(), agreed, ledger, Failing(lambda: time.sleep(0.01)))
            for number, query in enumerate(script(agreed)):
                released(door.ask(asked(query, agreed, number)))

    processes = []
    for _ in range(6):
        process = os.fork()
        if process == 0:
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        processes.append(process)
    assert [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes] == [0] * 6
    with Ledger.open(path) as ledger:
        ledger.write_cut_off()
        assert ledger.summary().failures == ()
        assert ledger.summary().entries == len(script(agreed))


def test_what_a_person_interrupts_is_no_failure(path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with Ledger.open(path, create=True) as ledger:
        for _ in range(PAUSING):
            with pytest.raises(KeyboardInterrupt):
                failing(ledger, interrupt).ask(QUESTION)
        ledger.write_cut_off()
        assert ledger.summary().failures == ()
        released(gate(ledger, AGREED).ask(QUESTION))


CHILD = """
import signal, sys, time
from pathlib import Path
from panbayes.cli import main
from panbayes.consortium.holder.ledger.ledger import Ledger
from tests.consortium.holder.test_failures import QUESTION, failing

def wait():
    print("drawing", flush=True)
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background would ignore it
main._end_when_asked()
with Ledger.open(Path(sys.argv[1])) as ledger:
    failing(ledger, wait).ask(QUESTION)
"""


@pytest.mark.parametrize(
    ("number", "failures"), some([(signal.SIGTERM, 1), (signal.SIGINT, 0), (signal.SIGKILL, 1)], 2)
)
def test_an_interruption_at_the_keyboard_is_no_failure_and_any_other_end_is_one(
    number: int, failures: int, path: Path
) -> None:
    Ledger.open(path, create=True).close()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"drawing\n"
        process.send_signal(number)
        assert process.wait() in (130, -number)
    with Ledger.open(path) as ledger:
        ledger.write_cut_off()
        assert len(ledger.summary().failures) == failures


def interrupted_after(call: str) -> None:
    """End this process as Ctrl-C at the keyboard does, as soon as the system has done ``call``."""
    owner, name = {"fsync": (os, "fsync"), "record": (Transaction, "record")}[call]
    real: Callable[..., object] = getattr(owner, name)

    def done(*given: Any, **named: Any) -> None:
        real(*given, **named)
        os.kill(os.getpid(), signal.SIGINT)

    def end(*_: object) -> None:
        dismiss_begun()
        os._exit(130)

    setattr(owner, name, done)
    signal.signal(signal.SIGINT, end)


@pytest.mark.parametrize("call", ["fsync", "record"])
def test_an_interruption_while_the_attempt_or_the_answer_is_on_its_way_to_disk_is_no_failure(
    call: str, path: Path
) -> None:
    """Most of the time that a small answer takes is spent there."""
    with Ledger.open(path, create=True) as ledger:
        gate(ledger, AGREED)

    def work() -> None:
        with Ledger.open(path) as ledger:
            door = gate(ledger, AGREED)
            interrupted_after(call)
            door.ask(QUESTION)

    assert in_a_child(work) == 130
    with Ledger.open(path) as ledger:
        newest = path.with_name(f"{path.name}-attempt").read_text()
        assert newest.startswith('{"attempt"')  # it had been begun
        ledger.write_cut_off()
        assert ledger.summary().failures == ()
        assert ledger.summary().entries == 0


def test_who_is_interrupted_dismisses_no_attempt_of_others(path: Path) -> None:
    """A process may be interrupted when its answer has just been committed, and another has begun."""
    with Ledger.open(path, create=True) as ledger:
        ours, theirs = AttemptFile(path), AttemptFile(path)
        ours.begin(attempt := Attempt.now(study=AGREED.hash, name="test", question="0" * 64, kind="counts"))
        process = os.fork()
        if process == 0:
            theirs.begin(replace(attempt, attempt="theirs"))
            os._exit(0)
        os.waitpid(process, 0)
        dismiss_begun()
        assert ours.newest() == replace(attempt, attempt="theirs")
        theirs.end()
        ours.end()
        ledger.write_cut_off()
        assert len(ledger.summary().failures) == 1


def test_an_interrupted_child_dismisses_nothing_of_its_parents(path: Path) -> None:
    def first() -> None:
        assert in_a_child(dismiss_begun) == 0
        raise MemoryError

    with Ledger.open(path, create=True) as ledger:
        assert refused(failing(ledger, first).ask(QUESTION))[0] == "unavailable"
        assert len(ledger.summary().failures) == 1


@pytest.mark.parametrize("what", ["link", "folder", "pipe"])
def test_what_is_in_the_place_of_the_attempt_is_named_to_the_holder_and_not_waited_for(what: str, path: Path) -> None:
    told: list[str] = []
    with Ledger.open(path, create=True) as ledger:
        door = Gate(table(), AGREED, ledger, SecureNoise(), report=lambda error: told.append(str(error)))
        place = path.with_name(f"{path.name}-attempt")
        make: dict[str, Callable[[], None]] = {
            "link": partial(place.symlink_to, path),
            "folder": place.mkdir,
            "pipe": partial(os.mkfifo, place),
        }
        make[what]()
        assert refused(door.ask(QUESTION))[0] == "unavailable"
        assert [line.partition(" (")[0] for line in told] == [f"{place}: cannot be read"]
        with pytest.raises(LedgerError, match="cannot be read"):
            ledger.write_cut_off()
        assert ledger.summary().entries == 0


def test_an_attempt_that_cannot_be_written_is_named_to_the_holder_and_nothing_is_drawn(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told: list[str] = []
    drawn: list[None] = []
    with Ledger.open(path, create=True) as ledger:
        door = Gate(
            table(), AGREED, ledger, Failing(lambda: drawn.append(None)), report=lambda error: told.append(str(error))
        )
        monkeypatch.setattr(os, "write", full)
        assert refused(door.ask(QUESTION))[0] == "unavailable"
        (line,) = told
        assert line.startswith(f"{path}-attempt: cannot be written (no space left on device); make room")
        assert not drawn
        assert ledger.summary().failures == ()


def test_who_waits_for_a_ledger_in_vain_waits_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Ledger] = []
    real = Ledger.transaction

    def transaction(ledger: Ledger) -> AbstractContextManager[Transaction]:
        begun.append(ledger)
        return real(ledger)

    with Ledger.open(path, create=True) as other, Ledger.open(path, busy_seconds=0.01) as ledger:
        door = gate(ledger, AGREED)
        monkeypatch.setattr(Ledger, "transaction", transaction)
        with real(other):
            assert refused(door.ask(QUESTION))[0] == "unavailable"
    assert begun == [ledger]


def test_an_attempt_that_panbayes_cannot_have_written_is_none(path: Path) -> None:
    attempt = Attempt("1", AGREED.hash, "\ud800", "0" * 64, "counts", "")
    with Ledger.open(path, create=True) as ledger:
        path.with_name(f"{path.name}-attempt").write_text(json.dumps(asdict(attempt)))
        released(gate(ledger, AGREED).ask(QUESTION))
        assert ledger.summary().failures == ()


def test_a_link_in_the_place_of_the_attempt_is_not_followed(path: Path) -> None:
    target = path.with_name("precious")
    target.write_text("precious")
    with Ledger.open(path, create=True) as ledger:
        path.with_name(f"{path.name}-attempt").symlink_to(target)
        assert refused(gate(ledger, AGREED).ask(QUESTION))[0] == "unavailable"
        assert pure(ledger.summary().spent) == 0
    assert target.read_text() == "precious"


def test_an_attempt_that_was_cut_short_while_it_was_written_is_none(path: Path) -> None:
    """Nothing is drawn before it is written whole."""
    attempt = Attempt.now(study=AGREED.hash, name="test", question="0" * 64, kind="counts").text().encode()
    with Ledger.open(path, create=True) as ledger:
        for length in range(len(attempt)):
            path.with_name(f"{path.name}-attempt").write_bytes(attempt[:length])
            ledger.write_cut_off()
        path.with_name(f"{path.name}-attempt").write_bytes(b"\xff")
        ledger.write_cut_off()
        assert ledger.summary().failures == ()
        path.with_name(f"{path.name}-attempt").write_bytes(attempt)
        ledger.write_cut_off()
        assert len(ledger.summary().failures) == 1


def paused(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        for _ in range(PAUSING):
            failing(ledger).ask(QUESTION)


def test_verify_shows_a_failure_that_was_removed_or_edited(path: Path) -> None:
    paused(path)
    assert faults(path) == ""
    edit(path, "DELETE FROM notes WHERE position = 2")
    assert "a cap or another note has been changed, or is missing" in faults(path)


def test_verify_shows_an_answer_to_a_paused_study(path: Path) -> None:
    """Whoever goes on all the same, and puts everything else in order, shows."""
    with Ledger.open(path, create=True) as ledger:
        for _ in range(PAUSING):
            failing(ledger).ask(QUESTION)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("panbayes.consortium.holder.ledger.transaction.PAUSING", PAUSING + 1)
            released(gate(ledger, AGREED).ask(QUESTION))
        assert verify(ledger) == ["entry 1: its study had been paused"]
        ledger.resume(AGREED.hash)
        assert verify(ledger) == ["entry 1: its study had been paused"]


def test_a_damaged_note_of_a_failure_is_one_line(path: Path) -> None:
    paused(path)
    edit(path, "UPDATE notes SET content = '{}' WHERE position = 2")
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT after, what, content FROM notes ORDER BY position").fetchall()
        digest = notes_digest(Note(*row) for row in rows)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'notes'", (digest.encode(),))
    assert faults(path) == "a note of a failure cannot be read"
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="a note of a failure is not what panbayes"):
        ledger.summary()
