"""The chance of a good choice: against every order of visits, against what was drawn, and bounds that are attained."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.planning.selection import chances, margin_at_most, miss_at_most, within
from panbayes.privacy.events import Rule
from tests.effort import often

RULES: Final[tuple[Rule, ...]] = ("exponential", "permute-and-flip")
SCORES = np.array([0.0, -0.3, -1.0, -2.0, -0.1, 0.0])


def by_every_order(scores: np.ndarray, scale: float) -> np.ndarray:
    """Visit candidates in every order, and take each by its odds."""
    odds = np.exp((scores - scores.max()) / scale)
    found = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0 / math.factorial(len(scores))
        for candidate in order:
            found[candidate] += left * odds[candidate]
            left *= 1 - odds[candidate]
    return found


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 20.0])
def test_permute_and_flip_is_that_of_every_order(scale: float) -> None:
    assert chances(SCORES, scale=scale, rule="permute-and-flip") == pytest.approx(
        by_every_order(SCORES, scale), abs=1e-9
    )


@pytest.mark.parametrize("rule", RULES)
def test_chances_are_those_of_the_mechanism(rule: Rule) -> None:
    scores = np.concatenate([np.zeros(1), np.linspace(-0.2, -3, 12)])
    noise = SimulatedNoise(11)
    drawn = [noise.select(scores, scale=Fraction(1, 2), mechanism=rule) for _ in range(10_000)]
    shares = np.bincount(drawn, minlength=scores.size) / len(drawn)
    found = chances(scores, scale=0.5, rule=rule)
    assert np.abs(shares - found).max() < 6 * 0.5 / math.sqrt(len(drawn))
    assert within(scores, 1.0, scale=0.5, rule=rule) == pytest.approx(shares[scores >= -1.0].sum(), abs=0.02)


def test_many_candidates_are_no_trouble() -> None:
    scores = np.concatenate([np.zeros(1), np.full(4999, -math.log(5000.0))])
    found = chances(scores, scale=1.0, rule="permute-and-flip")
    q = 1 / 5000
    assert found[0] == pytest.approx((1 - (1 - q) ** 5000) / (5000 * q), rel=1e-6)


@given(
    gaps=st.lists(st.floats(0, 20), min_size=1, max_size=7),
    margin=st.floats(0, 10),
    scale=st.floats(0.2, 5),
    rule=st.sampled_from(RULES),
)
@settings(max_examples=often(8, 200))
def test_no_scores_miss_more_often_than_the_bound(gaps: list[float], margin: float, scale: float, rule: Rule) -> None:
    scores = -np.array([0.0, *gaps])
    missed = 1 - within(scores, margin, scale=scale, rule=rule)
    assert missed <= miss_at_most(margin, candidates=scores.size, scale=scale, rule=rule) + 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_the_bound_is_attained(rule: Rule) -> None:
    margin, scale, others = 2.0, 0.7, 30
    scores = np.array([0.0, *[-(margin + 1e-9)] * others])
    missed = 1 - within(scores, margin, scale=scale, rule=rule)
    assert missed == pytest.approx(miss_at_most(margin, candidates=others + 1, scale=scale, rule=rule), rel=1e-6)
    assert 0.1 < missed < 0.9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("candidates", [2, 50, 10_000])
def test_the_margin_is_the_other_way_round(rule: Rule, candidates: int) -> None:
    margin = margin_at_most(0.05, candidates=candidates, scale=0.3, rule=rule)
    assert miss_at_most(margin, candidates=candidates, scale=0.3, rule=rule) == pytest.approx(0.05, rel=1e-6)


def test_one_candidate_is_never_missed_and_permute_and_flip_misses_less() -> None:
    assert miss_at_most(0.0, candidates=1, scale=1.0, rule="exponential") == 0
    assert miss_at_most(1e9, candidates=5, scale=1.0, rule="permute-and-flip") == 0
    assert miss_at_most(0.0, candidates=5, scale=1.0, rule="permute-and-flip") == pytest.approx(0.8)
    for margin in (0.5, 2.0, 5.0):
        flip, exponential = (miss_at_most(margin, candidates=40, scale=1.0, rule=rule) for rule in reversed(RULES))
        assert flip < exponential


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="scores"):
        chances(np.array([]), scale=1.0, rule="exponential")
    with pytest.raises(InputError, match="candidates: found 0"):
        miss_at_most(1.0, candidates=0, scale=1.0, rule="exponential")
    with pytest.raises(InputError, match="miss: found 1"):
        margin_at_most(1.0, candidates=3, scale=1.0, rule="exponential")
