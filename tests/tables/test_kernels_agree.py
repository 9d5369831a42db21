"""What is done for every record of a block: NumPy and the compiled kernels agree, and so does a loop."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from panbayes.tables.codes import Codes
from panbayes.tables.counting.engines import Kernels, engine
from panbayes.tables.counting.record_kernels import COPIES

KINDS: tuple[Kernels, ...] = ("numba", "numpy")


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_looked_up_and_counted(kind: Kernels) -> None:
    for records, values in [*product((0, 1, 2, 3, 4, 7), (1, 5, COPIES)), (1500, COPIES), (1500, COPIES + 1)]:
        rng = np.random.default_rng(records + values)
        places = rng.integers(0, values, records).astype(np.int32)
        narrow: Codes = rng.integers(0, 200, values).astype(np.uint8)
        wide: Codes = rng.integers(0, 2000, values).astype(np.uint16)
        for codes in (narrow, wide):
            out: Codes = np.zeros(records, dtype=codes.dtype)
            times = np.full(values, 3, dtype=np.int64)
            engine(kind).look_up(places, codes, out, times)
            assert out.tolist() == [codes[place] for place in places], (records, values)
            many = Counter(places.tolist())
            assert times.tolist() == [3 + many[place] for place in range(values)], (records, values)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_put_in_groups(kind: Kernels) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 9, (4, 300)).astype(np.uint16)
    maps = rng.integers(0, 3, (6, 9)).astype(np.uint8)
    places = np.array([3, 0, 0, 2, 1, 3])
    out = np.empty((6, 300), dtype=np.uint8)
    engine(kind).regroup(codes, places, maps, out)
    assert out.tolist() == [[maps[g][code] for code in codes[place]] for g, place in enumerate(places.tolist())]


@pytest.mark.parametrize("kind", KINDS)
def test_ones_of_an_exclusive_or_are_counted_whatever_sets_come_before(kind: Kernels) -> None:
    rng = np.random.default_rng(2)
    words = rng.integers(0, 2**63, (5, 9), dtype=np.uint64) * np.uint64(2)
    sets = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 1, 2], [0, 1, 4], [4, 1, 4]])
    wanted = [sum(bin(int(word)).count("1") for word in np.bitwise_xor.reduce(words[row], axis=0)) for row in sets]
    assert engine(kind).count_odd(words, sets).tolist() == wanted
    assert engine(kind).count_odd(words, np.empty((2, 0), dtype=np.int64)).tolist() == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(2**31,), (3, 1, 2**30, 5), (2,) * 63, (65_536, 7, 255, 1, 12)])
def test_digits_of_words_come_out_as_they_went_in(sizes: tuple[int, ...], kind: Kernels) -> None:
    rng = np.random.default_rng(len(sizes))
    digits = [[0] * 50 + [size - 1] * 50 + [int(rng.integers(min(size, 2**31))) for _ in range(50)] for size in sizes]
    words = []
    for record in zip(*digits, strict=True):
        word = 0
        for digit, size in zip(record, sizes, strict=True):
            word = word * size + digit
        words.append(word)
    rows = np.arange(len(sizes))[::-1].copy()
    out = np.full((len(sizes), len(words)), -1, dtype=np.int32)
    engine(kind).unpack(np.array(words, dtype=np.int64), rows, np.array(sizes, dtype=np.int64), out)
    assert out.tolist() == digits[::-1]
