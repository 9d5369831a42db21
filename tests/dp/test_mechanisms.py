"""Mechanisms: what they return, what they lose, what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from panbayes.audit.privacy_loss import (
    max_ratio,
    randomized_response_law,
    selection_pmf,
    two_sided_geometric_pmf,
)
from panbayes.dp.mechanisms import (
    MAX_COUNT,
    discrete_laplace,
    discrete_laplace_loss,
    discrete_laplace_release,
    discrete_laplace_scale,
    randomized_response,
    randomized_response_error,
    randomized_response_fraction,
    randomized_response_loss,
    randomized_response_release,
    select,
    select_loss,
    select_release,
    select_scale,
)
from panbayes.dp.noise import Noise, SecureNoise, Selection, SimulatedNoise
from panbayes.dp.sampler import MAX_NOISE
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.composition import Sequential, Step, loss_of

HALF = Fraction(1, 2)
FALSE_ALARM = 1e-11
"""Each statistical test of true randomness fails by chance with at most this probability."""


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

    def bernoulli(self, size: int, *, probability: Fraction) -> NDArray[np.bool_]:
        return np.full(size, probability == 1)

    def select(self, scores: NDArray[np.float64], *, scale: Fraction, mechanism: Selection) -> int:
        assert mechanism
        return int(np.argmax(scores / float(scale)))

    def spawn(self, _key: bytes, /) -> Noise:
        return self


@pytest.mark.parametrize("noise", [SecureNoise(), SimulatedNoise(11)], ids=["secure", "simulated"])
@pytest.mark.parametrize("truth", [HALF, Fraction(1, 4), Fraction(9, 10)])
def test_randomized_response_answers_by_its_law(noise: Noise, truth: Fraction) -> None:
    people = 400_000
    bits = np.arange(people) % 4 == 0
    answers = randomized_response(bits, truth=truth, noise=noise)
    for bit in (False, True):
        ones = int(answers[bits == bit].sum())
        asked = int((bits == bit).sum())
        p = float(randomized_response_law(bit, truth=truth)[1])
        assert stats.binomtest(ones, asked, p).pvalue > FALSE_ALARM
        for wrong in (0.7, 1.3):
            law = randomized_response_law(bit, truth=truth * Fraction(wrong) if truth * Fraction(wrong) < 1 else HALF)
            assert stats.binomtest(ones, asked, float(law[1])).pvalue < FALSE_ALARM
    # The estimate is normal to good approximation: beyond 7 standard errors with probability 3e-12.
    error = randomized_response_error(people, truth=truth)
    assert abs(randomized_response_fraction(answers, truth=truth) - 0.25) < 7 * error


def test_randomized_response_keeps_the_shape_and_the_input() -> None:
    bits = np.array([[True, False, True], [False, False, True]])
    before = bits.copy()
    answers = randomized_response(bits, truth=Fraction(0), noise=SimulatedNoise(1))
    assert answers.shape == bits.shape
    assert answers.dtype == np.bool_
    assert (bits == before).all()


def test_the_estimate_is_unbiased_and_its_error_exact() -> None:
    # All answers of 6 people, weighted by their exact probability given the bits.
    truth, bits = Fraction(1, 3), [True, False, False, True, True, False]
    mean = variance = Fraction(0)
    for code in range(2**6):
        answers = [code >> i & 1 for i in range(6)]
        weight = math.prod(
            (randomized_response_law(b, truth=truth)[a] for a, b in zip(answers, bits, strict=True)),
            start=Fraction(1),
        )
        value = Fraction(randomized_response_fraction(np.array(answers, dtype=np.bool_), truth=truth))
        mean += weight * value
        variance += weight * (value - HALF) ** 2
    assert float(mean) == pytest.approx(0.5, abs=1e-15)
    assert math.sqrt(variance) == pytest.approx(randomized_response_error(6, truth=truth), rel=1e-12)


def test_randomized_response_loses_ln_3() -> None:
    p, q = (randomized_response_law(bit, truth=HALF) for bit in (False, True))
    assert max_ratio(p, q) == max_ratio(q, p) == 3
    loss = randomized_response_loss(truth=HALF)
    assert math.log(3) <= float(loss.epsilon) <= math.log(3) + 1.1e-12
    assert randomized_response_loss(truth=Fraction(0)) == Pure(Fraction(0))
    assert randomized_response_release("smokers", truth=HALF) == Step("smokers", "randomized response", loss)


def test_counts_keep_their_shape_and_get_noise_of_their_scale() -> None:
    counts = np.arange(240_000, dtype=np.int32).reshape(2, 3, -1)
    for noise in (SecureNoise(), SimulatedNoise(5)):
        noisy = discrete_laplace(counts, sensitivity=2, epsilon=Fraction(1, 10), noise=noise)
        assert noisy.shape == counts.shape
        assert noisy.dtype == np.int64
        # |z| has mean close to the scale 20; over 240,000 cells its relative standard error is 0.2 %.
        spread = float(np.abs(noisy - counts).mean()) / 20
        assert 0.98 < spread < 1.02
    assert (counts.ravel() == np.arange(240_000)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint32, np.int64, np.uint64])
def test_counts_of_any_integer_type(dtype: type[np.integer]) -> None:
    counts = np.array([0, 1, 127], dtype=dtype)
    noisy = discrete_laplace(counts, sensitivity=1, epsilon=Fraction(1), noise=FixedNoise(-5, 0, 300))
    assert noisy.tolist() == [-5, 1, 427]


ENDS = [0, 1, -1, MAX_COUNT - 1, MAX_COUNT, -MAX_COUNT, MAX_COUNT + 1, 2**63 - 1, -(2**63)]
DRAWS = [0, 5, -5, MAX_COUNT, -MAX_COUNT, 2 * MAX_COUNT - 1, MAX_NOISE, -MAX_NOISE, 2**63, -(2**70), 10**30]


def test_sums_at_the_ends_equal_those_of_unbounded_integers() -> None:
    def clamp(value: int) -> int:
        return max(-MAX_COUNT, min(value, MAX_COUNT))

    pairs = [(count, z) for count in ENDS for z in DRAWS]
    counts = np.array([count for count, _ in pairs], dtype=np.int64)
    noisy = discrete_laplace(counts, sensitivity=1, epsilon=Fraction(1), noise=FixedNoise(*(z for _, z in pairs)))
    assert noisy.tolist() == [clamp(clamp(count) + z) for count, z in pairs]
    largest = np.array([2**64 - 1], dtype=np.uint64)
    assert discrete_laplace(largest, sensitivity=1, epsilon=Fraction(1), noise=FixedNoise(-1)) == MAX_COUNT - 1


def test_the_charge_of_counts_is_their_loss() -> None:
    for sensitivity, epsilon in ((1, Fraction(1)), (2, Fraction(1, 903)), (12, Fraction(7, 3))):
        scale = discrete_laplace_scale(sensitivity=sensitivity, epsilon=epsilon)
        assert discrete_laplace_loss(sensitivity=sensitivity, scale=scale) == Pure(epsilon)
    # Neighbours by exact laws, at e^(−1/scale) = 2/3: two cells move by one each, Δ = 2, loss (3/2)².
    r, window = Fraction(2, 3), range(-20, 21)
    cell = [[two_sided_geometric_pmf(z - count, ratio=r) for z in window] for count in (3, 4)]
    joint = [[a * b for a in first for b in second] for first, second in (cell, cell[::-1])]
    assert max_ratio(joint[0], joint[1]) == (1 / r) ** 2


def test_a_pure_loss_serves_as_epsilon() -> None:
    assert discrete_laplace_scale(sensitivity=3, epsilon=Pure(HALF)) == 6
    assert select_scale(sensitivity=Fraction(1, 4), epsilon=Pure(HALF)) == 1


def test_releases_compose() -> None:
    tree = Sequential(
        (
            discrete_laplace_release("counts of age", epsilon=Fraction(1, 3)),
            select_release("next edge", epsilon=Fraction(1, 6), mechanism="permute-and-flip"),
            select_release("next edge", epsilon=HALF, mechanism="exponential"),
        )
    )
    assert loss_of(tree) == Pure(Fraction(1))
    names = [part.mechanism for part in tree.parts if isinstance(part, Step)]
    assert names == ["discrete Laplace", "permute-and-flip", "exponential mechanism"]


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_selections_at_their_scale(mechanism: Selection) -> None:
    # ε = 3, Δ = 3/4, so the scale is 1/2; 20,000 seeded draws, laws at ±30 % of ε told apart.
    scores, noise, draws = np.array([1.0, 0.5, 0.0, -0.5]), SimulatedNoise(23), 20_000
    picked = [
        select(scores, sensitivity=0.75, epsilon=Fraction(3), mechanism=mechanism, noise=noise) for _ in range(draws)
    ]
    counts = np.bincount(picked, minlength=4)

    def p_value(scale: Fraction) -> float:
        return float(stats.chisquare(counts, selection_pmf(scores, scale=scale, mechanism=mechanism) * draws).pvalue)

    assert p_value(HALF) > 1e-3
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert p_value(HALF * wrong) < FALSE_ALARM
    assert select_loss(sensitivity=0.75, scale=HALF) == Pure(Fraction(3))


def test_secure_selection_takes_lists_of_integers_too() -> None:
    scores = np.array([0, 500, 0])
    chosen = select(
        scores.astype(np.float64),
        sensitivity=1,
        epsilon=Fraction(1),
        mechanism="permute-and-flip",
        noise=SecureNoise(),
    )
    assert chosen == 1  # the others lack 250 scales each


COUNTS, BITS, SCORES, NOISE = np.array([1, 2]), np.array([True]), np.array([1.0, 2.0]), SimulatedNoise(0)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), float("nan"), float("inf"), 0.0, Fraction(2000), "x"])
def test_bad_epsilons_are_refused_by_name(epsilon: Fraction) -> None:
    for call in (
        lambda: discrete_laplace(COUNTS, sensitivity=1, epsilon=epsilon, noise=NOISE),
        lambda: discrete_laplace_release("x", epsilon=epsilon),
        lambda: select(SCORES, sensitivity=1, epsilon=epsilon, mechanism="exponential", noise=NOISE),
        lambda: select_release("x", epsilon=epsilon, mechanism="exponential"),
    ):
        with pytest.raises(InputError, match=r"^epsilon: found"):
            call()


@pytest.mark.parametrize(
    "truth", [Fraction(1), Fraction(-1, 2), Fraction(3, 2), float("nan"), 1 - Fraction(1, 10**400)]
)
def test_bad_truths_are_refused_by_name(truth: Fraction) -> None:
    for call in (
        lambda: randomized_response(BITS, truth=truth, noise=NOISE),
        lambda: randomized_response_loss(truth=truth),
        lambda: randomized_response_fraction(BITS, truth=truth),
    ):
        with pytest.raises(InputError, match=r"^truth: found"):
            call()


@pytest.mark.parametrize("sensitivity", [math.nan, 1.5, Fraction(2), "2"])
def test_the_sensitivity_of_counts_is_an_integer(sensitivity: int) -> None:
    with pytest.raises(TypeError):
        discrete_laplace_scale(sensitivity=sensitivity, epsilon=HALF)


def test_no_truth_no_estimate() -> None:
    with pytest.raises(InputError, match="above 0"):
        randomized_response_fraction(BITS, truth=Fraction(0))


def test_noise_beyond_all_tables_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"^epsilon: found 1e-20, which calls for noise of scale 2e"):
        discrete_laplace(COUNTS, sensitivity=2, epsilon=Fraction(1, 10**20), noise=NOISE)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: discrete_laplace(COUNTS, sensitivity=0, epsilon=HALF, noise=NOISE), ValueError),
        (lambda: discrete_laplace(COUNTS, sensitivity=-2, epsilon=HALF, noise=NOISE), ValueError),
        (lambda: discrete_laplace(SCORES, sensitivity=1, epsilon=HALF, noise=NOISE), TypeError),
        (lambda: discrete_laplace(BITS, sensitivity=1, epsilon=HALF, noise=NOISE), TypeError),
        (lambda: randomized_response(COUNTS, truth=HALF, noise=NOISE), TypeError),
        (lambda: randomized_response_fraction(np.array([], dtype=bool), truth=HALF), ValueError),
        (lambda: randomized_response_error(0, truth=HALF), ValueError),
        (lambda: select_scale(sensitivity=0, epsilon=HALF), ValueError),
        (lambda: select_scale(sensitivity=-1.0, epsilon=HALF), ValueError),
        (lambda: select_scale(sensitivity=math.nan, epsilon=HALF), ValueError),
        (lambda: select_scale(sensitivity=math.inf, epsilon=HALF), ValueError),
        (
            lambda: select(np.array([]), sensitivity=1, epsilon=HALF, mechanism="exponential", noise=NOISE),
            ValueError,
        ),
        (
            lambda: select(np.array([0, np.nan]), sensitivity=1, epsilon=HALF, mechanism="exponential", noise=NOISE),
            ValueError,
        ),
    ],
)
def test_our_own_mistakes_are_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
