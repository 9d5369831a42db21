"""A state belongs to one process: whatever is forked off, or sent a state, gets no release and lets go no lock."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.state.release_count import ReleaseCount
from tests.conftest import ROOT
from tests.stream.test_stores import SETUP, in_a_file, in_memory

WAYS = ("memory", "file")
STORES = {"memory": in_memory, "file": in_a_file}
Answer = Callable[[], object]


def started(way: str, folder: Path, releases: int = 1) -> DensityEstimator:
    if way == "memory":
        return DensityEstimator(2000, epsilon=1, releases=releases)
    return DensityEstimator.create(folder / "state", 2000, epsilon=1, releases=releases)


def in_a_child(answer: Answer) -> str:
    """What a forked process answers, in one word or one line."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(300)  # a child that waits for ever says nothing
        try:
            os.write(writer, _told(answer).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        told = said.read()
    os.waitpid(process, 0)
    return told


def _told(answer: Answer) -> str:
    try:
        return str(answer())
    except InputError as error:
        return str(error)


REFUSED = "state: it was opened by another process"


@pytest.mark.parametrize("way", WAYS)
def test_workers_that_inherited_a_state_get_no_release(tmp_path: Path, way: str) -> None:
    with started(way, tmp_path) as estimator:
        answers = [in_a_child(lambda: f"fresh {estimator.estimate().fresh}") for _ in range(4)]
        assert all(answer.startswith(REFUSED) for answer in answers), answers
        assert in_a_child(lambda: str(estimator.releases_left)).startswith(REFUSED)
        assert in_a_child(partial(estimator.update, [1])).startswith(REFUSED)
        assert in_a_child(lambda: str(estimator.last())).startswith(REFUSED)
        assert estimator.estimate().fresh


def test_the_memory_of_a_state_is_empty_in_a_worker() -> None:
    store = MemoryStore(DensityEstimator(2000, epsilon=1).setup, lambda buffer: buffer.fill(0))
    with store.feeding() as entries:
        assert in_a_child(lambda: str(entries.memory.any())) == "False"
        assert entries.memory.any()


@pytest.mark.parametrize("way", WAYS)
def test_a_fork_in_the_middle_of_a_release_makes_one_release(tmp_path: Path, way: str) -> None:
    """Both processes come out of the same step; only the one that opened the state comes out with a release."""
    store = STORES[way](tmp_path, SETUP)
    reader, writer = os.pipe()
    mine = os.getpid()

    def spend(count: ReleaseCount, entries: Entries) -> ReleaseCount:
        if os.fork() == 0:
            os.close(reader)
        else:
            os.wait()
        return ReleaseCount(count.left - 1, entries.counts())

    try:
        told = _told(lambda: f"left {store.transact(spend)[1].left}")
    finally:
        if os.getpid() != mine:
            os.write(writer, told.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert said.read().startswith(REFUSED)
    assert told == "left 2"
    assert store.transact(lambda count, _: count)[0].left == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_fork_in_the_middle_of_a_batch_is_refused_in_the_child_and_counts_in_the_parent(
    tmp_path: Path, way: str
) -> None:
    mine = os.getpid()

    def ids() -> Iterator[int]:
        yield from range(100)
        if os.fork() == 0:
            yield from range(100, 200)
        else:
            os.wait()

    with started(way, tmp_path) as estimator:
        told = _told(partial(estimator.update, ids()))
        if os.getpid() != mine:
            os._exit(0 if told.startswith(REFUSED) else 1)
        assert told == "None"
        assert estimator.estimate().fresh


def test_a_child_of_a_release_does_not_let_go_its_lock(tmp_path: Path) -> None:
    """The child leaves the step first; a second process must still wait for the parent's release."""
    store = STORES["file"](tmp_path, SETUP)
    left: list[int] = []
    waiter = threading.Thread(target=lambda: left.append(DensityEstimator.open(path, writing=False).releases_left))
    path, mine = tmp_path / "state", os.getpid()

    def spend(count: ReleaseCount, _entries: Entries) -> ReleaseCount:
        if os.fork() == 0:
            return count
        os.wait()
        reading = subprocess.run(
            [sys.executable, "-c", ASK, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert reading.stdout == "locked\n", reading.stderr
        return ReleaseCount(count.left - 1, (5,))

    told = _told(lambda: str(store.transact(spend)[1].left))
    if os.getpid() != mine:
        os._exit(0)
    assert told == "2"
    waiter.start()
    waiter.join()
    assert left == [2]


ASK = """
import fcntl, os, struct, sys
descriptor = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 16384, 8192, 0))
    print("free")
except OSError:
    print("locked")
"""


def test_a_childs_close_does_not_unlock_the_parent(tmp_path: Path) -> None:
    with started("file", tmp_path) as estimator:
        assert in_a_child(estimator.close) == "None"
        assert "being fed by another process" in in_a_child(
            lambda: str(DensityEstimator.open(tmp_path / "state").releases_left)
        )
        with pytest.raises(InputError, match="being fed by another process"):
            DensityEstimator.open(tmp_path / "state")


@pytest.mark.parametrize("way", WAYS)
def test_a_childs_close_does_not_wait_for_threads_it_does_not_have(tmp_path: Path, way: str) -> None:
    store = STORES[way](tmp_path, SETUP)
    with store.feeding():
        assert in_a_child(store.close) == "None"


def test_a_child_releases_from_a_file_it_opens_itself_though_a_thread_of_its_parent_was_releasing(
    tmp_path: Path,
) -> None:
    other = DensityEstimator.create(tmp_path / "other", 100, epsilon=1)
    other.close()
    told: list[str] = []

    def spend(count: ReleaseCount, _entries: Entries) -> ReleaseCount:
        told.append(in_a_child(lambda: str(DensityEstimator.open(tmp_path / "other", writing=False).estimate().fresh)))
        return count

    STORES["file"](tmp_path, SETUP).transact(spend)
    assert told == ["True"]


@pytest.mark.parametrize("way", WAYS)
def test_a_state_cannot_be_pickled_or_copied(tmp_path: Path, way: str) -> None:
    (tmp_path / "store").mkdir()
    store = STORES[way](tmp_path / "store", SETUP)
    with started(way, tmp_path) as estimator:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(InputError, match="every copy is a look; send the path"):
                attempt(estimator)
            with pytest.raises(InputError, match="every copy is a look"):
                attempt(store)


def test_processes_that_are_spawned_are_not_sent_a_state(tmp_path: Path) -> None:
    program = (
        "import multiprocessing, sys\n"
        "from panbayes import DensityEstimator\n"
        "from panbayes.errors import InputError\n"
        "if __name__ == '__main__':\n"
        "    estimator = DensityEstimator(100, epsilon=1)\n"
        "    try:\n"
        "        multiprocessing.get_context('spawn').Process(target=print, args=(estimator,)).start()\n"
        "    except InputError as error:\n"
        "        print(error)\n"
    )
    (tmp_path / "spawn.py").write_text(program)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "spawn.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert "every copy is a look" in done.stdout, done.stderr


def test_forked_workers_that_open_the_file_share_its_releases(tmp_path: Path) -> None:
    """Four processes that each open the file get, together, the releases that were planned."""
    started("file", tmp_path, releases=2).close()
    path = tmp_path / "state"
    answers = [in_a_child(lambda: str(DensityEstimator.open(path, writing=False).estimate().fresh)) for _ in range(4)]
    assert sorted(answers) == ["False", "False", "True", "True"]
