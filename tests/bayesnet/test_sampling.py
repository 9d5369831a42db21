"""Samples follow the joint distribution, with and without evidence, and the test would notice if they did not.

Each sample of n = 20,000 is held against the exact cell probabilities by a chi-square test: p > 1e-4 for the right
distribution (seeds are fixed; a fresh seed would fail once in 10,000), p < 1e-6 for one tilted by ±30 %.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from panbayes.bayesnet.inference.engine import Engine
from panbayes.bayesnet.inference.sampling import cumulative_rows, draw_rows
from panbayes.bayesnet.network import Network
from tests.bayesnet.brute import FloatArray, given, joint, plain_schema, random_network

RECORDS = 20_000


def chi_square(codes: np.ndarray, weights: FloatArray) -> float:
    """The p-value of drawn codes under cell weights; cells expecting less than five are pooled."""
    expected = weights.ravel() / weights.sum() * codes.shape[1]
    observed = np.bincount(np.ravel_multi_index(tuple(codes), weights.shape), minlength=weights.size)
    assert np.all(observed[weights.ravel() == 0] == 0), "something impossible was drawn"
    rare = expected < 5
    pooled_expected = np.append(expected[~rare], expected[rare].sum())
    pooled_observed = np.append(observed[~rare], observed[rare].sum())
    kept = pooled_expected > 0
    return float(stats.chisquare(pooled_observed[kept], pooled_expected[kept]).pvalue)


def tilted(weights: FloatArray) -> FloatArray:
    """The same cells, by turns 30 % more and less likely, from the likeliest down."""
    signs = np.empty(weights.size)
    signs[np.argsort(-weights.ravel())] = np.resize([1.3, 0.7], weights.size)
    moved: FloatArray = weights * signs.reshape(weights.shape)
    return moved


@pytest.mark.parametrize("seed", range(6))
def test_prior_samples_follow_the_joint(seed: int) -> None:
    network = random_network(seed, attributes=5)
    codes = network.sample_table(RECORDS, seed).codes
    weights = joint(network)
    assert chi_square(codes, weights) > 1e-4
    assert chi_square(codes, tilted(weights)) < 1e-6


@pytest.mark.parametrize("own_tree", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_conditional_samples_follow_the_joint_given_the_evidence(seed: int, own_tree: bool) -> None:
    network = random_network(seed, attributes=6)
    leaf = network.structure.order[-1]
    other = network.structure.order[2]
    weights = joint(network)
    sums = weights.sum(axis=tuple(v for v in range(6) if v not in (leaf, other)))
    best = np.unravel_index(sums.argmax(), sums.shape)
    evidence = dict(zip(sorted((leaf, other)), (int(code) for code in best), strict=True))
    engine = Engine(network.structure, network.schema.sizes, network.tables, reuse=not own_tree)
    codes = engine.sample(evidence, RECORDS, np.random.default_rng(seed), np.uint8, independent=True)
    kept = given(weights, evidence)
    assert chi_square(codes, kept) > 1e-4
    if np.count_nonzero(kept) > 1:
        assert chi_square(codes, tilted(kept)) < 1e-6


def test_the_evidence_stands_in_every_record() -> None:
    network = random_network(4, zeros=0)
    drawn = network.sample_table(100, 1, given={"x3": "v0"})
    assert np.all(drawn.codes[3] == 0)
    assert drawn.decoded()["x3"].unique().to_list() == ["v0"]


def test_seeds_repeat_and_generators_move_on() -> None:
    network = random_network(1, attributes=8, largest=6)
    assert np.array_equal(network.sample_table(500, 7).codes, network.sample_table(500, 7).codes)
    assert not np.array_equal(network.sample_table(500, 7).codes, network.sample_table(500, 8).codes)
    rng = np.random.default_rng(7)
    first, second = network.sample_table(500, rng).codes, network.sample_table(500, rng).codes
    assert not np.array_equal(first, second)
    assert not np.array_equal(network.sample_table(500).codes, network.sample_table(500).codes)


def test_blocks_join_without_a_seam() -> None:
    network = random_network(2, attributes=4, zeros=0)
    codes = network.sample_table(200_000, 3).codes
    assert chi_square(codes[:, :65_536], joint(network)) > 1e-4
    assert chi_square(codes[:, 65_536:], joint(network)) > 1e-4


@pytest.mark.parametrize("width", [1, 2, 8, 9, 40])
def test_a_draw_is_the_first_entry_above_the_uniform(width: int) -> None:
    rng = np.random.default_rng(width)
    weights = rng.random((5, width))
    weights[rng.random(weights.shape) < 0.4] = 0
    weights[:, width // 2] += 0.01
    cumulative = cumulative_rows(weights)
    rows = rng.integers(0, 5, 4000)
    uniform = rng.random(4000)
    # The ends of the unit interval, and exactly on the steps.
    uniform[:10] = 0.0
    uniform[10:20] = np.nextafter(1.0, 0.0)
    uniform[20:30] = np.minimum(cumulative[rows[20:30], 0], np.nextafter(1.0, 0.0))
    out = np.empty(4000, dtype=np.int64)
    draw_rows(cumulative, rows, uniform, out)
    expected = [int(np.argmax(cumulative[row] > u)) for row, u in zip(rows, uniform, strict=True)]
    assert out.tolist() == expected
    assert np.all(weights[rows, out] > 0)


def test_wide_domains_use_sixteen_bits() -> None:
    network = random_network(0, attributes=2, largest=1)
    schema = plain_schema([300, 2])
    wide = Network(schema, network.structure, _uniform(network, (300, 2)))
    codes = wide.sample_table(5000, 1).codes
    assert codes.dtype == np.uint16
    assert codes[0].max() > 255


def _uniform(network: Network, sizes: tuple[int, int]) -> tuple[FloatArray, ...]:
    shapes = [[sizes[i] for i in (*network.structure.parents(child), child)] for child in range(2)]
    return tuple(np.full(shape, 1 / shape[-1]) for shape in shapes)
