"""Nothing leaves before it is on disk: commits that fail, what is synced, and whose turn it is."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger import cabinet as cabinet_module
from panbayes.consortium.holder.ledger.binding import Fingerprint
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.dp.secure import SecureNoise
from panbayes.errors import LedgerError
from tests.consortium.holder.examples import asked, refused, released, singles, study, table
from tests.consortium.holder.ledgers import fill
from tests.test_files import limited_size

UNCOMMITTABLE = (
    "CREATE TABLE owed (study TEXT REFERENCES studies DEFERRABLE INITIALLY DEFERRED)",
    "CREATE TRIGGER owing AFTER INSERT ON entries BEGIN INSERT INTO owed VALUES ('nobody'); END",
)
"""Every charge leaves a reference that is looked at by COMMIT, and only there."""

RECORDS = {"north": ("schema", Fingerprint((b"records",)))}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger"


def test_a_reply_whose_commit_fails_does_not_leave(path: Path) -> None:
    agreed = study("independent")
    told: list[BaseException] = []
    with Ledger.open(path, create=True) as ledger:
        with ledger.transaction() as transaction:
            for statement in UNCOMMITTABLE:
                transaction.connection.execute(statement)
        door = Gate(table(), agreed, ledger, SecureNoise(), report=told.append)
        question = asked(singles(agreed), agreed)
        for _ in range(2):
            assert refused(door.ask(question))[0] == "unavailable"
        assert all("FOREIGN KEY constraint failed" in str(error) for error in told)
        assert ledger.entries() == ()
        with ledger.transaction() as transaction:
            transaction.connection.execute("DROP TRIGGER owing")
            transaction.connection.execute("DROP TABLE owed")
        reply = door.ask(question)
        assert released(reply).ledger == ledger.entries()[0].head
        assert door.ask(question) == reply
        assert verify(ledger) == []


def test_a_full_disk_charges_nothing_and_releases_nothing(path: Path) -> None:
    heads = fill(path, 1)
    agreed = study("independent", name="late")
    told: list[BaseException] = []
    with Ledger.open(path) as ledger:
        door = Gate(table(), agreed, ledger, SecureNoise(), report=told.append)
        with limited_size(path.stat().st_size // 8):
            assert refused(door.ask(asked(singles(agreed), agreed)))[0] == "unavailable"
        assert {type(error) for error in told} == {LedgerError}
        assert [entry.head for entry in ledger.entries()] == heads
        released(door.ask(asked(singles(agreed), agreed)))
        assert verify(ledger, heads=heads) == []


def test_a_new_ledger_and_the_folders_it_lies_in_are_on_disk_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the file nor its name nor the name of a folder above it may be gone after a power cut."""
    synced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().relative_to(tmp_path).as_posix())
        real(handle)

    def recorded(name: str, after: str) -> int:
        return next(number for number, one in enumerate(synced) if one.startswith(name) and after in one)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        Cabinet.in_state(tmp_path / "deep" / "state").open(RECORDS)["north"].close()
    assert synced[:3] == [".", "deep", "deep/state"], "each folder's name lies in the one above"
    assert recorded("deep/state/ledgers/.north", ".tmp") < len(synced) - 1
    assert synced[-1] == "deep/state/ledgers"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a cabinet, as another run does that looks for its ledgers."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def test_who_waits_for_the_folder_is_told_once_and_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cabinet_module, "PATIENCE", 0.05)
    cabinet = Cabinet(tmp_path / "ledgers")
    told: list[str] = []
    look = partial(cabinet.open, RECORDS, waiting=told.append, busy_seconds=0.3)
    sleeps: list[float] = []
    monkeypatch.setattr(time, "sleep", sleeps.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(sleeps))  # a clock that no busy machine puts forward
    with locked(cabinet.folder), pytest.raises(LedgerError, match=r"is in use by another process, for 0\.3 seconds"):
        look()
    assert sum(sleeps) == pytest.approx(0.3, abs=cabinet_module.POLL)
    assert told == [f"waiting for another run that uses {cabinet.folder}"]
    look()["north"].close()
    assert len(told) == 1
