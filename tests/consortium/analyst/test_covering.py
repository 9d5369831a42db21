"""Blocks that cover all pairs of a small schema, the noise of what is read off them, and when they are measured."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.bayesnet.markov.field import shape_of
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.adaptive.covering import (
    BLOCK,
    WIDTH,
    covering,
    is_small,
    margin_variance,
    noise_of_margins,
    shares,
)
from panbayes.consortium.analyst.adaptive.division import TOTAL, Division, Grant
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.privacy.adjacency import Adjacency
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from tests.effort import some

SYNTHETIC = (2, 2, 2, 2, 2, 2, 3)


def grant(
    sizes: tuple[int, ...], epsilon: str, *, delta: Fraction = Fraction(0), adjacency: Adjacency = "replace"
) -> Grant:
    schema = Schema("s", tuple(Attribute(f"x{i}", categories=tuple(range(size))) for i, size in enumerate(sizes)))
    return Grant.of(Study("s", schema, "adaptive", Fraction(epsilon), delta=delta, adjacency=adjacency))


def price(here: Grant, sizes: tuple[int, ...], *, total: float, holders: int) -> float:
    """B of the division, from the variance that a least squares fit to all blocks would have."""
    blocks = covering(sizes)
    roots = [math.sqrt(math.prod(shape_of(axes))) for axes in blocks]
    bits = 0.0
    for attribute, size in enumerate(sizes):
        weights = []
        for axes, root in zip(blocks, roots, strict=True):
            if attribute in [a for a, _ in axes]:
                part = Fraction(root / sum(roots)).limit_denominator(10**6)
                added = math.prod(shape_of(axes)) // size
                cells, tables = math.prod(shape_of(axes)), round(sum(roots) / root)
                law = here.law(part, holders=holders, tables=tables, cells=cells)
                weights.append(1 / (added * law.deviation**2))
        bits += size * (size - 1) / sum(weights) / (2 * math.log(2) * total**2)
    return bits


small_sizes = st.lists(st.sampled_from([2, 2, 2, 3, 4]), min_size=2, max_size=16).map(tuple).filter(is_small)


@given(small_sizes)
def test_every_pair_lies_in_a_block_and_blocks_are_small_and_always_the_same(sizes: tuple[int, ...]) -> None:
    blocks = covering(sizes)
    members = [tuple(attribute for attribute, _ in axes) for axes in blocks]
    assert {pair for block in members for pair in combinations(block, 2)} == set(combinations(range(len(sizes)), 2))
    assert all(axes == tuple((a, sizes[a]) for a in sorted(dict(axes))) for axes in blocks)
    assert all(2 <= len(block) <= WIDTH for block in members)
    assert all(math.prod(shape_of(axes)) <= BLOCK for axes in blocks)
    assert not any(set(one) <= set(other) for one, other in combinations(members, 2))
    assert not any(set(other) <= set(one) for one, other in combinations(members, 2))
    assert covering.__wrapped__(sizes) == blocks
    assert sum(shares(blocks)) == pytest.approx(1)


def test_there_are_hardly_more_blocks_than_there_must_be() -> None:
    """Schönheim: at least ⌈N/4·⌈(N − 1)/3⌉⌉ blocks of four; at most two more for any number of attributes."""
    for attributes in range(4, 17):
        least = math.ceil(attributes / 4 * math.ceil((attributes - 1) / 3))
        assert least <= len(covering((2,) * attributes)) <= least + 2
    assert len(covering((2,) * 16)) == 20
    assert len(covering((2,) * 13)) == 13


@given(st.lists(st.integers(1, 9), min_size=1, max_size=18).map(tuple))
def test_a_schema_is_small_by_its_sizes_alone(sizes: tuple[int, ...]) -> None:
    pairs = [one * other for one, other in combinations(sizes, 2)]
    expected = bool(pairs) and len(sizes) <= 16 and max(pairs) <= 12 and min(sizes) > 1 and math.prod(sizes) <= 65_536
    assert is_small(sizes) == expected


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=60).map(tuple).filter(lambda sizes: not is_small(sizes)),
    st.floats(1, 1e9),
    st.integers(1, 30),
    st.sampled_from(["1/100", "1/10", "1", "100"]),
    st.booleans(),
)
def test_a_large_schema_has_no_blocks_whatever_the_rest(
    sizes: tuple[int, ...], total: float, holders: int, epsilon: str, look: bool
) -> None:
    found = Division.of(grant(sizes, epsilon), sizes, total=total, holders=holders, look_first=look)
    assert found.blocks == 0


def test_the_variance_of_a_margin_is_that_of_the_best_mean_of_sums() -> None:
    """By least squares: columns of ones for the sums, weighted by the inverse variance of each block's sum."""
    sizes = (2, 3, 2, 2, 4)
    blocks = covering(sizes)
    variances = np.random.default_rng(1).uniform(1, 9, len(blocks)).tolist()
    for attributes in [(0,), (1,), (4,), (0, 1), (1, 4), (2, 3)]:
        sums = [
            variance * math.prod(size for a, size in axes if a not in attributes)
            for axes, variance in zip(blocks, variances, strict=True)
            if set(attributes) <= set(dict(axes))
        ]
        ones = np.ones((len(sums), 1))
        covariance = np.linalg.inv(ones.T @ np.linalg.inv(np.diag(sums)) @ ones)
        assert margin_variance(blocks, variances, attributes) == pytest.approx(float(covariance[0, 0]))


def test_the_bits_of_margins_by_hand() -> None:
    """Two binary attributes: one block, a margin adds two cells, Σ 2·1·2·v/(2·ln 2·n²) over both."""
    asked: list[tuple[float, int]] = []

    def variance(share: float, cells: int) -> float:
        asked.append((share, cells))
        return 50.0

    assert noise_of_margins((2, 2), variance, total=1_000.0) == pytest.approx(4 * 50 / (math.log(2) * 1e6))
    assert asked == [(1.0, 4)]


@pytest.mark.parametrize("sizes", some([SYNTHETIC, (2,) * 12, (3, 2, 2, 4), (2,) * 16], 1))
@pytest.mark.parametrize("look", [True, False])
def test_blocks_are_measured_by_the_rule_that_the_module_states(sizes: tuple[int, ...], look: bool) -> None:
    seen = set()
    for epsilon in ("1/50", "1/10", "1", "10"):
        here = grant(sizes, epsilon)
        for holders in (1, 3, 10, 20):
            for total in np.geomspace(3e2, 1e6, 12).tolist():
                found = Division.of(here, sizes, total=total, holders=holders, look_first=look)
                law = NoiseLaw.of(here.event(Fraction(1, len(sizes))), holders=holders)
                bits = price(here, sizes, total=total, holders=holders)
                telling = total / holders >= 12 * NoiseLaw.of(here.event(Fraction(3, 100))).deviation
                if total / (law.deviation * math.sqrt(sum(sizes) / len(sizes))) < 5:
                    assert not found.blocks
                    assert not found.rounds
                    seen.add("drowned")
                elif bits <= 0.001:
                    more = len(covering(sizes)) > 1
                    assert found.rounds == (3 if more else 1)
                    assert float(found.blocks) == pytest.approx((0.8 if more else 1.0) * 0.995, abs=1e-6)
                    assert not found.first
                    assert not found.singles
                    spent = 1 - 0.2 * found.level  # whatever the noise: little is left for these rounds
                    assert float(found.spend(Fraction(1))) == pytest.approx(spent, abs=1e-6)
                    seen.add("clear")
                elif found.blocks:
                    assert bits <= (0.2 if found.first else 0.012)
                    assert not found.first or telling
                    assert found.blocks == 1 - TOTAL - found.first
                    assert not found.singles
                    assert found.rounds == 1
                    assert found.alone().blocks == 0
                    seen.add("looked" if found.first else "at once")
                else:
                    assert bits > (0.2 if found.first and telling else 0.012)
                    assert found.singles
                    seen.add("rounds")
    assert seen >= {"drowned", "clear", "at once", "rounds"} | ({"looked"} if look else set())


def test_under_zcdp_there_are_no_blocks() -> None:
    here = grant(SYNTHETIC, "1", delta=Fraction(1, 10**9), adjacency="add-remove")
    for total in np.geomspace(1e2, 1e7, 40).tolist():
        assert Division.of(here, SYNTHETIC, total=total, holders=3).blocks == 0
