"""Groups: every user counts in one group at most, the figures are of all users of a group, and files keep both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.stream.grouped_estimate import GroupedEstimate
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.universes.grouped import GroupedUniverse, Groups, parse_groups
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.ids.where import parse_where
from panbayes.stream.saved_setup import entries_bytes, load_setup, save_setup
from panbayes.stream.setup import StreamSetup, configure_groups, configure_hashed
from panbayes.stream.state.file import StateFile
from panbayes.stream.state.release_count import ReleaseCount
from panbayes.stream.statistics.methods.by_group import ByGroup
from panbayes.stream.statistics.methods.distinct import Distinct
from panbayes.stream.statistics.methods.statistic import Answer, Released
from panbayes.stream.stream_estimator import StreamEstimator
from panbayes.stream.turns import Window
from tests.stream.slots import record_slots, slots_of

KEY = bytes(range(16))
LANDS = ("DE", "FR", "IT", "PL")


def grouped(tiers: int = 1, cells: int = 640, of: int | None = None, names: tuple[str, ...] = LANDS) -> GroupedUniverse:
    return GroupedUniverse(HashedUniverse(tiers, cells, of or cells, KEY, panels=len(names)), Groups("land", names))


def slot_of(users: HashedUniverse, one: str) -> int:
    return slots_of(users, [one])[0]


@pytest.mark.parametrize("users", [grouped(), grouped(of=1500), grouped(3, 128)], ids=["one", "sampled", "tiers"])
def test_a_user_has_one_cell_in_all_groups_together(users: GroupedUniverse) -> None:
    """Brute force beside the loop, over all groups: it is what the proof rests on."""
    counted = 0
    for i in range(400):
        one, found = f"user-{i}", []
        events = Records([one] * 6, {"land": [*LANDS, "US", None]})
        slots = record_slots(events, users, ())
        for number, slot in enumerate(slots):
            expected = slot_of(users.of_group(number), one) if number < len(LANDS) else -1
            if 0 <= expected < users.each.entries:
                expected += number * users.each.entries
                found.append(expected)
            else:
                expected = -1
            assert slot == expected
        assert len(found) <= 1
        counted += len(found)
    assert counted == 400 if users.each.of == users.each.cells else 120 < counted < 220


def test_the_groups_share_the_users_evenly() -> None:
    users = grouped()
    ids = np.arange(40_000)
    for number, land in enumerate(LANDS):
        slots = np.array(record_slots(Records(ids, {"land": [land] * ids.size}), users, ()))
        inside = slots[slots >= 0]
        assert inside.size == pytest.approx(10_000, abs=600)
        assert (inside // users.each.entries == number).all()


def test_filters_and_groups_together() -> None:
    users = grouped()
    records = Records(["a", "b"] * 4, {"land": [land for land in LANDS for _ in "ab"], "kind": ["x", "y"] * 4})
    everybody = record_slots(records, users, ())
    filtered = record_slots(records, users, parse_where(["kind=x"]))
    assert sum(slot >= 0 for slot in everybody) == 2
    assert filtered == [slot if i % 2 == 0 else -1 for i, slot in enumerate(everybody)]


@pytest.mark.parametrize("ids", [["a"], ["a", "b", "c"]])
def test_ids_and_groups_of_different_lengths_are_refused(ids: list[str]) -> None:
    with pytest.raises(InputError, match="different lengths"):
        record_slots(Records(ids, {"land": ["DE", "FR"]}), grouped(), ())
    with pytest.raises(InputError, match="there is no 'land'"):
        record_slots(Records(ids, {"country": ["DE", "FR"]}), grouped(), ())


def test_ids_without_a_group_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not say in which"):
        slots_of(grouped(), [1])
    with StreamEstimator[Answer].start(tmp_path / "s", configure_groups(grouped(), epsilon=1)) as stream:
        with pytest.raises(InputError, match="looks at land, and ids alone do not say"):
            stream.update(["a"])
        with pytest.raises(InputError, match="cannot be taken out again"):
            stream.remove(Records(["a"], {"land": ["DE"]}))


def test_figures_speak_of_all_users_of_their_group(tmp_path: Path) -> None:
    users = grouped(cells=6400)
    setup = configure_groups(users, epsilon=40, window=Window(anew=True))
    sizes = {"DE": 20_000, "FR": 10_000, "IT": 5_000, "PL": 0}
    with StreamEstimator[Answer].start(tmp_path / "s", setup) as stream:
        for land, size in sizes.items():
            # Who is in Germany only, and who is in all but Poland: groups overlap.
            stream.update(Records(np.arange(size), {"land": [land] * size}))
        answer = stream.estimate()
        stream.turn()
        empty = stream.estimate()
    assert isinstance(answer, GroupedEstimate)
    assert isinstance(empty, GroupedEstimate)
    for land, size in sizes.items():
        # One user in four is counted, by the key: sd of 4·Bin(n, 1/4) is √(3n), plus what cells and noise add.
        assert answer[land].users == pytest.approx(size, abs=8 * np.sqrt(3 * size) + 0.05 * size + 60)
        assert empty[land].users < 200
    assert len(answer.groups["DE"].counts) == users.each.tiers
    assert answer.facts()["epsilon"] == "40"
    assert "DE" in repr(answer)
    assert "of all groups together" in answer._repr_html_()


def test_calibration_and_error_are_those_of_panels() -> None:
    users = grouped(cells=6400)
    setup = configure_groups(users, epsilon=1)
    panel = configure_hashed(replace(users.each, panels=1), epsilon=1, window=Window(panels=4, panel=2))
    assert setup.calibration == panel.calibration
    assert setup.error() == pytest.approx(panel.error())
    assert setup.state_bytes == 4 * panel.state_bytes


def test_a_release_has_the_tiers_of_each_group_in_order() -> None:
    users = grouped(2, 640)
    setup = configure_groups(users, epsilon=1)
    counts = (310, 330, 300, 320, 340, 325, 315, 322)
    release = Released(counts, fresh=True, left=0, private=True)
    answer = ByGroup().answer(setup.calibration, users, release, confidence=0.9)
    for number, land in enumerate(LANDS):
        alone = replace(release, counts=counts[2 * number : 2 * number + 2])
        expected = Distinct().answer(setup.calibration, replace(users.each, panel=0), alone, confidence=0.9)
        assert answer[land] == expected
    with pytest.raises(ValueError, match="each tier of each group"):
        ByGroup().answer(setup.calibration, users, replace(release, counts=counts[:-1]), confidence=0.9)


def test_a_state_keeps_its_groups(tmp_path: Path) -> None:
    setup = configure_groups(grouped(), epsilon=1, releases=2)
    saved = save_setup(setup)
    assert saved.header.endswith(b'"groups":{"field":"land","names":["DE","FR","IT","PL"]}}')
    assert load_setup(saved) == setup
    assert entries_bytes(saved.header) == setup.state_bytes
    StreamEstimator[Answer].start(tmp_path / "s", setup).close()
    with StreamEstimator[Answer].open(tmp_path / "s", writing=False) as stream:
        assert stream.setup == setup


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'["DE","FR","IT","PL"]', b'["DE","FR","IT"]'),
        (b'["DE","FR","IT","PL"]', b'["DE","FR","IT","DE"]'),
        (b'["DE","FR","IT","PL"]', b'["DE","FR","IT"," PL"]'),
        (b'"field":"land"', b'"field":""'),
        (b',"groups":{"field":"land","names":["DE","FR","IT","PL"]}', b""),
        (b'"panels":4', b'"panels":4,"panel":0'),
        (b'"statistic":{"name":"distinct"}', b'"statistic":{"name":"visits","most":3}'),
    ],
)
def test_a_header_with_other_groups_is_refused(old: bytes, new: bytes) -> None:
    saved = save_setup(configure_groups(grouped(), epsilon=1))
    assert old in saved.header
    with pytest.raises((ValueError, InputError)):
        load_setup(Saved(saved.header.replace(old, new)))


def test_a_release_of_all_groups_fits_into_a_file(tmp_path: Path) -> None:
    names = tuple(f"group-{i}" for i in range(256))
    setup = configure_groups(grouped(cells=64, names=names), epsilon="0.01", releases=2)
    StreamEstimator[Answer].start(tmp_path / "s", setup).close()
    store = StateFile(tmp_path / "s", writing=True)
    store.transact(lambda _count, _entries: ReleaseCount(0, tuple(-10_000 - i for i in range(256))))
    store.close()
    with StreamEstimator[Answer].open(tmp_path / "s") as stream:
        assert stream.releases_left == 0


@pytest.mark.parametrize(
    ("written", "match"),
    [
        ("land==DE,FR", "write FIELD=VALUE"),
        ("land!=DE,FR", "write FIELD=VALUE"),
        ("land>=1,2", "write FIELD=VALUE"),
        ("land", "write FIELD=VALUE"),
        ("land=", "write FIELD=VALUE"),
        ("land=DE,,FR", "write FIELD=VALUE"),
        ("=DE,FR", "write FIELD=VALUE"),
        ("land=DE,FR,DE", "given twice"),
        ("land=DE, DE", "given twice"),
        ("land=DE", "--where"),
        ("land=" + ",".join(map(str, range(257))), "256 at most"),
        ("land=a\x1bb,c", "write FIELD=VALUE"),
    ],
)
def test_groups_that_cannot_be(written: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        parse_groups(written)


def test_what_groups_are_not_for() -> None:
    for window in (Window(panels=3), Window(panels=3, panel=1), Window(half_life=3)):
        with pytest.raises(InputError, match="found with groups"):
            configure_groups(grouped(), epsilon=1, window=window)
    with pytest.raises(InputError, match="at most 14 groups"):
        configure_groups(grouped(18, 64, names=tuple("abcdefghijklmno")), epsilon=1)
    plain = configure_hashed(HashedUniverse(1, 640, 640, KEY), epsilon=1)
    with pytest.raises(ValueError, match="every group has its panel"):
        GroupedUniverse(HashedUniverse(1, 640, 640, KEY, panels=3), Groups("land", LANDS))
    with pytest.raises(ValueError, match="ids are hashed where"):
        StreamSetup(grouped(), plain.calibration, Distinct())
