"""The ledger's file, its sums, its chain, and what shows when somebody has been at it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger import file as ledger_file
from panbayes.consortium.holder.ledger.binding import fingerprint, keyed
from panbayes.consortium.holder.ledger.chain import next_head
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.dp.noise import SecureNoise, SimulatedNoise
from panbayes.errors import LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, asked, pure, released, script, singles, study, table

SHARES = ("1/3", "1/7", "0.1", "0.000001", "2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def fill(path: Path, studies: int = 2) -> list[str]:
    """Answer some studies in full and return the heads that went out."""
    heads = []
    with Ledger.open(path, create=True) as ledger:
        for number in range(studies):
            agreed = study(name=f"study {number}")
            door = Gate(table(), agreed, ledger, SecureNoise())
            heads += [released(door.ask(asked(q, agreed, i))).ledger for i, q in enumerate(script(agreed))]
    return heads


def test_the_file_and_its_journal_are_the_holders_own(path: Path) -> None:
    before = os.umask(0)
    try:
        fill(path, 1)
        with Ledger.open(path) as ledger, ledger.transaction() as transaction:
            transaction.set_cap(Pure(Fraction(1)))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"clinic.ledger": 0o600, "clinic.ledger-journal": 0o600}


def test_the_settings_that_make_a_commit_last(path: Path) -> None:
    fill(path, 1)
    with Ledger.open(path) as ledger, ledger.transaction(write=False) as transaction:
        found = {
            name: transaction.connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        }
    assert found == {"journal_mode": "truncate", "synchronous": 2}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_ledger_others_can_read_is_not_used(mode: int, path: Path) -> None:
    fill(path, 1)
    path.chmod(mode)
    with pytest.raises(LedgerError, match="chmod 600"):
        Ledger.open(path)


def test_what_is_not_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "empty").touch(0o600)
    (tmp_path / "text").touch(0o600)
    (tmp_path / "text").write_text("spent: nothing\n" * 100)
    connection = sqlite3.connect(tmp_path / "other")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    (tmp_path / "other").chmod(0o600)
    for name in ("absent", "empty", "text", "other", "."):
        with pytest.raises(LedgerError) as caught:
            Ledger.open(tmp_path / name, create=name != "absent")
        assert caught.value.exit_code == 5
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger.open(tmp_path / "no" / "folder", create=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "other", "text"]


def test_a_newer_version_is_refused(path: Path) -> None:
    fill(path, 1)
    edit(path, "PRAGMA user_version=2")
    with pytest.raises(LedgerError, match="of version 2"):
        Ledger.open(path)


def test_creating_twice_keeps_the_first(path: Path) -> None:
    assert ledger_file.create(path)
    with Ledger.open(path) as ledger:
        head = ledger.summary().head
    assert not ledger_file.create(path)
    with Ledger.open(path, create=True) as ledger:
        assert ledger.summary().head == head
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(SHARES)), max_size=12), st.fractions(0, 4, max_denominator=50)
)
@settings(max_examples=40)
def test_sums_are_exact_and_never_above_study_or_cap(charges: list[tuple[int, str]], cap: Fraction) -> None:
    """A model of the ledger's arithmetic in a few lines, beside the real one."""
    spent: dict[str, Fraction] = {}
    with Ledger.in_memory() as ledger:
        ledger.set_cap(Pure(cap))
        for number, epsilon in charges:
            agreed = study("independent", epsilon if "/" in epsilon else str(Fraction(epsilon)), name=f"s{number}")
            reply = Gate(table(), agreed, ledger, SimulatedNoise(0)).ask(asked(singles(agreed), agreed))
            fits = sum(spent.values()) + agreed.budget <= cap
            if agreed.hash not in spent and fits:
                spent[agreed.hash] = agreed.budget
            assert (agreed.hash in spent) == (b"release" in reply)
        summary = ledger.summary()
        assert pure(summary.spent) == sum(spent.values())
        assert {s.study: pure(s.spent) for s in summary.studies} == spent
        assert summary.left is not None
        assert pure(summary.left) == cap - sum(spent.values())
        assert verify(ledger) == []


def test_lowering_the_cap_below_what_is_spent(path: Path) -> None:
    fill(path)
    with Ledger.open(path) as ledger:
        ledger.set_cap(Pure(Fraction(1, 2)))
        summary = ledger.summary()
        assert summary.spent == Pure(Fraction(2))
        assert summary.left == Pure(Fraction(0))
        assert verify(ledger) == [], "it was spent before the cap"
        ledger.set_cap(None)
        assert ledger.summary().left is None


def test_an_error_undoes_the_turn(path: Path) -> None:
    fill(path, 1)

    def half_a_turn(ledger: Ledger) -> None:
        with ledger.transaction() as transaction:
            transaction.set_cap(Pure(Fraction(1)))
            raise RuntimeError("stop")

    with Ledger.open(path) as ledger:
        with pytest.raises(RuntimeError, match="stop"):
            half_a_turn(ledger)
        assert ledger.summary().cap is None


def test_what_is_charged_cannot_be_changed_by_a_slip(path: Path) -> None:
    fill(path, 1)
    with Ledger.open(path) as ledger:
        for slip in (
            "DELETE FROM entries",
            "UPDATE entries SET loss = ''",
            "DELETE FROM studies",
            "DELETE FROM caps WHERE 1",
        ):
            ledger.set_cap(Pure(Fraction(9)))
            with pytest.raises(LedgerError, match="append-only"), ledger.transaction() as transaction:
                transaction.connection.execute(slip)


def test_a_ledger_does_not_cross_a_fork(path: Path) -> None:
    code = (
        "import os, sys\n"
        "from panbayes.consortium.holder.ledger.ledger import Ledger\n"
        "from panbayes.errors import InternalError\n"
        "ledger = Ledger.open(sys.argv[1], create=True)\n"
        "child = os.fork()\n"
        "try:\n"
        "    ledger.summary()\n"
        "except InternalError:\n"
        "    os._exit(7)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 7


def test_binding_is_keyed_and_ignores_order_only(tmp_path: Path) -> None:
    records = table()
    turned = records.select(slice(None, None, -1))
    assert fingerprint(records) == fingerprint(turned)
    assert fingerprint(records) != fingerprint(table(1))
    assert fingerprint(records) != fingerprint(Table(SCHEMA, records.codes, persons=50))
    doubled = Table(SCHEMA, np.concatenate([records.codes, records.codes[:, :1]], axis=1))
    assert fingerprint(doubled) != fingerprint(records)
    digests = set()
    for name in ("a", "b"):
        with Ledger.open(tmp_path / name, create=True) as ledger:
            ledger.bind(SCHEMA.hash, fingerprint(records))
            with ledger.transaction(write=False) as transaction:
                digest = bytes(transaction.connection.execute("SELECT digest FROM bindings").fetchone()[0])
                assert digest == keyed(transaction.secret("key"), fingerprint(records))
                digests.add(digest)
    assert len(digests) == 2
    for file in tmp_path.iterdir():
        assert fingerprint(records) not in file.read_bytes()


def test_the_chain_can_be_recomputed_from_what_show_prints(path: Path) -> None:
    fill(path)
    with Ledger.open(path) as ledger:
        head = ledger.summary().first
        for entry in ledger.entries():
            head = next_head(
                sequence=entry.sequence,
                study=entry.study,
                question=entry.question,
                loss=entry.loss,
                reply=entry.reply,
                previous=head,
            )
            assert head == entry.head


def edit(path: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    """Do what somebody with a database editor would do."""
    connection = sqlite3.connect(path, isolation_level=None)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement, values if "?" in statement else ())
    connection.close()


def faults(path: Path, *heads: str) -> str:
    try:
        with Ledger.open(path) as ledger:
            return "; ".join(verify(ledger, heads=heads))
    except LedgerError as error:
        return str(error)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM entries WHERE sequence = 8", "newest entries are missing"),
        ("DELETE FROM entries WHERE sequence >= 3", "newest entries are missing"),
        ("DELETE FROM entries", "newest entries are missing"),
        ("DELETE FROM entries WHERE sequence = 2", "entry 2 is missing"),
        ("DELETE FROM entries WHERE sequence = 1", "entry 1 is missing"),
        ("""UPDATE entries SET loss = '{"class":"pure","epsilon":"1/7"}' WHERE sequence = 2""", "entry 2: its head"),
        ("""UPDATE entries SET loss = '{"class":"approximate"}' WHERE sequence = 2""", "unknown class"),
        ("UPDATE entries SET loss = 'nothing' WHERE sequence = 2", "unknown class"),
        ("UPDATE entries SET loss = 5 WHERE sequence = 2", "unknown class"),
        ("UPDATE entries SET reply = '00' WHERE sequence = 2", "entry 2: its head"),
        ("UPDATE entries SET head = '00' WHERE sequence = 2", "entry 2: its head"),
        ("UPDATE entries SET kind = 'counts' WHERE sequence = 2", "entry 2: it was charged for something else"),
        (
            "UPDATE entries SET replied = (SELECT replied FROM entries WHERE sequence = 1) WHERE sequence = 2",
            "reply is",
        ),
        ("UPDATE entries SET asked = (SELECT asked FROM entries WHERE sequence = 1) WHERE sequence = 2", "question is"),
        ("UPDATE entries SET replied = x'00' WHERE sequence = 2", "cannot be read"),
        ("UPDATE entries SET study = (SELECT max(hash) FROM studies)", "its head"),
        ('UPDATE studies SET content = replace(content, \'"epsilon":"1"\', \'"epsilon":"9"\')', "content has been"),
        ("UPDATE studies SET content = 7", "content has been"),
        ("DELETE FROM studies", "more than it was granted"),
        ("""INSERT INTO caps VALUES (1, 0, '{"class":"pure","epsilon":"1"}')""", "above the cap in force"),
        ("UPDATE meta SET value = x'00' WHERE key = 'ledger'", "entry 1: its head"),
        ("DELETE FROM meta WHERE key = 'ledger'", "not what panbayes writes"),
        ("DROP TABLE entries", "cannot be used"),
    ],
)
def test_edits_show(statement: str, fault: str, path: Path) -> None:
    fill(path)
    assert faults(path) == ""
    edit(path, "PRAGMA foreign_keys=OFF", statement)
    assert fault in faults(path)


def test_an_exchanged_answer_shows_although_its_head_is_right(path: Path) -> None:
    fill(path, 1)
    with sqlite3.connect(path) as connection:
        (reply,) = connection.execute("SELECT replied FROM entries WHERE sequence = 4").fetchone()
    connection.close()
    at = reply.index(b"\xa4data") + 8
    edit(path, "UPDATE entries SET replied = ? WHERE sequence = 4", values=(reply[:at] + b"\x7f" + reply[at + 1 :],))
    assert faults(path) == "entry 4: its reply has been changed"


def test_a_restored_copy_shows_by_the_heads_given_out(path: Path) -> None:
    heads = fill(path, 1)
    shutil.copy2(path, path.with_name("backup"))
    newer = fill(path, 2)
    assert newer[: len(heads)] == heads
    assert faults(path, *newer) == ""
    shutil.copy2(path.with_name("backup"), path)
    assert faults(path) == "", "an old copy is a good ledger"
    assert faults(path, *heads) == ""
    found = faults(path, *newer)
    assert found.count("older copy was restored") == len(newer) - len(heads)
    fresh = fill(path, 2)
    assert fresh[-1] != newer[-1], "what is drawn again is another history"


@pytest.mark.parametrize("cut", [0, 1, 100, 4096, 8192, -4096, -5000])
def test_a_file_cut_short_shows(cut: int, path: Path) -> None:
    fill(path, 3)
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    assert faults(path)


def test_overwritten_bytes_show_or_do_not_matter(path: Path) -> None:
    """Flip bytes all over the file: either it shows, or every entry and reply is as it was."""
    heads = fill(path, 2)
    data = path.read_bytes()
    generator = np.random.default_rng(5)
    shown = 0
    for at in generator.choice(len(data), 120, replace=False):
        damaged = bytearray(data)
        damaged[at] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        found = faults(path, *heads)
        shown += bool(found)
    assert shown > 20
    path.write_bytes(data)
    assert faults(path, *heads) == ""


def test_two_runs_at_once_share_one_ledger(path: Path) -> None:
    """Two processes ask the same studies in opposite order: same bytes for both, charged once."""
    Ledger.open(path, create=True).close()
    code = (
        "import sys\n"
        "from tests.consortium.holder.test_ledger import concurrent_run\n"
        "concurrent_run(sys.argv[1], sys.argv[2] == 'backwards')\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(path), way], stdout=subprocess.PIPE, text=True)
        for way in ("forwards", "backwards")
    ]
    outputs = [json.loads(run.communicate(timeout=120)[0]) for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[0] == outputs[1]
    with Ledger.open(path) as ledger:
        summary = ledger.summary()
        assert pure(summary.spent) == 6
        assert summary.entries == 24
        assert verify(ledger) == []


def concurrent_run(path: str, backwards: bool) -> None:
    """Ask six studies of four questions each and print what came back."""
    replies = {}
    with Ledger.open(path) as ledger:
        for number in sorted(range(6), reverse=backwards):
            agreed = study(name=f"study {number}")
            door = Gate(table(), agreed, ledger, SecureNoise())
            for index, query in enumerate(script(agreed)):
                replies[f"{number} {index}"] = released(door.ask(asked(query, agreed, index))).ledger
    sys.stdout.write(json.dumps(replies, sort_keys=True))


def test_threads_share_one_ledger(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        agreed = study()
        door = Gate(table(), agreed, ledger, SecureNoise())
        found: list[list[str]] = []

        def run() -> None:
            found.append([released(door.ask(asked(q, agreed, i))).ledger for i, q in enumerate(script(agreed))])

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len({tuple(heads) for heads in found}) == 1
        assert pure(ledger.summary().spent) == 1


def test_a_ledger_held_too_long_by_another_is_a_clear_message(path: Path) -> None:
    fill(path, 1)
    agreed = study(name="late")
    told: list[BaseException] = []
    with Ledger.open(path) as holding, Ledger.open(path, busy_seconds=0.05) as waiting:
        door = Gate(table(), agreed, waiting, SecureNoise(), report=told.append)
        with holding.transaction() as transaction:
            transaction.set_cap(None)
            with pytest.raises(LedgerError, match="is in use by another process"):
                waiting.set_cap(None)
            reply = door.ask(asked(script(agreed)[0], agreed))
            assert b"unavailable" in reply
        assert "in use by another process" in str(told[0])
        released(door.ask(asked(script(agreed)[0], agreed)))


def test_a_thread_held_too_long_is_a_clear_message(path: Path) -> None:
    with (
        Ledger.open(path, create=True, busy_seconds=0.05) as ledger,
        ledger.transaction(),
        pytest.raises(LedgerError, match="in use by this process"),
    ):
        ledger.summary()
