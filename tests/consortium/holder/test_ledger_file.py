"""The file of a ledger: who may read it, what a commit means, what is no ledger, and several processes at once."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from panbayes.consortium.holder.gate import Gate, Report
from panbayes.consortium.holder.ledger import file as ledger_file
from panbayes.consortium.holder.ledger.binding import Fingerprint, keyed
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InternalError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, asked, pure, released, script, study, table
from tests.consortium.holder.ledgers import answer, edit, fill


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def test_the_file_its_journal_and_its_attempt_are_the_holders_own(path: Path) -> None:
    before = os.umask(0)
    try:
        fill(path, 1)
        with Ledger.open(path) as ledger, ledger.transaction() as transaction:
            transaction.set_cap(Pure(Fraction(1)))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    names = ("clinic.ledger", "clinic.ledger-journal", "clinic.ledger-attempt")
    assert modes == dict.fromkeys(names, 0o600)


def test_the_settings_that_make_a_commit_last(path: Path) -> None:
    fill(path, 1)
    with Ledger.open(path) as ledger, ledger.transaction(write=False) as transaction:
        settings = {
            name: transaction.connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        }
    assert settings == {"journal_mode": "truncate", "synchronous": 2}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_ledger_others_can_read_is_not_used(mode: int, path: Path) -> None:
    fill(path, 1)
    path.chmod(mode)
    for way in (Ledger.open, Ledger.read):
        with pytest.raises(LedgerError, match="chmod 600"):
            way(path)


def test_a_ledger_with_a_second_name_is_not_used_under_either(path: Path, tmp_path: Path) -> None:
    """SQLite would look for what was cut off under one name alone, and undo there what was charged under the other."""
    Ledger.open(path, create=True).close()
    other = tmp_path / "elsewhere" / "other.ledger"
    other.parent.mkdir()
    os.link(path, other)
    for name in (path, other):
        for opened in (Ledger.open, Ledger.read):
            with pytest.raises(LedgerError, match="has another name as well, a hard link"):
                opened(name)
    other.unlink()
    Ledger.open(path).close()


def test_what_a_process_left_that_was_killed_while_it_made_a_ledger_is_no_second_name(path: Path) -> None:
    Ledger.open(path, create=True).close()
    for number in range(3):
        os.link(path, path.with_name(f".{path.name[:40]}.{number:012x}.tmp"))
    Ledger.open(path).close()
    os.link(path, path.with_name(".other.ledger.000000000000.tmp"))
    with pytest.raises(LedgerError, match="has another name"):
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
        with pytest.raises(LedgerError):
            Ledger.read(tmp_path / name)
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger.open(tmp_path / "no" / "folder", create=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "other", "text"]


def test_creating_twice_keeps_the_first(path: Path) -> None:
    assert ledger_file.create(path)
    with Ledger.open(path) as ledger:
        head = ledger.summary().head
    assert not ledger_file.create(path)
    with Ledger.open(path, create=True) as ledger:
        assert ledger.summary().head == head
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_ledger_that_could_not_be_finished_is_absent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("panbayes.files.sync", full)
    with pytest.raises(LedgerError, match="cannot be made \\(no space left on device\\)"):
        Ledger.open(path, create=True)
    assert list(path.parent.iterdir()) == []


def test_every_ledger_has_secrets_of_its_own(tmp_path: Path) -> None:
    secrets = set()
    for name in ("a", "b"):
        with Ledger.open(tmp_path / name, create=True) as ledger, ledger.transaction(write=False) as transaction:
            secrets |= {transaction.secret("ledger"), transaction.secret("key")}
    assert len(secrets) == 4
    assert {len(secret) for secret in secrets} == {32}


def test_what_is_only_read_stays_as_it_is(path: Path) -> None:
    fill(path, 2)
    before = path.read_bytes()
    with Ledger.read(path) as ledger:
        assert ledger.durable
        assert ledger.summary().entries == len(ledger.entries()) == 8
        assert verify(ledger) == []
        with pytest.raises(InternalError, match="opened to be read"):
            ledger.set_cap(None)
        with pytest.raises(LedgerError, match="readonly"), ledger.transaction(write=False) as transaction:
            transaction.set_cap(None)
    assert path.read_bytes() == before


def test_a_ledger_on_a_read_only_medium_can_be_read(path: Path) -> None:
    fill(path, 1)
    path.chmod(0o400)
    with Ledger.read(path) as ledger:
        assert ledger.summary().entries == 4


def test_binding_is_keyed_and_ignores_order_only(tmp_path: Path) -> None:
    records = table()
    turned = records.select(slice(None, None, -1))
    assert fingerprint(records) == fingerprint(turned)
    assert fingerprint(records) != fingerprint(table(1))
    doubled = Table(SCHEMA, np.concatenate([records.codes, records.codes[:, :1]], axis=1))
    assert fingerprint(doubled) != fingerprint(records)
    digests = set()
    for name in ("a", "b"):
        with Ledger.open(tmp_path / name, create=True) as ledger:
            ledger.bind(SCHEMA.hash, fingerprint(records))
            with ledger.transaction(write=False) as transaction:
                (digest,) = transaction.bindings().marks
                (mark,) = fingerprint(records).marks
                assert digest == keyed(transaction.secret("key"), mark)
                digests.add(digest)
    assert len(digests) == 2
    for file in tmp_path.iterdir():
        assert fingerprint(records).marks[0] not in file.read_bytes()


def test_two_runs_at_once_share_one_ledger(path: Path) -> None:
    """Two processes ask the same studies in opposite order: same bytes for both, charged once."""
    Ledger.open(path, create=True).close()
    code = (
        "import sys\n"
        "from tests.consortium.holder.test_ledger_file import concurrent_run\n"
        "concurrent_run(sys.argv[1], sys.argv[2] == 'backwards')\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(path), way], stdout=subprocess.PIPE, text=True)
        for way in ("forwards", "backwards")
    ]
    outputs = [json.loads(run.communicate(timeout=300)[0]) for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[0] == outputs[1]
    with Ledger.open(path) as ledger:
        summary = ledger.summary()
        assert pure(summary.spent) == 6
        assert summary.entries == 24
        assert verify(ledger) == []


def concurrent_run(path: str, backwards: bool) -> None:
    """Ask six studies of four questions each and print what came back."""
    heads = {}
    with Ledger.open(path) as ledger:
        for number in sorted(range(6), reverse=backwards):
            heads[number] = [released(reply).ledger for reply in answer(ledger, study(name=f"study {number}"))]
    sys.stdout.write(json.dumps(heads, sort_keys=True))


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


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE studies SET content = '{'", "study .*: its content has been changed"),
        ("UPDATE studies SET content = x'00'", "is not what panbayes writes"),
        ("UPDATE entries SET head = x'ff'", "is not what panbayes writes"),
        ("UPDATE entries SET loss = '[' ", "unknown class"),
        ("UPDATE entries SET loss = printf('%.*c', 100000, '[')", "unknown class"),
        ("UPDATE meta SET value = 'text' WHERE key = 'key'", "is not what panbayes writes"),
        ("DELETE FROM meta", 'its secret "key" is missing'),
        ("UPDATE notes SET content = 7", "unknown class"),
        ("DROP TABLE marks", "cannot be used"),
    ],
)
def test_a_damaged_text_is_one_clear_message(statement: str, message: str, path: Path) -> None:
    """For whoever shows, binds or charges: an error of the ledger, never a bug."""
    fill(path, 1)
    with Ledger.open(path) as ledger:
        ledger.set_cap(Pure(Fraction(9)))
    edit(path, statement)
    told: list[BaseException] = []
    with Ledger.open(path) as ledger:
        for use in (ledger.summary, ledger.entries, lambda: charge(ledger, told.append)):
            try:
                use()
            except LedgerError as error:
                told.append(error)
    assert {type(error) for error in told} == {LedgerError}
    assert any(re.search(message, str(error)) for error in told)
    assert all(str(error).startswith(str(path)) for error in told)


def charge(ledger: Ledger, report: Report) -> None:
    """Let one more study ask, under another schema as well."""
    ledger.bind("another schema", Fingerprint((b"records",)))
    agreed = study(name="another")
    Gate(table(), agreed, ledger, SecureNoise(), report=report).ask(asked(script(agreed)[0], agreed))
