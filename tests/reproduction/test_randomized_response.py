"""Randomized response: its law, its loss, its estimate and its error, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from reproduction.randomized_response import (
    randomized_response,
    randomized_response_error,
    randomized_response_fraction,
    randomized_response_loss,
)
from scipy import stats

from panbayes.audit.privacy_loss import max_ratio, randomized_response_law
from panbayes.dp.noise import Noise
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure

HALF = Fraction(1, 2)
FALSE_ALARM = 1e-11
"""Each statistical test of true randomness fails by chance with at most this probability."""

BITS, NOISE = np.array([True]), SimulatedNoise(0)


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


@pytest.mark.parametrize(
    "truth", [Fraction(1), Fraction(-1, 2), Fraction(3, 2), float("nan"), 1 - Fraction(1, 10**400)]
)
def test_bad_truths_are_refused_by_name(truth: Fraction) -> None:
    for call in (
        lambda: randomized_response(BITS, truth=truth, noise=NOISE),
        lambda: randomized_response_loss(truth=truth),
        lambda: randomized_response_fraction(BITS, truth=truth),
        lambda: randomized_response_error(5, truth=truth),
    ):
        with pytest.raises(InputError, match=r"^truth: found"):
            call()


def test_no_truth_no_estimate() -> None:
    with pytest.raises(InputError, match="above 0"):
        randomized_response_fraction(BITS, truth=Fraction(0))
    with pytest.raises(InputError, match="above 0"):
        randomized_response_error(5, truth=Fraction(0))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: randomized_response(np.array([1, 2]), truth=HALF, noise=NOISE), TypeError),
        (lambda: randomized_response_fraction(np.array([], dtype=bool), truth=HALF), ValueError),
        (lambda: randomized_response_error(0, truth=HALF), ValueError),
    ],
)
def test_our_own_mistakes_are_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
