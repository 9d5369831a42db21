from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.stream.accuracy.density_error import mse, worst_rmse
from panbayes.stream.guarantee.calibration import calibrate, design_of, largest_rate
from panbayes.stream.laws.optimal_bernoulli import optimal_bernoulli
from panbayes.stream.laws.state_law import StateLaw
from panbayes.stream.planning import plan_sample


@pytest.mark.parametrize(("sample", "part"), [(100, 0.72), (1000, 0.85), (10_000, 0.925), (100_000, 0.964)])
def test_the_best_split_gives_most_to_the_state(sample: int, part: float) -> None:
    """Errata 2."""
    calibration = calibrate(epsilon=Fraction(1), sample=sample, universe=None)
    assert float(calibration.state_epsilon) == pytest.approx(part, abs=0.005)


def test_the_best_split_pays() -> None:
    """Errata 2: at E = 1, m = 10⁴ the error is 0.0120 against 0.0204 half and half (0.0109 and 0.0198 where m = U)."""
    for universe, best, half in ((None, 0.0120, 0.0204), (10_000, 0.0109, 0.0198)):
        errors = []
        for part in (None, Fraction(1, 2)):
            c = calibrate(epsilon=Fraction(1), sample=10_000, universe=universe, state_epsilon=part)
            design = design_of(c.law, float(c.noise_scale), sample=10_000, universe=universe)
            errors.append(mse(design, 0.5) ** 0.5)
        assert errors == [pytest.approx(best, abs=6e-5), pytest.approx(half, abs=6e-5)]


def test_no_other_split_is_better() -> None:
    best = calibrate(epsilon=Fraction(1), sample=500, universe=2000)
    lowest = worst_rmse(design_of(best.law, float(best.noise_scale), sample=500, universe=2000))
    for part in np.linspace(0.3, 0.98, 30):
        law = optimal_bernoulli(Fraction(str(round(part, 4))))
        other = design_of(law, 1 / largest_rate(law, 1.0), sample=500, universe=2000)
        assert worst_rmse(other) >= lowest * (1 - 1e-4)


@pytest.mark.parametrize(
    ("budget", "releases"), [("0.01", 1), ("3", 7), ("15", 365), ("40", 1), ("900", 7), ("0.01", 365)]
)
def test_any_budget_and_number_of_releases(budget: str, releases: int) -> None:
    calibration = calibrate(epsilon=Fraction(budget), sample=1000, universe=5000, releases=releases)
    assert calibration.loss() <= float(Fraction(budget)) * (1 + 1e-12)
    # The noise source takes scales that are exact in binary floating point.
    assert Fraction(float(calibration.noise_scale)) == calibration.noise_scale


@pytest.mark.parametrize(("budget", "alpha"), [("0.2", 0.1), ("0.5", 0.05), ("1", 0.1)])
def test_the_planned_sample_is_small_and_keeps_its_promise(budget: str, alpha: float) -> None:
    """At most a fifth of the thesis's sample, and a simulated failure probability of at most β.

    200,000 trials of the released statistic; the allowance of 4 standard errors makes a false alarm a matter of 1 in
    30,000, while a failure probability 5 % above β would be seen.
    """
    found = plan_sample(epsilon=Fraction(budget), alpha=alpha, beta=0.05)
    assert found.sample_thesis is not None
    assert 5 * found.sample <= found.sample_thesis
    assert found.failure <= 0.05
    rng = np.random.default_rng(5)
    law, trials, scale = found.calibration.law, 200_000, float(found.calibration.noise_scale)
    assert isinstance(law, StateLaw)
    design = design_of(law, scale, sample=found.sample, universe=None)
    for density in (0.5, 0.123):
        present = rng.binomial(found.sample, density, trials)
        ones = rng.binomial(present, design.update[1]) + rng.binomial(found.sample - present, design.init[1])
        decay = -np.expm1(-1 / scale)
        noise = rng.geometric(decay, trials) - rng.geometric(decay, trials)
        estimates = ((ones + noise) / found.sample - design.mean_init) / design.signal
        rate = float(np.mean(np.abs(estimates - density) >= alpha))
        assert rate <= 0.05 + 4 * (0.05 * 0.95 / trials) ** 0.5
        assert rate >= 0.035


def test_a_finite_universe_needs_fewer() -> None:
    sizes = [plan_sample(epsilon=Fraction(1), alpha=0.1, beta=0.05, universe=u).sample for u in (750, 100_000)]
    assert sizes == sorted(sizes)
    assert sizes[-1] <= plan_sample(epsilon=Fraction(1), alpha=0.1, beta=0.05).sample


def test_an_impossible_plan_says_why() -> None:
    with pytest.raises(InputError, match="even a sample of 100 users"):
        plan_sample(epsilon=Fraction(1, 10), alpha=0.01, beta=0.05, universe=100)
    with pytest.raises(InputError, match="alpha"):
        plan_sample(epsilon=Fraction(1), alpha=0, beta=0.05)
