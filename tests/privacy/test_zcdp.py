"""The ρ of an (ε, δ): sound against the exact privacy of the Gaussian mechanism, and nearly the best there is."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from panbayes.errors import InputError
from panbayes.privacy.classes.pure import NOTHING, Pure
from panbayes.privacy.classes.zcdp import MAX_DELTA, MIN_DELTA, ZeroConcentrated, rho_for
from panbayes.privacy.loss import total

PAIRS = [(e, d) for e in ("1/100", "1/10", "1", "5", "20") for d in ("1/1000", "1/1000000", "1/1000000000")]


def gaussian_delta(epsilon: float, rho: float) -> float:
    """The least δ of the Gaussian mechanism with ρ = 1/(2σ²): Φ(1/2σ − εσ) − e^ε·Φ(−1/2σ − εσ) (Balle, Wang 2018)."""
    sigma = 1 / math.sqrt(2 * rho)
    first = log_ndtr(0.5 / sigma - epsilon * sigma)
    second = epsilon + log_ndtr(-0.5 / sigma - epsilon * sigma)
    return float(np.exp(first) - np.exp(second))


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_a_mechanism_that_uses_all_of_rho_keeps_delta(epsilon: str, delta: str) -> None:
    """And wastes little: with half as much ρ again, twice as much for a large δ, the mechanism itself fails."""
    rho = float(rho_for(Fraction(epsilon), Fraction(delta)))
    exact = gaussian_delta(float(Fraction(epsilon)), rho)
    assert exact <= float(Fraction(delta))
    assert gaussian_delta(float(Fraction(epsilon)), (2 if delta == "1/1000" else 1.5) * rho) > float(Fraction(delta))


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_it_is_the_best_over_all_orders(epsilon: str, delta: str) -> None:
    eps, log_delta = float(Fraction(epsilon)), math.log(Fraction(delta))
    above = np.logspace(-2, 6, 200_000)
    alpha = 1 + above
    best = ((eps + (log_delta + np.log(above) - alpha * np.log(above / alpha)) / above) / alpha).max()
    found = float(rho_for(Fraction(epsilon), Fraction(delta)))
    assert best * (1 - 1e-4) < found <= best * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "digits", "rho"),
    [
        ("1/10000", 9, "64577/200000000000000"),
        ("1/10000", 18, "28691/312500000000000"),
        ("1/100", 3, "173977/5000000000"),
        ("1/10", 9, "88569/500000000"),
        ("1", 3, "593901/10000000"),
        ("1", 9, "14973/1000000"),
        ("1", 18, "136449/20000000"),
        ("5", 9, "311693/1000000"),
        ("20", 3, "725861/100000"),
        ("20", 18, "206823/100000"),
        ("1000", 3, "425019/500"),
        ("1000", 18, "167343/250"),
    ],
)
def test_a_study_of_earlier_versions_grants_the_same_to_the_last_digit(epsilon: str, digits: int, rho: str) -> None:
    """Parties who found another ρ would disagree about every question, and ledgers about what is left."""
    assert rho_for(Fraction(epsilon), Fraction(1, 10**digits)) == Fraction(rho)


def test_what_makes_no_sense_is_refused() -> None:
    beyond = (MIN_DELTA - Fraction(1, 10**30), MAX_DELTA + Fraction(1, 10**30), Fraction(1, 10), Fraction(0))
    for delta in beyond:
        with pytest.raises(InputError, match=r"^delta: found"):
            rho_for(Fraction(1), delta)
    assert rho_for(Fraction(1), MIN_DELTA) < rho_for(Fraction(1), MAX_DELTA), "the ends that are named are allowed"
    assert (Fraction("1e-18"), Fraction("1e-3")) == (MIN_DELTA, MAX_DELTA), "those that the remedy names"


def test_an_epsilon_too_small_for_its_delta_is_refused() -> None:
    with pytest.raises(InputError, match=r"^epsilon: found 1e-06, which is too small for delta = 1e-18; give a larger"):
        rho_for(Fraction(1, 10**6), Fraction(1, 10**18))


@pytest.mark.parametrize("size", ["0.014973", "0.123457", "2.00001"])
def test_a_budget_on_the_edge_of_a_digit_is_rounded_down(size: str) -> None:
    """ε is chosen such that the best ρ is above a number of six digits by half of what is taken off for safety."""
    with localcontext(Context(prec=60)):
        wanted, log_delta = Decimal(size) * (1 + Decimal("5e-13")), Decimal("1e-9").ln()
        needed = []
        for steps in range(1, 4096):
            above = Decimal(steps) / 64
            alpha = 1 + above
            needed.append(alpha * wanted - (log_delta + above.ln() - alpha * (above / alpha).ln()) / above)
        epsilon = Fraction(min(needed).quantize(Decimal("1e-24")))
    found = rho_for(epsilon, Fraction(1, 10**9))
    assert Fraction(size) * (1 - Fraction(1, 10**5)) < found < Fraction(size)


rationals = st.fractions(min_value=0, max_value=10, max_denominator=10**6)
losses = st.builds(Pure, rationals) | st.builds(ZeroConcentrated, rationals)


@given(st.lists(losses, min_size=1, max_size=8))
def test_totals_are_exact_and_in_rho_as_soon_as_one_is(parts: list[Pure | ZeroConcentrated]) -> None:
    found = total(parts)
    if any(isinstance(part, ZeroConcentrated) for part in parts):
        rho = sum((p.rho if isinstance(p, ZeroConcentrated) else p.epsilon**2 / 2 for p in parts), Fraction(0))
        assert found == ZeroConcentrated(rho)
    else:
        assert found == Pure(sum((p.epsilon for p in parts if isinstance(p, Pure)), Fraction(0)))


@given(losses, losses)
def test_more_is_never_within_less(loss: Pure | ZeroConcentrated, more: Pure | ZeroConcentrated) -> None:
    assert loss.implies(loss)
    assert loss.implies(loss.add(NOTHING))
    if more.amount:
        assert not loss.add(more).implies(loss)


def test_zcdp_is_within_no_pure_limit() -> None:
    assert not ZeroConcentrated(Fraction(1, 10**12)).implies(Pure(Fraction(1000)))
    assert Pure(Fraction(1)).implies(ZeroConcentrated(Fraction(1, 2)))
    assert not Pure(Fraction(1)).implies(ZeroConcentrated(Fraction(1, 2) - Fraction(1, 10**9)))
