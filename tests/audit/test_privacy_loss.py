"""Exact laws and divergences, against brute force; the promises of the mechanisms, with no rounding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.audit.privacy_loss import (
    Law,
    compose,
    composed_ratio,
    discrete_laplace_pmf,
    discrete_laplace_shift_loss,
    discrete_laplace_tail,
    exponential_law,
    hockey_stick,
    hockey_stick_at,
    max_divergence,
    max_ratio,
    permute_and_flip_law,
    randomized_response_law,
    selection_pmf,
    two_sided_geometric_pmf,
)
from panbayes.privacy.events import Rule

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
unit = st.fractions(Fraction(1, 50), 1, max_denominator=50)
fixed = settings(derandomize=True, deadline=None, max_examples=80)
LAWS: dict[Rule, Callable[[Sequence[Fraction]], Law]] = {
    "exponential": exponential_law,
    "permute-and-flip": permute_and_flip_law,
}


def permute_and_flip_by_brute_force(weights: list[Fraction]) -> Law:
    """Follow the algorithm through every order of the candidates and every coin."""
    best, orders = max(weights), list(itertools.permutations(range(len(weights))))
    law = [Fraction(0)] * len(weights)
    for order in orders:
        reached = Fraction(1, len(orders))
        for i in order:
            law[i] += reached * weights[i] / best
            reached *= 1 - weights[i] / best
    return tuple(law)


@fixed
@given(st.lists(unit, min_size=1, max_size=5))
def test_permute_and_flip_is_what_the_algorithm_does(weights: list[Fraction]) -> None:
    assert permute_and_flip_law(weights) == permute_and_flip_by_brute_force(weights)


def test_permute_and_flip_by_inclusion_and_exclusion() -> None:
    weights = [Fraction(1), HALF, THIRD, Fraction(3, 7), Fraction(1), Fraction(1, 9), Fraction(4, 5)]
    law = permute_and_flip_law(weights)
    for i, own in enumerate(weights):
        others = [w for j, w in enumerate(weights) if j != i]
        total = sum(
            (-1) ** size * math.prod(some, start=Fraction(1)) / (size + 1)
            for size in range(len(others) + 1)
            for some in itertools.combinations(others, size)
        )
        assert law[i] == own * total
    assert sum(law) == 1


@fixed
@given(st.lists(unit, min_size=1, max_size=12), st.fractions(Fraction(1, 9), 9))
def test_laws_of_selections_sum_to_one_and_ignore_a_common_factor(weights: list[Fraction], factor: Fraction) -> None:
    for law in LAWS.values():
        assert sum(law(weights)) == 1
        assert law([factor * w for w in weights]) == law(weights)
        assert law(weights[::-1]) == law(weights)[::-1]


@fixed
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=9),
    st.sampled_from([Fraction(9, 8), Fraction(2), Fraction(7)]),
)
def test_permute_and_flip_never_scores_below_the_exponential_mechanism(scores: list[int], base: Fraction) -> None:
    weights = [base**score for score in scores]

    def expected(law: Law) -> Fraction:
        return sum((p * s for p, s in zip(law, scores, strict=True)), Fraction(0))

    assert expected(permute_and_flip_law(weights)) >= expected(exponential_law(weights))


moves = st.lists(st.tuples(st.integers(0, 8), st.integers(-2, 2)), min_size=1, max_size=7)


@fixed
@given(moves, st.sampled_from([Fraction(9, 8), Fraction(2), Fraction(7)]))
def test_selections_lose_at_most_two_sensitivities(scores: list[tuple[int, int]], base: Fraction) -> None:
    # Every score moves by at most Δ = 2; e^(1/scale) = base, so the charge 2Δ/scale is base^(2Δ) as a ratio.
    before, after = [base**s for s, _ in scores], [base ** (s + move) for s, move in scores]
    for law in LAWS.values():
        for p, q in itertools.permutations((law(before), law(after))):
            ratio = max_ratio(p, q)
            assert ratio is not None
            assert ratio <= base ** (2 * 2)
            assert hockey_stick_at(p, q, ratio=base ** (2 * 2)) == 0


def test_the_charge_of_permute_and_flip_is_tight() -> None:
    base = Fraction(3, 2)
    p, q = permute_and_flip_law([base**-5, Fraction(1)]), permute_and_flip_law([base**-4, base**-1])
    assert max_ratio(q, p) == base**2


def test_the_charge_of_the_exponential_mechanism_is_approached() -> None:
    # One candidate rises while many others fall: the ratio tends to base² as their number grows.
    base, many = Fraction(3, 2), 10**6
    p = exponential_law([Fraction(1), Fraction(many)])  # many equal candidates weigh as one with their sum
    q = exponential_law([base, many / base])
    ratio = max_ratio(q, p)
    assert ratio is not None
    assert base**2 * (1 - Fraction(1, 10**5)) < ratio < base**2


@pytest.mark.parametrize("ratio", [HALF, Fraction(99, 100), Fraction(1, 1000)])
def test_discrete_laplace_noise_loses_exactly_the_shift(ratio: Fraction) -> None:
    window = range(-60, 61)
    inside = sum(two_sided_geometric_pmf(z, ratio=ratio) for z in window)
    assert inside == 1 - 2 * ratio**61 / (1 + ratio)
    for shift in (1, 2, 5):
        p = [two_sided_geometric_pmf(z, ratio=ratio) for z in window]
        q = [two_sided_geometric_pmf(z - shift, ratio=ratio) for z in window]
        assert max_ratio(p, q) == max_ratio(q, p) == ratio**-shift
    assert discrete_laplace_shift_loss([2, -3, 0], scale=Fraction(7, 2)) == Fraction(10, 7)


@pytest.mark.parametrize("scale", [THIRD, Fraction(1), Fraction(20), Fraction(1806)])
def test_float_pmf_and_tail_agree_with_each_other_and_with_decimals(scale: Fraction) -> None:
    z = np.unique(np.rint(np.linspace(-30, 30, 101) * float(scale)).astype(np.int64))
    pmf, tail = discrete_laplace_pmf(z, scale=scale), discrete_laplace_tail(z, scale=scale)
    after = discrete_laplace_tail(z + 1, scale=scale)
    assert np.allclose(tail - after, pmf, rtol=0, atol=2**-49)
    with localcontext() as context:
        context.prec = 50
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)
        r = (-rate).exp()
        for value, p in zip(z.tolist(), pmf.tolist(), strict=True):
            exact = (1 - r) / (1 + r) * (-rate * abs(value)).exp()
            assert abs(Decimal(p) / exact - 1) <= (abs(value) * rate + 8) / 2**52


@pytest.mark.parametrize("truth", [Fraction(0), HALF, THIRD, Fraction(9, 10)])
def test_randomized_response_by_enumeration(truth: Fraction) -> None:
    for bit in (False, True):
        law = [Fraction(0), Fraction(0)]
        for honest, coin in itertools.product((False, True), repeat=2):
            law[bit if honest else coin] += (truth if honest else 1 - truth) / 2
        assert randomized_response_law(bit, truth=truth) == tuple(law)
    p, q = (randomized_response_law(bit, truth=truth) for bit in (False, True))
    assert max_ratio(p, q) == max_ratio(q, p) == (1 + truth) / (1 - truth)
    if truth == HALF:
        assert max_ratio(p, q) == 3


def random_scores(count: int) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    random = np.random.default_rng(count)
    return [random.normal(size=count) * spread for spread in (0.0, 0.5, 3.0, 20.0)]


@pytest.mark.parametrize("count", [1, 2, 3, 17, 50])
def test_float_laws_of_selections_agree_with_the_exact_ones(count: int) -> None:
    for scores in random_scores(count):
        scale = Fraction(3, 2)
        weights = [Fraction(w) for w in np.exp((scores - scores.max()) / 1.5).tolist()]
        for mechanism, law in LAWS.items():
            exact = np.array([float(p) for p in law(weights)])
            floats = selection_pmf(scores, scale=scale, mechanism=mechanism)
            assert np.allclose(floats, exact, rtol=1e-12, atol=0)


def test_float_law_of_permute_and_flip_among_many() -> None:
    for scores in random_scores(3000):
        assert selection_pmf(scores, scale=THIRD, mechanism="permute-and-flip").sum() == pytest.approx(1, abs=1e-12)
    equal = selection_pmf(np.zeros(5000), scale=THIRD, mechanism="permute-and-flip")
    assert np.allclose(equal, 1 / 5000, rtol=1e-12, atol=0)


def test_divergences_of_a_small_pair() -> None:
    p, q = (
        (HALF, Fraction(1, 4), Fraction(1, 4), Fraction(0)),
        (Fraction(1, 4), HALF, Fraction(1, 8), Fraction(1, 8)),
    )
    assert max_ratio(p, q) == 2
    assert max_ratio(q, p) is None
    assert hockey_stick_at(p, q, ratio=Fraction(1)) == Fraction(3, 8)
    assert hockey_stick_at(p, q, ratio=Fraction(3, 2)) == Fraction(3, 16)
    floats = [np.array([float(x) for x in law]) for law in (p, q)]
    assert max_divergence(floats[0], floats[1]) == pytest.approx(math.log(2), abs=1e-15)
    assert max_divergence(floats[1], floats[0]) == math.inf
    assert hockey_stick(floats[0], floats[1], epsilon=0.0) == pytest.approx(3 / 8, abs=1e-15)
    assert hockey_stick(floats[0], floats[1], epsilon=math.log(1.5)) == pytest.approx(3 / 16, abs=1e-15)


def normalised(weights: list[Fraction]) -> Law:
    return tuple(w / sum(weights) for w in weights)


three = st.lists(st.fractions(0, 1, max_denominator=4), min_size=3, max_size=3).filter(any).map(normalised)


@fixed
@given(st.lists(st.tuples(three, three), min_size=1, max_size=3))
def test_composition_keeps_every_divergence_of_the_joint_law(pairs: list[tuple[Law, Law]]) -> None:
    joint_p = [math.prod(outcome, start=Fraction(1)) for outcome in itertools.product(*(p for p, _ in pairs))]
    joint_q = [math.prod(outcome, start=Fraction(1)) for outcome in itertools.product(*(q for _, q in pairs))]
    p, q = compose(pairs)
    assert sum(p) == sum(q) == 1
    assert max_ratio(p, q) == max_ratio(joint_p, joint_q) == composed_ratio(pairs)
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(4)):
        assert hockey_stick_at(p, q, ratio=ratio) == hockey_stick_at(joint_p, joint_q, ratio=ratio)


def test_composition_of_many_responses() -> None:
    no, yes = (randomized_response_law(bit, truth=HALF) for bit in (False, True))
    p, q = compose([(no, yes)] * 40)
    assert len(p) == 41
    assert composed_ratio([(no, yes)] * 40) == max_ratio(p, q) == Fraction(3) ** 40
    assert 0 < hockey_stick_at(p, q, ratio=Fraction(3) ** 38) < Fraction(1, 10**4)
