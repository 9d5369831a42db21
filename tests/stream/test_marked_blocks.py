"""Many blocks of one chunk: marked together and redrawn once, they are what one large block is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.stream.ids import records
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Block, Integers, Texts
from panbayes.stream.ids.kernels.fold_hash import integer_cells
from panbayes.stream.ids.selection import slot_runs
from panbayes.stream.ids.single import single_slots
from panbayes.stream.ids.single_hash import integer_cell
from panbayes.stream.ids.universes.hashed import HashedUniverse, Ipv6Bits
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.setup import configure_hashed
from panbayes.stream.state import kernels, word_kernels
from panbayes.stream.state.coins import seeded_coins
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.memory import MemoryStore
from panbayes.stream.state.touched import FiledEntries
from tests.effort import often
from tests.stream.slots import slots_of

LAW = optimal_bernoulli(Fraction(1))
Slots = NDArray[np.int64]


def fresh(law: StateLaw, sample: int) -> Entries:
    entries = Entries(law, sample, np.zeros(law.state_bytes(sample), dtype=np.uint8))
    entries.initialize(seeded_coins(1))
    return entries


def ones(buffer: NDArray[np.uint8]) -> None:
    """Coins that make every redrawn bit a 1."""
    buffer.fill(0)


@settings(max_examples=often(40, 200))
@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 210), max_size=40), st.integers(1, 200))
def test_marks_against_a_set(slots: list[int], size: int) -> None:
    """Whatever their number, not only a multiple of eight."""
    marks = np.zeros(-(-size // 64), dtype=np.uint64)
    kernels.mark(np.array(slots, dtype=np.int64), marks, size)
    found = np.flatnonzero(np.unpackbits(marks.view(np.uint8), bitorder="little"))
    assert found.tolist() == sorted({slot for slot in slots if 0 <= slot < size})


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("law", [LAW, quantized_laplace(Fraction(1), levels=4)], ids=["bits", "levels"])
@pytest.mark.parametrize("sample", [1000, 10_000, 100_000])
def test_blocks_are_redrawn_like_their_events(sample: int, law: StateLaw, present: bool) -> None:
    """Together where marks pay (a quarter of the sample or more), else one after the other, by the same coins."""
    rng = np.random.default_rng(sample)
    blocks = [rng.integers(-5, sample + 5, size) for size in (1000, 70, 0, 1500)]
    events = sum(block.size for block in blocks)
    found, wanted = fresh(law, sample), fresh(law, sample)
    found.redraw_blocks(iter(blocks), events, present=present, coins=seeded_coins(5))
    coins = seeded_coins(5)
    together = law.levels == 2 and 4 * events >= sample
    for block in [np.concatenate(blocks)] if together else blocks:
        wanted.redraw(block, present=present, coins=coins)
    np.testing.assert_array_equal(found.memory, wanted.memory)


@pytest.mark.parametrize("present", [True, False])
def test_marked_blocks_have_the_law_and_change_nobody_else(present: bool) -> None:
    """50,000 bits within 7 standard errors (once in 10¹¹); the other law is 250 away."""
    sample = 100_000
    entries = fresh(LAW, sample)
    before = np.unpackbits(entries.memory, bitorder="little")
    inside = np.random.default_rng(3).permutation(sample)[: sample // 2]
    entries.redraw_blocks(np.array_split(inside, 7), inside.size, present=present, coins=seeded_coins(8))
    after = np.unpackbits(entries.memory, bitorder="little")
    p = (LAW.update if present else LAW.init)[1] / COIN
    assert abs(int(after[inside].sum()) - inside.size * p) < 7 * (inside.size * p * (1 - p)) ** 0.5
    others = np.setdiff1d(np.arange(after.size), inside)
    np.testing.assert_array_equal(after[others], before[others])


def test_where_a_block_cannot_be_had_none_counts_and_no_mark_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[NDArray[np.uint64]] = []
    really = kernels.mark

    def watched(slots: Slots, marks: NDArray[np.uint64], size: int) -> None:
        seen.append(marks)
        really(slots, marks, size)
        assert marks.any()

    def broken() -> Iterator[Slots]:
        yield np.arange(500)
        raise OSError("gone")

    monkeypatch.setattr(kernels, "mark", watched)
    entries = fresh(LAW, 1000)
    before = entries.memory.copy()
    with pytest.raises(OSError, match="gone"):
        entries.redraw_blocks(broken(), 1000, present=True, coins=ones)
    np.testing.assert_array_equal(entries.memory, before)
    entries.redraw_blocks([np.arange(500)], 500, present=True, coins=ones)
    assert len(seen) == 2
    assert not any(marks.any() for marks in seen)


def test_few_events_in_a_file_write_their_words_in_blocks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10⁶ users a few in blocks write words, and a quarter of all, marked, change the mapped file."""
    size = LAW.state_bytes(10**6)
    path = tmp_path / "f"
    path.write_bytes(bytes(size))
    descriptor = os.open(path, os.O_RDWR)
    entries = FiledEntries(LAW, 10**6, np.memmap(path, mode="r+", shape=(size,)), descriptor, 0)
    written: list[int] = []
    really = word_kernels.write_words

    def watched(descriptor: int, words: NDArray[np.uint64], places: Slots, offset: int) -> int:
        written.extend(offset + 8 * place for place in places.tolist())
        return really(descriptor, words, places, offset)

    monkeypatch.setattr(word_kernels, "write_words", watched)
    entries.redraw_blocks([np.array([0, 1, 999_999]), np.array([64])], 10, present=True, coins=ones)
    assert written == [0, 999_999 // 64 * 8, 8]
    entries.redraw_blocks([np.arange(100, 104)] * 3, 250_000, present=True, coins=ones)
    assert len(written) == 3
    state = np.unpackbits(entries.memory, bitorder="little")
    assert np.flatnonzero(state).tolist() == [0, 1, 64, *range(100, 104), 999_999]
    os.close(descriptor)


IDS: dict[str, Block] = {
    "integers": Integers(np.random.default_rng(1).integers(-(1 << 40), 1 << 40, 3001)),
    "texts": Texts.of([f"visitor-{i * i % 997}@example.org" for i in range(2999)]),
}


@pytest.mark.parametrize("block", [64, 1000, 1 << 15])
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_a_counter_redraws_the_cells_of_all_blocks(monkeypatch: pytest.MonkeyPatch, ids: Block, block: int) -> None:
    """Whatever the size of a block, the cells of all ids and of no others are redrawn, as ids one by one say."""
    monkeypatch.setattr(records, "BLOCK", block)
    universe = HashedUniverse.of_memory(1 << 10, key=bytes(16))
    setup = configure_hashed(universe, epsilon=1)
    store = MemoryStore(setup, seeded_coins(1))
    with store.feeding() as entries:
        entries.memory[:] = 0
        for size, slots in slot_runs(ids, universe, (), entries.arena):
            entries.redraw_blocks(slots, size, present=True, coins=ones)
        found = set(np.flatnonzero(np.unpackbits(entries.memory, bitorder="little")).tolist())
    store.close()
    one_by_one = single_slots(universe, Arena())
    if isinstance(ids, Integers):
        wanted = {one_by_one(value) for value in ids.values.tolist()}
    else:
        spans = zip(ids.starts.tolist(), ids.lengths.tolist(), strict=True)
        wanted = {one_by_one(ids.data[start : start + length].tobytes()) for start, length in spans}
    assert found == wanted


@settings(max_examples=often(40, 200))
@given(
    st.lists(st.integers(-(1 << 63), (1 << 64) - 1), min_size=1, max_size=20),
    st.sampled_from([(1, 64, 64), (1, 640, 100_000), (18, 58_240, 58_240)]),
)
def test_integers_in_lines_of_eight_and_one_by_one(values: list[int], shape: tuple[int, int, int]) -> None:
    key = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)
    first, second, third, fourth = map(np.uint64, key)
    for kind in (np.int64, np.uint64):
        limits = np.iinfo(kind)
        array = np.array([value for value in values if limits.min <= value <= limits.max], dtype=kind)
        out = np.empty(array.size, dtype=np.int64)
        integer_cells(array, (first, second, third, fourth), *shape, out)
        assert out.tolist() == [integer_cell(value, key, *shape) for value in array.tolist()]


TEXTS = st.one_of(
    st.text(max_size=50),
    st.text(st.sampled_from("0123456789-"), max_size=22),
    st.text(st.sampled_from("0123456789abcdef:."), max_size=45),
    st.ip_addresses(v=6).map(str),
    st.uuids().map(str),
    st.integers(-(1 << 64), 1 << 65).map(str),
    st.text(st.sampled_from(" \t\nab1\x7f\x00"), max_size=9),
)


@settings(max_examples=often(120, 600))
@given(TEXTS | st.integers(-(1 << 70), 1 << 70), st.sampled_from([0, 64, 128]))
def test_one_id_by_itself_has_the_slot_it_has_in_a_batch(one: str | int, ipv6: Ipv6Bits) -> None:
    universe = HashedUniverse.of_memory(1 << 14, key=bytes(range(16)), ipv6=ipv6)
    (wanted,) = slots_of(universe, [one])
    assert single_slots(universe, Arena())(one) == wanted
    if isinstance(one, str):
        assert single_slots(universe, Arena())(one.encode()) == wanted
