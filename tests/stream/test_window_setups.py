"""Windows as people write them and as state files keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.saved_setup import load_setup, save_setup
from panbayes.stream.setup import configure, configure_hashed
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.visits import Visits
from panbayes.stream.turns import Window, parse_window
from tests.stream.slots import slots_of

KEY = bytes(range(16))


@pytest.mark.parametrize(
    ("window", "header"),
    [
        (
            Window(panels=30),
            b'"key":"000102030405060708090a0b0c0d0e0f","panels":30},',
        ),
        (
            Window(panels=12, panel=3),
            b'"key":"000102030405060708090a0b0c0d0e0f","panels":12,"panel":3},',
        ),
        (Window(half_life=1), b'"forget":2147483648}'),
        (Window(anew=True), b'"forget":4294967296}'),
    ],
)
def test_a_setup_with_a_window_is_read_as_it_was_written(window: Window, header: bytes) -> None:
    setup = configure_hashed(HashedUniverse(1, 6400, 6400, KEY), epsilon=1, window=window)
    saved = save_setup(setup)
    assert header in saved.header
    assert load_setup(saved) == setup
    assert save_setup(load_setup(saved)) == saved


def test_a_setup_without_a_window_is_written_as_ever() -> None:
    saved = save_setup(configure(1000, epsilon=1))
    assert all(word not in saved.header for word in (b"forget", b"flipped", b"eta", b"panel"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"panels":30}', b'"panels":30,"panel":30}'),
        (b'"panels":30}', b'"panels":0}'),
        (b'"panels":30}', b'"panels":1001}'),
        (b'"panels":30}', b'"panel":0}'),
        (b'"forget":4294967296', b'"forget":4294967297'),
        (b'"forget":4294967296', b'"forget":-1'),
        (b'"forget":4294967296', b'"forget":0'),
        (b'"forget":4294967296', b'"forget":5'),
    ],
)
def test_a_header_whose_window_cannot_be_is_refused(old: bytes, new: bytes) -> None:
    saved = save_setup(configure_hashed(HashedUniverse(1, 6400, 6400, KEY), epsilon=1, window=Window(panels=30)))
    assert old in saved.header
    with pytest.raises(ValueError, match=r"panel|forgotten|anew"):
        load_setup(Saved(saved.header.replace(old, new)))


@pytest.mark.parametrize(
    ("count", "fine"),
    [
        (ReleaseCount(1, None, turn=3), True),
        (ReleaseCount(1, (3000,), turn=3), True),
        (ReleaseCount(0, (3000,), turn=3), True),
        (ReleaseCount(1, (3000,)), False),
        (ReleaseCount(2, (3000,), turn=3), False),
        (ReleaseCount(1, None, flipped=1), False),
    ],
)
def test_a_record_of_periods_that_cannot_be_is_refused(count: ReleaseCount, fine: bool, tmp_path: Path) -> None:
    place = tmp_path / "state"
    DistinctCounter.create(place, epsilon=1, expect=6400, window=Window(anew=True)).close()
    store = StateFile(place, writing=True)
    store.transact(lambda _count, _entries: count)
    store.close()
    if fine:
        StateFile(place, writing=False).close()
    else:
        with pytest.raises(InputError, match="not possible"):
            StateFile(place, writing=False)


def test_a_record_without_periods_has_no_turns_and_reads_as_before(tmp_path: Path) -> None:
    assert ReleaseCount(2, (7,)).to_bytes() == b'{"left": 2, "last": 7}'
    assert ReleaseCount.from_bytes(b'{"left": 2, "last": 7}') == ReleaseCount(2, (7,))
    kept = ReleaseCount(2, (7, 8), turn=4, flipped=1)
    assert ReleaseCount.from_bytes(kept.to_bytes()) == kept
    place = tmp_path / "state"
    DistinctCounter.create(place, epsilon=1, expect=6400).close()
    store = StateFile(place, writing=True)
    store.transact(lambda count, _entries: ReleaseCount(count.left, None, turn=1))
    store.close()
    with pytest.raises(InputError, match="not possible"):
        StateFile(place, writing=False)


@pytest.mark.parametrize(
    ("panel", "half_life", "expected"),
    [
        ("30d", None, Window(panels=30)),
        ("30", None, Window(panels=30)),
        ("0/12", None, Window(panels=12, panel=0)),
        (None, "7d", Window(half_life=7)),
        (None, "0.5", Window(half_life=0.5)),
        ("3/12", "7", Window(panels=12, panel=3, half_life=7)),
    ],
)
def test_windows_as_people_write_them(panel: str | None, half_life: str | None, expected: Window) -> None:
    assert parse_window(panel, periods=False, half_life=half_life) == expected


@pytest.mark.parametrize(
    ("panel", "periods", "half_life", "match"),
    [
        ("1", False, None, "30d"),
        ("12/12", False, None, "number panels from 0"),
        ("3/12d", False, None, "30d"),
        ("x", False, None, "30d"),
        ("2000", False, None, "2 to 1000"),
        ("30d", False, "7", "starts anew"),
        (None, True, "7", "starts anew"),
        (None, False, "0", "0.1 to"),
        (None, False, "week", "number of turns"),
    ],
)
def test_windows_that_cannot_be(panel: str | None, periods: bool, half_life: str | None, match: str) -> None:
    with pytest.raises(InputError, match=match):
        parse_window(panel, periods=periods, half_life=half_life)


def test_what_windows_are_not_for() -> None:
    with pytest.raises(InputError, match="hashed"):
        configure(1000, epsilon=1, window=Window(panels=30))
    with pytest.raises(InputError, match="densities of two levels"):
        configure(1000, epsilon=1, statistic=Visits(3), window=Window(half_life=7))
    with pytest.raises(InputError, match="users are known"):
        configure(1000, epsilon=1, statistic=Visits(3), window=Window(panels=7))
    with pytest.raises(InputError, match="two levels"):
        configure(1000, epsilon=1, law="quantized-laplace", levels=4, window=Window(half_life=3))
    with pytest.raises(InputError, match="one tier"):
        configure_hashed(HashedUniverse.of_memory(), epsilon=1, window=Window(half_life=3))
    with pytest.raises(ValueError, match="one period"):
        slots_of(HashedUniverse(1, 640, 640, KEY, panels=3), [1])
