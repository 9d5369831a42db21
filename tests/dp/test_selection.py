"""Private selection: every narrow word against the claim, weights against exact bounds, draws against OpenDP's."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from panbayes.dp import selection
from panbayes.dp.sampler import Bits, Words, system_words
from panbayes.dp.selection import _enclosed, _exponent, _is_below, select
from panbayes.exact.bounds import exp_bounds
from panbayes.privacy.events import Rule
from tests.dp.test_sampler import FALSE_ALARM, ForkError, Script, Walk, walk
from tests.effort import often

RULES: tuple[Rule, ...] = get_args(Rule)


def narrow(script: Script, width: int) -> Bits:
    """Return bits that read words from the ``script`` and fork into all words where it ends."""

    def draw(count: int, width: int) -> NDArray[np.uint64]:
        if len(script) < count:
            raise ForkError([Fraction(1, 2**width)] * 2**width)
        return np.array([script.pop(0) for _ in range(count)], dtype=np.uint64)

    return Bits(draw, (width,))


def law(scores: list[float], scale: Fraction, rule: Rule) -> list[float]:
    """Compute the probabilities of the candidates by going through all that may happen."""
    weights = [float(exp_bounds((Fraction(s) - Fraction(max(scores))) / scale)[0]) for s in scores]
    if rule == "exponential":
        return [weight / sum(weights) for weight in weights]
    found = [0.0] * len(scores)
    for coins in product((False, True), repeat=len(scores)):
        if any(coins):
            chance = float(np.prod([w if coin else 1 - w for w, coin in zip(weights, coins, strict=True)]))
            for place, coin in enumerate(coins):
                found[place] += chance * coin / sum(coins)
    return found


@pytest.mark.parametrize("rule", RULES)
def test_every_candidate_has_exactly_its_probability(rule: Rule) -> None:
    """With words of few bits what is between the integers is no rare event: an error there would show."""
    cases: list[tuple[list[float], Fraction, int]] = [
        ([1.0, 0.0], Fraction(1), 4),
        ([0.0, 0.7], Fraction(1, 3), 4),
        *([([0.0, -30.0], Fraction(2), 4)] if rule == "permute-and-flip" else []),
    ]
    for scores, scale, width in cases:

        def draw_one(script: Script, scores: list[float] = scores, scale: Fraction = scale, width: int = width) -> int:
            return select(np.array(scores), scale=scale, rule=rule, bits=narrow(script, width))

        walked: Walk = walk(draw_one, undecided=0.15)
        for place, chance in enumerate(law(scores, scale, rule)):
            assert walked.admits(place, chance), (scores, scale, place)


@pytest.mark.parametrize("rule", RULES)
def test_chunk_by_chunk_the_probabilities_are_the_same(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_CHUNK", 1)

    def draw_one(script: Script) -> int:
        return select(np.array([1.0, 0.0]), scale=Fraction(1), rule=rule, bits=narrow(script, 4))

    walked: Walk = walk(draw_one, undecided=0.15 if rule == "exponential" else 0.03)
    for place, chance in enumerate(law([1.0, 0.0], Fraction(1), rule)):
        assert walked.admits(place, chance), place


@settings(derandomize=True, max_examples=often(40, 200), deadline=None)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.integers(-200, 0).map(float), min_size=1, max_size=4
    ),
    st.fractions(Fraction(1, 2**20), 2**20).filter(bool) | st.integers(-200, 200).map(lambda k: Fraction(2) ** k),
    st.integers(1, 61),
)
def test_weights_lie_between_their_integers(given_: list[float], scale: Fraction, unit: int) -> None:
    scores = np.array(given_)
    ((low, high),) = _enclosed(scores, scores.max(), scale, unit)
    for place, score in enumerate(scores):
        exponent = _exponent(score, scores.max(), scale)
        above = Fraction(1, 2**80) if exponent > 100 else exp_bounds(-exponent)[1]
        below = Fraction(0) if exponent > 100 else exp_bounds(-exponent)[0]
        assert int(low[place]) <= above * 2**unit
        assert below * 2**unit <= int(high[place])
        assert int(high[place]) - int(low[place]) <= above * Fraction(2) ** (unit - 41) + 2


def test_weights_lie_between_their_integers_to_the_end_of_every_part() -> None:
    """Exponents spread over the parts of 1/256: a wrong term of the series is larger than the margin at their ends."""
    unit, exponents = 61, np.random.default_rng(3).uniform(0, 40, 300)
    exponents[:100] = np.arange(1, 101) / 256 - 2.0**-30
    ((low, high),) = _enclosed(-exponents, np.float64(0), Fraction(1), unit)
    for place, exponent in enumerate(exponents):
        below, above = exp_bounds(-Fraction(float(exponent)))
        assert int(low[place]) <= above * 2**unit, exponent
        assert below * 2**unit <= int(high[place]), exponent


def test_numbers_close_to_a_weight_are_decided_by_further_digits() -> None:
    exponent, width, drawn = Fraction(1, 3), 16, []
    number = exp_bounds(-exponent, bits=400)[0]
    digits = int(number * 2**320)

    def close(script: list[int]) -> Bits:
        def draw(count: int, _width: int) -> Words:
            drawn.append(count)
            return np.array([script.pop(0)], dtype=np.uint64)

        return Bits(draw, (width,))

    for step, expected in ((-1, True), (1, False)):
        words = [(digits + step) >> (width * (19 - place)) & (2**width - 1) for place in range(20)]
        assert _is_below(words[0], width, exponent, close(words[1:])) is expected
    assert len(drawn) == 2 * 19, "the numbers were to differ in their last digit"


@pytest.mark.parametrize("rule", RULES)
def test_draws_have_the_law_of_opendps(rule: Rule) -> None:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence, zero_concentrated_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measure = zero_concentrated_divergence() if rule == "exponential" else max_divergence()
    domain = vector_domain(atom_domain(T="f64", nan=False))
    theirs = make_noisy_max(domain, linf_distance(T="f64"), measure, scale=1.5)
    scores, draws = np.array([0.0, 3.0, 1.5, 2.9, -4.0]), 8000
    counts = [
        Counter(select(scores, scale=Fraction(3, 2), rule=rule) for _ in range(draws)),
        Counter(int(theirs(scores)) for _ in range(draws)),
    ]
    table = np.array([[count[place] for place in range(4)] for count in counts])
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
    expected = np.array(law(scores.tolist(), Fraction(3, 2), rule))[:4]
    assert stats.chisquare(table[0], expected / expected.sum() * table[0].sum()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("rule", RULES)
def test_the_work_is_the_same_whatever_the_scores_are(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many words are drawn and as many weights computed; a single word may be rejected, and drawn again."""
    size = 3000
    computed: list[int] = []

    def counting(scores: NDArray[np.float64], *given: object) -> object:
        computed.append(scores.size)
        return _enclosed(scores, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "_enclosed", counting)
    seen = []
    cases: list[NDArray[np.float64]] = [
        np.zeros(size),
        np.arange(size, dtype=np.float64),
        np.where(np.arange(size) == 7, 1e9, 0.0),
        np.random.default_rng(1).normal(size=size),
    ]
    for scores in cases:
        words: list[tuple[int, int]] = []

        def draw(count: int, width: int, words: list[tuple[int, int]] = words) -> Words:
            words.append((count, width))
            return system_words(count, width)

        computed.clear()
        assert 0 <= select(scores, scale=Fraction(10), rule=rule, bits=Bits(draw, (16, 32, 64))) < size
        seen.append((computed.copy(), [count for count, _ in words if count > 1]))
    assert seen == [seen[0]] * len(seen)


def test_a_clear_winner_is_chosen_among_very_many() -> None:
    scores = np.where(np.arange(200_000) == 150_000, 1e6, 0.0)
    for rule in RULES:
        assert select(scores, scale=Fraction(1), rule=rule) == 150_000


def test_scores_and_scales_of_any_size_are_served() -> None:
    scores = np.array([-1.7e308, 1.7e308, 5e-324, 0.0])
    for rule, scale in product(RULES, (Fraction(1, 2**200), Fraction(2**200))):
        assert select(scores, scale=scale, rule=rule) == 1
        assert select(np.array([5e-324]), scale=scale, rule=rule) == 0
