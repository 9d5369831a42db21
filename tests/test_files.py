"""Files that are whole or not there: the order of system calls, permissions, and what a failure leaves behind."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panbayes.cli.table_output import write_table
from panbayes.errors import InputError
from panbayes.files import new_file, output_file, remove_unfinished, sync_folder, write_bytes, write_text

CALLS = ("open", "fsync", "replace", "link", "unlink")


class Recorder:
    """The system calls that decide what survives a power cut, by the kind of thing they were done to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, target: Path) -> None:
        self.target = target
        self.paths: dict[int, Path] = {}
        self.seen: list[str] = []
        for name in CALLS:
            monkeypatch.setattr(os, name, partial(self.call, name, getattr(os, name)))

    def call(self, name: str, real: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = real(*arguments, **options)
        if name == "open":
            self.paths[result] = Path(arguments[0])
        elif name == "fsync":
            self.seen.append(f"fsync {self.kind(self.paths[arguments[0]])}")
        else:
            self.seen.append(f"{name} {self.kind(Path(arguments[0]))}")
        return result

    def kind(self, path: Path) -> str:
        if path == self.target:
            return "target"
        return "folder" if path == self.target.parent else "temporary"


def test_a_replaced_file_is_synced_then_named_then_its_folder_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        recorder = Recorder(patch, tmp_path / "model.json")
        write_text(recorder.target, "new")
    assert recorder.seen[:3] == ["fsync temporary", "replace temporary", "fsync folder"]
    assert recorder.target.read_text() == "new"


def test_a_new_file_is_synced_then_named_then_its_folder_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        recorder = Recorder(patch, tmp_path / "ledger")
        with new_file(recorder.target) as temporary:
            temporary.write_bytes(b"new")
    # The folder is synced last, so that neither name is what it was before after a power cut.
    assert recorder.seen == ["fsync temporary", "link temporary", "unlink temporary", "fsync folder"]
    assert recorder.target.read_bytes() == b"new"


def write_then_fail(path: Path) -> None:
    with output_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError


def create_then_fail(path: Path) -> None:
    with new_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")
    with pytest.raises(RuntimeError):
        write_then_fail(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    write_text(target, "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_creates_nothing(tmp_path: Path) -> None:
    for fail in (write_then_fail, create_then_fail):
        with pytest.raises(RuntimeError):
            fail(tmp_path / "x")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_what_the_system_refuses_at_the_end_is_an_error_about_the_output(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    target = tmp_path / "model.json"
    target.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, name, full)
        with pytest.raises(InputError, match=r"--model: .* cannot be written \(no space left on device\); make room"):
            write_bytes(target, b"new", argument="--model")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_disk_that_is_full_while_writing_is_an_error_about_the_output(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--output: "), limited_size(16):
        write_bytes(tmp_path / "x", b"x" * 4096)
    assert not list(tmp_path.iterdir())


@contextmanager
def limited_size(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond ``size`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_new_file_never_replaces_one(tmp_path: Path) -> None:
    target = tmp_path / "ledger"
    target.write_text("old")
    with pytest.raises(FileExistsError), new_file(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_permissions(mask: int, tmp_path: Path) -> None:
    with umask(mask):
        write_text(tmp_path / "model.json", "x")
        with new_file(tmp_path / "ledger") as temporary:
            assert mode(temporary) == 0o600
    assert mode(tmp_path / "model.json") == 0o666 & ~mask
    assert mode(tmp_path / "ledger") == 0o600


@pytest.mark.parametrize(("before", "after"), [(0o600, 0o600), (0o640, 0o640), (0o444, 0o644)])
def test_a_replaced_file_keeps_its_permissions_at_every_moment(before: int, after: int, tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")
    target.chmod(before)
    with output_file(target) as temporary:
        assert mode(temporary) == after
        temporary.write_text("new")
    assert (target.read_text(), mode(target)) == ("new", after)


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_a_new_file_that_is_private_is_its_owners_alone(mask: int, tmp_path: Path) -> None:
    with umask(mask), output_file(tmp_path / "classes.csv", private=True) as temporary:
        assert mode(temporary) == 0o600
    assert mode(tmp_path / "classes.csv") == 0o600


def test_another_group_than_before_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    target = tmp_path / "model.json"
    target.write_text("old")
    target.chmod(0o664)
    found = target.lstat()
    other = os.stat_result([*found[:5], found.st_gid + 1, *found[6:10]])
    real = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda path: other if path == target else real(path))
    monkeypatch.setattr(os, "chown", forbidden)
    with output_file(target) as temporary:
        assert mode(temporary) == 0o604
    given: list[object] = []
    monkeypatch.setattr(os, "chown", lambda *arguments: given.append(arguments))
    with output_file(target) as temporary:
        assert mode(temporary) == 0o664
    assert given == [(temporary, -1, found.st_gid + 1)]


def test_who_is_stopped_removes_what_is_unfinished_and_nothing_else(tmp_path: Path) -> None:
    with output_file(tmp_path / "done") as temporary:
        temporary.write_text("done")
    with output_file(tmp_path / "a") as temporary, suppress(FileNotFoundError), new_file(tmp_path / "b") as unborn:
        Path(f"{unborn}-journal").touch()
        remove_unfinished()
        assert [path.name for path in tmp_path.iterdir()] == ["done"]
        temporary.write_text("a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "done"]


@pytest.mark.parametrize(("suffix", "reason"), [(".csv", "file too large"), (".parquet", ".*")])
def test_no_room_while_a_table_is_written_is_an_error_about_the_output(
    suffix: str, reason: str, tmp_path: Path
) -> None:
    frame, target = pl.DataFrame({"x": list(range(20_000))}), tmp_path / f"table{suffix}"
    told = rf"--output: .*table.* cannot be written \({reason}\); make room"
    with pytest.raises(InputError, match=told), limited_size(16), output_file(target) as temporary:
        write_table(frame, temporary, kind=target)
    assert not list(tmp_path.iterdir())


def test_a_name_with_a_nul_is_an_error_about_the_output(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--output: holds a NUL, which no path can"):
        write_text(f"{tmp_path}/a\0b", "x")


def test_a_share_that_cannot_sync_folders_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", files_only)
    write_text(tmp_path / "x", "new")
    assert (tmp_path / "x").read_text() == "new"
    with pytest.raises(OSError, match="No such file"):
        sync_folder(tmp_path / "absent")


def test_a_name_without_a_folder_is_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("x" * 250, "new")
    assert (tmp_path / ("x" * 250)).read_text() == "new"


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    """Not even by root, who could put a file in the place of /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name, told in (("pipe", "is not a regular file"), ("link", "is a link")):
        with pytest.raises(InputError, match=f"--output: .*{name} {told}"):
            write_text(tmp_path / name, "x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("north.ledger", "a ledger"),
        ("north.ledger-attempt", "what is kept beside north.ledger"),
        ("north.ledger-journal", "what is kept beside north.ledger"),
        ("north.db-attempt", "what is kept beside north.db"),
        ("north.db-wal", "what is kept beside north.db"),
        ("north.db-shm", "what is kept beside north.db"),
        ("lock", "the lock of the ledgers beside it"),
    ],
)
def test_what_is_kept_beside_a_ledger_is_neither_replaced_nor_made(
    name: str, told: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a ledger has a name of its own choice, and by a name that is relative or goes through a link."""
    folder = tmp_path / "ledgers"
    folder.mkdir()
    (folder / "north.db").write_bytes(b"SQLite format 3\0")
    if there:
        (folder / name).write_bytes(b"kept")
    (tmp_path / "elsewhere").symlink_to(folder)
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    for target in (folder / name, tmp_path / "elsewhere" / name, Path(name)):
        with pytest.raises(InputError, match=f"^--output: .*{name} is the name of {told}; give another file"):
            write_text(target, "x")
    assert sorted(folder.iterdir()) == before
    assert not there or (folder / name).read_bytes() == b"kept"


@pytest.mark.parametrize(
    "name", ["lock", "first-attempt", "clock", "journal", "model.ledgers", "north.ledger-attempts", "ledgers/clock"]
)
def test_names_like_those_beside_a_ledger_are_free_where_there_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    for text in ("old", "new"):
        write_text(tmp_path / name, text)
        assert (tmp_path / name).read_text() == text


def test_a_name_that_is_too_long_is_an_error_about_the_output(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--output: .* cannot be written \(file name too long\)"):
        write_text(tmp_path / ("n" * 256), "x")


def test_a_disk_that_cannot_be_written_to_is_named_by_the_output_and_not_by_what_stands_in_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a disk refuses to remove what was never made, too."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(InputError) as caught:
        write_text(tmp_path / "m.json", "new")
    assert str(caught.value).startswith(f"--output: {tmp_path}/m.json cannot be written (read-only file system)")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--output: .* is a directory"):
        write_text(tmp_path, "x")
    with pytest.raises(InputError, match=r"cannot be written \(no such file or directory\)"):
        write_text(tmp_path / "absent" / "x", "x")
