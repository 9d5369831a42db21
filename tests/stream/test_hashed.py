"""Ids without a list: one id one cell in every container, the geometry, the counter, its file and its refusals."""

from __future__ import annotations

import json
import uuid
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter, any_ids, parse_memory
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Saved, Universe
from panbayes.stream.ids.universes.registry import load_universe, read_universe
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.saved_setup import load_setup, save_setup
from panbayes.stream.setup import StreamSetup, configure
from panbayes.stream.state.coins import seeded_coins
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.statistics.methods.density import Density
from panbayes.stream.statistics.methods.distinct import Distinct
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator
from tests.stream.slots import slots_of

KEY = bytes(range(16))
FINE = HashedUniverse(1, 1 << 39, 1 << 39, KEY)
"""So many cells that different ids never share one here."""


def slots(universe: Universe, ids: object) -> list[int]:
    return slots_of(universe, ids)


def test_memory_is_divided_as_planned() -> None:
    shapes = {memory: HashedUniverse.of_memory(memory, key=KEY) for memory in (1 << 10, 16 << 10, 128 << 10, 1 << 20)}
    assert [(u.tiers, u.cells) for u in shapes.values()] == [(25, 320), (21, 6208), (18, 58_240), (15, 559_232)]
    for memory, universe in shapes.items():
        assert universe.entries <= 8 * memory < universe.entries + 64 * universe.tiers
        # No more than two users for each cell of the last tier at 10¹⁰ users, and one tier fewer would not do.
        assert max(universe.spread) * 2 >= 10**10
        assert 8 * memory // (universe.tiers - 1) // 64 * 64 << universe.tiers - 2 < 10**10 // 2
        assert universe.spread == tuple(universe.cells << min(t + 1, universe.tiers - 1) for t in range(universe.tiers))
    one = HashedUniverse.of_memory(expect=1000, key=KEY)
    assert (one.tiers, one.cells, one.of, one.spread) == (1, 1024, 1024, (1024,))
    cut = HashedUniverse.of_memory(expect=10**8, key=KEY)
    assert (cut.tiers, cut.cells, cut.of, cut.spread) == (1, 1 << 20, 10**8, (10**8,))


@pytest.mark.parametrize(
    "universe", [HashedUniverse.of_memory(key=KEY), HashedUniverse.of_memory(expect=10**7, key=KEY)]
)
def test_ids_fall_into_tiers_and_cells_in_their_shares(universe: HashedUniverse) -> None:
    found = np.array(slots(universe, np.arange(400_000)))
    shares = [universe.cells / spread for spread in universe.spread]
    for tier, share in enumerate(shares):
        inside = int(((found >= tier * universe.cells) & (found < (tier + 1) * universe.cells)).sum())
        assert abs(inside - 400_000 * share) < 5 * (400_000 * share * (1 - share)) ** 0.5 + 1
    assert (found == -1).mean() == pytest.approx(1 - sum(shares), abs=0.005)


PEOPLE = ["ann", "bob@example.org", "550e8400-e29b-41d4-a716-446655440000", "10.1.2.3", "x" * 100, "12", "Ζωή", "é"]


def test_one_id_is_one_cell_in_every_container() -> None:
    expected = slots(FINE, PEOPLE)
    assert len(set(expected)) == len(PEOPLE)
    for ids in (
        [f" {text}\r" for text in PEOPLE],
        [text.encode() for text in PEOPLE],
        pl.Series(PEOPLE),
        pa.array(PEOPLE, pa.string()),
        pa.array(PEOPLE, pa.large_string()),
        pa.array(PEOPLE, pa.string_view()),
        pa.chunked_array([PEOPLE[:3], PEOPLE[3:]]),
        np.array(PEOPLE, dtype=object),
        [*PEOPLE[:-1], "e\u0301"],
    ):
        assert slots(FINE, ids) == expected
    assert slots(FINE, [uuid.UUID(PEOPLE[2])]) == [expected[2]]
    assert slots(FINE, [12]) == slots(FINE, np.array([12], dtype=np.uint8)) == [expected[5]]
    assert slots(FINE, ["Ann", "ANN", "", "  ", None])[2:] == [-1, -1, -1]
    assert expected[0] not in slots(FINE, ["Ann", "ANN"])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_of_every_type_are_their_numbers(kind: type[np.integer]) -> None:
    reach = np.iinfo(kind)
    numbers = [int(reach.min), int(reach.max), 0, 1, 100]
    found = slots(FINE, np.array(numbers, dtype=kind))
    assert found == slots(FINE, [str(number) for number in numbers])
    assert -1 not in found
    column = pl.Series([*numbers, None], dtype=pl.Series(np.zeros(1, dtype=kind)).dtype)
    assert slots(FINE, column) == [*found, -1]


def test_integers_without_bounds_are_ids_too() -> None:
    numbers = [5, -3, 1 << 63, (1 << 64) - 1, 1 << 80, -(1 << 70)]
    found = slots(FINE, numbers)
    assert len(set(found)) == len(numbers)
    assert -1 not in found
    assert found == slots(FINE, [str(number) for number in numbers])


def test_blocks_change_nothing() -> None:
    """More ids than are worked on at a time, some of them to be brought into their one form, and missing ones."""
    texts = [f"user-{i}" + (" " if i % 1000 == 0 else "") for i in range(150_000)]
    found = slots(FINE, texts)
    assert found == slots(FINE, pl.Series(texts))
    assert [found[i] for i in (0, 65_535, 65_536, 149_999)] == [
        slots(FINE, [texts[i]])[0] for i in (0, 65_535, 65_536, 149_999)
    ]
    many = np.arange(1_200_000)
    assert np.array_equal(slots(FINE, many)[-3:], slots(FINE, many[-3:]))
    holes = pl.Series([None if i % 3 == 0 else i for i in range(600_000)])
    assert [i for i, slot in enumerate(slots(FINE, holes)) if slot == -1] == list(range(0, 600_000, 3))


def test_the_key_decides_and_is_kept() -> None:
    first, second = DistinctCounter(epsilon=1), DistinctCounter(epsilon=1)
    assert first.key != second.key
    assert slots(first.setup.universe, range(100)) != slots(second.setup.universe, range(100))
    shared = DistinctCounter(epsilon=1, key=first.key.upper())
    assert slots(shared.setup.universe, range(100)) == slots(first.setup.universe, range(100))


def test_an_appearance_touches_its_own_cell_and_no_other() -> None:
    """Of all T counts of a release, one depends on a user: what the guarantee rests on."""
    setup = DistinctCounter(epsilon=1, memory="1K").setup
    touched: set[int] = set()
    with MemoryStore(setup, seeded_coins(1)).feeding() as entries:
        for user in range(300):
            (slot,) = slots(setup.universe, [user])
            before = np.unpackbits(entries.memory, bitorder="little")
            entries.redraw(np.array([slot]), present=True, coins=seeded_coins(user))
            changed = np.flatnonzero(before != np.unpackbits(entries.memory, bitorder="little"))
            assert set(changed.tolist()) <= {slot}
            touched |= set(changed.tolist())
    assert len(touched) > 50


def test_a_release_has_the_ones_of_each_tier() -> None:
    universe = HashedUniverse.of_memory(2048, key=KEY)
    setup = DistinctCounter(epsilon=1, memory=2048, key=KEY.hex()).setup
    store = MemoryStore(setup, seeded_coins(2))
    with store.feeding() as entries:
        bits = np.unpackbits(entries.memory, bitorder="little")[: universe.entries].reshape(universe.tiers, -1)
        assert entries.counts(universe.tiers) == tuple(bits.sum(axis=1).tolist())
        assert entries.counts() == (int(bits.sum()),)


@pytest.mark.parametrize(("users", "expect"), [(300_000, None), (300_000, 300_000), (40_000, 10**6)])
def test_users_are_counted(users: int, expect: int | None) -> None:
    with DistinctCounter(
        epsilon=1, expect=expect, coins=seeded_coins(3), noise=SimulatedNoise(3), key="ab" * 16
    ) as counter:
        counter.update(np.arange(users))
        counter.update(np.arange(users // 2))
        counter.update([str(i) for i in range(1000)])
        answer = counter.estimate()
    assert abs(answer.users - users) < 4 * answer.relative_error * users
    assert answer.high is not None
    assert answer.low <= answer.users <= answer.high
    assert answer.high - answer.low == pytest.approx(2 * 1.96 * answer.relative_error * users, rel=0.15)
    assert answer.interval == ("tested" if expect is None else "exact")
    assert (answer.fresh, answer.releases_left, answer.private) == (True, 0, False)
    assert "none: coins or noise were simulated" in repr(answer)
    assert "<table" in answer._repr_html_()


def test_nobody_and_far_too_many() -> None:
    with DistinctCounter(
        epsilon=1, expect=1000, key="cd" * 16, coins=seeded_coins(6), noise=SimulatedNoise(6)
    ) as counter:
        nobody = counter.estimate()
    assert nobody.low == 0
    assert nobody.users < 200
    with DistinctCounter(
        epsilon=1, expect=1000, key="cd" * 16, coins=seeded_coins(5), noise=SimulatedNoise(5)
    ) as counter:
        counter.update(np.arange(10**6))
        many = counter.estimate()
    assert many.high is None
    assert many.low > 2000
    assert "or more" in repr(many)
    assert "full" in many.notes()[0]


def test_a_counter_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with DistinctCounter.create(path, epsilon=2, releases=2, memory="16K", ipv6=64) as counter:
        counter.update(f"user{i}" for i in range(50_000))
        key, first = counter.key, counter.estimate()
        assert counter.releases_left == 1
    with DistinctCounter.open(path) as counter:
        assert counter.key == key
        again = counter.last()
        assert again is not None
        assert (again.counts, again.users, again.fresh) == (first.counts, first.users, False)
        counter.update(["2001:db8::1", "2001:db8::2"])
        assert counter.estimate().fresh
        assert not counter.estimate().fresh
        assert abs(first.users - 50_000) < 8 * first.relative_error * 50_000
    with pytest.raises(InputError, match="DistinctCounter") as refused:
        DensityEstimator.open(path)
    assert "\n" not in str(refused.value)
    with StreamEstimator[Answer].open(path, writing=False) as opened:
        assert opened.setup.statistic == Distinct()
        with pytest.raises(InputError, match="share cells"):
            opened.remove(["ann"])
    assert not hasattr(DistinctCounter, "remove")
    with DensityEstimator.create(tmp_path / "known", 1000, epsilon=1):
        pass
    with pytest.raises(InputError, match="DensityEstimator"):
        DistinctCounter.open(tmp_path / "known")
    with DensityEstimator.open(tmp_path / "known"):
        pass  # the refused one let go of it


def test_what_a_file_cannot_say() -> None:
    setup = DistinctCounter(epsilon=1, memory="4K").setup
    assert load_setup(save_setup(setup)) == setup
    saved = setup.universe.save()
    header = json.loads(saved.header)
    for change in (
        {"tiers": 0},
        {"tiers": 41},
        {"tiers": 7},
        {"sample": header["sample"] - 1},
        {"of": header["of"] + 1},
        {"key": "00"},
        {"key": "zz" * 16},
        {"ipv6": 48},
        {"sample": 0},
        {"sample": 64 << 40},
    ):
        with pytest.raises((ValueError, InputError)):
            load_universe(Saved(json.dumps({**header, **change}).encode()))
    with pytest.raises(ValueError, match="no table"):
        load_universe(Saved(saved.header, b"x"))
    levels = Calibration(Fraction(1), Fraction(1, 2), quantized_laplace(Fraction(1, 2), 3), Fraction(1000), 1)
    with pytest.raises(ValueError, match="law of its own"):
        StreamSetup(setup.universe, levels, Distinct())
    with pytest.raises(ValueError, match="hashed where"):
        StreamSetup(setup.universe, setup.calibration, Density())
    with pytest.raises(ValueError, match="hashed where"):
        StreamSetup(configure(1000, epsilon=1).universe, setup.calibration, Distinct())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory": "12X"}, "memory: found '12X'; write it like 128K"),
        ({"memory": "-1"}, "memory"),
        ({"memory": "100"}, "memory: found 100 bytes"),
        ({"memory": "999999G"}, "memory"),
        ({"expect": 0}, "expect: found 0"),
        ({"expect": 1 << 50}, "expect"),
        ({"ipv6": 48}, "ipv6: found 48; give 64"),
        ({"key": "secret"}, "key: is not 32 hexadecimal digits"),
        ({"epsilon": 0}, "epsilon"),
        ({"releases": 0}, "releases"),
        ({"state_epsilon": 2}, "state epsilon"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    chosen: dict[str, Any] = {"epsilon": 1, **arguments}
    with pytest.raises(InputError, match=message):
        DistinctCounter(**chosen)


def test_hashed_ids_have_no_density_and_no_sample() -> None:
    with pytest.raises(InputError, match="DistinctCounter"):
        DensityEstimator("hashed", epsilon=1)
    with pytest.raises(InputError, match="no list to sample"):
        read_universe("hashed", sample=10)
    assert isinstance(read_universe("HASHED", sample=None), HashedUniverse)


def test_memory_as_people_write_it() -> None:
    written = {
        "128K": 131_072,
        "1M": 1 << 20,
        "1.5M": 3 << 19,
        "16 KB": 16_384,
        "16KiB": 16_384,
        "2048": 2048,
        "1g": 1 << 30,
    }
    assert {text: parse_memory(text) for text in written} == written
    assert parse_memory(5000) == 5000
    assert any_ids(memory="2K").entries <= 8 * 2048
    for wrong in ("", "K", "1T", "1e6", "0x10", True, "१K"):
        with pytest.raises(InputError, match="memory"):
            parse_memory(wrong)
