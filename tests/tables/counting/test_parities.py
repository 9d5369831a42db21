"""Parities: both kernels against a loop over records, at every edge of a word, and what they say of a table."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.tables.counting.engines import Kernels, engine
from panbayes.tables.counting.parities import pack_bits, parities
from tests.effort import often

BOTH: tuple[Kernels, ...] = ("numba", "numpy")
each_kernel = pytest.mark.parametrize("kernels", BOTH)


def random_bits(seed: int, rows: int, records: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    return (rng.random((rows, records)) < rng.random((rows, 1))).astype(np.uint8)


def brute_force(bits: NDArray[np.uint8], members: tuple[int, ...]) -> int:
    """Multiply signs in Python, record by record."""
    return sum(prod(-1 if bits[a, t] else 1 for a in members) for t in range(bits.shape[1]))


def every_set(rows: int) -> list[tuple[int, ...]]:
    """All sets of up to four, the empty one with them, in no order of their lengths."""
    sets = [found for length in range(5) for found in combinations(range(rows), length)]
    return [sets[place] for place in np.random.default_rng(rows).permutation(len(sets)).tolist()]


@each_kernel
def test_parities_are_those_of_a_loop_over_records(kernels: Kernels) -> None:
    """At every edge of a byte and of a word: what a word is padded with must not count as a record."""
    sets = every_set(5)
    for records in (0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129):
        bits = random_bits(records, 5, records)
        found = parities(bits, sets, kernels=kernels).tolist()
        assert found == [brute_force(bits, members) for members in sets], records


@each_kernel
def test_where_all_records_are_alike_nothing_is_lost(kernels: Kernels) -> None:
    """Words of ones only: a count that overflows a byte of a word would show."""
    for value, odd in ((0, 1000), (1, -1000)):
        bits = np.full((4, 1000), value, dtype=np.uint8)
        found = parities(bits, [(), (0,), (0, 1), (0, 1, 2), (3, 2, 1, 0)], kernels=kernels)
        assert found.tolist() == [1000, odd, 1000, odd, 1000]


@each_kernel
def test_every_number_of_ones_in_a_word_is_counted(kernels: Kernels) -> None:
    """One bit at each place of a word, and from none to sixty-four of them."""
    single, up_to = np.eye(64, dtype=np.uint8), np.tri(65, 64, -1, dtype=np.uint8)
    for bits in (single, up_to):
        words = pack_bits(bits)
        assert words.shape == (len(bits), 1)
        found = engine(kernels).count_odd(words, np.arange(len(bits)).reshape(-1, 1))
        assert found.tolist() == bits.sum(axis=1).tolist()


@each_kernel
def test_no_sets_have_no_parities(kernels: Kernels) -> None:
    found = parities(random_bits(1, 3, 70), [], kernels=kernels)
    assert found.tolist() == []
    assert found.dtype == np.int64


@settings(deadline=None, max_examples=often(30, 150))
@given(
    st.integers(1, 6).flatmap(
        lambda rows: st.tuples(
            st.lists(st.lists(st.integers(0, 1), min_size=rows, max_size=rows), max_size=150),
            st.lists(st.lists(st.integers(0, rows - 1), max_size=4, unique=True).map(tuple), max_size=6),
            st.just(rows),
        )
    ),
    st.sampled_from(BOTH),
)
def test_any_bits_and_any_sets(drawn: tuple[list[list[int]], list[tuple[int, ...]], int], kernels: Kernels) -> None:
    records, sets, rows = drawn
    bits = np.array(records, dtype=np.uint8).reshape(-1, rows).T.copy()
    assert parities(bits, sets, kernels=kernels).tolist() == [brute_force(bits, members) for members in sets]
