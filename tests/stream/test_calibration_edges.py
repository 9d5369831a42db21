"""The edges of a calibration: whoever made the numbers, in a file or by hand, they are held against these."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.dp.sampler import MAX_SCALE
from panbayes.errors import InputError
from panbayes.privacy.written import MAX_EPSILON
from panbayes.stream.guarantee.calibration import MAX_RELEASES, Calibration, calibrate, largest_rate
from panbayes.stream.guarantee.loss import joint_loss
from panbayes.stream.laws.dwork import DWORK
from panbayes.stream.laws.kind import Build
from panbayes.stream.laws.optimal_bernoulli import OPTIMAL_BERNOULLI, optimal_bernoulli
from panbayes.stream.laws.quantized_gaussian import quantized_gaussian
from panbayes.stream.laws.quantized_laplace import quantized_laplace
from panbayes.stream.laws.state_law import COIN

LAW = optimal_bernoulli(Fraction(1, 2))
HALF, ONE, LARGE = Fraction(1, 2), Fraction(1), Fraction(10**9)


@pytest.mark.parametrize(
    ("epsilon", "state", "scale", "releases"),
    [
        (ONE, HALF, LARGE, 1),
        (ONE, HALF, LARGE, MAX_RELEASES),
        (ONE, HALF, MAX_SCALE, 1),
        (HALF + Fraction(1, 10**6), HALF + Fraction(1, 10**6), LARGE, 1),
        (Fraction(MAX_EPSILON), HALF, LARGE, 1),
    ],
)
def test_what_is_allowed_to_the_edge(epsilon: Fraction, state: Fraction, scale: Fraction, releases: int) -> None:
    assert Calibration(epsilon, state, LAW, scale, releases).loss() <= float(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "state", "scale", "releases", "message"),
    [
        (ONE, HALF, LARGE, 0, "a noise scale that can be drawn and 1 to 10000 releases"),
        (ONE, HALF, LARGE, -1, "a noise scale that can be drawn and 1 to 10000 releases"),
        (ONE, HALF, LARGE, MAX_RELEASES + 1, "a noise scale that can be drawn and 1 to 10000 releases"),
        (ONE, HALF, Fraction(0), 1, "a noise scale that can be drawn and 1 to 10000 releases"),
        (ONE, HALF, -LARGE, 1, "a noise scale that can be drawn and 1 to 10000 releases"),
        (ONE, HALF, MAX_SCALE + HALF, 1, "a noise scale that can be drawn and 1 to 10000 releases"),
        (ONE, Fraction(0), LARGE, 1, "the state's part is at most the total"),
        (ONE, -HALF, LARGE, 1, "the state's part is at most the total"),
        (ONE, ONE + HALF, LARGE, 1, "the state's part is at most the total"),
        (Fraction(MAX_EPSILON) + HALF, HALF, LARGE, 1, "the state's part is at most the total"),
        (ONE, HALF - Fraction(1, 10**9), LARGE, 1, "the state law loses more than the state's part"),
    ],
)
def test_what_no_calibration_is(
    epsilon: Fraction, state: Fraction, scale: Fraction, releases: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Calibration(epsilon, state, LAW, scale, releases)


def test_every_release_counts() -> None:
    """As much noise as one release needs is not enough for two of them."""
    one = calibrate(epsilon=ONE, sample=1000, universe=None)
    with pytest.raises(ValueError, match="together lose more than the total"):
        Calibration(ONE, one.state_epsilon, one.law, one.noise_scale, 2)
    assert Calibration(ONE, one.state_epsilon, one.law, 2 * one.noise_scale, 2).loss() <= 1


@pytest.mark.parametrize("levels", [2, 3, 8])
@pytest.mark.parametrize("total", ["0.51", "1", "30"])
def test_the_largest_rate_spends_the_total_and_nothing_is_left_where_the_state_has_it(levels: int, total: str) -> None:
    law = quantized_laplace(HALF, levels)
    assert joint_loss(law, largest_rate(law, float(total))) == pytest.approx(float(total), rel=1e-9)
    assert largest_rate(law, law.loss()) == 0
    assert largest_rate(law, law.loss() / 2) == 0


def test_a_low_centre_has_no_closed_form_and_is_still_right() -> None:
    """Both coins below 1/2: the closed form is for one on each side."""
    law = optimal_bernoulli(Fraction(1, 10), centre=Fraction(1, 10))
    assert joint_loss(law, largest_rate(law, 1.0)) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("part", ["0", "1", "-1/2", "3/2"])
def test_the_state_gets_a_part_of_the_total(part: str) -> None:
    with pytest.raises(
        InputError, match=r"state epsilon: found .*; the state's part must lie between 0 and the total 1"
    ):
        calibrate(epsilon=ONE, sample=100, universe=None, state_epsilon=Fraction(part))


@pytest.mark.parametrize("releases", [0, -1, MAX_RELEASES + 1])
def test_releases_are_planned_one_by_one_up_to_the_most(releases: int) -> None:
    with pytest.raises(InputError, match=f"releases: found {releases}; plan 1 to 10000 releases"):
        calibrate(epsilon=ONE, sample=100, universe=None, releases=releases)
    assert calibrate(epsilon=ONE, sample=100, universe=None, releases=MAX_RELEASES).releases == MAX_RELEASES


def test_a_kind_of_law_serves_what_it_says_and_no_more() -> None:
    assert DWORK.law(HALF).loss() <= 0.5
    assert OPTIMAL_BERNOULLI.law(Fraction(20)).loss() <= 20
    for kind, epsilon in ((DWORK, HALF + Fraction(1, 10**9)), (OPTIMAL_BERNOULLI, Fraction(21)), (DWORK, Fraction(0))):
        with pytest.raises(
            InputError, match=rf"state epsilon: found .*; for {kind.name} it must be at least 1e-06 and at most"
        ):
            kind.law(epsilon)
    for levels in (1, 3):
        with pytest.raises(InputError, match=f"levels: found {levels}; dwork has two levels"):
            DWORK.law(HALF, levels=levels)


@pytest.mark.parametrize("epsilon", ["1/4", "1/2", "1", "2", "3"])
def test_gaussian_entries_on_two_levels_are_cut_in_the_middle(epsilon: str) -> None:
    """P(X > 1/2) of a Gaussian around 0 with σ² = 1/(2ε), truncated to [0, 1], and of its mirror image."""
    sigma = (1 / (2 * float(Fraction(epsilon)))) ** 0.5
    above = float(stats.truncnorm(0, 1 / sigma, scale=sigma).sf(0.5))
    law = quantized_gaussian(Fraction(epsilon))
    assert law.init[1] / COIN == pytest.approx(above, abs=1e-8)
    assert law.update[1] / COIN == pytest.approx(1 - above, abs=1e-8)
    assert law.scores == (0, 1)


@pytest.mark.parametrize("levels", [3, 8, 32])
@pytest.mark.parametrize("build", [quantized_gaussian, quantized_laplace])
def test_laws_on_several_levels_mirror_each_other_and_count_to_sixty(build: Build, levels: int) -> None:
    law = build(Fraction(1), levels)
    assert law.update == law.init[::-1]
    assert (law.scores[0], law.scores[-1]) == (0, 60)
    # A score that lies half-way between two numbers is rounded to the even one, on either side.
    assert all(abs(low + high - 60) <= 1 for low, high in zip(law.scores, reversed(law.scores), strict=True))
    assert law.surely_within(Fraction(1))
    assert law.loss() > 0.6
    assert all(type(number) is int for number in (*law.init, *law.update, *law.scores))
    assert hash(law) == hash(build(Fraction(1), levels))


def numbers(kind: str, sigma: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A fine grid, and the probability of the initial law at each of its cells."""
    if kind == "gaussian":
        grid = np.linspace(0, 1, 20_001)
        return grid, np.diff(stats.truncnorm(0, 1 / sigma, scale=sigma).cdf(grid))
    grid = np.linspace(-40 * sigma, 1 + 40 * sigma, 80_001)
    return grid, np.diff(stats.laplace(scale=sigma).cdf(grid))


@pytest.mark.parametrize("levels", [3, 4, 6])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_levels_are_those_of_the_least_squared_error_for_both_laws_together(kind: str, levels: int) -> None:
    """By a plain alternation over cells of a grid that are each given to the nearest point."""
    build, sigma = (quantized_gaussian, 0.5**0.5) if kind == "gaussian" else (quantized_laplace, 1.0)
    grid, init = numbers(kind, sigma)
    middles, both = (grid[1:] + grid[:-1]) / 2, (init + init[::-1]) / 2
    points, nearest = np.linspace(0, 1, levels), np.zeros(middles.size, dtype=np.int64)
    for _ in range(400):
        before = points
        nearest = np.searchsorted((points[1:] + points[:-1]) / 2, middles)
        mass = np.bincount(nearest, both, minlength=levels)
        points = np.bincount(nearest, both * middles, minlength=levels) / mass
        if np.array_equal(points, before):
            break
    law = build(Fraction(1), levels)
    assert np.array(law.init) / COIN == pytest.approx(np.bincount(nearest, init, minlength=levels), abs=2e-3)
    assert np.array(law.scores) == pytest.approx(60 * (points - points[0]) / (points[-1] - points[0]), abs=0.6)
