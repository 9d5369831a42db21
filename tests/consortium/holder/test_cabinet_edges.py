"""Where ledgers lie: names that never change, folders and locks that others cannot read, waits that are told once."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path

import platformdirs
import pytest

from panbayes.consortium.holder.ledger import cabinet
from panbayes.consortium.holder.ledger.binding import Fingerprint
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.errors import InputError, LedgerError

NORTH = {"north": ("schema", Fingerprint((b"north's records",)))}


@pytest.mark.parametrize(
    ("holder", "name"),
    [
        ("north", "north-dc365e79.ledger"),
        ("North", "north-43f853bb.ledger"),
        ("北", "holder-01bc01b3.ledger"),
        ("--", "holder-d8156bae.ledger"),
        ("a" * 39 + "bcd", "a" * 39 + "b-ad240e79.ledger"),
        (
            "The Royal Infirmary of the Northern and Western Isles",
            "the-royal-infirmary-of-the-northern-and--b0238ebd.ledger",
        ),
    ],
)
def test_a_holder_of_earlier_versions_finds_its_ledger_by_its_name(holder: str, name: str, tmp_path: Path) -> None:
    assert Cabinet(tmp_path).path(holder).name == name


def test_a_file_that_hides_is_no_ledger(tmp_path: Path) -> None:
    own = Cabinet(tmp_path)
    for name in ("b.ledger", ".c.ledger", "a.ledger", "d.ledger-journal", "e.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in own.files()] == ["a.ledger", "b.ledger"]


def test_the_folder_and_its_lock_are_their_owners_alone(tmp_path: Path) -> None:
    """The folders above are made as any program makes them."""
    before = os.umask(0o022)
    try:
        own = Cabinet.in_state(tmp_path / "deep" / "state")
        for ledger in own.open(NORTH).values():
            ledger.close()
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((own.folder / name).stat().st_mode) for name in ("..", ".", "lock")}
    assert modes == {"..": 0o755, ".": 0o700, "lock": 0o600}


def test_a_folder_that_another_run_made_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Cabinet(tmp_path / "ledgers")
    own.make_folder()
    looks, there = iter([False]), Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda path: next(looks, True) if path == own.folder else there(path))
    own.make_folder()
    assert next(looks, True)


@pytest.mark.parametrize(("patience", "told"), [(60.0, 0), (0.05, 1)])
def test_a_wait_is_told_once_and_a_short_one_is_not(
    patience: float, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Cabinet(tmp_path)
    monkeypatch.setattr(cabinet, "PATIENCE", patience)
    lines: list[str] = []
    sleeps: list[float] = []
    monkeypatch.setattr(time, "sleep", sleeps.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(sleeps))  # a clock that no busy machine puts forward
    with (tmp_path / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(LedgerError, match="is in use by another process"):
            own.open(NORTH, waiting=lines.append, busy_seconds=0.4)
    assert lines == [f"waiting for another run that uses {tmp_path}"] * told
    assert set(sleeps) == {cabinet.POLL}
    for ledger in own.open(NORTH, waiting=lines.append).values():
        ledger.close()
    assert len(lines) == told


def test_the_same_records_have_one_ledger_whatever_their_holder_is_called(tmp_path: Path) -> None:
    """Also at once after the first run: its lock is let go."""
    own, paths = Cabinet(tmp_path), []
    for name in ("north", "south"):
        opened = own.open({name: NORTH["north"]}, busy_seconds=0.2)[name]
        paths.append(opened.path)
        opened.close()
    assert paths == [own.path("north")] * 2


def test_ledgers_are_closed_if_one_of_them_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Path | None] = []
    close, bind = Ledger.close, Transaction.bind

    def closing(ledger: Ledger) -> None:
        closed.append(ledger.path)
        close(ledger)

    def failing(transaction: Transaction, schema: str, records: Fingerprint) -> None:
        if schema == "damaged":
            raise LedgerError("ledger", found="is damaged", remedy="mend it")
        bind(transaction, schema, records)

    monkeypatch.setattr(Ledger, "close", closing)
    monkeypatch.setattr(Transaction, "bind", failing)
    own = Cabinet(tmp_path)
    with pytest.raises(LedgerError, match="is damaged"):
        own.open(NORTH | {"south": ("damaged", Fingerprint((b"south's records",)))})
    assert sorted(map(str, closed)) == sorted(str(own.path(name)) for name in ("north", "south"))


def test_the_state_of_a_user_is_where_the_system_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_state_path", lambda name: tmp_path / "home" / name)
    assert Cabinet.in_state(None).folder == tmp_path / "home" / "panbayes" / "ledgers"


def test_a_folder_that_cannot_be_made_or_locked_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "ledgers" / "lock").mkdir(parents=True)
    told = r"^state: .*{} cannot be used \({}\); give a folder that you may write to$"
    with pytest.raises(InputError, match=told.format("file/ledgers", "file exists")):
        Cabinet.in_state(tmp_path / "file").open(NORTH)
    with pytest.raises(InputError, match=told.format("ledgers", "is a directory")):
        Cabinet.in_state(tmp_path).open(NORTH)
