"""Mechanisms: what they return, what they lose, what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import max_ratio, selection_pmf, two_sided_geometric_pmf
from panbayes.dp.mechanisms import (
    MAX_COUNT,
    check_noise,
    noisy_counts,
    noisy_tables_of_radius,
    select,
    selection_scale,
)
from panbayes.dp.noise import Noise
from panbayes.dp.sampler import MAX_NOISE, MAX_SCALE, MIN_SCALE
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.composition import Sequential, Step, loss_of
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, OneRadius, Rule, Selection, Together
from panbayes.privacy.loss import Loss
from panbayes.privacy.written import parse_epsilon

HALF = Fraction(1, 2)
FALSE_ALARM = 1e-11
"""Each statistical test of true randomness fails by chance with at most this probability."""

LAPLACE = DiscreteLaplace(Fraction(1), 1)
GAUSSIAN = DiscreteGaussian(Fraction(1), 1)
RADIUS = OneRadius(Fraction(1), 1)
CHOICE = Selection("exponential", Fraction(1, 4))
count_events = pytest.mark.parametrize("event", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])


class FixedNoise:
    """A source whose integers are given: for sums at the ends of the range, which are never drawn."""

    private = False

    def __init__(self, *values: int) -> None:
        self.values = values

    def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
        assert scale > 0
        assert size == len(self.values)
        return np.array([max(-MAX_NOISE, min(z, MAX_NOISE)) for z in self.values], dtype=np.int64)

    def discrete_gaussian(self, size: int, *, variance: Fraction) -> NDArray[np.int64]:
        return self.discrete_laplace(size, scale=variance)

    def one_radius(self, sizes: Sequence[int], *, scale: Fraction, balanced: bool) -> NDArray[np.int64]:
        assert balanced in (False, True)
        return self.discrete_laplace(sum(sizes), scale=scale)

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        return np.full(size, probability == 1)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Rule) -> int:
        assert mechanism
        return int(np.argmax(scores / float(scale)))

    def spawn(self, _key: bytes, /) -> Noise:
        return self


def tables_event(epsilon: Fraction, l1: int) -> DiscreteLaplace:
    return Pure(epsilon).tables_event(TableSensitivity(l1, l1))


def test_counts_keep_their_shape_and_get_noise_of_their_scale() -> None:
    counts = np.arange(240_000, dtype=np.int32).reshape(2, 3, -1)
    for noise in (SecureNoise(), SimulatedNoise(5)):
        noisy = noisy_counts(counts, event=tables_event(Fraction(1, 10), 2), noise=noise)
        assert noisy.shape == counts.shape
        assert noisy.dtype == np.int64
        # |z| has mean close to the scale 20; over 240,000 cells its relative standard error is 0.2 %.
        spread = float(np.abs(noisy - counts).mean()) / 20
        assert 0.98 < spread < 1.02
    assert (counts.ravel() == np.arange(240_000)).all()


def test_counts_get_gaussian_noise_of_their_variance() -> None:
    """ρ = 1/100 and Δ₂² = 8 give σ² = 400: 30,000 cells, of whose variance the relative error is 0.8 %."""
    counts = np.arange(30_000).reshape(3, -1)
    for noise in (SecureNoise(), SimulatedNoise(5)):
        event = ZeroConcentrated(Fraction(1, 100)).tables_event(TableSensitivity(4, 8))
        noisy = noisy_counts(counts, event=event, noise=noise)
        assert noisy.shape == counts.shape
        assert noisy.dtype == np.int64
        assert 0.94 < float((noisy - counts).var()) / 400 < 1.06
    assert (counts.ravel() == np.arange(30_000)).all()


@count_events
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint32, np.int64, np.uint64])
def test_counts_of_any_integer_type(dtype: type[np.integer], event: Event) -> None:
    counts = np.array([0, 1, 127], dtype=dtype)
    assert noisy_counts(counts, event=event, noise=FixedNoise(-5, 0, 300)).tolist() == [-5, 1, 427]


ENDS = [0, 1, -1, MAX_COUNT - 1, MAX_COUNT, -MAX_COUNT, MAX_COUNT + 1, 2**63 - 1, -(2**63)]
DRAWS = [0, 5, -5, MAX_COUNT, -MAX_COUNT, 2 * MAX_COUNT - 1, MAX_NOISE, -MAX_NOISE, 2**63, -(2**70), 10**30]


@count_events
def test_sums_at_the_ends_equal_those_of_unbounded_integers(event: Event) -> None:
    def clamp(value: int) -> int:
        return max(-MAX_COUNT, min(value, MAX_COUNT))

    pairs = [(count, z) for count in ENDS for z in DRAWS]
    counts = np.array([count for count, _ in pairs], dtype=np.int64)
    noisy = noisy_counts(counts, event=event, noise=FixedNoise(*(z for _, z in pairs)))
    assert noisy.tolist() == [clamp(clamp(count) + z) for count, z in pairs]
    largest = np.array([2**64 - 1], dtype=np.uint64)
    assert noisy_counts(largest, event=event, noise=FixedNoise(-1)) == MAX_COUNT - 1


def test_sums_of_one_radius_at_the_ends_equal_those_of_unbounded_integers() -> None:
    def clamp(value: int) -> int:
        return max(-MAX_COUNT, min(value, MAX_COUNT))

    pairs = [(count, z) for count in ENDS for z in DRAWS]
    counts, noise = np.array([count for count, _ in pairs], dtype=np.int64), FixedNoise(*(z for _, z in pairs))
    noisy = noisy_tables_of_radius(counts, sizes=(9, len(pairs) - 9), event=RADIUS, balanced=False, noise=noise)
    assert noisy.tolist() == [clamp(clamp(count) + z) for count, z in pairs]
    largest = np.array([2**64 - 1], dtype=np.uint64)
    assert noisy_tables_of_radius(largest, sizes=(1,), event=RADIUS, balanced=False, noise=FixedNoise(-1)) == (
        MAX_COUNT - 1
    )


def test_tables_of_one_radius_get_the_noise_of_their_event() -> None:
    """What reaches the source is what was asked for, and the same draw is what is added."""
    asked: list[tuple[list[int], Fraction, bool]] = []

    class Listening(FixedNoise):
        def one_radius(self, sizes: Sequence[int], *, scale: Fraction, balanced: bool) -> NDArray[np.int64]:
            asked.append((list(sizes), scale, balanced))
            return super().one_radius(sizes, scale=scale, balanced=balanced)

    counts, event = np.array([5, 6, 7, 8, 9], dtype=np.uint8), OneRadius(Fraction(8, 3), 2)
    for balanced in (False, True):
        noisy = noisy_tables_of_radius(
            counts, sizes=(2, 3), event=event, balanced=balanced, noise=Listening(1, -1, 300, -300, 0)
        )
        assert noisy.dtype == np.int64
        assert noisy.tolist() == [6, 5, 307, -292, 9]
    assert asked == [([2, 3], Fraction(8, 3), False), ([2, 3], Fraction(8, 3), True)]
    assert counts.tolist() == [5, 6, 7, 8, 9]
    drawn = SimulatedNoise(3).one_radius((2, 3), scale=event.scale, balanced=True)
    noisy = noisy_tables_of_radius(counts, sizes=(2, 3), event=event, balanced=True, noise=SimulatedNoise(3))
    assert (noisy - counts).tolist() == drawn.tolist()
    assert Pure(Fraction(0)).of_event(event) == Pure(Fraction(3, 4))


MISFITS = [((5,), (1,)), ((5,), (2, 2)), ((5,), (2, 4)), ((2, 5), (5,)), ((3, 5), (2, 3))]


@pytest.mark.parametrize("balanced", [False, True])
def test_noise_of_one_radius_is_for_every_cell_its_own(balanced: bool) -> None:
    """Sizes that do not make up the counts are our own mistake: one number on several cells hides none of them."""
    for shape, sizes in MISFITS:
        with pytest.raises(ValueError, match="sizes"):
            noisy_tables_of_radius(
                np.zeros(shape, dtype=np.int64), sizes=sizes, event=RADIUS, balanced=balanced, noise=SimulatedNoise(1)
            )


def test_the_charge_of_counts_is_their_loss() -> None:
    for sensitivity, epsilon in ((1, Fraction(1)), (2, Fraction(1, 903)), (12, Fraction(7, 3))):
        event = tables_event(epsilon, sensitivity)
        assert event.scale == sensitivity / epsilon
        assert Pure(Fraction(0)).of_event(event) == Pure(epsilon)
    # Neighbours by exact laws, at e^(−1/scale) = 2/3: two cells move by one each, Δ = 2, loss (3/2)².
    r, window = Fraction(2, 3), range(-20, 21)
    cell = [[two_sided_geometric_pmf(z - count, ratio=r) for z in window] for count in (3, 4)]
    joint = [[a * b for a in first for b in second] for first, second in (cell, cell[::-1])]
    assert max_ratio(joint[0], joint[1]) == (1 / r) ** 2


@given(st.fractions(Fraction(1, 10**7), 100, max_denominator=10**9), st.integers(1, 50))
def test_the_noise_that_counts_get_is_the_noise_they_are_charged_for(epsilon: Fraction, sensitivity: int) -> None:
    """What reaches the source is the event's own scale or variance, exactly."""
    asked: list[Fraction] = []

    class Listening(FixedNoise):
        def discrete_laplace(self, size: int, *, scale: Fraction) -> NDArray[np.int64]:
            asked.append(scale)
            return super().discrete_laplace(size, scale=scale)

    moved = TableSensitivity(sensitivity, sensitivity)
    losses: tuple[Loss, ...] = (Pure(epsilon), ZeroConcentrated(epsilon))
    for loss in losses:
        noisy_counts(np.array([7]), event=loss.tables_event(moved), noise=Listening(0))
    assert asked == [sensitivity / epsilon, sensitivity / (2 * epsilon)]


def test_a_loss_makes_its_scales() -> None:
    assert tables_event(HALF, 3).scale == 6
    assert selection_scale(Pure(HALF).selection_event(), sensitivity=Fraction(1, 4)) == 1


ratios = st.fractions(Fraction(1, 10**6), 100, max_denominator=10**6)


@given(ratios, ratios)
def test_the_scale_of_a_selection_is_exact_for_a_pure_loss(sensitivity: Fraction, epsilon: Fraction) -> None:
    assert selection_scale(Pure(epsilon).selection_event(), sensitivity=sensitivity) == 2 * sensitivity / epsilon


@given(ratios, ratios)
def test_the_scale_of_a_selection_is_never_too_small(sensitivity: Fraction, rho: Fraction) -> None:
    """ρ = ε²/8 and b = 2Δ/ε, so b² = Δ²/(2ρ): a smaller scale would lose more than is charged."""
    square = selection_scale(ZeroConcentrated(rho).selection_event(), sensitivity=sensitivity) ** 2
    wanted = sensitivity**2 / (2 * rho)
    assert wanted <= square < wanted * (1 + Fraction(1, 2**38))


def test_a_float_is_the_number_it_is() -> None:
    assert selection_scale(CHOICE, sensitivity=0.1) == 4 * Fraction(0.1) != Fraction(4, 10)


def test_releases_compose() -> None:
    pairs: list[tuple[Event, Fraction]] = [
        (tables_event(Fraction(1, 3), 2), Fraction(1, 3)),
        (Selection("permute-and-flip", Fraction(1, 36)), Fraction(1, 6)),
        (Selection("exponential", Fraction(1, 4)), HALF),
    ]
    tree = Sequential(tuple(Step.of("something", event, loss=Pure(epsilon)) for event, epsilon in pairs))
    assert loss_of(tree) == Pure(Fraction(1))
    names = [part.mechanism for part in tree.parts if isinstance(part, Step)]
    assert names == ["discrete Laplace", "permute-and-flip", "exponential mechanism"]


@pytest.mark.parametrize("rule", ["exponential", "permute-and-flip"])
def test_selections_at_their_scale(rule: Rule) -> None:
    # ε = 3, Δ = 3/4, so the scale is 1/2; 20,000 seeded draws, laws at ±30 % of ε told apart.
    scores, noise, draws = np.array([1.0, 0.5, 0.0, -0.5]), SimulatedNoise(23), 20_000
    event = Selection(rule, Fraction(9))
    picked = [select(scores, sensitivity=0.75, event=event, noise=noise) for _ in range(draws)]
    counts = np.bincount(picked, minlength=4)

    def p_value(scale: Fraction) -> float:
        return float(stats.chisquare(counts, selection_pmf(scores, scale=scale, mechanism=rule) * draws).pvalue)

    assert p_value(HALF) > 1e-3
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert p_value(HALF * wrong) < FALSE_ALARM
    assert selection_scale(event, sensitivity=0.75) == HALF
    assert Pure(Fraction(0)).of_event(event) == Pure(Fraction(3))


def test_secure_selection_takes_lists_of_integers_too() -> None:
    scores = np.array([0, 500, 0])
    event = Pure(Fraction(1)).selection_event()
    assert select(scores.astype(np.float64), sensitivity=1, event=event, noise=SecureNoise()) == 1
    # The others lack 250 scales each.


COUNTS, BITS, SCORES, NOISE = np.array([1, 2]), np.array([True]), np.array([1.0, 2.0]), SimulatedNoise(0)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), float("nan"), float("inf"), 0.0, Fraction(2000), "x"])
def test_bad_epsilons_are_refused_by_name_before_there_is_an_event(epsilon: Fraction) -> None:
    with pytest.raises(InputError, match=r"^epsilon: found"):
        tables_event(parse_epsilon(epsilon), 1)


@pytest.mark.parametrize("wrong", [math.nan, 1.5, Fraction(2), "2", None])
def test_the_sensitivity_of_counts_is_an_integer(wrong: int) -> None:
    with pytest.raises(TypeError, match="l1 must be of type int"):
        DiscreteLaplace(Fraction(1), wrong)
    with pytest.raises(TypeError, match="l2_squared must be of type int"):
        DiscreteGaussian(Fraction(1), wrong)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1.5, 1, "2"])
def test_what_noise_is_made_of_is_exact(wrong: Fraction) -> None:
    for kind, name in ((DiscreteLaplace, "scale"), (DiscreteGaussian, "variance")):
        with pytest.raises(TypeError, match=f"{name} must be of type Fraction"):
            kind(wrong, 1)
    with pytest.raises(TypeError, match="epsilon_squared must be of type Fraction"):
        Selection("exponential", wrong)


TINY = Fraction(1, 10**30)


def noisy(event: Event) -> NDArray[np.int64]:
    """Add the noise of any event that has some."""
    if isinstance(event, OneRadius):
        return noisy_tables_of_radius(COUNTS, sizes=(2,), event=event, balanced=True, noise=NOISE)
    return noisy_counts(COUNTS, event=event, noise=NOISE)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            tables_event(Fraction(1, 10**20), 2),
            r"^epsilon: found too little: it calls for noise of scale 2e\+20; give",
        ),
        (DiscreteLaplace(MAX_SCALE + TINY, 1), r"too little: .* scale 2.*; give more: scales from 9\S+ to 2\S+ are"),
        (DiscreteLaplace(MIN_SCALE - TINY, 1), r"too much: .* scale 9.*; give less: scales"),
        (OneRadius(MAX_SCALE + TINY, 1), r"too little: .* scale 2.*; give more: scales"),
        (OneRadius(2 * MIN_SCALE - TINY, 1), r"too much: .* scale 9.*; give less: scales"),
        (DiscreteGaussian(MAX_SCALE**2 + TINY, 1), r"too little: .* deviation 2.*; give more: deviations from 9"),
        (DiscreteGaussian(MIN_SCALE**2 - TINY, 1), r"too much: .* deviation 9.*; give less: deviations"),
    ],
)
def test_noise_beyond_all_tables_is_refused_by_name(event: Event, message: str) -> None:
    for call in (
        lambda: check_noise(event),
        lambda: check_noise(Together((LAPLACE, CHOICE, event))),
        lambda: noisy(event),
    ):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize(
    "event",
    [
        DiscreteLaplace(MIN_SCALE, 1),
        DiscreteLaplace(MAX_SCALE, 1),
        OneRadius(2 * MIN_SCALE, 1),
        OneRadius(MAX_SCALE, 1),
        DiscreteGaussian(MIN_SCALE**2, 1),
        DiscreteGaussian(MAX_SCALE**2, 1),
    ],
)
def test_noise_at_the_ends_is_served(event: Event) -> None:
    check_noise(event)
    assert noisy(event).shape == COUNTS.shape


def of_radius(counts: NDArray[np.integer], sizes: Sequence[int]) -> NDArray[np.int64]:
    return noisy_tables_of_radius(counts, sizes=sizes, event=RADIUS, balanced=False, noise=NOISE)


def test_a_selection_is_not_refused_for_its_scale() -> None:
    check_noise(Selection("exponential", Fraction(1, 10**40)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: DiscreteLaplace(Fraction(1), 0), ValueError),
        (lambda: DiscreteLaplace(Fraction(1), -2), ValueError),
        (lambda: DiscreteLaplace(Fraction(0), 1), ValueError),
        (lambda: DiscreteGaussian(Fraction(1), 0), ValueError),
        (lambda: DiscreteGaussian(Fraction(-1), 1), ValueError),
        (lambda: Selection("exponential", Fraction(0)), ValueError),
        (lambda: noisy_counts(SCORES, event=LAPLACE, noise=NOISE), TypeError),
        (lambda: noisy_counts(BITS, event=LAPLACE, noise=NOISE), TypeError),
        (lambda: noisy_counts(COUNTS, event=CHOICE, noise=NOISE), TypeError),
        (lambda: noisy_counts(COUNTS, event=RADIUS, noise=NOISE), TypeError),
        (lambda: of_radius(SCORES, (2,)), TypeError),
        (lambda: of_radius(BITS, (1,)), TypeError),
        (lambda: of_radius(COUNTS, ()), ValueError),
        (lambda: of_radius(COUNTS, (2, 0)), ValueError),
        (lambda: OneRadius(Fraction(1), 0), ValueError),
        (lambda: OneRadius(Fraction(0), 1), ValueError),
        (lambda: noisy_counts(COUNTS, event=Together((LAPLACE,)), noise=NOISE), TypeError),
        (lambda: selection_scale(CHOICE, sensitivity=0), ValueError),
        (lambda: selection_scale(CHOICE, sensitivity=-1.0), ValueError),
        (lambda: selection_scale(CHOICE, sensitivity=math.nan), ValueError),
        (lambda: selection_scale(CHOICE, sensitivity=math.inf), ValueError),
        (lambda: select(np.array([]), sensitivity=1, event=CHOICE, noise=NOISE), ValueError),
        (lambda: select(np.array([0, np.nan]), sensitivity=1, event=CHOICE, noise=NOISE), ValueError),
    ],
)
def test_our_own_mistakes_are_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
