"""Balanced draws: each record follows the law, all together hardly deviate from it, and both would be noticed.

The law of one record is looked at over many tables of few records, by the chi-square test of ``test_sampling``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from panbayes.bayesnet.inference import balanced
from panbayes.bayesnet.inference.balanced import draw_balanced, draw_rows_balanced
from panbayes.bayesnet.inference.sampling import cumulative_rows, draw_prior
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from tests.bayesnet.brute import given, joint, plain_schema, random_network
from tests.bayesnet.test_sampling import chi_square, tilted


@pytest.mark.parametrize("evidence", [{}, {2: 0}])
def test_every_record_follows_the_law(evidence: dict[int, int]) -> None:
    network = random_network(3, schema=plain_schema([3, 2, 4, 2]), zeros=0.2)
    rng = np.random.default_rng(1)
    known = {f"x{v}": f"v{code}" for v, code in evidence.items()}
    drawn = [network.sample_table(3, rng, known).codes for _ in range(4000)]
    weights = given(joint(network), evidence)
    for place in range(3):
        codes = np.stack([table[:, place] for table in drawn], axis=1)
        assert chi_square(codes, weights) > 1e-4
        assert chi_square(codes, tilted(weights)) < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_tables_of_the_network_are_met_within_a_record_for_every_halving(seed: int) -> None:
    network = random_network(seed, attributes=5, largest=7)
    codes = network.sample_table(5000, seed).codes.astype(np.int64)
    for child in range(5):
        parents = network.structure.parents(child)
        shape = tuple(network.tables[v].shape[-1] for v in (*parents, child))
        counts = np.bincount(np.ravel_multi_index(tuple(codes[[*parents, child]]), shape), minlength=math.prod(shape))
        rows = counts.reshape(-1, shape[-1])
        expected = rows.sum(axis=1, keepdims=True) * network.tables[child].reshape(-1, shape[-1])
        assert np.abs(rows - expected).max() < max(1, math.ceil(math.log2(shape[-1])))


def test_pairs_that_no_table_holds_deviate_less_than_by_chance() -> None:
    laws = tuple(np.array([0.2, 0.3, 0.5]) for _ in range(4))
    network = Network(plain_schema([3] * 4), Structure.independent(4), laws)
    expected = 900 * np.outer(laws[0], laws[0])
    away = {True: 0.0, False: 0.0}
    for independent in away:
        for seed in range(30):
            codes = network.sample_table(900, seed, independent=independent).codes.astype(np.int64)
            for one, other in ((0, 1), (1, 2), (2, 3), (0, 3)):
                counts = np.bincount(3 * codes[one] + codes[other], minlength=9).reshape(3, 3)
                away[independent] += float(((counts - expected) ** 2 / expected).sum())
    assert away[False] < 0.5 * away[True]


@pytest.mark.parametrize("values", [1, 2, 3, 8, 13])
def test_it_is_systematic_sampling_by_halves(values: int) -> None:
    rng = np.random.default_rng(values)
    weights = rng.random((6, values)) * (rng.random((6, values)) < 0.8) + 1e-3
    cumulative = cumulative_rows(weights)
    rows, ties = rng.integers(0, 6, 400), [rng.integers(0, 3, 400), rng.integers(0, 2, 400)]
    drawn = draw_rows_balanced(cumulative, rows, np.random.default_rng(5), ties)
    again = np.random.default_rng(5)
    order = again.permutation(400)
    for key in (*ties, rows):
        order = order[np.argsort(key[order], kind="stable")]
    starts = again.random(1 << (values - 1).bit_length())
    chances = np.diff(cumulative, axis=1, prepend=0.0)
    places = {1: (order.tolist(), 0, values)}
    expected = np.zeros(400, dtype=np.int64)
    while places:
        half, (records, low, high) = places.popitem()
        if high - low < 2:
            expected[records] = low
            continue
        middle, position = (low + high) // 2, float(starts[half])
        lower: list[int] = []
        upper: list[int] = []
        for record in records:
            row = chances[rows[record]]
            moved = position + row[low:middle].sum() / row[low:high].sum()
            (lower if math.floor(moved) > math.floor(position) else upper).append(record)
            position = moved
        places[2 * half], places[2 * half + 1] = (lower, low, middle), (upper, middle, high)
    assert np.array_equal(drawn, expected)


def test_blocks_are_balanced_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balanced, "BLOCK", 64)
    network = random_network(2, schema=plain_schema([2, 2]))
    codes = draw_balanced(network.structure, network.tables, 150, np.random.default_rng(1), np.uint8)
    first = network.structure.order[0]
    for start in (0, 64, 128):
        part = codes[first, start : start + 64]
        assert abs(int(part.sum()) - part.size * network.tables[first][1]) < 1


def test_independent_records_are_asked_for_by_name() -> None:
    network = random_network(1, attributes=6)
    plain = draw_prior(network.structure, network.tables, 300, np.random.default_rng(9), np.uint8)
    assert np.array_equal(network.sample_table(300, 9, independent=True).codes, plain)
    assert not np.array_equal(network.sample_table(300, 9).codes, plain)
    known = {"x0": "v0"}
    apart = network.sample_table(300, 9, known, independent=True).codes
    assert np.array_equal(
        apart, network.engine.sample({0: 0}, 300, np.random.default_rng(9), np.uint8, independent=True)
    )
    assert not np.array_equal(network.sample_table(300, 9, known).codes, apart)
    assert network.sample(50, 9, independent=True).equals(network.sample_table(50, 9, independent=True).decoded())
