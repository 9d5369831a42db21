from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.loss import total
from panbayes.privacy.losses import loss_from_json
from panbayes.privacy.written import MAX_EPSILON, parse_epsilon

epsilons = st.fractions(min_value=0, max_value=100, max_denominator=10**9)


@pytest.mark.parametrize("bad", ["0", "0.0", "-1", "nan", "inf", "1/0", "", "one", "1e999", "٣", "1_0", "0x1", "1001"])
def test_bad_epsilon_names_the_argument_and_what_to_do(bad: str) -> None:
    with pytest.raises(InputError, match=r"--epsilon: found .*; give a decimal number above 0") as caught:
        parse_epsilon(bad, argument="--epsilon")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.5, 0, True, 10**40])
def test_bad_numbers(bad: float) -> None:
    with pytest.raises(InputError):
        parse_epsilon(bad)


def test_a_huge_text_is_refused_quickly() -> None:
    with pytest.raises(InputError):
        parse_epsilon("0." + "1" * 100_000)


@given(st.decimals(min_value="0.0001", max_value=MAX_EPSILON, places=6))
def test_decimal_text_is_exact(value: object) -> None:
    assert parse_epsilon(str(value)) == Fraction(str(value))


@given(st.floats(min_value=1e-6, max_value=1000))
def test_a_float_means_its_shortest_decimal(value: float) -> None:
    assert parse_epsilon(value) == parse_epsilon(np.float64(value)) == Fraction(repr(value))


@given(st.lists(epsilons, min_size=1, max_size=20))
def test_a_sum_is_exact_in_any_order(parts: list[Fraction]) -> None:
    losses = [Pure(part) for part in parts]
    assert total(losses) == total(reversed(losses)) == Pure(sum(parts, Fraction(0)))


def test_thirds_add_up_to_the_cap_and_not_beyond() -> None:
    """In floating point, 0.1 added ten times is not 1; a ledger must not care."""
    assert total([Pure(Fraction(1, 10))] * 10) == Pure(Fraction(1))
    assert total([Pure(Fraction(1, 903))] * 903).implies(Pure(Fraction(1)))


@given(epsilons)
def test_json_round_trip(value: Fraction) -> None:
    assert loss_from_json(Pure(value).json(), argument="x") == Pure(value)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"class": "renyi", "rho": "1"},
        {"class": "zcdp", "epsilon": "1"},
        {"class": "pure", "epsilon": "1", "more": 1},
        {"class": "pure", "epsilon": "1/0"},
        {"class": "pure", "epsilon": "-1"},
        {"class": "pure", "epsilon": 1},
        {"class": "pure", "epsilon": "1" * 31},
    ],
)
def test_unknown_or_damaged_losses_are_refused(data: object) -> None:
    with pytest.raises(InputError):
        loss_from_json(data, argument="model.json")


def test_a_class_that_is_no_text_is_not_looked_into() -> None:
    nested: list[object] = []
    for _ in range(10_000):
        nested = [nested]
    with pytest.raises(InputError, match="unknown class"):
        loss_from_json({"class": nested, "epsilon": "1"}, argument="model.json")
