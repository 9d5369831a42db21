"""Counters: the joint loss of a look and all histograms, by playing out every short stream in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.stream.guarantee.calibration import Calibration
from panbayes.stream.guarantee.counter_loss import counter_loss, counter_surely_meets
from panbayes.stream.laws.counter_law import CounterLaw, counter_law
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.statistics.methods.statistic import Budget
from panbayes.stream.statistics.methods.visits import Visits
from tests.stream.joint_laws import COME, GO, NOTHING, Process, joint_law, worst_ratio


def counters(modulus: int, odds: int, *, users: int = 2, base: int = 2) -> Process:
    """Counters that start at 0 with ``odds`` against 1, and histograms with noise of ratio 1/``base``."""
    start = np.array([odds, *[1] * (modulus - 1)], dtype=np.int64)
    stay = np.eye(modulus, dtype=np.int64)
    kernels = (stay, np.roll(stay, 1, axis=1), np.roll(stay, -1, axis=1))
    return Process(start, kernels, np.stack([stay] * users), base)


@pytest.mark.parametrize("modulus", [3, 4])
@pytest.mark.parametrize("releases", [0, 1])
@pytest.mark.parametrize("base", [2, 3])
def test_the_loss_is_exactly_as_proved(modulus: int, releases: int, base: int) -> None:
    """Λ·e^(2Σ1/σ) bounds every observation of every pair of adjacent streams, and is reached."""
    process = counters(modulus, 5, base=base)
    found = worst_ratio(process, length=2, releases=releases, events=(NOTHING, COME, GO))
    assert found == 5 * base ** (2 * releases)


def test_the_loss_of_longer_streams_and_several_releases() -> None:
    assert worst_ratio(counters(3, 3), length=3, releases=1, events=(NOTHING, COME)) == 3 * 2**2
    assert worst_ratio(counters(3, 3, users=1), length=3, releases=2, events=(NOTHING, COME, GO)) == 3 * 2**4


def test_one_visit_before_against_one_after_is_the_worst_pair() -> None:
    process = counters(4, 5)
    before, after, never = [(0, COME), (0, NOTHING)], [(0, NOTHING), (0, COME)], [(0, NOTHING), (0, NOTHING)]

    def ratio(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> float:
        high, low = (joint_law(process, stream, 1, [2]) for stream in (first, second))
        return float(np.max(high / low))

    assert ratio(before, after) == 5 * 2**2
    assert ratio(never, before) == 5
    assert ratio(never, after) == 2**2


def test_two_looks_are_not_private() -> None:
    process = counters(3, 3)
    stay, moved = ([(0, event)] for event in (NOTHING, COME))
    tables = []
    for stream in (stay, moved):
        joint = np.multiply.outer(process.start, process.start).reshape(-1)
        seen = joint[:, None] * np.eye(joint.size, dtype=np.int64)
        tables.append(process.moved(seen, *stream[0]))
    assert ((tables[0] > 0) != (tables[1] > 0)).any()


def test_a_counter_that_stops_at_its_end_would_give_away_who_reached_it() -> None:
    process = counters(3, 3, users=1)
    stops = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=np.int64)
    saturating = Process(process.start, (process.kernels[0], stops), process.tally, process.base)
    with pytest.raises(AssertionError, match="only one of two"):
        worst_ratio(saturating, length=2, releases=0, events=(NOTHING, COME))


@given(st.fractions(Fraction(1, 1000), Fraction(20)), st.integers(3, 32))
def test_the_odds_are_as_large_as_the_coins_allow(epsilon: Fraction, modulus: int) -> None:
    law = counter_law(epsilon, modulus)
    assert sum(law.init) == COIN
    assert law.surely_within(epsilon)
    assert law.loss() == pytest.approx(float(epsilon), rel=1e-2, abs=1e-6)
    if law.other > 1:
        assert not CounterLaw(modulus, law.other - 1).surely_within(epsilon)


@pytest.mark.parametrize("most", [2, 7, 31])
@pytest.mark.parametrize("releases", [1, 30])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_calibrations_spend_their_budget_and_no_more(most: int, releases: int, epsilon: str) -> None:
    total = Fraction(epsilon)
    chosen = Visits(most).calibrate(Budget(total, 10_000, 20_000, releases))
    assert chosen.loss() <= float(total) * (1 + 1e-12)
    assert chosen.loss() >= float(total) * 0.9999
    # A scale that is a hair too small cannot be constructed.
    with pytest.raises(ValueError, match="together lose more"):
        Calibration(total, chosen.state_epsilon, chosen.law, chosen.noise_scale * Fraction(9999, 10_000), releases)
    with pytest.raises(ValueError, match="more than the state's part"):
        Calibration(total, chosen.state_epsilon / 2, chosen.law, chosen.noise_scale, releases)


def test_the_exact_check_agrees_with_floating_point() -> None:
    law = counter_law(Fraction(1, 2), 8)
    rate = (1 - law.loss()) / 2
    assert counter_loss(law, rate) == pytest.approx(1, abs=1e-12)
    assert counter_surely_meets(law, Fraction(rate * (1 - 1e-9)), Fraction(1))
    assert not counter_surely_meets(law, Fraction(rate * (1 + 1e-9)), Fraction(1))
    for absurd in (1, 10**9):
        assert not counter_surely_meets(law, Fraction(absurd), Fraction(1))
    assert math.isclose(float(law.odds), math.exp(law.loss()))


@pytest.mark.parametrize(("modulus", "other"), [(2, 5), (33, 5), (8, 0), (8, COIN // 8), (8, -1)])
def test_what_is_no_counter_is_refused(modulus: int, other: int) -> None:
    with pytest.raises(ValueError, match="counter"):
        CounterLaw(modulus, other)
