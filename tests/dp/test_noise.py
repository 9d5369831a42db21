"""The contract of noise sources, for every class of the room that is one."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import discrete_laplace_tail, selection_pmf
from panbayes.discovery import discover
from panbayes.dp.noise import MIN_SELECTION_SCALE, Noise
from panbayes.dp.one_radius import MAX_CELLS
from panbayes.dp.sampler import MAX_NOISE, MAX_SCALE, MIN_SCALE
from panbayes.dp.secure import OPENDP_CELLS
from panbayes.privacy.events import Rule

FALSE_ALARM = 1e-11
"""The p-value below which a statistical test of true randomness fails."""

SEED = 20_261_101
HALF = Fraction(1, 2)
MEMBERS = {name for name in vars(Noise) if not name.startswith("_")}
KINDS = [kind for kind in discover("panbayes.dp", type) if kind is not Noise and set(dir(kind)) >= MEMBERS]


def seeded(kind: type) -> bool:
    return "seed" in inspect.signature(kind).parameters


def make(kind: type, seed: int = SEED) -> Noise:
    """A source takes nothing, or a seed."""
    source: Noise = kind(seed=seed) if seeded(kind) else kind()
    return source


kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
sources = pytest.mark.parametrize("noise", [make(kind) for kind in KINDS], ids=lambda noise: type(noise).__name__)
rules = pytest.mark.parametrize("rule", ["exponential", "permute-and-flip"])


def test_there_are_sources_with_and_without_a_seed() -> None:
    """Else the tests below would say nothing."""
    assert {seeded(kind) for kind in KINDS} == {False, True}


@kinds
def test_every_member_is_called_as_the_protocol_says(kind: type) -> None:
    def form(owner: type, member: str) -> list[tuple[object, str]]:
        parameters = inspect.signature(getattr(owner, member)).parameters.values()
        return [(p.kind, "" if p.kind is p.POSITIONAL_ONLY else p.name) for p in parameters if p.name != "self"]

    assert isinstance(inspect.getattr_static(kind, "private"), property)
    for member in MEMBERS - {"private"}:
        assert form(kind, member) == form(Noise, member), member


@kinds
def test_who_draws_from_a_seed_is_not_private(kind: type) -> None:
    noise = make(kind)
    assert noise.private is not seeded(kind)
    assert noise.spawn(b"anything").private is noise.private


@sources
@pytest.mark.parametrize("size", [0, 1, 7, OPENDP_CELLS + 1])
def test_shapes(noise: Noise, size: int) -> None:
    counts = noise.discrete_laplace(size, scale=Fraction(5, 3))
    coins = noise.bernoulli(size, probability=Fraction(1, 3))
    few = noise.discrete_gaussian(min(size, 1000), variance=Fraction(5, 3))
    assert counts.shape == coins.shape == (size,)
    assert few.shape == (min(size, 1000),)
    assert counts.dtype == few.dtype == np.int64
    assert coins.dtype == np.bool_


@sources
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("sizes", [(1,), (2,), (3, 1, 2), (2,) * 40, [4, 9]])
def test_tables_of_one_radius_lie_end_to_end(noise: Noise, sizes: Sequence[int], balanced: bool) -> None:
    drawn = noise.one_radius(sizes, scale=Fraction(50), balanced=balanced)
    assert drawn.shape == (sum(sizes),)
    assert drawn.dtype == np.int64
    sums = np.add.reduceat(drawn, np.cumsum([0, *sizes[:-1]]))
    assert not (balanced and sums.any())


@sources
@pytest.mark.parametrize("balanced", [False, True])
def test_noise_of_one_radius_has_its_scale_and_no_other(noise: Noise, balanced: bool) -> None:
    """The largest ‖z‖ of ten tables is of a Gamma law: 3,000 draws, by Kolmogorov and Smirnov, ±10 % told apart."""
    sizes, scale = (2,) * 10, Fraction(10**6)
    found = []
    for _ in range(3000):
        drawn = noise.one_radius(sizes, scale=scale, balanced=balanced)
        found.append(int(np.abs(drawn.reshape(10, 2)).sum(axis=1).max()))
    law = stats.gamma(10 if balanced else 20, scale=float(scale)).cdf  # half of Σ|z|, at half of the scale
    assert stats.kstest(found, law).pvalue > FALSE_ALARM
    for wrong in (0.7, 0.9, 1.1, 1.3):
        assert stats.kstest(np.array(found) * wrong, law).pvalue < FALSE_ALARM


def laplace_cells(values: NDArray[np.int64], scale: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return edges at multiples of the scale, and the numbers of values between them."""
    edges = np.unique(np.rint(np.array([-3, -2, -1, -0.5, -0.2, 0.2, 0.5, 1, 2, 3]) * float(scale)).astype(int))
    return edges, np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)


@sources
@pytest.mark.parametrize("size", [50_000, 150_000])
@pytest.mark.parametrize("scale", [Fraction(2, 3), Fraction(20), Fraction(10**9, 7), MAX_SCALE])
def test_laplace_noise_has_its_scale_and_no_other(noise: Noise, size: int, scale: Fraction) -> None:
    edges, counts = laplace_cells(noise.discrete_laplace(size, scale=scale), scale)

    def p_value(b: Fraction) -> float:
        above = np.concatenate([[1.0], discrete_laplace_tail(edges, scale=b), [0.0]])
        return float(stats.chisquare(counts, -np.diff(above) * size).pvalue)

    assert p_value(scale) > FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(9, 10), Fraction(11, 10), Fraction(13, 10)):
        assert p_value(scale * wrong) < FALSE_ALARM


def gaussian_p_value(drawn: NDArray[np.int64], variance: float) -> float:
    """The p-value of a χ² test against the law, cells of expectation below 50 put together.

    At 1e-11 the law of such cells is close to that of χ²: a right source fails with probability 8e-11 at most, found
    by convolution of the cells' laws.
    """
    reach = math.ceil(5 * math.sqrt(variance)) + 2
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    expected = drawn.size * weights / weights.sum()
    observed = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    rare = expected < 50
    pooled = np.append(expected[~rare], expected[rare].sum() + 1e-9)
    seen = np.append(observed[~rare], observed[rare].sum())
    statistic = ((seen - pooled) ** 2 / pooled)[pooled > 1].sum()
    return float(stats.chi2.sf(statistic, (pooled > 1).sum() - 1))


@sources
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(7), Fraction(400)])
def test_gaussian_noise_has_its_variance_and_no_other(noise: Noise, variance: Fraction) -> None:
    """χ² on 20,000 draws: a scale off by 30 % is ten standard deviations beyond the threshold."""
    drawn = noise.discrete_gaussian(20_000, variance=variance)
    assert gaussian_p_value(drawn, float(variance)) > FALSE_ALARM
    assert gaussian_p_value(drawn, float(variance) * 1.3**2) < FALSE_ALARM
    assert gaussian_p_value(drawn, float(variance) / 1.3**2) < FALSE_ALARM


@sources
@pytest.mark.parametrize("variance", [Fraction(10**15, 7), MAX_SCALE**2])
def test_gaussian_noise_of_many_values_has_its_variance_and_no_other(noise: Noise, variance: Fraction) -> None:
    """So wide that the law is the continuous one: Kolmogorov and Smirnov on 20,000 draws, ±30 % told apart."""
    drawn = noise.discrete_gaussian(20_000, variance=variance) / math.sqrt(variance)
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    for wrong in (1.3, 1 / 1.3):
        assert stats.kstest(drawn * wrong, "norm").pvalue < FALSE_ALARM


@sources
def test_coins_have_their_probability_and_no_other(noise: Noise) -> None:
    for p in (HALF, Fraction(1, 3), Fraction(999, 1000)):
        heads = int(noise.bernoulli(400_000, probability=p).sum())
        assert stats.binomtest(heads, 400_000, float(p)).pvalue > FALSE_ALARM
        assert stats.binomtest(heads, 400_000, float(p * Fraction(97, 100))).pvalue < FALSE_ALARM
    assert noise.bernoulli(1000, probability=Fraction(1)).all()
    assert not noise.bernoulli(1000, probability=Fraction(0)).any()


@sources
@rules
def test_selections_have_their_law_and_no_other(noise: Noise, rule: Rule) -> None:
    # 12,000 draws: laws at ±30 % and the other mechanism's are 8 standard deviations beyond the threshold.
    scores, scale, draws = np.array([6.5, 9.5, 5.0, 8.0]), Fraction(3, 2), 12_000
    before = scores.copy()
    picked = [noise.select(scores, scale=scale, mechanism=rule) for _ in range(draws)]
    counts = np.bincount(picked, minlength=scores.size)
    assert (scores == before).all()

    def p_value(b: Fraction, by: Rule) -> float:
        return float(stats.chisquare(counts, selection_pmf(scores, scale=b, mechanism=by) * draws).pvalue)

    other: Rule = "exponential" if rule == "permute-and-flip" else "permute-and-flip"
    assert p_value(scale, rule) > FALSE_ALARM
    assert p_value(scale, other) < FALSE_ALARM
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert p_value(scale * wrong, rule) < FALSE_ALARM


@sources
@rules
def test_a_selection_far_ahead_is_taken(noise: Noise, rule: Rule) -> None:
    # The others lack 100 scales each: taken with probability below 1e-39.
    for winner in (0, 3, 999):
        scores = np.zeros(1000)
        scores[winner] = 100.0
        assert noise.select(scores, scale=Fraction(1), mechanism=rule) == winner
    assert noise.select(np.array([-1e300]), scale=Fraction(1, 10**9), mechanism=rule) == 0


@sources
def test_the_largest_scales_are_served_and_nothing_wraps_around(noise: Noise) -> None:
    """At the scale 2³¹ a cell lies beyond ±2³¹ with a probability of 0.3 and more."""
    for drawn in (
        noise.discrete_laplace(1000, scale=MAX_SCALE),
        noise.discrete_laplace(OPENDP_CELLS + 1, scale=MAX_SCALE),
        noise.discrete_gaussian(1000, variance=MAX_SCALE**2),
        noise.one_radius((2,) * 20, scale=MAX_SCALE, balanced=True),
        noise.one_radius((2,) * 20, scale=MAX_SCALE, balanced=False),
    ):
        assert (np.abs(drawn) > MAX_SCALE).any()
        # Beyond 100 scales with probability below 1e-38; numbers that wrapped around would lie anywhere.
        assert (np.abs(drawn) < 100 * MAX_SCALE).all()
        assert 100 * MAX_SCALE < MAX_NOISE


@sources
def test_the_smallest_scales_are_served(noise: Noise) -> None:
    """Any other number than 0 has a probability of exp(−2²⁰)."""
    assert not noise.discrete_laplace(1000, scale=MIN_SCALE).any()
    assert not noise.discrete_laplace(OPENDP_CELLS + 1, scale=MIN_SCALE).any()
    assert not noise.discrete_gaussian(1000, variance=MIN_SCALE**2).any()
    for balanced in (False, True):
        # The radius is the least there is, half of the dimension.
        assert np.abs(noise.one_radius((2,) * 20, scale=2 * MIN_SCALE, balanced=balanced)).max() <= 20


@sources
@rules
def test_selections_of_any_unit_are_served(noise: Noise, rule: Rule) -> None:
    scores = np.array([0.0, 1.0, 0.5])
    sharp = {noise.select(scores, scale=MIN_SELECTION_SCALE, mechanism=rule) for _ in range(20)}
    assert sharp == {1}
    blunt = {noise.select(scores, scale=1 / MIN_SELECTION_SCALE, mechanism=rule) for _ in range(100)}
    assert blunt == {0, 1, 2}, "one of three is never drawn with probability below 1e-17"


TINY = Fraction(1, 10**30)


@sources
@pytest.mark.parametrize(
    "call",
    [
        lambda n: n.discrete_laplace(-1, scale=Fraction(1)),
        lambda n: n.discrete_laplace(1, scale=Fraction(0)),
        lambda n: n.discrete_laplace(1, scale=Fraction(-3)),
        lambda n: n.discrete_laplace(1, scale=MAX_SCALE + TINY),
        lambda n: n.discrete_laplace(1, scale=MIN_SCALE - TINY),
        lambda n: n.discrete_laplace(OPENDP_CELLS + 1, scale=MAX_SCALE + TINY),
        lambda n: n.discrete_laplace(OPENDP_CELLS + 1, scale=MIN_SCALE - TINY),
        lambda n: n.discrete_laplace(0, scale=MAX_SCALE + TINY),
        lambda n: n.discrete_gaussian(-1, variance=Fraction(1)),
        lambda n: n.discrete_gaussian(1, variance=Fraction(0)),
        lambda n: n.discrete_gaussian(1, variance=Fraction(-3)),
        lambda n: n.discrete_gaussian(1, variance=MAX_SCALE**2 + TINY),
        lambda n: n.discrete_gaussian(1, variance=MIN_SCALE**2 - TINY),
        lambda n: n.discrete_gaussian(0, variance=MAX_SCALE**2 + TINY),
        lambda n: n.one_radius((), scale=Fraction(1), balanced=True),
        lambda n: n.one_radius((2, 0), scale=Fraction(1), balanced=True),
        lambda n: n.one_radius((2, -1), scale=Fraction(1), balanced=False),
        lambda n: n.one_radius((MAX_CELLS + 1, 2), scale=Fraction(1), balanced=True),
        lambda n: n.one_radius((2,), scale=Fraction(0), balanced=True),
        lambda n: n.one_radius((2,), scale=Fraction(-3), balanced=False),
        lambda n: n.one_radius((2,), scale=2 * MIN_SCALE - TINY, balanced=True),
        lambda n: n.one_radius((2,), scale=2 * MIN_SCALE - TINY, balanced=False),
        lambda n: n.one_radius((2,), scale=MAX_SCALE + TINY, balanced=True),
        lambda n: n.one_radius((2,), scale=MAX_SCALE + TINY, balanced=False),
        lambda n: n.bernoulli(-1, probability=HALF),
        lambda n: n.bernoulli(1, probability=-TINY),
        lambda n: n.bernoulli(1, probability=1 + TINY),
        lambda n: n.bernoulli(0, probability=1 + TINY),
        lambda n: n.select(np.array([]), scale=Fraction(1), mechanism="exponential"),
        lambda n: n.select(np.zeros((2, 2)), scale=Fraction(1), mechanism="exponential"),
        lambda n: n.select(np.array([1.0, np.nan]), scale=Fraction(1), mechanism="exponential"),
        lambda n: n.select(np.array([1.0, np.inf]), scale=Fraction(1), mechanism="permute-and-flip"),
        lambda n: n.select(np.zeros(3), scale=Fraction(0), mechanism="permute-and-flip"),
        lambda n: n.select(np.zeros(3), scale=MIN_SELECTION_SCALE / 2, mechanism="permute-and-flip"),
        lambda n: n.select(np.zeros(3), scale=2 / MIN_SELECTION_SCALE, mechanism="exponential"),
        lambda n: n.select(np.zeros(3), scale=Fraction(1), mechanism="report-noisy-max"),
    ],
)
def test_refusals(noise: Noise, call: Callable[[Noise], object]) -> None:
    with pytest.raises(ValueError, match=r"found|must"):
        call(noise)


def drawn(noise: Noise) -> list[int]:
    """Draw a little of everything: 20 integers of scale 9 twice and 20 coins agree with probability below 2**-80."""
    counts = noise.discrete_laplace(20, scale=Fraction(9)).tolist()
    gaussian = noise.discrete_gaussian(20, variance=Fraction(81)).tolist()
    radius = noise.one_radius((2,) * 20, scale=Fraction(9), balanced=True).tolist()
    coins = noise.bernoulli(20, probability=HALF).tolist()
    choice = noise.select(np.zeros(50), scale=Fraction(1), mechanism="permute-and-flip")
    return [*counts, *gaussian, *radius, *coins, choice]


@kinds
def test_who_has_a_seed_repeats_itself_and_nobody_else(kind: type) -> None:
    assert (drawn(make(kind)) == drawn(make(kind))) is seeded(kind)
    assert drawn(make(kind)) != drawn(make(kind, seed=SEED + 1))
    noise = make(kind)
    assert drawn(noise) != drawn(noise)


@kinds
def test_noise_of_one_radius_repeats_with_a_seed_and_moves_on(kind: type) -> None:
    def one(noise: Noise) -> list[int]:
        return list(noise.one_radius((2,) * 20, scale=Fraction(900), balanced=True))

    assert (one(make(kind)) == one(make(kind))) is seeded(kind)
    assert one(make(kind)) != one(make(kind, seed=SEED + 1))
    noise = make(kind)
    assert one(noise) != one(noise)


@kinds
def test_streams_by_key_do_not_depend_on_what_was_drawn(kind: type) -> None:
    used, fresh = make(kind), make(kind)
    drawn(used)
    assert (drawn(used.spawn(b"holder 1, query 9")) == drawn(fresh.spawn(b"holder 1, query 9"))) is seeded(kind)
    streams = [drawn(fresh.spawn(key)) for key in (b"", b"a", b"b", b"ab")]
    streams += [drawn(fresh.spawn(b"a").spawn(b"b")), drawn(fresh), drawn(make(kind, seed=SEED + 1).spawn(b"a"))]
    assert all(a != b for i, a in enumerate(streams) for b in streams[:i])
