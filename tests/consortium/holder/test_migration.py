"""Ledgers of older versions are brought to the newest: whole, once, and only when they are used."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.holder.ledger.binding import Fingerprint
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.ledger.versions import Draw, Migration, newest
from panbayes.errors import InternalError, LedgerError
from panbayes.privacy.classes.pure import Pure
from tests.consortium.holder.examples import asked, released, singles, study
from tests.consortium.holder.golden_ledger import EXCHANGES, FOLDER, HEADS, gate, golden, layout, replay
from tests.consortium.holder.ledgers import edit
from tests.consortium.holder.made_up_version import known, to_made_up
from tests.effort import soak

ROOT = Path(__file__).resolve().parents[3]
NEWEST = newest()
ORIGINAL = (FOLDER / "version-1.ledger").read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return golden(tmp_path)


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(version)


def step_of(*statements: str) -> Migration:
    """Return a step to another version that runs some statements."""

    def step(connection: sqlite3.Connection, _draw: Draw) -> None:
        for statement in statements:
            connection.execute(statement)

    return step


def test_an_old_ledger_is_brought_to_the_newest_version_and_means_the_same(path: Path) -> None:
    with Ledger.open(path) as ledger:
        before, entries = ledger.summary(), ledger.entries()
    with known(to_made_up):
        with Ledger.open(path) as ledger:
            assert ledger.summary() == before
            assert ledger.entries() == entries
            assert verify(ledger, heads=HEADS) == []
            assert replay(ledger) == [exchange.reply for exchange in EXCHANGES]
            agreed = study("independent", "1/10", schema=EXCHANGES[0].study.schema)
            release = released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
        with Ledger.open(path) as ledger:
            assert verify(ledger, heads=[*HEADS, release.ledger]) == []
        assert version_of(path) == newest() == NEWEST + 1


def test_a_migrated_ledger_and_a_new_one_have_the_same_layout(path: Path) -> None:
    new = path.with_name("new.ledger")
    with known(to_made_up):
        Ledger.open(new, create=True).close()
        Ledger.open(path).close()
        assert layout(new) == layout(path) != layout(golden(path.parent))
        with Ledger.in_memory() as ledger, ledger.transaction(write=False) as transaction:
            assert {*transaction.connection.execute("SELECT type, name, sql FROM sqlite_master")} < layout(new)


def test_secrets_that_a_step_draws_are_secret_on_disk_and_fixed_in_memory(path: Path) -> None:
    drawn = set()
    with known(to_made_up):
        for folder in ("a", "b"):
            path.parent.joinpath(folder).mkdir()
            with Ledger.open(golden(path.parent / folder)) as ledger, ledger.transaction(write=False) as transaction:
                drawn.add(transaction.secret("drawn"))
        with Ledger.in_memory() as ledger, ledger.transaction(write=False) as transaction:
            drawn.add(transaction.secret("drawn"))
    assert len(drawn) == 3
    assert bytes(32) in drawn


def test_every_step_is_taken_once_and_in_order(path: Path) -> None:
    second = step_of("CREATE TABLE steps (number INTEGER)", "INSERT INTO steps VALUES (2)")
    third, fourth = step_of("INSERT INTO steps VALUES (3)"), step_of("INSERT INTO steps VALUES (4)")
    for steps in ([second], [second, third, fourth], [second, third, fourth]):
        with known(*steps), Ledger.open(path):
            assert version_of(path) == NEWEST + len(steps)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT number FROM steps").fetchall() == [(2,), (3,), (4,)]
    connection.close()


def test_who_only_looks_sees_the_newest_version_and_changes_nothing(path: Path) -> None:
    with Ledger.read(path) as ledger:
        before, entries = ledger.summary(), ledger.entries()
    path.chmod(0o400)
    with known(to_made_up), Ledger.read(path) as ledger:
        assert ledger.summary() == before
        assert ledger.entries() == entries
        assert verify(ledger, heads=HEADS) == []
        with ledger.transaction(write=False) as transaction:
            assert len(transaction.secret("drawn")) == 32
        with pytest.raises(InternalError, match="opened to be read"):
            ledger.set_cap(None)
    assert path.read_bytes() == ORIGINAL


def test_looking_for_a_ledger_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    golden(tmp_path)
    with known(to_made_up):
        Cabinet(tmp_path).open({"somebody else": ("schema", Fingerprint((b"records",)))})["somebody else"].close()
    assert (tmp_path / "golden.ledger").read_bytes() == ORIGINAL


@pytest.mark.parametrize("version", [NEWEST + 1, NEWEST + 7])
def test_a_newer_version_is_refused(version: int, path: Path) -> None:
    edit(path, f"PRAGMA user_version={version}")
    for way in (Ledger.open, Ledger.read):
        with pytest.raises(LedgerError, match=f"of version {version}, and this panbayes knows versions up to {NEWEST}"):
            way(path)


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_damage(version: int, path: Path) -> None:
    edit(path, f"PRAGMA user_version={version}")
    before = path.read_bytes()
    for way in (Ledger.open, Ledger.read):
        with pytest.raises(LedgerError, match=": is damaged;"):
            way(path)
    assert path.read_bytes() == before


def test_a_ledger_that_a_newer_panbayes_has_taken_further_is_let_go(path: Path) -> None:
    """A process of the older version had it open; it must not write old rows into new tables."""
    with Ledger.open(path) as older:
        with known(to_made_up):
            Ledger.open(path).close()
        for use in (older.summary, lambda: older.set_cap(Pure(Fraction(1)))):
            with pytest.raises(
                LedgerError, match=f"of version {NEWEST + 1}, and this panbayes knows versions up to {NEWEST}"
            ):
                use()


def test_a_step_that_fails_leaves_the_ledger_as_it_was(path: Path) -> None:
    failing = step_of("DELETE FROM notes")
    with known(to_made_up, failing), pytest.raises(LedgerError, match="append-only"):
        Ledger.open(path)
    assert path.read_bytes() == ORIGINAL
    with Ledger.open(path) as ledger:
        assert verify(ledger, heads=HEADS) == []


def test_a_step_that_breaks_a_reference_is_undone(path: Path) -> None:
    breaking = step_of("DROP TRIGGER studies_delete", "DELETE FROM studies")
    with known(breaking), pytest.raises(LedgerError, match=": is damaged;"):
        Ledger.open(path)
    assert path.read_bytes() == ORIGINAL


def test_a_damaged_ledger_is_not_migrated(path: Path) -> None:
    """An index is not in the order it claims: every row is readable, and the file is damaged."""
    edit(path, "PRAGMA writable_schema=ON", "UPDATE sqlite_master SET sql = replace(sql, 'study, kind', 'kind, study')")
    before = path.read_bytes()
    with known(step_of("CREATE TABLE steps (number INTEGER)")):
        for way in (Ledger.open, Ledger.read):
            with pytest.raises(LedgerError, match=": is damaged;"):
                way(path)
    assert path.read_bytes() == before


def test_two_who_open_at_once_take_the_step_once(path: Path) -> None:
    """The second has seen the old version and waits for the first, which is in the middle of the step."""
    begun, go_on = threading.Event(), threading.Event()
    opened: list[int] = []

    def slow(connection: sqlite3.Connection, _draw: Draw) -> None:
        connection.execute("CREATE TABLE steps (number INTEGER)")
        begun.set()
        assert go_on.wait(60)

    def run() -> None:
        with Ledger.open(path) as ledger:
            opened.append(ledger.summary().entries)

    with known(slow):
        threads = [threading.Thread(target=run) for _ in range(2)]
        threads[0].start()
        assert begun.wait(60)
        threads[1].start()
        threads[1].join(0.5)
        assert opened == []
        go_on.set()
        for thread in threads:
            thread.join()
    assert opened == [len(HEADS)] * 2


def test_who_waits_for_a_step_that_leads_further_than_it_knows_lets_go(path: Path) -> None:
    """It has seen an old version, and finds a newer one than its own when its turn comes."""
    errors: list[LedgerError] = []

    def run() -> None:
        try:
            Ledger.open(path)
        except LedgerError as error:
            errors.append(error)

    newer = sqlite3.connect(path, isolation_level=None)
    with known(to_made_up):
        newer.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(0.5)
        newer.execute(f"PRAGMA user_version={NEWEST + 2}")
        newer.execute("COMMIT")
        newer.close()
        thread.join()
    assert f"of version {NEWEST + 2}, and this panbayes knows versions up to {NEWEST + 1}" in str(errors[0])
    assert version_of(path) == NEWEST + 2


def migrating(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.consortium.holder.migrating", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


@soak
def test_killed_anywhere_in_a_migration(tmp_path: Path) -> None:
    """``migrating.py`` says what is checked: before every statement, and at lines of the holder's room.

    Here at every third, with ``make soak`` at every one.
    """
    done = migrating(tmp_path, "3")
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert outcomes["kills"] >= 60
    assert outcomes["old"] >= 40
    assert outcomes["new"] >= 1
    assert outcomes["half-written"] >= 5, "some kills must leave half a migration in the file, to be undone"


def test_the_checks_notice_a_migration_that_is_not_one_transaction(tmp_path: Path) -> None:
    done = migrating(tmp_path, "3", "sabotage")
    assert done.returncode == 1
    assert "half a migration was left" in done.stderr or "already exists" in done.stderr
