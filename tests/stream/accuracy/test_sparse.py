"""Streams with few users: lower bounds against exact laws of small states, and relative errors against simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from panbayes.stream.accuracy.density_error import mse
from panbayes.stream.accuracy.sparse import invisible_users, least_density, least_error
from panbayes.stream.guarantee.calibration import calibrate, design_of
from panbayes.stream.laws.kind import LawKind
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.state_law import COIN, StateLaw
from panbayes.stream.planning import plan_sample
from tests.stream.law_cases import over_laws


def chi_square(law: StateLaw) -> float:
    return sum((u - i) ** 2 / i for i, u in zip(law.init, law.update, strict=True)) / COIN


@over_laws(2, 3, 5)
@pytest.mark.parametrize("epsilon", ["1/10", "1/2"])
def test_no_law_has_more_signal_than_the_lemma_says(kind: LawKind, levels: int, epsilon: str) -> None:
    law = kind.law(Fraction(epsilon), levels=levels)
    assert chi_square(law) <= 4 * math.sinh(float(Fraction(epsilon)) / 2) ** 2 * (1 + 1e-12)


def test_the_default_law_has_all_of_it() -> None:
    assert chi_square(optimal_bernoulli(Fraction(1))) == pytest.approx(4 * math.sinh(0.5) ** 2, rel=1e-6)


def counts_law(law: StateLaw, users: int, present: int) -> NDArray[np.float64]:
    """The law of how many entries stand at each level: it tells as much as the state if users are at random."""
    init, update = (np.array(weights) / COIN for weights in (law.init, law.update))
    table = np.zeros((users + 1,) * law.levels)
    table[(0,) * law.levels] = 1.0
    for user in range(users):
        weights, grown = update if user < present else init, np.zeros_like(table)
        for level in range(law.levels):
            grown += weights[level] * np.roll(table, 1, axis=level)
        table = grown
    return table


@over_laws(2, 3)
@pytest.mark.parametrize("users", [4, 12, 40])
def test_few_users_hide_among_many_entries(kind: LawKind, levels: int, users: int) -> None:
    """The total variation from an empty stream, exactly, is at most ½√(e^(χ²k²/m) − 1)."""
    law = kind.law(Fraction(1, 2), levels=levels)
    empty = counts_law(law, users, 0)
    for present in range(1, users + 1):
        distance = np.abs(counts_law(law, users, present) - empty).sum() / 2
        bound = math.sqrt(math.expm1(chi_square(law) * present**2 / users)) / 2
        assert distance <= bound
        # In the words of the function: fewer than k cannot be told with error probabilities of at most β.
        beta = max(1e-9, (1 - distance) / 2)
        assert present >= invisible_users(users, epsilon=0.5, beta=beta) * (1 - 1e-9)


def test_the_bound_is_not_far_from_what_is_so() -> None:
    """At three times the bound a test by the number of ones has the error probabilities asked for."""
    law, users, beta = optimal_bernoulli(Fraction(1)), 400, 0.05
    present = math.ceil(3 * invisible_users(users, epsilon=1, beta=beta))
    mean = [users * law.init[1] / COIN + k * float(law.signal) for k in (0, present)]
    spread = math.sqrt(users * law.init[0] * law.init[1]) / COIN  # of either law
    assert (mean[1] - mean[0]) / 2 > 1.645 * spread


def test_answers_to_sets_give_a_set_away() -> None:
    """The step of Theorem 2, for all pairs of sets of eight users: within 2a for at most (4a + 1)√(2/(πd)) of all B."""
    users = 8
    subsets = np.arange(1 << users)
    for other in range(1, 1 << users):
        union = np.bitwise_count(other | subsets).astype(int)
        for first in (0, 0b10110):
            apart = np.abs(np.bitwise_count(first | subsets).astype(int) - union)
            differ = (first ^ other).bit_count()
            for a in (0, 0.5, 1) if differ else ():
                assert np.mean(apart <= 2 * a) <= (4 * a + 1) * math.sqrt(2 / (math.pi * differ)) + 1e-12


def test_the_reconstruction_works_against_a_state_that_is_too_good() -> None:
    """A counter of ten users with errors of at most 0.4 gives every set away, so its state cannot be private."""
    users, rng = 10, np.random.default_rng(1)
    subsets = np.arange(1 << users)
    for secret in rng.integers(0, 1 << users, 5).tolist():
        answers = np.bitwise_count(secret | subsets) + rng.uniform(-0.4, 0.4, subsets.size)
        consistent = [
            guess for guess in range(1 << users) if np.all(np.abs(answers - np.bitwise_count(guess | subsets)) <= 0.4)
        ]
        assert consistent == [secret]


def test_our_own_estimator_keeps_to_the_bounds() -> None:
    """Its error is above both, and within 20 times the one that holds for whatever is kept."""
    users = 10**6
    chosen = calibrate(epsilon=Fraction(1), sample=users, universe=users)
    design = design_of(chosen.law, float(chosen.noise_scale), sample=users, universe=users)
    error = users * math.sqrt(mse(design, 0.0))
    assert invisible_users(users, epsilon=1, beta=0.05) / 2 < 1.645 * error
    assert least_error(users, epsilon=1, beta=0.0025) < 3.03 * error < 30 * least_error(users, epsilon=1, beta=0.0025)


@pytest.mark.parametrize(("epsilon", "beta", "least"), [(1, 0.0025, 0.1317), (1, 0.01, 0.1028), (0.1, 0.0025, 0.1836)])
def test_the_bound_in_numbers(epsilon: float, beta: float, least: float) -> None:
    assert least_error(10**6, epsilon=epsilon, beta=beta) / 1000 == pytest.approx(least, abs=2e-4)
    assert least_error(10**6, epsilon=epsilon, beta=0.25) == 0
    assert least_error(1, epsilon=epsilon, beta=beta) == 0
    assert least_error(10**6, epsilon=9, beta=beta) == 0


@pytest.mark.parametrize("universe", [4000, None])
def test_the_least_density_against_simulation(universe: int | None) -> None:
    """At the density found the relative error fails with probability β, at four fifths of it more often."""
    sample, beta = 4000, 0.1
    chosen = calibrate(epsilon=Fraction(2), sample=sample, universe=universe)
    scale = float(chosen.noise_scale)
    design = design_of(chosen.law, scale, sample=sample, universe=universe)
    found = least_density(design, relative=0.2, beta=beta)
    assert found is not None
    rng, trials, rates = np.random.default_rng(3), 100_000, []
    for density in (found, 0.8 * found):
        present = np.full(trials, round(density * sample)) if universe else rng.binomial(sample, density, trials)
        ones = rng.binomial(present, design.update[1]) + rng.binomial(sample - present, design.init[1])
        noise = rng.geometric(-math.expm1(-1 / scale), (2, trials))
        estimates = ((ones + noise[0] - noise[1]) / sample - design.mean_init) / design.signal
        rates.append(float(np.mean(np.abs(estimates / density - 1) >= 0.2)))
    slack = 4 * math.sqrt(beta * (1 - beta) / trials)
    assert 0.9 * beta < rates[0] < beta + slack
    assert rates[1] > 1.3 * beta


def test_plans_say_where_streams_are_sparse() -> None:
    wide = plan_sample(epsilon=1, alpha=0.01, beta=0.05)
    narrow = plan_sample(epsilon=1, alpha=0.1, beta=0.05)
    assert wide.sparse is not None
    assert wide.sparse == pytest.approx(0.1, abs=0.01)  # 1 % of the universe is 10 % of a tenth of it
    assert narrow.sparse is None or narrow.sparse > 0.9
    hopeless = plan_sample(epsilon=1, alpha=0.3, beta=0.05)
    assert hopeless.sparse is None


def test_a_design_that_is_never_within_itself() -> None:
    chosen = calibrate(epsilon=Fraction(1, 10), sample=10, universe=10)
    design = design_of(chosen.law, float(chosen.noise_scale), sample=10, universe=10)
    assert least_density(design, relative=0.1, beta=0.05) is None
