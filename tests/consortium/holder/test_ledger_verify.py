"""What shows when somebody has been at a ledger: edits, cuts, damage, old copies."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest

from panbayes.consortium.holder.ledger.chain import loss_text
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.notes import notes_digest
from panbayes.consortium.protocol.codec import encode
from panbayes.errors import LedgerError
from panbayes.privacy.classes.pure import Pure
from tests.consortium.holder.examples import released, study
from tests.consortium.holder.ledgers import answer, edit, faults, fill


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
        ("UPDATE entries SET loss = replace(hex(zeroblob(100000)), '0', '[') WHERE sequence = 2", "unknown class"),
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
        ("""INSERT INTO notes VALUES (1, 0, 'cap', '{"class":"pure","epsilon":"1"}')""", "above the cap in force"),
        ("UPDATE meta SET value = x'00' WHERE key = 'ledger'", "entry 1: its head"),
        ("DELETE FROM meta WHERE key = 'ledger'", 'its secret "ledger" is missing'),
        ("UPDATE meta SET value = x'ff' WHERE key = 'head'", "the newest entries are missing"),
        ("DROP TABLE entries", "cannot be used"),
        ("UPDATE entries SET notes = 'x' WHERE sequence = 2", "entry 2: its head"),
    ],
)
def test_edits_show(statement: str, fault: str, path: Path) -> None:
    fill(path)
    assert faults(path) == ""
    edit(path, "PRAGMA foreign_keys=OFF", statement)
    assert fault in faults(path)


def test_a_file_that_sqlite_finds_damaged_is_said_to_be_and_looked_at_no_further(path: Path) -> None:
    """A row that is missing from its index: every page can be read, and yet they contradict each other."""
    fill(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("CREATE TABLE spare (a)")
    connection.execute(
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'spare')"
        " WHERE type = 'table' AND name = 'notes'"
    )
    connection.close()
    assert faults(path).startswith("the file is damaged: ")
    assert ";" not in faults(path)


CAP = '{"class":"pure","epsilon":"9"}'


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE notes SET content = ? WHERE position = 1", "entry 1: a cap or another note before it"),
        ("UPDATE notes SET content = ? WHERE position = 2", "entry 5: a cap or another note before it"),
        ("UPDATE notes SET content = ? WHERE position = 3", ""),
        ("DELETE FROM notes WHERE position = 1", "entry 1: a cap or another note before it"),
        ("DELETE FROM notes WHERE position = 3", ""),
        ("UPDATE notes SET content = NULL WHERE position = 1", "entry 1: a cap or another note before it"),
        ("UPDATE notes SET after = 4 WHERE position = 1", "entry 1: a cap or another note before it"),
        ("UPDATE notes SET after = 3 WHERE position = 2", "entry 4: a cap or another note before it"),
        ("INSERT INTO notes VALUES (9, 2, 'cap', ?)", "the notes are not in order"),
        ("INSERT INTO notes VALUES (9, 8, 'licence', NULL)", "a note of an unknown kind (licence)"),
        ("INSERT INTO notes SELECT 0, 0, 'closed', min(hash) FROM studies", "its study had been closed"),
        ("DELETE FROM meta WHERE key = 'notes'", ""),
    ],
)
def test_an_edited_cap_shows(statement: str, fault: str, path: Path) -> None:
    """One that entries follow, in each of them; any, by the digest of all."""
    for number in range(2):
        with Ledger.open(path, create=True) as ledger:
            ledger.set_cap(Pure(Fraction(3 + number)))
            answer(ledger, study(name=f"study {number}"))
    with Ledger.open(path) as ledger:
        ledger.set_cap(Pure(Fraction(5)))
    assert faults(path) == ""
    edit(path, statement, values=(CAP,))
    assert "a cap or another note has been changed, or is missing" in faults(path)
    assert fault in faults(path)


def test_an_edited_cap_shows_in_the_chain_although_the_digest_beside_it_was_made_to_fit(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.set_cap(Pure(Fraction(3)))
        answer(ledger, study())
    edit(path, "UPDATE notes SET content = ?", values=(CAP,))
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        digest = notes_digest(transaction.notes())
    edit(path, "UPDATE meta SET value = ? WHERE key = 'notes'", values=(digest.encode(),))
    assert faults(path).count("a cap or another note before it has been changed, or is missing") == 4
    edit(path, "UPDATE entries SET notes = ?", values=(digest,))
    assert faults(path).count("its head does not follow") == 4


@pytest.mark.parametrize("table", ["entries", "studies", "notes"])
@pytest.mark.parametrize("verb", ["update", "delete"])
def test_a_dropped_trigger_shows(table: str, verb: str, path: Path) -> None:
    fill(path, 1)
    slip(path, f"DROP TRIGGER {table}_{verb}")
    assert faults(path) == f"the trigger {table}_{verb} is missing: what it guards can be changed by a slip"


def test_a_trigger_of_somebody_elses_or_a_changed_one_shows(path: Path) -> None:
    fill(path, 1)
    slip(path, "CREATE TRIGGER mine AFTER INSERT ON entries BEGIN UPDATE meta SET value = value; END")
    assert faults(path) == "the trigger mine is none of panbayes's"
    slip(path, "DROP TRIGGER mine", "DROP TRIGGER notes_delete")
    slip(path, "CREATE TRIGGER notes_delete BEFORE delete ON notes BEGIN SELECT 1; END")
    assert faults(path) == "the trigger notes_delete has been changed"


def test_a_loss_below_what_was_asked_shows_although_the_chain_was_made_to_fit(path: Path) -> None:
    """Whoever has the ledger has its secrets, and can write any chain: the question itself says what it costs."""
    with Ledger.open(path, create=True) as ledger:
        answer(ledger, study("independent"))
        ((entry, previous),) = zip(ledger.entries(), [ledger.summary().first], strict=True)
        with ledger.transaction(write=False) as transaction:
            stored = transaction.stored(entry.question)
    assert stored is not None
    forged = replace(entry, loss=Pure(Fraction(1, 7)))
    head = forged.expected_head(previous)
    reply = encode(msgspec.structs.replace(released(stored[1]), ledger=head))
    edit(path, "UPDATE entries SET loss = ?, head = ?, replied = ?", values=(loss_text(forged.loss), head, reply))
    edit(path, "UPDATE meta SET value = ? WHERE key = 'head'", values=(head.encode(),))
    assert faults(path) == "entry 1: it was charged for something else than was asked"


def test_a_head_covers_the_loss(path: Path) -> None:
    fill(path, 1)
    with Ledger.read(path) as ledger:
        entry = ledger.entries()[1]
        previous = ledger.entries()[0].head
    assert replace(entry, loss=Pure(Fraction(1, 7))).expected_head(previous) != entry.head


def slip(path: Path, *statements: str) -> None:
    """Change a ledger, and leave it so."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


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
    heads = fill(path, 6)
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
