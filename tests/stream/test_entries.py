"""The kernels against slow references that use the same coins, and the laws they draw."""

from __future__ import annotations

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.state import kernels
from panbayes.stream.state.coins import BLOCK, seeded_coins, system_coins
from panbayes.stream.state.entries import Entries
from tests.effort import often, some

THRESHOLDS = [1, 2, COIN - 1, COIN // 2, 0x12345678, 0xFF000000, 0xFEFFFFFF, 1155104500]


def fresh(law: StateLaw, sample: int, seed: int) -> Entries:
    entries = Entries(law, sample, np.zeros(law.state_bytes(sample), dtype=np.uint8))
    entries.initialize(seeded_coins(seed))
    return entries


def bits(entries: Entries) -> NDArray[np.uint8]:
    return np.unpackbits(entries.memory, bitorder="little")


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_each_event_compares_one_whole_coin(threshold: int) -> None:
    """One byte, then 24 more bits on a tie: the same as a 32-bit coin below the threshold, at every boundary."""
    top = threshold >> 24
    cases = [0, 1, threshold - 1, threshold, threshold + 1, COIN - 1, (top << 24), (top << 24) | 0xFFFFFF]
    values = [c for c in cases if 0 <= c < COIN]
    slots = np.arange(len(values), dtype=np.int64)
    coins = np.array([v >> 24 for v in values], dtype=np.uint8)
    more = np.array([(v & 0xFFFFFF) << 8 for v in values if v >> 24 == top], dtype=np.uint32)
    words = np.zeros(1, dtype=np.uint64)
    assert kernels.redraw_each(slots, 0, words, 64, coins, more, threshold) == len(values)
    assert [int(words[0]) >> i & 1 for i in range(len(values))] == [int(v < threshold) for v in values]


def test_each_stops_where_spare_coins_end_and_goes_on() -> None:
    """The tie that waited keeps its byte and is decided by the next spare coin: 8 is below the rest 9, and 9 is not."""
    slots, coins = np.arange(4, dtype=np.int64), np.array([5, 7, 7, 200], dtype=np.uint8)
    for value, bit in ((8, 1), (9, 0)):
        words, spare = np.zeros(1, dtype=np.uint64), np.array([0], dtype=np.uint32)
        assert kernels.redraw_each(slots, 0, words, 64, coins, spare, (7 << 24) | 9) == 2
        assert int(words[0]) == 0b11
        spare[0] = value << 8
        assert kernels.redraw_each(slots, 2, words, 64, coins, spare, (7 << 24) | 9) == 4
        assert int(words[0]) == 0b11 | bit << 2


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_marked_words_compare_whole_coins(threshold: int) -> None:
    rng = np.random.default_rng(threshold)
    count = 150
    marks = rng.integers(0, 2**64, count, dtype=np.uint64) & rng.integers(0, 2**64, count, dtype=np.uint64)
    marks[::7] = 0
    before = rng.integers(0, 2**64, count, dtype=np.uint64)
    # Coins that agree with the threshold for a long way, so that every depth is reached.
    coins = rng.integers(0, 2**64, 32 * count + 64, dtype=np.uint64)
    words, left = before.copy(), marks.copy()
    assert kernels.redraw_marked(words, left, 0, coins, threshold, np.empty(kernels.ROOM, dtype=np.uint64)) == count
    assert not left.any()
    used = 0
    for first in range(0, count, 64):
        group = range(first, min(count, first + 64))
        still = {w: int(marks[w]) for w in group}
        ones = dict.fromkeys(group, 0)
        for place in range(31, 23, -1):
            for w in group:
                coin = int(coins[used])
                used += 1
                still[w], ones[w] = _step(still[w], ones[w], coin, threshold >> place & 1)
        for w in group:
            for place in range(23, -1, -1):
                if still[w] == 0:
                    break
                still[w], ones[w] = _step(still[w], ones[w], int(coins[used]), threshold >> place & 1)
                used += 1
            assert int(words[w]) == (int(before[w]) & ~int(marks[w])) | ones[w]


def _step(still: int, ones: int, coin: int, bit: int) -> tuple[int, int]:
    """One bit of 64 comparisons: below, equal so far, or above."""
    if bit:
        return still & coin, ones | (still & ~coin)
    return still & ~coin, ones


@pytest.mark.parametrize(
    ("sample", "batch"), some([(64, 10), *itertools.product([64, 1000, 200_000], [10, 1000, 100_000])], 4)
)
def test_the_drawn_bits_have_the_law(sample: int, batch: int) -> None:
    """Both ways of redrawing: frequencies within 5 standard errors; a threshold 30 % off would be 13 away or more."""
    law, coins = optimal_bernoulli(Fraction(1)), seeded_coins(7)
    rng = np.random.default_rng(8)
    ones = drawn = init_ones = init_drawn = 0
    for _ in range(300):
        entries = fresh(law, sample, seed=drawn)
        slots = rng.integers(-5, sample + 5, batch)
        inside = np.unique(slots[(slots >= 0) & (slots < sample)])
        entries.redraw(slots, present=True, coins=coins)
        state = bits(entries)
        ones, drawn = ones + int(state[inside].sum()), drawn + inside.size
        rest = np.setdiff1d(np.arange(sample), inside)
        init_ones, init_drawn = init_ones + int(state[rest].sum()), init_drawn + rest.size
        assert not state[sample:].any()
        assert entries.counts() == (int(state.sum()),)
        if drawn + init_drawn > often(60_000, 1_000_000):
            break
    for count, total, weight in ((ones, drawn, law.update[1]), (init_ones, init_drawn, law.init[1])):
        if total:
            p = weight / COIN
            assert abs(count - total * p) < 5 * (total * p * (1 - p)) ** 0.5 + 1


def test_levels_have_their_law_and_deletion_restores_the_initial_one() -> None:
    law, sample = quantized_laplace(Fraction(1), levels=5), 300_000
    entries = fresh(law, sample, seed=1)
    everyone = np.arange(-10, sample + 10)

    def check(weights: tuple[int, ...]) -> None:
        counts = np.bincount(entries.memory[:sample], minlength=5)
        expected = np.array(weights) / COIN * sample
        assert float(((counts - expected) ** 2 / expected).sum()) < 30  # χ² with 4 degrees: 1 in 200,000
        assert entries.counts() == (int(counts @ np.array(law.scores)),)

    check(law.init)
    entries.redraw(everyone, present=True, coins=seeded_coins(2))
    check(law.update)
    entries.redraw(everyone, present=True, coins=seeded_coins(3))
    check(law.update)
    entries.redraw(everyone, present=False, coins=seeded_coins(4))
    check(law.init)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), st.integers(1, 200))
def test_slots_outside_change_nothing(slots: list[int], sample: int) -> None:
    entries = fresh(optimal_bernoulli(Fraction(1)), sample, seed=3)
    before = entries.memory.copy()
    outside = np.array([s for s in slots if not 0 <= s < sample], dtype=np.int64)
    entries.redraw(outside, present=True, coins=system_coins)
    np.testing.assert_array_equal(entries.memory, before)


def test_system_coins_are_fresh_and_fill_everything() -> None:
    buffers = [np.zeros(BLOCK, dtype=np.uint8) for _ in range(3)]
    for buffer in buffers:
        system_coins(buffer)
        counts = np.bincount(buffer, minlength=256)
        expected = BLOCK / 256
        # χ² with 255 degrees: 440 is passed once in 2·10¹¹.
        assert float(((counts - expected) ** 2 / expected).sum()) < 440
        assert buffer[-64:].any()
    assert not (buffers[0] == buffers[1]).all()
    odd = np.zeros(100, dtype=np.uint8)
    system_coins(odd[:3])
    assert not odd[3:].any()


def test_the_key_of_coins_is_drawn_anew_and_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[memoryview] = []
    said: list[bytes] = []

    def kept(buffer: memoryview) -> None:
        buffer[:] = os.urandom(len(buffer))
        keys.append(buffer)
        said.append(bytes(buffer))

    monkeypatch.setattr("panbayes.stream.state.coins._from_system", kept)
    drawn = [np.zeros(BLOCK, dtype=np.uint8) for _ in range(2)]
    for buffer in drawn:
        system_coins(buffer)
    assert [len(key) for key in keys] == [32, 32]
    assert said[0] != said[1]
    assert not (drawn[0] == drawn[1]).all()
    assert all(bytes(key) == bytes(32) for key in keys), "a key is left in memory, from which the coins follow"


@pytest.mark.parametrize("way", ["initialize", "marked", "each"])
def test_no_coin_serves_two_entries(way: str) -> None:
    """Of 15,000 words of 64 bits two agree with a chance below 10⁻⁹, but with coins that come again all of them do."""
    sample = {"initialize": 1_000_000, "marked": 1_000_000, "each": 5_000_000}[way]
    law = optimal_bernoulli(Fraction(1))
    entries = Entries(law, sample, np.zeros(law.state_bytes(sample), dtype=np.uint8))
    everyone = np.arange(1_000_000, dtype=np.int64)
    if way == "initialize":
        entries.initialize(system_coins)
    else:
        entries.redraw(everyone, present=True, coins=system_coins)
    words = entries.memory.view(np.uint64)[: everyone.size // 64]
    assert np.unique(words).size == words.size


def test_a_batch_delivered_twice_changes_nothing_in_distribution() -> None:
    """The law of an entry after one and after two redraws is the same, exactly: the old value does not matter."""
    law = optimal_bernoulli(Fraction(1))
    slots = np.arange(1000, dtype=np.int64)
    first, second = fresh(law, 1000, seed=1), fresh(law, 1000, seed=2)
    second.redraw(slots, present=True, coins=seeded_coins(5))
    for entries in (first, second):
        entries.redraw(slots, present=True, coins=seeded_coins(9))
    np.testing.assert_array_equal(first.memory, second.memory)
