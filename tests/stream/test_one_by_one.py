"""Ids one by one: the same slots, the same law and the same refusals as in batches; and small batches in files."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.single import Id, single_slots
from panbayes.stream.ids.universes.kind import Universe, UniverseKind
from panbayes.stream.ids.universes.registry import read_universe, universe_kinds
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.state import kernels, word_kernels
from panbayes.stream.state.coins import Coins, seeded_coins, system_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.touched import FiledEntries
from tests.effort import often
from tests.stream.slots import slots_of

KINDS = pytest.mark.parametrize("kind", universe_kinds().values(), ids=lambda kind: kind.name)
ODD: list[Id] = ["", " ", "\ufeff1", "01", "1.5", "-1", "\u0661", "10.1.2.3 ", "10.1.02.3", "10.1.2.3.4", "10.1.2.0003",
                 "10.1.2.\u0663", "\u200310.1.2.3", 5, -1, 2**70, b"3", UUID(int=5), "\ud800", "USER-1@example.org",
                 " user-1@example.org\u00a0"]  # fmt: skip


def in_a_batch(universe: Universe, one: object) -> int:
    found = slots_of(universe, [one])
    return found[0] if found and 0 <= found[0] < universe.entries else -1


@KINDS
@pytest.mark.parametrize("sample", [None, 40])
def test_one_id_has_the_slot_it_has_in_a_batch(kind: UniverseKind, sample: int | None) -> None:
    universe = read_universe(kind.example.spec, sample=None if kind.name == "hashed" else sample)
    find = single_slots(universe, Arena())
    for one in [*kind.example.ids, *kind.example.strangers, *ODD]:
        try:
            wanted: int | str = in_a_batch(universe, one)
        except InputError as error:
            wanted = str(error)
        try:
            found: int | str = find(one)
        except InputError as error:
            found = str(error)
        if isinstance(found, int) and not 0 <= found < universe.entries:
            found = -1
        assert found == wanted, one


@settings(max_examples=often(60, 300))
@given(st.text(st.sampled_from("0123456789. \u0663"), max_size=16))
def test_one_address_is_read_as_in_a_batch(text: str) -> None:
    universe = read_universe("ipv4", sample=None)
    assert single_slots(universe, Arena())(text) == in_a_batch(universe, text)


@pytest.mark.parametrize("one", [1.5, True, None, ["a"]])
def test_what_cannot_be_an_id_is_refused_or_dropped_one_by_one_too(one: object) -> None:
    find = single_slots(read_universe(100, sample=None), Arena())
    if one is None:
        assert find(one) == -1
    else:
        with pytest.raises(InputError, match="item of type"):
            find(one)


LAWS = {"bits": optimal_bernoulli(Fraction(1)), "levels": quantized_laplace(Fraction(1), levels=4)}


@pytest.mark.parametrize("coins", [system_coins, seeded_coins(4)], ids=["system", "seeded"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("present", [True, False])
def test_entries_redrawn_one_by_one_have_their_law(law: StateLaw, coins: Coins, present: bool) -> None:
    """10,000 entries: the mean score lies within 7 standard errors (once in 10¹¹); the other law is 40 away."""
    sample = 10_000
    entries = Entries(law, sample, np.zeros(law.state_bytes(sample), dtype=np.uint8))
    # What an entry was does not matter: bits are all ones before, levels all 0.
    if law.levels == 2:
        entries.memory[: sample // 8] = 0xFF
    for slot in range(-3, sample + 70):
        entries.redraw_one(slot, present=present, coins=coins)
    weights = law.update if present else law.init
    mean = float(law.mean(weights))
    spread = sum(w / COIN * a * a for w, a in zip(weights, law.scores, strict=True)) - mean**2
    assert abs(entries.counts()[0] - sample * mean) < 7 * (sample * spread) ** 0.5
    whole = np.unpackbits(entries.memory, bitorder="little") if law.levels == 2 else entries.memory
    assert not whole[sample:].any()


@pytest.mark.parametrize("threshold", [1, 0x12345678, COIN - 1])
def test_a_few_events_compare_whole_coins(threshold: int) -> None:
    values = [0, 1, threshold - 1, threshold, min(threshold + 1, COIN - 1), COIN - 1]
    words = np.zeros(1, dtype=np.uint64)
    slots = np.array([*range(len(values)), 64, -1], dtype=np.int64)
    kernels.redraw_few(slots, words, 64, np.array([*values, 0, 0], dtype=np.uint32), threshold)
    assert [int(words[0]) >> i & 1 for i in range(len(values))] == [int(v < threshold) for v in values]
    assert int(words[0]) >> len(values) == 0


def test_no_coin_is_drawn_ahead() -> None:
    """As many coins as there are events in the batch, and they are overwritten before the call returns."""
    drawn: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []
    fill = seeded_coins(1)

    def watched(buffer: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
        fill(buffer)
        drawn.append(buffer)

    entries = Entries(LAWS["bits"], 1000, np.zeros(128, dtype=np.uint8))
    entries.redraw(np.arange(5), present=True, coins=watched)
    entries.redraw_one(7, present=True, coins=watched)
    assert [buffer.size for buffer in drawn] == [20, 4]
    assert not any(buffer.any() for buffer in drawn)


@pytest.mark.parametrize("way", ["memory", "file"])
def test_ids_that_were_added_count(tmp_path: Path, way: str) -> None:
    """At a huge budget the state is nearly exact: a bit of 100 is wrong once in five million streams.

    Then a second stream decides, of which both are wrong with probability 5e-14.
    """
    started: dict[str, Callable[[str], DensityEstimator]] = {
        "memory": lambda _: DensityEstimator(100, epsilon=60, state_epsilon=20),
        "file": lambda name: DensityEstimator.create(tmp_path / name, 100, epsilon=60, state_epsilon=20),
    }

    def found(name: str) -> float:
        with started[way](name) as estimator:
            for one in (*range(40), "40", "41", 500, "nobody"):
                estimator.add(one)
            return estimator.estimate().unbiased

    assert any(found(name) == pytest.approx(0.42, abs=1e-6) for name in ("first", "second"))


def filed(path: Path, law: StateLaw, sample: int, offset: int) -> FiledEntries:
    size = law.state_bytes(sample)
    path.write_bytes(bytes(offset + size))
    descriptor = os.open(path, os.O_RDWR)
    return FiledEntries(law, sample, np.memmap(path, mode="r+", offset=offset, shape=(size,)), descriptor, offset)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 200_005), max_size=4), st.booleans())
def test_a_small_batch_in_a_file_redraws_its_entries_and_no_other_word(
    tmp_path_factory: pytest.TempPathFactory, law: StateLaw, slots: list[int], present: bool
) -> None:
    """Coins that are all ones draw the highest level of several, and coins that are all zeros a bit that is 1."""
    sample = 200_000
    entries = filed(tmp_path_factory.mktemp("filed") / "f", law, sample, 4096)
    entries.memory[:] = 0
    inside = {slot for slot in slots if 0 <= slot < sample}
    value = 0 if law.levels == 2 else 255
    entries.redraw(np.array(slots, dtype=np.int64), present=present, coins=lambda buffer: buffer.fill(value))
    states = np.unpackbits(entries.memory, bitorder="little") if law.levels == 2 else entries.memory
    assert set(np.flatnonzero(states).tolist()) == inside
    os.close(entries.descriptor)


def test_a_small_batch_writes_words_and_a_large_one_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10⁶ users have 31 pages: 10 events write at most 10 words, and 100 change the mapped file."""
    entries = filed(tmp_path / "f", LAWS["bits"], 10**6, 4096)
    written: list[int] = []
    really = word_kernels.write_words

    def watched(descriptor: int, words: NDArray[np.uint64], places: NDArray[np.int64], offset: int) -> int:
        written.extend(offset + 8 * place for place in places.tolist())
        return really(descriptor, words, places, offset)

    monkeypatch.setattr(word_kernels, "write_words", watched)
    entries.redraw(np.array([0, 1, 63, 64, 999_999] * 2), present=True, coins=system_coins)
    assert written == [4096, 4104, 4096 + 999_999 // 64 * 8]
    entries.redraw(np.arange(100), present=True, coins=system_coins)
    assert len(written) == 3
    os.close(entries.descriptor)


def test_a_thousand_events_of_a_large_file_write_their_words_and_change_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream of 10⁸ users: 12.5 MB, of which at most 8,000 bytes are handed to the file system."""
    path, users = tmp_path / "s", 10**8
    with DensityEstimator.create(path, users, epsilon=1) as estimator:
        before = np.fromfile(path, dtype=np.uint64)
        written: list[int] = []
        really = word_kernels.write_words

        def watched(descriptor: int, words: NDArray[np.uint64], places: NDArray[np.int64], offset: int) -> int:
            written.extend(offset + 8 * place for place in places.tolist())
            return really(descriptor, words, places, offset)

        monkeypatch.setattr(word_kernels, "write_words", watched)
        ids = np.random.default_rng(3).integers(0, users, 1000)
        estimator.update(ids)
        after = np.fromfile(path, dtype=np.uint64)
    words = np.unique(ids // 64)
    start = min(written) - 8 * int(words[0])
    assert written == [start + 8 * int(word) for word in words]
    changed = np.flatnonzero(before != after) - start // 8
    assert changed.size > 100
    assert set(changed.tolist()) <= set(words.tolist())
