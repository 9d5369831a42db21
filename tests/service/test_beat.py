"""A state that is fed by the beat: what its file tells, and when it is on the disk."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from panbayes import DensityEstimator
from panbayes.errors import InputError
from panbayes.stream.state.file import StateFile
from tests.service.running_service import density, open_state


def times(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_atime_ns, found.st_ctime_ns


def test_between_two_beats_no_time_of_the_file_tells_whether_anybody_came(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    open_state(path, users=200_000)
    store = StateFile(path, writing=True, by_beat=True)
    with DensityEstimator.of(store) as estimator:
        for _ in range(3):
            store.beat()
            before = times(path)
            time.sleep(0.05)
            # One entry in every page, then few, then one alone.
            for ids in (range(0, 200_000, 1_000), [3, 4], [5]):
                estimator.update(ids)
                assert times(path) == before
            estimator.add(7)
            assert times(path) == before


def test_a_state_that_is_fed_at_once_shows_it_by_its_times(tmp_path: Path) -> None:
    """The test above can fail: without beats the file's change time follows the batches."""
    path = tmp_path / "a.state"
    open_state(path, users=200_000)
    with DensityEstimator.open(path) as estimator:
        before = times(path)
        time.sleep(0.05)
        estimator.update([3])
        assert times(path) != before


def test_what_was_fed_before_a_beat_is_on_the_disk_after_it(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    open_state(path)
    script = f"""
import os, signal
from pathlib import Path
from panbayes import DensityEstimator
from panbayes.errors import InputError
from panbayes.stream.state.file import StateFile
store = StateFile(Path({str(path)!r}), writing=True, by_beat=True)
estimator = DensityEstimator.of(store)
estimator.update(range(600))
store.beat()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert density(path) == pytest.approx(0.6, abs=0.02)


def test_a_release_by_another_process_and_a_beat_leave_each_other_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    open_state(path, releases=8)
    store = StateFile(path, writing=True, by_beat=True)
    with DensityEstimator.of(store) as estimator:
        estimator.update(range(250))
        for left in range(7, 0, -1):
            assert density(path) == pytest.approx(0.25, abs=0.02)
            store.beat()
            assert estimator.releases_left == left


def test_a_closed_state_does_not_beat(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    open_state(path)
    store = StateFile(path, writing=True, by_beat=True)
    store.close()
    with pytest.raises(InputError, match="it was closed"):
        store.beat()
