"""A state is fed and released from in one file: a copy is refused, a move is finished or can be finished."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.state import home as home_module
from panbayes.stream.state import move
from panbayes.stream.state.home import Home, _born, home_of
from panbayes.stream.state.inspection import inspect_state
from panbayes.stream.state.move import move_state
from tests.conftest import ROOT
from tests.effort import often

if TYPE_CHECKING:
    from _typeshed import TraceFunction

ENTRIES = 24576


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    with DensityEstimator.create(path, 1000, epsilon=1, releases=3) as estimator:
        estimator.update(range(300))
        estimator.estimate()
    return path


class CutError(Exception):
    """A move is cut short."""


def home(path: Path) -> Home:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return home_of(descriptor)
    finally:
        os.close(descriptor)


def usable(path: Path) -> bool:
    try:
        with DensityEstimator.open(path) as estimator:
            estimator.update([1])
            return estimator.last() is not None
    except InputError:
        return False


@pytest.mark.parametrize("way", ["copy", "copy in place of the original", "backup restored"])
def test_a_copy_cannot_release_or_be_fed(state: Path, tmp_path: Path, way: str) -> None:
    other = tmp_path / "other"
    shutil.copy2(state, other)
    if way == "copy in place of the original":
        other.replace(state)
        other = state
    elif way == "backup restored":
        state.unlink()
        shutil.copy2(other, state)
        other = state
    for writing in (True, False):
        with pytest.raises(InputError, match="is a copy"):
            DensityEstimator.open(other, writing=writing)
    assert "this file is one" in inspect_state(other).copies


def test_the_original_is_used_on_after_it_was_copied_renamed_and_linked(state: Path, tmp_path: Path) -> None:
    shutil.copy2(state, tmp_path / "copy")
    assert usable(state)
    renamed = state.rename(tmp_path / "renamed")
    (tmp_path / "link").hardlink_to(renamed)
    assert usable(renamed)
    assert usable(tmp_path / "link")


def test_a_file_that_was_replaced_while_it_was_open_is_not_released_from(state: Path, tmp_path: Path) -> None:
    shutil.copy2(state, tmp_path / "copy")
    with DensityEstimator.open(state, writing=False) as estimator:
        (tmp_path / "copy").replace(state)
        with pytest.raises(InputError, match="is another file than was opened"):
            estimator.estimate()


def test_homes_of_files_differ_in_time_of_birth_though_they_have_one_inode() -> None:
    """The inode of a deleted file is given out again: ext4 does so at once. Memory keeps no times of birth."""
    homes, kept = set(), True
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        for _ in range(20):
            path = Path(folder) / "file"
            path.write_text("x")
            homes.add(home(path))
            with path.open() as file:
                kept = _born(file.fileno(), path.stat()) is not None
            path.unlink()
    assert len(homes) == 20 or not kept


@pytest.mark.parametrize("part", ["inode", "born", "system"])
def test_each_part_of_a_home_counts(state: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    real = home(state)
    found = Home(**{**{name: getattr(real, name) for name in ("inode", "born", "system")}, part: 12345})
    monkeypatch.setattr("panbayes.stream.state.mapped.home_of", lambda _: found)
    with pytest.raises(InputError, match="is a copy"):
        DensityEstimator.open(state)


def test_a_file_system_without_times_of_birth_is_said_to_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_module, "_born", lambda _descriptor, _found: None)
    path = tmp_path / "state"
    DensityEstimator.create(path, 100, epsilon=1).close()
    assert usable_without_releases(path)
    assert "keeps no times of birth" in inspect_state(path).copies


def usable_without_releases(path: Path) -> bool:
    with DensityEstimator.open(path) as estimator:
        return estimator.releases_left == 1


def test_the_number_of_a_device_is_no_id_of_a_file_system(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        f_fsid = state.stat().st_dev

    monkeypatch.setattr(os, "fstatvfs", lambda _: Found)
    assert home(state).system == 0


@pytest.fixture
def elsewhere() -> Path:
    """A folder on another file system, where there is one."""
    other = Path("/dev", "shm")
    if not os.access(other, os.W_OK) or other.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev:
        pytest.skip("this machine has no second file system to write to")
    return Path(tempfile.mkdtemp(dir=other))


def test_a_state_is_moved_to_another_file_system_and_back(state: Path, elsewhere: Path) -> None:
    try:
        before = state.read_bytes()[ENTRIES:]
        move_state(state, elsewhere / "new")
        assert not state.exists()
        assert (elsewhere / "new").read_bytes()[ENTRIES:] == before
        assert (elsewhere / "new").stat().st_mode & 0o777 == 0o600
        assert usable(elsewhere / "new")
        move_state(elsewhere / "new", state)
        with DensityEstimator.open(state) as estimator:
            assert estimator.releases_left == 2
        assert not list(elsewhere.iterdir())
    finally:
        shutil.rmtree(elsewhere)


def by_name(_monkeypatch: pytest.MonkeyPatch) -> None:
    """Move within the file system."""


def by_copying(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move as between file systems."""
    monkeypatch.setattr(move, "_renamed", lambda _old, _new: False)


HOW = pytest.mark.parametrize("how", [by_name, by_copying])


@HOW
def test_who_has_the_old_file_open_gets_no_release_after_a_move(
    state: Path, monkeypatch: pytest.MonkeyPatch, how: Callable[[pytest.MonkeyPatch], None]
) -> None:
    how(monkeypatch)
    kept = state.with_name("kept")
    kept.hardlink_to(state)
    with DensityEstimator.open(state, writing=False) as opened, DensityEstimator.open(kept, writing=False) as linked:
        move_state(state, state.with_name("new"))
        with pytest.raises(InputError, match="cannot be opened"):
            opened.estimate()
        if how is by_copying:
            with pytest.raises(InputError, match="was moved away"):
                linked.estimate()
            with pytest.raises(InputError, match="was moved away"):
                DensityEstimator.open(kept, writing=False)
            assert not any(kept.read_bytes()[16:])
    with DensityEstimator.open(state.with_name("new"), writing=False) as moved:
        assert moved.estimate().fresh


@HOW
def test_a_move_replaces_nothing_and_takes_no_state_that_is_fed(
    state: Path, monkeypatch: pytest.MonkeyPatch, how: Callable[[pytest.MonkeyPatch], None]
) -> None:
    how(monkeypatch)
    new = state.with_name("new")
    new.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        move_state(state, new)
    assert new.read_text() == "precious"
    new.unlink()
    DensityEstimator.create(new, 10, epsilon=1).close()
    with pytest.raises(InputError, match="exists already"):
        move_state(state, new)
    with pytest.raises(InputError, match="is the state itself"):
        move_state(state, state)
    new.unlink()
    with DensityEstimator.open(state), pytest.raises(InputError, match="being fed by another process"):
        move_state(state, new)
    with pytest.raises(InputError, match="cannot be created"):
        move_state(state, state.with_name("nowhere") / "new")
    shutil.copy2(state, new)
    with pytest.raises(InputError, match="is a copy"):
        move_state(new, state.with_name("third"))
    assert usable(state)


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system in memory where there is one: nobody waits for a disk a thousand times."""
    shared = Path("/dev", "shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


OURS = {"move.py", "layout.py", "files.py"}


def killed_at(line: int, old: Path, new: Path) -> bool:
    """Move in a process that is killed before its ``line``-th line of :data:`OURS`; say whether it got there."""
    process = os.fork()
    if process == 0:
        count = 0

        def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
            nonlocal count
            if Path(frame.f_code.co_filename).name not in OURS:
                return None
            if event == "line":
                count += 1
                if count == line:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        try:
            move_state(old, new)
        finally:
            os._exit(0)
    return bool(os.WIFSIGNALED(os.waitpid(process, 0)[1]))


def snapshot(path: Path) -> tuple[bytes, int]:
    with DensityEstimator.open(path, writing=False) as estimator:
        return path.read_bytes()[ENTRIES:], estimator.releases_left


@HOW
def test_a_move_that_is_killed_at_any_line_leaves_one_state_at_most_and_can_be_finished(
    monkeypatch: pytest.MonkeyPatch, how: Callable[[pytest.MonkeyPatch], None], in_memory: Path
) -> None:
    how(monkeypatch)
    line, killed, cut_short = 0, True, 0
    while killed:
        line += often(17, 1)
        folder = in_memory / str(line)
        folder.mkdir()
        old, new = folder / "old", folder / "new"
        DensityEstimator.create(old, 100, epsilon=1, releases=2, state_epsilon="0.9").close()
        whole = snapshot(old)
        killed = killed_at(line, old, new)
        files = [path for path in folder.iterdir() if usable_file(path)]
        assert len({path.stat().st_ino for path in files}) <= 1, line
        if not files:
            cut_short += 1
        if old.exists():
            move_state(old, new)
        assert snapshot(new) == whole, line
        assert not old.exists()
        left = [path for path in folder.iterdir() if path != new]
        assert all(path.suffix == ".tmp" and not usable_file(path) for path in left), line
        shutil.rmtree(folder)
    assert line > 50
    assert (cut_short > 0) is (how is by_copying)


def usable_file(path: Path) -> bool:
    try:
        DensityEstimator.open(path).close()
    except InputError:
        return False
    return True


def test_a_state_that_was_fed_after_a_move_was_cut_short_is_moved_as_it_is(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_copying(monkeypatch)
    new = state.with_name("new")

    def cut(_descriptor: int) -> None:
        raise CutError

    with monkeypatch.context() as patch:
        patch.setattr("panbayes.stream.state.layout.mark_gone", cut)
        with pytest.raises(CutError):
            move_state(state, new)
    with pytest.raises(InputError, match="the move was cut short"):
        DensityEstimator.open(new)
    assert "cut short" in inspect_state(new).copies
    with DensityEstimator.open(state) as estimator:
        estimator.update(range(1000))
        estimator.estimate()
    fed = state.read_bytes()[ENTRIES:]
    move_state(state, new)
    assert new.read_bytes()[ENTRIES:] == fed
    with DensityEstimator.open(new) as estimator:
        assert estimator.releases_left == 1


def test_a_file_that_is_gone_is_finished_only_where_it_went(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_copying(monkeypatch)
    new, other = state.with_name("new"), state.with_name("other")
    DensityEstimator.create(other, 1000, epsilon=1).close()

    def cut(_old: Path, _descriptor: int, _new: Path) -> None:
        raise CutError

    with monkeypatch.context() as patch:
        patch.setattr(move, "_finish", cut)
        with pytest.raises(CutError):
            move_state(state, new)
    assert not usable(state)
    assert not usable(new)
    with pytest.raises(InputError, match="is not where"):
        move_state(state, other)
    move_state(state, new)
    assert usable(new)
