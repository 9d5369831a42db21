"""Exact counts: tables and Σ c·ln c against the obvious way, to the bit."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from panbayes.bayesnet import table_counts as exact
from panbayes.bayesnet.counts import TableCounts
from panbayes.bayesnet.learning.scores import score as scoring
from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.bayesnet.learning.scores.score import Score, table_by_table
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.errors import InputError
from panbayes.exact.score_rounding import information_bits
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.diabetes import load_diabetes
from panbayes.tables.table import Table
from tests.bayesnet.brute import plain_schema, random_network, seeds
from tests.effort import often


def slow_table(table: Table, attributes: tuple[int, ...]) -> NDArray[np.int64]:
    result = np.zeros([table.schema.sizes[a] for a in attributes], dtype=np.int64)
    for record in table.codes[list(attributes)].T.tolist():
        result[tuple(record)] += 1
    return result


def slow_weight(counts: NDArray[np.int64], records: int) -> int:
    units = [round(c * np.log(c) * 2.0 ** information_bits(records)) for c in counts.ravel().tolist() if c]
    return sum(units)


@settings(max_examples=often(12, 60), deadline=None)
@given(seeds)
def test_tables_and_weights_agree_with_the_obvious_way(seed: int) -> None:
    table = random_network(seed, attributes=6, largest=5).sample_table(seed % 400, seed)
    counts = ExactCounts(table)
    assert isinstance(counts, TableCounts)
    assert counts.total == table.records
    rng = np.random.default_rng(seed)
    sets = [tuple(rng.permutation(6)[:length].tolist()) for length in (0, 1, 1, 2, 3, 3, 4, 6)]
    for attributes, found in zip(sets, counts.tables(sets), strict=True):
        assert np.array_equal(found, slow_table(table, attributes))
    for length in range(5):
        ascending = np.array(list(combinations(range(6), length)), dtype=np.int64)
        found_weights = counts.weights(ascending).tolist()
        assert found_weights == [slow_weight(slow_table(table, tuple(s)), table.records) for s in ascending.tolist()]


every_score = pytest.mark.parametrize("score", scores().values(), ids=lambda score: score.name)


@every_score
@settings(max_examples=often(8, 40), deadline=None)
@given(seeds)
def test_fast_scores_equal_those_from_tables(score: Score, seed: int) -> None:
    table = random_network(seed, schema=plain_schema([2, 3, 2, 4, 2, 2])).sample_table(seed % 300, seed)
    counts = ExactCounts(table)
    parents = [(), (1,), (3,), (0, 1), (3, 1, 0)]
    children = [2, 4, 5]
    direct = [[score.value(slow_table(table, (child, *own))) for child in children] for own in parents]
    assert score(counts, parents, children).tolist() == direct
    assert table_by_table(score.value)(counts, parents, children).tolist() == direct


def test_batches_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_network(5, attributes=8, zeros=0).sample_table(500, 5)
    sets = np.array(list(combinations(range(8), 3)), dtype=np.int64)
    expected = ExactCounts(table).weights(sets)
    monkeypatch.setattr(exact, "_BATCH_CELLS", 30)
    assert np.array_equal(ExactCounts(table).weights(sets), expected)


def test_a_table_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_network(5, schema=plain_schema([4] * 5)).sample_table(50, 5)
    monkeypatch.setattr(exact, "MAX_TABLE_CELLS", 100)
    with pytest.raises(InputError, match=r"degree: a table of 4 attributes would have 256 cells; at most 100"):
        ExactCounts(table).weights(np.array([[0, 1, 2, 3]]))


def test_wide_codes() -> None:
    codes = np.random.default_rng(1).integers(0, 300, (3, 2000)).astype(np.uint16)
    table = Table(plain_schema([300, 300, 300]), codes)
    counts = ExactCounts(table)
    assert counts.weights(np.array([[0, 2]])).tolist() == [slow_weight(slow_table(table, (0, 2)), 2000)]


def test_diabetes_to_the_bit(diabetes_path: Path) -> None:
    table = load_diabetes(diabetes_path)
    counts = ExactCounts(table)
    rng = np.random.default_rng(3)
    for length in (2, 3, 4):
        sets = np.sort([rng.choice(43, length, replace=False) for _ in range(40)], axis=1)
        found = counts.weights(sets)
        tables = counts.tables([tuple(s) for s in sets.tolist()])
        units = [
            int(np.rint(np.ldexp(c * np.log(c), information_bits(table.records))).astype(np.int64).sum())
            for c in (t[t > 1].astype(np.float64) for t in tables)
        ]
        assert found.tolist() == units


@every_score
def test_scores_do_not_depend_on_how_families_are_batched(score: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    schema = Schema(
        "s", tuple(Attribute(f"a{i}", categories=tuple(range(size))) for i, size in enumerate((2, 3, 2, 2)))
    )
    codes = np.array([rng.integers(0, size, 60) for size in schema.sizes], dtype=np.uint8)
    counts = ExactCounts(Table(schema, codes))
    asked = (counts, [(), (0,), (0, 1)], [2, 3])
    whole = score(*asked)
    assert whole.shape == (3, 2)
    for most in (1, 12, 13, 40):
        monkeypatch.setattr(scoring, "BATCH_CELLS", most)
        assert np.array_equal(score(*asked), whole)
