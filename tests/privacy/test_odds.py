"""What a loss means as odds: never less than what is true, and no more than a tenth above it."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.odds import even_odds, log_factor

getcontext().prec = 60
SMALL = Fraction(1, 10**9)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(6), max_denominator=1000))
def test_odds_are_rounded_up_and_by_less_than_a_tenth(epsilon: Fraction) -> None:
    shown = Decimal(even_odds(Pure(epsilon)).partition(" : ")[0])
    factor = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
    exact = 100 * factor / (1 + factor)
    assert exact <= shown < exact + Decimal("0.1")


def test_both_sides_make_a_hundred() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(5)):
        left, right = map(Decimal, even_odds(Pure(epsilon)).split(" : "))
        assert left + right == 100


@pytest.mark.parametrize(("epsilon", "words"), [("6.9", "99.9 : 0.1"), ("6.91", "as good as certain")])
def test_what_is_nearly_certain_is_called_so(epsilon: str, words: str) -> None:
    assert even_odds(Pure(Fraction(epsilon))) == words


def test_nothing_lost_is_nothing_learned() -> None:
    # A hair above even: rounding up is never rounding down.
    assert even_odds(Pure(Fraction(0))) == "50.1 : 49.9"


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 50), Fraction(1, 2), Fraction(2)])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), SMALL])
def test_gaussian_noise_keeps_to_it_except_with_that_probability(rho: Fraction, delta: Fraction) -> None:
    """The loss of Gaussian noise at ρ is normal with mean ρ and variance 2ρ; the (ε, δ) of the study is exceeded."""
    bound = float(log_factor(ZeroConcentrated(rho), delta=delta))
    assert norm.sf(bound, loc=float(rho), scale=(2 * float(rho)) ** 0.5) <= float(delta)
    assert norm.sf(bound * 0.7, loc=float(rho), scale=(2 * float(rho)) ** 0.5) > float(delta)


def test_the_epsilon_of_a_study_is_exceeded_more_often_than_its_delta() -> None:
    """Why the odds of a study with a δ are not those of its ε."""
    rho, epsilon = ZeroConcentrated(Fraction(14973, 10**6)), 1.0
    assert norm.sf(epsilon, loc=float(rho.rho), scale=(2 * float(rho.rho)) ** 0.5) > float(SMALL) * 4


def test_odds_without_a_bound_are_not_told() -> None:
    with pytest.raises(ValueError, match="except with some probability"):
        even_odds(ZeroConcentrated(Fraction(1)))
