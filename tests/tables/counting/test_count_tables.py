"""Contingency tables: both kernels against a Counter, the views, the limits, and what is refused."""

from __future__ import annotations

import itertools
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.checked_codes import CheckedCodes
from panbayes.tables.codes import Codes
from panbayes.tables.counting.count_tables import (
    DEFAULT_CELL_LIMIT,
    CountTables,
    all_pairs,
    all_triples,
    contingencies,
    contingency,
)
from panbayes.tables.counting.engines import ENVIRONMENT, Kernels, choose_kernels
from panbayes.tables.counting.limits import cells
from panbayes.tables.diabetes import load_diabetes
from panbayes.tables.table import Table
from tests.effort import often, soak

BOTH: tuple[Kernels, ...] = ("numba", "numpy")


def random_codes(
    seed: int, sizes: tuple[int, ...], records: int, *, skew: float, dtype: type[np.uint8] | type[np.uint16]
) -> Codes:
    """Draw codes; each attribute has its mode with a probability that varies around ``skew``, at a random place."""
    rng = np.random.default_rng(seed)
    codes = np.empty((len(sizes), records), dtype=dtype)
    for a, size in enumerate(sizes):
        mode = rng.integers(size)
        usual = rng.random(records) < skew ** (a + 1)
        codes[a] = np.where(usual, mode, rng.integers(size, size=records))
    return codes


def brute_force(codes: Codes, sizes: tuple[int, ...], attributes: tuple[int, ...]) -> NDArray[np.int64]:
    """Count in Python, record by record."""
    seen = Counter(tuple(int(codes[a, t]) for a in attributes) for t in range(codes.shape[1]))
    table = np.zeros([sizes[a] for a in attributes], dtype=np.int64)
    for cell, count in seen.items():
        table[cell] = count
    return table


def every_order(attributes: int, up_to: int) -> list[tuple[int, ...]]:
    return [s for k in range(up_to + 1) for s in itertools.permutations(range(attributes), k)]


@pytest.mark.parametrize("records", [0, 1, 2, 5, 100])
def test_one_table_of_any_attributes_in_any_order(records: int) -> None:
    sizes = (3, 1, 2, 7)
    for skew in (0.0, 0.7, 0.98, 1.0):
        codes = random_codes(records, sizes, records, skew=skew, dtype=np.uint8)
        for attributes in every_order(len(sizes), 4):
            wanted = brute_force(codes, sizes, attributes)
            for kernels in BOTH:
                table = contingency(codes, sizes, attributes, kernels=kernels)
                assert table.dtype == np.int64
                assert np.array_equal(table, wanted), (kernels, skew, attributes)


@pytest.mark.parametrize(("sizes", "dtype"), [((4, 2, 19, 2, 30), np.uint8), ((3, 400, 2, 5, 17), np.uint16)])
@pytest.mark.parametrize("skew", [0.3, 0.95])
def test_many_sets_at_once(sizes: tuple[int, ...], dtype: type[np.uint8] | type[np.uint16], skew: float) -> None:
    codes = random_codes(7, sizes, 600, skew=skew, dtype=dtype)
    rng = np.random.default_rng(1)
    sets = [tuple(rng.permutation(s).tolist()) for k in range(5) for s in itertools.combinations(range(5), k)]
    asked = [sets[e] for e in rng.permutation(len(sets))]
    numba, numpy = (contingencies(codes, sizes, asked, kernels=kernels) for kernels in BOTH)
    for tables in (numba, numpy):
        assert list(tables) == asked
        assert tables.flat.size == cells(sizes, sets)
    for attributes in sets:
        wanted = brute_force(codes, sizes, attributes)
        assert np.array_equal(numba[attributes], wanted), attributes
        assert np.array_equal(numpy[attributes], wanted), attributes


@settings(max_examples=often(12, 60), deadline=None)
@given(data=st.data())
def test_kernels_agree(data: st.DataObject) -> None:
    sizes = tuple(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=6)))
    codes = random_codes(
        data.draw(st.integers(0, 2**32 - 1)),
        sizes,
        data.draw(st.integers(0, 400)),
        skew=data.draw(st.floats(0, 1)),
        dtype=np.uint8 if data.draw(st.booleans()) else np.uint16,
    )
    one_set = st.permutations(range(len(sizes))).flatmap(
        lambda p: st.integers(0, min(4, len(p))).map(lambda k: tuple(p[:k]))
    )
    sets = data.draw(st.lists(one_set, max_size=12))
    numba, numpy = (contingencies(codes, sizes, sets, kernels=kernels) for kernels in BOTH)
    assert numba.sets == numpy.sets
    np.testing.assert_array_equal(numba.flat, numpy.flat)
    np.testing.assert_array_equal(numba.offsets, numpy.offsets)
    assert all(numba.records == codes.shape[1] == numba[s].sum() for s in sets)


@pytest.mark.parametrize("kernels", BOTH)
def test_all_pairs_and_triples(kernels: Kernels) -> None:
    sizes = (2, 5, 3, 2, 4)
    codes = random_codes(3, sizes, 200, skew=0.9, dtype=np.uint8)
    pairs = all_pairs(codes, sizes, kernels=kernels)
    triples = all_triples(codes, sizes, kernels=kernels)
    assert list(pairs) == list(itertools.combinations(range(5), 2))
    assert list(triples) == list(itertools.combinations(range(5), 3))
    for i, j, k in triples:
        np.testing.assert_array_equal(triples[i, j, k], brute_force(codes, sizes, (i, j, k)))
        np.testing.assert_array_equal(triples[i, j, k].sum(axis=2), pairs[i, j])
    assert pairs.flat.dtype == triples.flat.dtype == np.int32


def test_fewer_attributes_than_a_set_needs() -> None:
    codes = np.zeros((1, 4), dtype=np.uint8)
    assert len(all_pairs(codes, (3,))) == len(all_triples(codes, (3,))) == 0
    assert contingency(np.zeros((0, 4), dtype=np.uint8), (), ()) == 4


def test_views_are_shared_read_only_and_turn_with_the_key() -> None:
    sizes = (2, 3, 4)
    codes = random_codes(5, sizes, 50, skew=0.5, dtype=np.uint8)
    tables = contingencies(codes, sizes, [(2, 0, 1), (1,), (1, 2, 0)])
    assert tables.sets == ((2, 0, 1), (1,)), "the same attributes in another order are counted once"
    assert (2, 0, 1) in tables
    assert (0, 1) not in tables
    for key in itertools.permutations(range(3)):
        table = tables[key]
        assert table.shape == tuple(sizes[a] for a in key)
        assert np.shares_memory(table, tables.flat)
        np.testing.assert_array_equal(table, brute_force(codes, sizes, key))
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0, 0] = 1
    with pytest.raises(KeyError):
        _ = tables[0, 2]


def test_tables_check_their_offsets() -> None:
    with pytest.raises(ValueError, match="offsets"):
        CountTables((2,), ((0,),), 3, np.zeros(2, dtype=np.int32), np.array([0, 3]))


@pytest.mark.parametrize("kernels", BOTH)
def test_too_many_cells_are_refused_before_anything_is_allocated(kernels: Kernels) -> None:
    sizes = (65535,) * 4
    codes = np.zeros((4, 10), dtype=np.uint16)
    choose_kernels(kernels)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            contingency(codes, sizes, (0, 1, 2, 3), kernels=kernels)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    message = str(caught.value)
    assert f"{65535**4:,}" in message, "the size"
    assert f"{DEFAULT_CELL_LIMIT:,}" in message, "the limit"
    assert "raise the limit" in message, "what to do"
    assert caught.value.argument == "cell_limit"


def test_the_limit_counts_all_tables_of_a_call_and_is_exact() -> None:
    sizes = (4, 5, 6)
    codes = np.zeros((3, 10), dtype=np.uint8)
    total = 4 * 5 + 4 * 6 + 5 * 6
    assert all_pairs(codes, sizes, cell_limit=total).flat.size == total
    with pytest.raises(InputError, match=f"3 table.* {total} cells, the largest 30; at most {total - 1}"):
        all_pairs(codes, sizes, cell_limit=total - 1)
    with pytest.raises(InputError, match="120 cells"):
        all_triples(codes, sizes, cell_limit=119)


def test_one_table_cannot_outgrow_the_joint_codes() -> None:
    sizes = (65536, 65536)
    with pytest.raises(InputError, match=f"{65536**2:,} cells"):
        all_pairs(np.zeros((2, 1), dtype=np.uint16), sizes, cell_limit=2**40)


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        (np.zeros((2, 3), dtype=np.int64), "int64"),
        (np.zeros((3, 3), dtype=np.uint8), r"shape \(3, 3\)"),
        (np.zeros((2, 3, 1), dtype=np.uint8), r"shape \(2, 3, 1\)"),
        (np.array([[0, 1], [0, 3]], dtype=np.uint8), "outside its domain"),
        (np.array([[2, 1], [0, 2]], dtype=np.uint8), "outside its domain"),
    ],
)
def test_bad_codes(codes: Codes, found: str) -> None:
    with pytest.raises(InputError, match=found):
        contingency(codes, (2, 3), (0, 1))
    with pytest.raises(InputError, match=found):
        CheckedCodes(codes, (2, 3))


def test_codes_that_are_not_contiguous() -> None:
    with pytest.raises(InputError, match="not contiguous"):
        contingency(np.zeros((3, 2), dtype=np.uint8).T, (2, 3), (0, 1))


@pytest.mark.parametrize("kernels", BOTH)
def test_checked_codes_are_counted_as_they_are(kernels: Kernels) -> None:
    sizes = (2, 5, 300)
    codes = random_codes(11, sizes, 200, skew=0.7, dtype=np.uint16)
    checked = CheckedCodes(codes, sizes)
    found, wanted = (all_pairs(each, sizes, kernels=kernels).flat for each in (checked, codes))
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(InputError, match="sizes: found others than the codes were checked by"):
        all_pairs(checked, (2, 5, 299), kernels=kernels)


def test_codes_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table's codes are not looked at again, an array's are."""
    scanned = []
    monkeypatch.setattr("panbayes.tables.counting.count_tables.check_codes", lambda *_: scanned.append("array"))
    codes = np.zeros((2, 3), dtype=np.uint8)
    all_pairs(CheckedCodes(codes, (2, 3)), (2, 3))
    assert scanned == []
    all_pairs(codes, (2, 3))
    assert scanned == ["array"]


def test_checked_codes_cannot_change() -> None:
    """Whoever still has the array, or any view of it, writes to other memory."""
    schema = Schema("s", (Attribute("x", categories=("a", "b")), Attribute("y", categories=("a", "b"))))
    mine = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.uint8)
    view = mine[:]
    view.flags.writeable = False
    turned = np.asfortranarray(mine)
    turned.flags.writeable = False
    for array in (mine, view, mine[::-1], turned):
        table = Table(schema, array)
        before = table.codes.tolist()
        mine[:] = 255
        assert table.codes.tolist() == before
        assert not table.codes.flags.writeable
        assert table.codes.flags.c_contiguous
        assert table.checked.codes is table.codes
        mine[:] = [[0, 1, 1], [1, 0, 0]]


def test_a_view_that_can_still_be_written_to_is_copied() -> None:
    mine = np.array([[0, 1, 1]], dtype=np.uint8)
    view = mine[:]
    mine.flags.writeable = False
    checked = CheckedCodes(view, (2,))
    view[:] = 255
    assert checked.codes.tolist() == [[0, 1, 1]]


def test_frozen_codes_are_not_copied() -> None:
    mine = np.array([[0, 1, 1]], dtype=np.uint8)
    mine.flags.writeable = False
    assert np.shares_memory(CheckedCodes(mine, (2,)).codes, mine)
    assert np.shares_memory(CheckedCodes(mine[:, :], (2,)).codes, mine)


def test_bad_sets_and_sizes() -> None:
    codes = np.zeros((2, 3), dtype=np.uint8)
    for attributes in ((2,), (-1,), (0, 2)):
        with pytest.raises(InputError, match="use 0 to 1"):
            contingency(codes, (2, 3), attributes)
    with pytest.raises(InputError, match="twice"):
        contingency(codes, (2, 3), (1, 1))
    with pytest.raises(InputError, match="sizes"):
        contingency(codes, (2, 0), (0,))


def test_the_choice_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert choose_kernels() == "numba"
    assert choose_kernels("numpy") == "numpy"
    monkeypatch.setenv(ENVIRONMENT, "numpy")
    assert choose_kernels() == "numpy"
    assert choose_kernels("numba") == "numba", "the argument has the last word"
    monkeypatch.setenv(ENVIRONMENT, "cupy")
    with pytest.raises(InputError, match="PANBAYES_KERNELS: found 'cupy'"):
        choose_kernels()


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert choose_kernels() == "numpy"
    with pytest.raises(InputError, match="cannot be imported"):
        choose_kernels("numba")
    codes = np.array([[0, 1, 1]], dtype=np.uint8)
    assert contingency(codes, (2,), (0,)).tolist() == [1, 2]


@soak
def test_on_diabetes(diabetes_path: Path) -> None:
    table = load_diabetes(diabetes_path)
    sizes = table.schema.sizes
    pairs = all_pairs(table.codes, sizes)
    np.testing.assert_array_equal(pairs.flat, all_pairs(table.codes, sizes, kernels="numpy").flat)
    triples = all_triples(table.codes, sizes)
    assert len(triples) == 12_341
    some = [triples.sets[e] for e in range(0, len(triples), 61)]
    expected = contingencies(table.codes, sizes, some, kernels="numpy")
    for attributes in some:
        np.testing.assert_array_equal(triples[attributes], expected[attributes])
