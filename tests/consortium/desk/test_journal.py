"""The journal: what it keeps it keeps, for its owner alone, and for one process at a time."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.desk.journal import Answer, Journal, journal_folder
from panbayes.consortium.post.letters import Signed
from panbayes.errors import InputError
from tests.consortium.desk.desks import ANALYST, Clock

ANSWERS = [Answer(n, n - 1, f"{n:064x}", n == 2, Signed(b"letter %d" % n, f"signature {n}")) for n in (1, 2, 3)]
LETTERS = {"north": Signed(b"to north", "one"), "west": Signed(b"to west", "two")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return journal_folder(tmp_path / "state", "ab" * 32)


def test_what_is_kept_is_there_again(folder: Path) -> None:
    who: dict[str, Any] = {"analyst": ANALYST.public, "simulated": False}
    who["holders"] = dict.fromkeys(LETTERS, ANALYST.public)
    with Journal(folder) as journal:
        assert journal.proposed(**who) == {}
        journal.begin(**who, letters=LETTERS)
        for answer in reversed(ANSWERS):
            journal.take("north", answer)
        assert journal.settled(0) is None
        journal.settle(0, ("west", "north"))
        journal.settle(1, ())
    with Journal(folder) as journal:
        assert journal.proposed(**who) == LETTERS
        assert journal.answers("north") == ANSWERS
        assert journal.answers("west") == []
        assert journal.settled(0) == ("west", "north")
        assert journal.settled(1) == ()
        assert journal.settled(2) is None


def test_it_is_its_owners_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        with Journal(folder) as journal:
            journal.take("north", ANSWERS[0])
            found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert found == {"journal": 0o600, "journal-wal": 0o600, "lock": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["journal", "lock"]


def test_an_answer_is_on_disk_when_it_is_taken(folder: Path) -> None:
    """Whoever looks at the files alone, as after a power cut, finds it."""
    with Journal(folder) as journal:
        journal.take("north", ANSWERS[0])
        journal.settle(0, ("north",))
        copy = folder.with_name("copy")
        copy.mkdir()
        for path in folder.iterdir():
            (copy / path.name).write_bytes(path.read_bytes())
    with Journal(copy) as journal:
        assert journal.answers("north") == ANSWERS[:1]
        assert journal.settled(0) == ("north",)


def test_one_process_at_a_time(folder: Path) -> None:
    with Journal(folder), pytest.raises(InputError, match="STUDY: is being learned by another process, which uses"):
        Journal(folder)
    with Journal(folder):
        pass


def test_patience_counts_from_the_first_time_that_an_asking_was_open(folder: Path, clock: Clock) -> None:
    with Journal(folder, patience=Fraction(2)) as journal:
        assert [journal.due, journal.overdue(3)] == [False, False]
        clock.hours += 1
    with Journal(folder, patience=Fraction(2)) as journal:
        assert [journal.overdue(3), journal.overdue(4)] == [False, False]
        clock.hours += 1.5
        assert [journal.overdue(3), journal.due] == [True, True]
        assert [journal.overdue(4), journal.due] == [False, False]
        clock.hours -= 10  # put back: it waits for longer, and nobody is left out for it
        assert not journal.overdue(3)
        clock.hours += 10
        assert journal.overdue(3)
        journal.settle(3, ("north",))
        assert [journal.settled(3), journal.due] == [("north",), False]
    with Journal(folder) as journal:
        assert not journal.overdue(3)


def test_a_journal_that_cannot_be_read_is_named(folder: Path) -> None:
    with Journal(folder) as journal:
        journal.take("north", ANSWERS[0])
    path = folder / "journal"
    sound = path.read_bytes()
    path.write_bytes(b"rubbish" * 1000)
    with pytest.raises(InputError, match=r"journal: is damaged .*; move its folder away"):
        Journal(folder)
    path.write_bytes(sound)
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA user_version = 3")
    with pytest.raises(InputError, match="was written as version 3 of a journal; this panbayes reads version 1"):
        Journal(folder)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"journal: is not usable|journal: cannot be used"):
        Journal(folder)


def test_a_state_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(InputError, match=r"journal: cannot be used \((not a directory|file exists)\); give --state"):
        Journal(journal_folder(tmp_path / "state", "ab" * 32))
    with pytest.raises(InputError, match="--state: holds a NUL"):
        journal_folder("a\0b", "ab" * 32)


FULL = """
import resource, signal, sys
from pathlib import Path
from panbayes.consortium.desk.journal import Answer, Journal
from panbayes.consortium.post.letters import Signed
from panbayes.errors import InputError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Journal(Path(sys.argv[1])) as journal:
    journal.take("north", Answer(1, 0, "first", False, Signed(b"1", "")))
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        journal.take("north", Answer(2, 1, "second", False, Signed(bytes(400_000), "")))
    except InputError as error:
        print(error)
    journal.take("north", Answer(2, 1, "third", False, Signed(b"3", "")))
"""


def test_a_full_disk_loses_nothing_that_was_taken(folder: Path) -> None:
    """An answer that has no room is not taken; it lies in the folder, and is taken when there is."""
    done = subprocess.run([sys.executable, "-c", FULL, str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        r"\S+journal: is not usable \(.*\); make room, or look .* what was answered is not lost\n", done.stdout
    )
    with Journal(folder) as journal:
        assert [answer.question for answer in journal.answers("north")] == ["first", "third"]


def test_every_commit_waits_for_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, made = sqlite3.connect, list[sqlite3.Connection]()

    def kept(*arguments: Any, **named: Any) -> sqlite3.Connection:
        made.append(connect(*arguments, **named))
        return made[-1]

    monkeypatch.setattr("panbayes.consortium.desk.journal.sqlite3.connect", kept)
    with Journal(folder):
        (base,) = made
        assert base.execute("PRAGMA synchronous").fetchone() == (2,)
        assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
