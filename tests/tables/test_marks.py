"""Marks: the same records are known again in any order and pieces, and others are not taken for them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.counting.engines import Kernels
from panbayes.tables.marks import KEYS, RecordSums, attribute_order, mark_of
from panbayes.tables.table import Table
from tests.effort import often

WORD = 2**64


def table_of(codes: Sequence[Sequence[int]] | NDArray[np.integer], size: int = 4) -> Table:
    schema = Schema("s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i in range(len(codes))))
    return Table(schema, np.array(codes).astype(code_type(schema)))


def brute_sums(codes: NDArray[np.int64], order: Sequence[int]) -> tuple[int, int]:
    """The sums of the module's own formula, record by record in whole numbers."""
    k = [int(key) for key in KEYS]
    first = second = 0
    for record in codes.T.tolist():
        x, y = k[0], k[1]
        for start in range(0, len(order), 4):
            word = sum(record[a] << (16 * place) for place, a in enumerate(order[start : start + 4]))
            x = (x ^ word) * k[2] % WORD
            x ^= x >> 32
            y = (y + word) * k[3] % WORD
            y ^= y >> 29
        x = (x ^ (x >> 30)) * k[4] % WORD
        x = (x ^ (x >> 27)) * k[5] % WORD
        y = (y ^ (y >> 33)) * k[5] % WORD
        y = (y ^ (y >> 28)) * k[4] % WORD
        first, second = (first + (x ^ (x >> 31))) % WORD, (second + (y ^ (y >> 32))) % WORD
    return first, second


@pytest.mark.parametrize("kernels", ["numba", "numpy"])
@pytest.mark.parametrize(
    ("attributes", "records", "size"), [(1, 1, 2), (3, 50, 4), (4, 20, 300), (9, 40, 300), (2, 0, 2)]
)
def test_a_mark_is_what_the_formula_says(attributes: int, records: int, size: int, kernels: Kernels) -> None:
    table = table_of(np.random.default_rng(1).integers(0, size, (attributes, records)), size)
    order = list(range(attributes))[::-1]
    sums = RecordSums([[attribute] for attribute in order], kernels=kernels)
    for start in range(0, records, 7):
        sums.add(np.ascontiguousarray(table.codes[:, start : start + 7]))
    wanted = brute_sums(table.codes.astype(np.int64), order)
    head = f"panbayes sums of records {attributes} {records} ".encode()
    assert sums.mark() == hashlib.sha256(head + b"".join(one.to_bytes(8, "little") for one in wanted)).digest()


@given(st.data())
@settings(max_examples=often(12, 60))
def test_records_and_attributes_come_in_any_order(data: st.DataObject) -> None:
    attributes, records = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 12))
    codes = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(0, 3), min_size=records, max_size=records),
                min_size=attributes,
                max_size=attributes,
            )
        ),
        dtype=np.int64,
    ).reshape(attributes, records)
    counts = [tuple(np.bincount(row, minlength=4)) for row in codes]
    order = data.draw(st.permutations(range(attributes))) if len(set(counts)) == attributes else range(attributes)
    mixed = codes[list(order)][:, data.draw(st.permutations(range(records)))]
    assert mark_of(table_of(mixed)) == mark_of(table_of(codes))
    assert mark_of(table_of(codes, 300)) == mark_of(table_of(codes)), "nothing depends on how large a domain is"


def test_one_value_more_or_less_or_other_is_another_mark() -> None:
    codes = np.random.default_rng(2).integers(0, 4, (5, 30))
    seen = {mark_of(table_of(codes)), mark_of(table_of(codes[:, :-1])), mark_of(table_of(codes[:-1]))}
    for a, i in np.ndindex(*codes.shape):
        other = codes.copy()
        other[a, i] = (other[a, i] + 1) % 4
        seen.add(mark_of(table_of(other)))
    assert len(seen) == 3 + codes.size


@pytest.mark.parametrize("attributes", [2, 5])
def test_equal_margins_are_not_equal_records(attributes: int) -> None:
    """All tables of four binary records whose margins are equal, of every order: one mark for each set of records."""
    rows = np.array(np.meshgrid(*[[0, 1]] * attributes)).reshape(attributes, -1)[:, :8]
    marks_of: dict[bytes, set[tuple[tuple[int, ...], ...]]] = {}
    rng = np.random.default_rng(3)
    for _ in range(300):
        codes = rows[:, rng.integers(0, rows.shape[1], 4)]
        sums = RecordSums([[attribute] for attribute in range(attributes)])
        sums.add(codes.astype(np.uint8))
        marks_of.setdefault(sums.mark(), set()).add(tuple(sorted(map(tuple, codes.T.tolist()))))
    assert all(len(found) == 1 for found in marks_of.values())
    assert len(marks_of) == len(set.union(*marks_of.values()))
    pair, swapped = table_of([[0, 1], [0, 1]], 2), table_of([[0, 1], [1, 0]], 2)
    assert mark_of(pair) != mark_of(swapped)


def test_parts_add_up() -> None:
    codes = np.random.default_rng(4).integers(0, 4, (5, 90)).astype(np.uint8)
    order = attribute_order([np.bincount(row).tolist() for row in codes])
    whole, parts = RecordSums(order), [RecordSums(order) for _ in range(3)]
    whole.add(codes)
    for number, part in enumerate(parts):
        part.add(np.ascontiguousarray(codes[:, number::3]))
    parts[0].merge(parts[2])
    parts[0].merge(parts[1])
    assert parts[0].mark() == whole.mark() == mark_of(table_of(codes))
    with pytest.raises(ValueError, match="different orders"):
        whole.merge(RecordSums(order[::-1]))


@given(st.data())
def test_attributes_with_the_same_counts_may_change_places(data: st.DataObject) -> None:
    """Columns are shuffles of one another, so that nothing but their names says which is which."""
    values = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    columns = data.draw(st.lists(st.permutations(values), min_size=2, max_size=4))
    other = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    codes = np.array([*columns, other])
    places = data.draw(st.permutations(range(len(codes))))
    assert mark_of(table_of(codes)) == mark_of(table_of(codes[places]))


def test_records_are_still_told_apart_where_attributes_have_the_same_counts() -> None:
    one = table_of([[0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]])
    other = table_of([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]])
    assert mark_of(one) != mark_of(other)
