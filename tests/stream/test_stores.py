"""What every store promises: the same behaviour in memory and in a file."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from panbayes.discovery import discover
from panbayes.errors import InputError
from panbayes.stream.setup import StreamSetup, configure
from panbayes.stream.state.coins import seeded_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.state.store import Store

SETUP = configure(1000, epsilon=1, releases=3)


def in_memory(_folder: Path, setup: StreamSetup) -> Store:
    return MemoryStore(setup, seeded_coins(1))


def in_a_file(folder: Path, setup: StreamSetup) -> Store:
    StateFile.create(folder / "state", setup, fill=lambda entries: entries.initialize(seeded_coins(1)))
    return StateFile(folder / "state", writing=True)


WAYS: dict[str, Callable[[Path, StreamSetup], Store]] = {"MemoryStore": in_memory, "StateFile": in_a_file}


@pytest.fixture(params=WAYS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return WAYS[request.param](tmp_path, SETUP)


def spend(count: ReleaseCount, entries: Entries) -> ReleaseCount:
    return ReleaseCount(count.left - 1, entries.counts()) if count.left else count


def look(store: Store) -> ReleaseCount:
    return store.transact(lambda count, _: count)[1]


def test_every_store_is_tried() -> None:
    classes = discover("panbayes.stream.state", type)
    members = {name for name, _ in inspect.getmembers(Store) if not name.startswith("_")}
    assert members == {"close", "feeding", "setup", "transact", "turn"}
    stores = {found.__name__ for found in classes if members - {"setup"} <= set(dir(found)) and found is not Store}
    assert stores == set(WAYS)


def test_releases_are_counted_and_the_last_one_is_kept(store: Store) -> None:
    assert store.setup is SETUP or store.setup.calibration == SETUP.calibration
    last = look(store)
    assert last == ReleaseCount(3)
    for left in (2, 1, 0):
        before, after = store.transact(spend)
        assert (before, after.left) == (last, left)
        last = look(store)
        assert last == after
    assert store.transact(spend) == (last, last)


def test_a_step_that_fails_changes_nothing(store: Store) -> None:
    def fail(_count: ReleaseCount, _entries: Entries) -> ReleaseCount:
        raise RuntimeError("no noise")

    with pytest.raises(RuntimeError, match="no noise"):
        store.transact(fail)
    assert look(store) == ReleaseCount(3)
    assert store.transact(spend)[1].left == 2


def test_what_is_fed_is_seen_by_the_next_release(store: Store) -> None:
    initial = store.transact(spend)[1].last
    with store.feeding() as entries:
        entries.memory[: 1000 // 8] = 255
    assert store.transact(spend)[1].last == (1000,)
    assert initial is not None
    assert 0 < initial[0] < 1000


def test_one_thread_feeds_at_a_time(store: Store) -> None:
    inside, most = 0, 0

    def feed() -> None:
        nonlocal inside, most
        for _ in range(20):
            with store.feeding() as entries:
                inside += 1
                most = max(most, inside)
                entries.redraw(np.arange(1000), present=True, coins=seeded_coins(2))
                inside -= 1

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_batch_that_fails_lets_the_next_one_in(store: Store) -> None:
    with pytest.raises(RuntimeError), store.feeding():
        raise RuntimeError
    with store.feeding():
        pass


def test_a_closed_store_is_closed_for_good(store: Store) -> None:
    store.close()
    store.close()
    assert store.setup.calibration == SETUP.calibration
    with pytest.raises(InputError, match="it was closed"), store.feeding():
        pass
    with pytest.raises(InputError, match="it was closed"):
        store.transact(spend)


def test_memory_is_overwritten_when_it_is_let_go() -> None:
    store = MemoryStore(SETUP, seeded_coins(1))
    with store.feeding() as entries:
        assert entries.memory.any()
    store.close()
    assert not entries.memory.any()


def test_both_draw_the_same_state_from_the_same_coins(tmp_path: Path) -> None:
    states = []
    for way in WAYS.values():
        store = way(tmp_path, SETUP)
        with store.feeding() as entries:
            entries.redraw(np.arange(500), present=True, coins=seeded_coins(2))
            states.append(entries.memory.tobytes())
        store.close()
    assert len(set(states)) == 1
