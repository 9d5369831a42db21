"""What shows when somebody has been at a ledger: edits, cuts, damage, old copies."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.errors import LedgerError
from tests.consortium.holder.ledgers import edit, faults, fill


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


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
        ("DELETE FROM meta WHERE key = 'ledger'", 'its secret "ledger" is missing'),
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
    assert faults(path, *newer).count("older copy was restored") == len(newer) - len(heads)
    fresh = fill(path, 2)
    assert fresh[-1] != newer[-1], "what is drawn again is another history"


@pytest.mark.parametrize("cut", [0, 1, 100, 4096, 8192, -4096, -5000])
def test_a_file_cut_short_shows(cut: int, path: Path) -> None:
    fill(path, 3)
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    assert faults(path)


def test_overwritten_bytes_show_or_do_not_matter(path: Path) -> None:
    """Flip bytes all over the file: either it shows, or every entry and reply is as it was. It is never a bug."""
    heads = fill(path, 2)
    data = path.read_bytes()
    generator = np.random.default_rng(5)
    shown = 0
    for at in generator.choice(len(data), 120, replace=False):
        damaged = bytearray(data)
        damaged[at] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        shown += bool(faults(path, *heads))
        with suppress(LedgerError), Ledger.read(path) as ledger:
            assert len(ledger.entries()) == ledger.summary().entries
    assert shown > 20
    path.write_bytes(data)
    assert faults(path, *heads) == ""
